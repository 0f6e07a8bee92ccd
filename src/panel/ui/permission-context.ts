import { createContext } from 'preact'
import type { RouteReach } from '../route.ts'

/** Addresses that the current user may open. */
export const PermissionContext = createContext<RouteReach>(() => true)
