import * as z from 'zod'
import { AdjustRoleInput, adjustRole } from '#commands/roles.ts'
import { fromCents } from '#domain/money.ts'
import {
  grantableTo,
  LIMITED_PERMISSIONS,
  may,
  PERMISSIONS,
  type Permission,
  permissionsOf,
  ROLE_PRESETS,
  type RolePermissions,
  requiredBy,
} from '#domain/permissions.ts'
import { ROLES, type Role } from '#domain/roles.ts'
import { adjustedRolesOf } from '#queries/companies.ts'
import type { Fields } from '../forms/form.ts'
import { amountInput, choicesInput, type Option } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card } from '../ui/parts.tsx'
import { LIMIT_NAMES, limitText, PERMISSION_NAMES, permissionPhrase, ROLE_NAMES } from '../words/permissions.ts'

export const ROLES_PATH = '/configuracoes/perfis'

const rolesOf = async ({ readModel }: PageContext): Promise<RolePermissions[]> => {
  const adjusted = await adjustedRolesOf(readModel.reader)
  return ROLES.map((role) => permissionsOf(role, adjusted))
}

/** A cell of the table: whether the role has the permission, and its limit. */
function grantText(role: RolePermissions, permission: Permission): string {
  if (!may(role, permission)) return '—'
  const limited = LIMITED_PERMISSIONS.find((one) => one === permission)
  return limited ? `Sim, ${limitText(role.limits[limited])}` : 'Sim'
}

/** The permissions of all roles side by side. */
async function showRoles(visit: PageContext): Promise<PanelPage> {
  const roles = await rolesOf(visit)
  const nameOf = ({ role }: RolePermissions) => {
    const path = `${ROLES_PATH}/${role}`
    return role !== 'owner' && visit.reaches('GET', path) ? (
      <a href={link(path)}>{ROLE_NAMES[role]}</a>
    ) : (
      ROLE_NAMES[role]
    )
  }
  const body = (
    <>
      <Card title="Perfis">
        <ListTable
          isList
          caption="Perfis de acesso"
          rows={roles}
          empty=""
          columns={[
            { head: 'Perfil', cell: nameOf },
            { head: 'Permissões', cell: ({ granted }) => granted.length, isNumber: true },
            {
              head: 'Situação',
              cell: (role) => (role === ROLE_PRESETS[role.role] ? 'Padrão' : 'Alterado pela empresa'),
            },
          ]}
        />
      </Card>
      <Card title="Permissões de cada perfil">
        <ListTable
          caption="Permissões por perfil"
          rows={PERMISSIONS}
          empty=""
          columns={[
            { head: 'Permissão', cell: (permission) => PERMISSION_NAMES[permission] },
            ...roles.map((role) => ({
              head: ROLE_NAMES[role.role],
              cell: (permission: Permission) => grantText(role, permission),
            })),
          ]}
        />
      </Card>
    </>
  )
  return { title: 'Perfis de acesso', parent: { label: 'Configurações', to: '/configuracoes' }, body }
}

/** The adjustable role of a path; owners always have all permissions. */
async function roleOf(visit: PageContext): Promise<RolePermissions | null> {
  const found = (await rolesOf(visit)).find(({ role }) => role === visit.params.role)
  return found && found.role !== 'owner' ? found : null
}

/** A permission to tick, with what it brings along (ROLE-111). */
function optionOf(permission: Permission): Option {
  const requires = requiredBy(permission)
  // What those bring along stands at them.
  const direct = requires.filter((one) => !requires.some((other) => requiredBy(other).includes(one)))
  const label = PERMISSION_NAMES[permission]
  return { value: permission, label, requires, note: direct.map((one) => `+ ${permissionPhrase(one)}`).join('\n') }
}

function fieldsOf({ role }: RolePermissions): Fields {
  const grantable = grantableTo(role)
  const permissions = {
    label: 'Permissões',
    kind: choicesInput(grantable.map(optionOf)),
    columns: 12 as const,
  }
  const limits: Fields = grantable.includes('return_goods')
    ? {
        return_limit: { label: LIMIT_NAMES.return_goods, kind: amountInput, hint: 'Se vazio, sem limite.' },
        discount_limit: { label: LIMIT_NAMES.give_discount, kind: amountInput, hint: 'Se vazio, sem limite.' },
      }
    : {}
  return { permissions, ...limits }
}

const textOf = (cents: number | null): string | null => (cents === null ? null : fromCents(cents))

const RoleForm = z.object({
  permissions: AdjustRoleInput.shape.permissions,
  return_limit: AdjustRoleInput.shape.return_limit.default(null),
  discount_limit: AdjustRoleInput.shape.discount_limit.default(null),
})

/** Adjusts the permissions of a role; the presets are restored by choosing them again. */
export const rolePages: readonly PanelRoute[] = [
  { path: ROLES_PATH, section: 'settings', access: 'see_company', show: showRoles },
  ...formPages({
    path: `${ROLES_PATH}/:role`,
    section: 'settings',
    access: 'manage_company',
    subject: roleOf,
    title: ({ role }) => `Perfil de acesso: ${ROLE_NAMES[role as Role]}`,
    intro: ({ role }) => (
      <p>
        {role === 'accountant' || role === 'auditor' ? 'Este perfil só consulta. ' : ''}
        Vale a partir da próxima página de cada pessoa com este perfil. Por padrão:{' '}
        {ROLE_PRESETS[role].granted.map(permissionPhrase).join('; ')}.
      </p>
    ),
    label: 'Salvar',
    back: () => ROLES_PATH,
    fields: fieldsOf,
    initial: ({ granted, limits }) => ({
      permissions: granted,
      return_limit: textOf(limits.return_goods),
      discount_limit: textOf(limits.give_discount),
    }),
    schema: RoleForm,
    act: (submission, { role }, input) =>
      runAndRedirect(submission, adjustRole, { role, ...input }, { to: ROLES_PATH, flash: 'perfil-alterado' }),
  }),
]
