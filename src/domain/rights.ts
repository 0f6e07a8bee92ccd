import type * as z from 'zod'
import { expects, limitedText } from './text.ts'

/** Roles of every company. Each begins with a preset of permissions. */
export const ROLES = ['owner', 'manager', 'clerk', 'accountant', 'auditor'] as const
export type BaseRole = (typeof ROLES)[number]

/** A role of a company's own, by what it is and the revision of its event: `clerk_57`. */
export type OwnRole = `${Exclude<BaseRole, 'owner'>}_${number}`

/** Role of a user in a company. */
export type Role = BaseRole | OwnRole

const OWN = '(manager|clerk|accountant|auditor)_[1-9]\\d{0,14}'
const OWN_ROLE = new RegExp(`^${OWN}$`)

export const isOwnRole = (role: string): role is OwnRole => role.length <= 40 && OWN_ROLE.test(role)

/** A role that a company may have. */
export const RoleCode = limitedText(40).regex(
  new RegExp(`^(${ROLES.join('|')}|${OWN})$`),
  expects(`deve ser ${ROLES.join(', ')}, ou o código de um perfil da empresa`),
) as unknown as z.ZodType<Role, Role>

export const getBaseRole = (role: Role): BaseRole => role.split('_', 1)[0] as BaseRole

/** SQL of the same. */
export const baseRoleSql = (role: string): string => `split_part(${role}, '_', 1)`

/** What a role is, whatever its permissions (PANEL-81). */
interface RoleTraits {
  /** May log in at tills. */
  readonly usesTills: boolean
  /** Sees and changes nothing. All roles may change their own password. */
  readonly readsOnly: boolean
  /** Access ends on a day, and excludes personal data unless granted. */
  readonly isGuest: boolean
}

const ROLE_TRAITS: Readonly<Record<BaseRole, RoleTraits>> = {
  owner: { usesTills: true, readsOnly: false, isGuest: false },
  manager: { usesTills: true, readsOnly: false, isGuest: false },
  clerk: { usesTills: true, readsOnly: false, isGuest: false },
  accountant: { usesTills: false, readsOnly: true, isGuest: false },
  auditor: { usesTills: false, readsOnly: true, isGuest: true },
}

export const getTraits = (role: Role): RoleTraits => ROLE_TRAITS[getBaseRole(role)]

/** Roles that may log in at tills, for SQL statements. */
export const TILL_ROLES: readonly BaseRole[] = ROLES.filter((role) => ROLE_TRAITS[role].usesTills)

/** Access terms of a user; only auditors have them. */
export interface AccessTerms {
  readonly role: Role
  /** Last day, in the company's zone; null: unlimited. */
  readonly access_until?: string | null
  readonly personal_data?: boolean
}

/** Whether a user has access on a day of the company. */
export const hasAccessOn = ({ access_until }: Pick<AccessTerms, 'access_until'>, today: string): boolean =>
  (access_until ?? null) === null || today <= (access_until as string)

/** Whether a user may see names, documents and contacts of persons (PANEL-83). */
export const seesPersons = ({ role, personal_data }: AccessTerms): boolean =>
  !getTraits(role).isGuest || personal_data === true

/** What a user may see. Read-only roles have only such permissions. */
export const SEEING_PERMISSIONS = [
  /** Sales and takings of all users and days; without it, the user's own sales of the company's today. */
  'see_all_sales',
  /** Costs of items, and so margins. */
  'see_costs',
  'see_payables',
  /** The audit trail; verifies the ledger, and exports it with personal data sealed. */
  'see_audit',
  /** Settings, users, integrations, and the content of the ledger. */
  'see_company',
  /** Files of lists. */
  'export',
] as const

