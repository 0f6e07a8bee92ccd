/** What a key may do (KEY-8); orders and the ledger itself have scopes of their own. */
export const SCOPES = [
  'catalog:read',
  'catalog:write',
  'customers:read',
  'customers:write',
  'suppliers:read',
  'suppliers:write',
  'finance:read',
  'finance:write',
  'sales:read',
  'sales:write',
  'orders:read',
  'orders:write',
  'webhooks:manage',
  'audit:read',
] as const

export type Scope = (typeof SCOPES)[number]

const isScope = (name: string): name is Scope => (SCOPES as readonly string[]).includes(name)

/** Scopes in their fixed order, each once: the same set is always kept and shown alike. */
export const inOrder = (scopes: readonly Scope[]): Scope[] => SCOPES.filter((scope) => scopes.includes(scope))

/** Scopes as written on a command line: `all`, `read` (all that change nothing) or names with commas. Null when a name is unknown. */
export function parseScopes(text: string): Scope[] | null {
  if (text === 'all') return [...SCOPES]
  if (text === 'read') return SCOPES.filter((scope) => scope.endsWith(':read'))
  const names = text.split(',').map((name) => name.trim())
  return names.every(isScope) ? inOrder(names) : null
}
