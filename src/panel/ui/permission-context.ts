import { createContext } from 'preact'
import type { RouteReach } from '../route.ts'

/** Where whoever looks at the page may go. */
export const PermissionContext = createContext<RouteReach>(() => true)