/** What a user may do. */
const ACTING_PERMISSIONS = [
  /** Sales, orders handed over, refused sales of tills, fiscal documents. */
  'sell',
  /** Cancels sales of which the user is the seller. */
  'cancel_own',
  'cancel_all',
  /** Returns goods, up to the role's limit. */
  'return_goods',
  /** Gives a discount in the panel, up to the role's limit. */
  'give_discount',
  /** Changes the price of an existing item. */
  'change_price',
  'adjust_stock',
  /** Items and categories. */
  'edit_catalog',
  /** Customers and suppliers. */
  'edit_people',
  'import',
  /** Creates and changes receivables. */
  'edit_receivables',
  'delete_receivables',
  'edit_payables',
  /** Receives receivables. */
  'receive',
  /** Pays payables. */
  'settle',
  'cash_sessions',
  /** Gives the money of an order back. */
  'refund_orders',
  /** Erases personal data. */
  'erase_people',
  'manage_users',
  /** Users who are owners, and who becomes one; owners only. */
  'manage_owners',
  /** API keys and webhooks. */
  'manage_integrations',
  /** Settings, ways of paying, stores, roles, the test company. */
  'manage_company',
] as const

export const PERMISSIONS = [...SEEING_PERMISSIONS, ...ACTING_PERMISSIONS] as const
export type Permission = (typeof PERMISSIONS)[number]

/** Permissions with a limit per operation, in cents; null: unlimited. */
export const LIMITED_PERMISSIONS = ['return_goods', 'give_discount'] as const
export type LimitedPermission = (typeof LIMITED_PERMISSIONS)[number]
export type PermissionLimits = Readonly<Record<LimitedPermission, number | null>>

/** Permissions and limits of a role in a company. */
export interface RolePermissions {
  readonly role: Role
  readonly granted: readonly Permission[]
  /** Cents; null: unlimited. A limit applies only if the permission is granted. */
  readonly limits: PermissionLimits
}

/** A role as a company has adjusted it, or its own, which has a name. */
export type AdjustedRole = Pick<RolePermissions, 'granted' | 'limits'> & { readonly name?: string }
export type AdjustedRoles = Readonly<Partial<Record<Role, AdjustedRole>>>

/** Roles of its own that a company has at most: each change loads them. */
export const MAX_OWN_ROLES = 20

const UNLIMITED: PermissionLimits = { return_goods: null, give_discount: null }

/** Largest return and discount of a clerk without an approval, in cents. */
const CLERK_LIMIT = 100_00

const preset = (role: BaseRole, granted: readonly Permission[], limits = UNLIMITED): RolePermissions => ({
  role,
  granted,
  limits,
})

const without = (...lacking: readonly Permission[]): Permission[] =>
  PERMISSIONS.filter((permission) => !lacking.includes(permission))

export const ROLE_PRESETS: Readonly<Record<BaseRole, RolePermissions>> = {
  owner: preset('owner', PERMISSIONS),
  manager: preset(
    'manager',
    without('see_company', 'erase_people', 'manage_users', 'manage_owners', 'manage_integrations', 'manage_company'),
  ),
  clerk: preset(
    'clerk',
    [
      'sell',
      'cancel_own',
      'return_goods',
      'give_discount',
      'adjust_stock',
      'edit_catalog',
      'edit_people',
      'edit_receivables',
      'receive',
      'cash_sessions',
    ],
    { return_goods: CLERK_LIMIT, give_discount: CLERK_LIMIT },
  ),
  accountant: preset('accountant', ['see_all_sales', 'see_costs', 'see_payables', 'see_audit', 'export']),
  auditor: preset('auditor', SEEING_PERMISSIONS),
}

/** Permissions of a role: those that the company gave it, or its preset. Owners always have all, a removed role none. */
export function toRolePermissions(role: Role, adjusted: AdjustedRoles = {}): RolePermissions {
  const own = role === 'owner' ? undefined : adjusted[role]
  if (own) return { role, granted: own.granted, limits: own.limits }
  return isOwnRole(role) ? { role, granted: [], limits: UNLIMITED } : ROLE_PRESETS[role]
}

/** Roles of the company's own, in the order in which they were made. */
export const listOwnRoles = (adjusted: AdjustedRoles): OwnRole[] =>
  Object.keys(adjusted)
    .filter(isOwnRole)
    .sort((one, other) => revisionIn(one) - revisionIn(other))

const revisionIn = (role: OwnRole): number => Number(role.split('_')[1])

