import { RIGHTS, type Role } from '#domain/roles.ts'
import { routeSpecificity } from '#http/paths.ts'
import type { PageAccess, PanelRoute, RouteReach } from './route.ts'

/** Whether a page leads only to a change, or a form makes one; by default forms do, and pages do not. */
export const changesRecords = (route: PanelRoute): boolean => route.changes ?? 'submit' in route

/** Required right by page access. */
const SEES: Readonly<Record<PageAccess, (rights: (typeof RIGHTS)[Role]) => boolean>> = {
  everyone: () => true,
  payables: ({ seesPayables }) => seesPayables,
  books: ({ checksBooks }) => checksBooks,
  owner: ({ seesAll }) => seesAll,
}

/**
 * Whether a role may open a page: the role must see it, and be allowed to make changes if the page makes any (PANEL-81,
 * PANEL-200).
 */
export function mayOpen(
  role: Role,
  { access = 'everyone', changes }: { readonly access?: PageAccess; readonly changes: boolean },
): boolean {
  const rights = RIGHTS[role]
  return SEES[access](rights) && (!changes || rights.changes)
}

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
export function routeReachOf(routes: readonly PanelRoute[]): (role: Role) => RouteReach {
  const find = routeAt(routes)
  return (role) => (method, path) => {
    const route = find(method, path)
    return !route || mayOpen(role, { ...route, changes: changesRecords(route) })
  }
}
