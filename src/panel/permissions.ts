import { may, type Permission, type RolePermissions } from '#domain/permissions.ts'
import { ROLE_TRAITS } from '#domain/roles.ts'
import { routeSpecificity } from '#http/paths.ts'
import type { PageAccess, PanelRoute, RouteReach } from './route.ts'

/** Whether a page leads only to a change, or a form makes one; by default forms do, and pages do not. */
export const changesRecords = (route: PanelRoute): boolean => route.changes ?? 'submit' in route

const listOf = (access: PageAccess): readonly Permission[] =>
  access === 'everyone' ? [] : typeof access === 'string' ? [access] : access

/** Permissions that a route needs; files of lists need one more. */
export const permissionsFor = (route: PanelRoute): readonly Permission[] => [
  ...new Set([...listOf(route.access ?? 'everyone'), ...('table' in route ? (['export'] as const) : [])]),
]

/** Whether a role may see pages with this access rule. */
export const maySee = (role: RolePermissions, access: PageAccess): boolean =>
  listOf(access).every((permission) => may(role, permission))

/**
 * Whether a role may open a page or submit a form: it needs the permissions of the route, and read-only roles change
 * nothing (PANEL-81, ROLE-101).
 */
export const mayOpen = (role: RolePermissions, route: PanelRoute): boolean =>
  maySee(role, permissionsFor(route)) && !(ROLE_TRAITS[role.role].readsOnly && changesRecords(route))

/** The route that answers a method at a path below the panel. */
export function routeAt(
  routes: readonly PanelRoute[],
): (method: 'GET' | 'POST', path: string) => PanelRoute | undefined {
  const places = [...routes]
    .sort((a, b) => (routeSpecificity(a.path) < routeSpecificity(b.path) ? -1 : 1))
    .map((route) => ({
      route,
      method: 'submit' in route ? 'POST' : 'GET',
      pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
    }))
  return (method, path) => places.find((place) => place.method === method && place.pattern.test(path))?.route
}

/** Addresses that a role may open; unknown addresses are not refused. */
export function routeReachOf(routes: readonly PanelRoute[]): (role: RolePermissions) => RouteReach {
  const find = routeAt(routes)
  return (role) => (method, path) => {
    const route = find(method, path)
    return !route || mayOpen(role, route)
  }
}
