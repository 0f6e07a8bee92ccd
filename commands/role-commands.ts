import * as z from 'zod'
import { fromCents, Money, toCents } from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import {
  getBaseRole,
  getRoleName,
  grantableTo,
  isLimited,
  isOwnRole,
  listBeyond,
  listOwnRoles,
  MAX_OWN_ROLES,
  type OwnRole,
  PERMISSIONS,
  type PermissionLimits,
  ROLE_PRESETS,
  ROLES,
  type Role,
  RoleCode,
  type RolePermissions,
  toRolePermissions,
  withRequired,
} from '#domain/rights.ts'
import { nameText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type Grant, isRefusal, type Permit } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'

/** Permits what a role gets beyond what it had: rights or limits that the giver lacks are not given. */
function permitGranting(permit: Permit, after: RolePermissions, before = { ...after, ...NONE }): Grant | Refusal {
  let grant: Grant = {}
  for (const { permission, cents } of listBeyond(after, before)) {
    const granted = permit(permission, isLimited(permission) ? { cents, before: 0, isAsLimit: true } : undefined)
    if (isRefusal(granted)) return granted
    grant = { ...grant, ...granted }
  }
  return grant
}

const NONE: Pick<RolePermissions, 'granted'> = { granted: [] }

/** Permits that a user gets access with a role of the company. Only owners decide who is one. */
export function permitRole(rows: Rows, permit: Permit, role: Role): Grant | Refusal {
  const { roles } = companyRef(rows)
  if (role === 'owner') return permit('manage_owners')
  if (isOwnRole(role) && !roles[role]) return refuseField('role', 'este perfil não existe mais: escolha outro')
  return permitGranting(permit, toRolePermissions(role, roles))
}

/** The role as events of users name it. */
export const describeRole = (rows: Rows, role: Role) => ({
  role,
  ...(isOwnRole(role) && { role_name: getRoleName(role, companyRef(rows).roles) }),
})

const Name = nameText(60)

/** Refusal of a name that another role has. */
function refuseTakenName(rows: Rows, name: string, role: Role | null = null): Refusal | null {
  const { roles } = companyRef(rows)
  const others = [...ROLES, ...listOwnRoles(roles)].filter((each) => each !== role)
  const isTaken = others.some((each) => fold(getRoleName(each, roles)) === fold(name))
  return isTaken ? refuseField('name', 'outro perfil já tem este nome') : null
}

const fold = (name: string): string => name.toLocaleLowerCase('pt-BR')

const limitsIn = ({ limits: { return_goods, give_discount } }: RolePermissions) => ({
  return_limit: toAmount(return_goods),
  discount_limit: toAmount(give_discount),
})

export const CreateRoleInput = z.strictObject({ name: Name, copy_of: RoleCode })
export type CreateRoleInput = z.infer<typeof CreateRoleInput>

/** Makes a role of the company's own from another one: it is what that one is, and begins with its permissions. */
export const createRole = command<CreateRoleInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { name, copy_of }, { companyId, revision, permit }) {
    const { roles } = companyRef(rows)
    if (listOwnRoles(roles).length >= MAX_OWN_ROLES)
      return refuseField('name', `a empresa já tem ${MAX_OWN_ROLES} perfis próprios: remova um antes`)
    if (isOwnRole(copy_of) && !roles[copy_of]) return refuseField('copy_of', 'este perfil não existe mais')
    const base = getBaseRole(copy_of)
    const role: OwnRole = `${base === 'owner' ? 'manager' : base}_${revision}`
    const copied = toRolePermissions(copy_of, roles)
    const granted = copied.granted.filter((permission) => grantableTo(role).includes(permission))
    const made = { ...copied, role, granted }
    const permitted = permitGranting(permit, made)
    const refused = refuseTakenName(rows, name) ?? (isRefusal(permitted) ? permitted : null)
    if (refused) return refused
    const data = { id: companyId, role, role_name: name, permissions: [...granted], ...limitsIn(made) }
    return accept('created', `company/${companyId}`, [event('RoleCreated', data)])
  },
})

