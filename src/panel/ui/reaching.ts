import { createContext } from 'preact'
import type { Reach } from '../route.ts'

/** Where whoever looks at the page may go. */
export const Reaching = createContext<Reach>(() => true)
