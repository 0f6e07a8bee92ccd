import { RIGHTS, type Role } from '#domain/roles.ts'
import { routeSpecificity } from '#http/paths.ts'
import type { PageAccess, PanelRoute, RouteReach } from './route.ts'

/** Whether a page leads only to a change, or a form makes one: by itself a page is looked at, and a form changes something. */
export const changesRecords = (route: PanelRoute): boolean => route.changes ?? 'submit' in route

/** Whom pages are for. */
const SEES: Readonly<Record<PageAccess, (rights: (typeof RIGHTS)[Role]) => boolean>> = {
  everyone: () => true,
  payables: ({ seesPayables }) => seesPayables,
  books: ({ checksBooks }) => checksBooks,
  owner: ({ seesAll }) => seesAll,
}

/** What a role may open: what it may see, and what changes something where it changes anything (PANEL-81, PANEL-200). */
export function mayOpen(
  role: Role,
  { access = 'everyone', changes }: { readonly access?: PageAccess; readonly changes: boolean },
): boolean {
  const rights = RIGHTS[role]
  return SEES[access](rights) && (!changes || rights.changes)
}

/** Which of these routes answers a method at a path below the panel. */
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

/** Where users of a role get on with these routes; an address that is none of theirs is nobody's to refuse. */
export function routeReachOf(routes: readonly PanelRoute[]): (role: Role) => RouteReach {
  const find = routeAt(routes)
  return (role) => (method, path) => {
    const route = find(method, path)
    return !route || mayOpen(role, { ...route, changes: changesRecords(route) })
  }
}
