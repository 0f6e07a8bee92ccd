/** Scopes of API keys (KEY-8); orders and the ledger have separate ones. */
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

/** Scopes deduplicated in fixed order, so that equal sets are stored and shown alike. */
export const inOrder = (scopes: readonly Scope[]): Scope[] => SCOPES.filter((scope) => scopes.includes(scope))

/**
 * Scopes of a command line: `all`, `read` (all without changes), or names separated by commas. Null if a name is
 * unknown.
 */
export function parseScopes(text: string): Scope[] | null {
  if (text === 'all') return [...SCOPES]
  if (text === 'read') return SCOPES.filter((scope) => scope.endsWith(':read'))
  const names = text.split(',').map((name) => name.trim())
  return names.every(isScope) ? inOrder(names) : null
}