export const ROLE_NAMES: Readonly<Record<BaseRole, string>> = {
  owner: 'Proprietário',
  manager: 'Gerente',
  clerk: 'Caixa',
  accountant: 'Contador',
  auditor: 'Auditor',
}

/** Name of a role in a company. */
export const getRoleName = (role: Role, adjusted: AdjustedRoles): string =>
  isOwnRole(role) ? (adjusted[role]?.name ?? 'Perfil removido') : ROLE_NAMES[role]

/** Whether a role has a permission. */
export const may = ({ granted }: Pick<RolePermissions, 'granted'>, permission: Permission): boolean =>
  granted.includes(permission)

/** Whether a role sees all that a company has, but personal data. */
export const mayUnmasked = (role: Pick<RolePermissions, 'granted'>): boolean =>
  UNMASKED.every((permission) => may(role, permission))

export const isLimited = (permission: Permission): permission is LimitedPermission =>
  (LIMITED_PERMISSIONS as readonly Permission[]).includes(permission)

/** Limit of a permission in cents; null: unlimited. */
export const getLimit = ({ limits }: Pick<RolePermissions, 'limits'>, permission: Permission): number | null =>
  isLimited(permission) ? limits[permission] : null

/** Whether a role has a permission for an operation of this value in cents. */
export function mayUpTo(role: RolePermissions, permission: Permission, cents: number): boolean {
  const limit = getLimit(role, permission)
  return may(role, permission) && (limit === null || cents <= limit)
}

/**
 * What cannot be masked shows all sales, costs and payables, as a file or to programs: audit packs, whose chain of hashes
 * would break, exports of a person, keys and users that the company makes.
 */
export const UNMASKED: readonly Permission[] = ['see_all_sales', 'see_costs', 'see_payables', 'export']

/** Permissions that are of no use, or leak, without others. */
const REQUIRED: Readonly<Partial<Record<Permission, readonly Permission[]>>> = {
  refund_orders: ['see_all_sales'],
  delete_receivables: ['edit_receivables'],
  edit_payables: ['see_payables'],
  settle: ['see_payables'],
  manage_users: ['see_company', ...UNMASKED],
  manage_integrations: ['see_company', ...UNMASKED],
  manage_company: ['see_company', ...UNMASKED],
}

/** The permissions with those that they require, in the order of the list. */
export function withRequired(permissions: readonly Permission[]): readonly Permission[] {
  const withOwn = (permission: Permission): readonly Permission[] => [
    permission,
    ...(REQUIRED[permission] ?? []).flatMap(withOwn),
  ]
  const all = permissions.flatMap(withOwn)
  return PERMISSIONS.filter((permission) => all.includes(permission))
}

/** The permissions that one requires. */
export const listRequired = (permission: Permission): readonly Permission[] =>
  withRequired([permission]).filter((other) => other !== permission)

/** Cents up to which a role has a permission; -1 without it. */
const reachOf = (role: RolePermissions, permission: Permission): number =>
  may(role, permission) ? (getLimit(role, permission) ?? UNLIMITED_CENTS) : -1

const UNLIMITED_CENTS = Number.MAX_SAFE_INTEGER

/** What a role may beyond another one; limited permissions with their limit in cents. */
export const listBeyond = (role: RolePermissions, other: RolePermissions) =>
  role.granted
    .map((permission) => ({ permission, cents: reachOf(role, permission) }))
    .filter(({ permission, cents }) => cents > reachOf(other, permission))

/**
 * Whether a link that a user made for a person still holds: the user may still make it, and the person has become no
 * owner since, nor has rights that the user lacks.
 */
export const isLinkHeld = (
  maker: RolePermissions | null,
  { role, forOwner }: { readonly role: RolePermissions; readonly forOwner: boolean },
): boolean =>
  maker !== null &&
  may(maker, 'manage_users') &&
  (role.role !== 'owner' || forOwner) &&
  listBeyond(role, maker).length === 0

/** Permissions that a company may give a role: read-only roles act in no way, and only owners decide about owners. */
export const grantableTo = (role: Role): readonly Permission[] =>
  getTraits(role).readsOnly ? SEEING_PERMISSIONS : PERMISSIONS.filter((permission) => permission !== 'manage_owners')

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