/** Permissions and limits of a role, in full; a null limit is none. The name of a role of the company's own. */
export const AdjustRoleInput = z.strictObject({
  role: RoleCode,
  name: Name.optional(),
  permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length),
  return_limit: Money.nullable(),
  discount_limit: Money.nullable(),
})
export type AdjustRoleInput = z.infer<typeof AdjustRoleInput>

/**
 * Gives a role other permissions in this company, from the next request of its users on. Owners keep all, so that a
 * company always has users who may do everything.
 */
export const adjustRole = command<AdjustRoleInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { role, name, permissions, return_limit, discount_limit }, { companyId, permit }) {
    const { roles } = companyRef(rows)
    if (role === 'owner') return refuseField('role', 'proprietários têm todas as permissões')
    if (isOwnRole(role) ? !roles[role] : name !== undefined) return refuse('not_found')
    const refused = permissions.find((permission) => !grantableTo(role).includes(permission))
    if (refused) return refuseField('permissions', 'este perfil é somente leitura')
    const subject = `company/${companyId}`
    const granted = withRequired(permissions)
    const after = { role, granted, limits: readLimits(return_limit, discount_limit) }
    const before = toRolePermissions(role, roles)
    const role_name = isOwnRole(role) ? (name ?? getRoleName(role, roles)) : undefined
    if (isSame(after, before) && role_name === roles[role]?.name) return accept('unchanged', subject)
    const permitted = permitGranting(permit, after, before)
    if (isRefusal(permitted)) return permitted
    const taken = role_name === undefined ? null : refuseTakenName(rows, role_name, role)
    if (taken) return taken
    const isPreset = !isOwnRole(role) && isSame(after, ROLE_PRESETS[role])
    const adjusted = isPreset ? { permissions: null } : { permissions: [...granted], return_limit, discount_limit }
    const named = role_name === undefined ? {} : { role_name }
    return accept('updated', subject, [event('RoleAdjusted', { id: companyId, role, ...named, ...adjusted })])
  },
})

export interface RemoveRoleInput {
  readonly role: OwnRole
}

/** Of users with the role; a refusal names the first ones. */
interface Holder {
  readonly name: string | null
}

const MOST_NAMED = 5

/** Removes a role of the company's own that no user with access, or invited, has. */
export const removeRole = command<RemoveRoleInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  lookup: (_rows, { role }) => ({
    name: 'users_with_role',
    text: `select doc ->> 'name' as name from users where company_id = $1::bigint and doc ->> 'role' = $2
      and doc ->> 'status' in ('active', 'invited') order by id limit ${MOST_NAMED + 1}`,
    values: [role],
  }),
  decide(rows, { role }, { companyId, found }) {
    const { roles } = companyRef(rows)
    if (!roles[role]) return refuse('not_found')
    const names = (found as readonly Holder[]).map(({ name }) => name ?? 'uma pessoa')
    if (names.length > 0) {
      const more = names.length > MOST_NAMED ? ' e mais' : ''
      return refuseField('role', `têm este perfil: ${names.slice(0, MOST_NAMED).join(', ')}${more}`)
    }
    const data = { id: companyId, role, role_name: getRoleName(role, roles) }
    return accept('deleted', `company/${companyId}`, [event('RoleRemoved', data)])
  },
})

const readLimits = (returned: string | null, discount: string | null): PermissionLimits => ({
  return_goods: toLimit(returned),
  give_discount: toLimit(discount),
})

const toLimit = (amount: string | null): number | null => (amount === null ? null : toCents(amount))
const toAmount = (cents: number | null): string | null => (cents === null ? null : fromCents(cents))

const isSame = (a: RolePermissions, b: RolePermissions): boolean =>
  PERMISSIONS.every((permission) => a.granted.includes(permission) === b.granted.includes(permission)) &&
  a.limits.return_goods === b.limits.return_goods &&
  a.limits.give_discount === b.limits.give_discount
