import * as z from 'zod'
import { Money, toCents } from '#domain/money.ts'
import {
  grantableTo,
  PERMISSIONS,
  permissionsOf,
  ROLE_PRESETS,
  type RolePermissions,
  withRequired,
} from '#domain/permissions.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { ROLES } from '#domain/roles.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'

/** Permissions and limits of a role, in full; a null limit is none. */
export const AdjustRoleInput = z.strictObject({
  role: z.enum(ROLES),
  permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length),
  return_limit: Money.nullable(),
  discount_limit: Money.nullable(),
})
export type AdjustRoleInput = z.infer<typeof AdjustRoleInput>

/**
 * Gives a role other permissions in this company, from the next request of its users on. Owners keep all, so that a
 * company always has users who may do everything (ROLE-110).
 */
export const adjustRole = command<AdjustRoleInput>({
  permission: 'manage_company',
  needs: () => [ownCompany],
  decide(rows, { role, permissions, return_limit, discount_limit }, { companyId }) {
    const company = rows.get(ownCompany)
    if (!company) return refuse('not_found')
    if (role === 'owner') return invalid('role', 'proprietários têm todas as permissões')
    const refused = permissions.find((permission) => !grantableTo(role).includes(permission))
    if (refused) return invalid('permissions', 'este perfil é somente leitura')
    const subject = `company/${companyId}`
    const granted = withRequired(permissions)
    const after = {
      role,
      granted,
      limits: { return_goods: toLimit(return_limit), give_discount: toLimit(discount_limit) },
    }
    if (isSame(after, permissionsOf(role, company.roles))) return accept('unchanged', subject)
    const adjusted = isSame(after, ROLE_PRESETS[role])
      ? { permissions: null }
      : { permissions: [...granted], return_limit, discount_limit }
    return accept('updated', subject, [event('RoleAdjusted', { id: companyId, role, ...adjusted })])
  },
})

const toLimit = (amount: string | null): number | null => (amount === null ? null : toCents(amount))

const isSame = (a: RolePermissions, b: RolePermissions): boolean =>
  PERMISSIONS.every((permission) => a.granted.includes(permission) === b.granted.includes(permission)) &&
  a.limits.return_goods === b.limits.return_goods &&
  a.limits.give_discount === b.limits.give_discount
