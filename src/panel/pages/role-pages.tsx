import * as z from 'zod'
import { AdjustRoleInput, adjustRole, CreateRoleInput, createRole, removeRole } from '#commands/role-commands.ts'
import { fromCents } from '#domain/money.ts'
import {
  type BaseRole,
  getBaseRole,
  getRoleName,
  getTraits,
  grantableTo,
  isOwnRole,
  LIMITED_PERMISSIONS,
  listOwnRoles,
  listRequired,
  may,
  PERMISSIONS,
  type Permission,
  ROLE_NAMES,
  ROLE_PRESETS,
  ROLES,
  type RolePermissions,
  toRolePermissions,
} from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { loadAdjustedRoles } from '#queries/company-queries.ts'
import { amountInput, choiceInput, choicesInput, lineInput, type Option } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card } from '../ui/page-parts.tsx'
import { LIMIT_NAMES, limitText, PERMISSION_NAMES, permissionPhrase } from '../words/message-words.ts'

export const ROLES_PATH = '/configuracoes/perfis'

const NEW_PATH = `${ROLES_PATH}/novo`
const ONE = `${ROLES_PATH}/:role`

/** A role with its name in the company. */
interface NamedRole extends RolePermissions {
  readonly name: string
}

/** Those of every company, then the company's own. */
export async function loadRoles({ readModel }: PageContext): Promise<readonly NamedRole[]> {
  const adjusted = await loadAdjustedRoles(readModel.reader)
  return [...ROLES, ...listOwnRoles(adjusted)].map((role) => ({
    ...toRolePermissions(role, adjusted),
    name: getRoleName(role, adjusted),
  }))
}

export const roleOptions = (roles: readonly NamedRole[]): Option[] =>
  roles.map(({ role, name }) => ({ value: role, label: name }))

/** Whether it is the company's own, or adjusted by it. */
function stateText(role: RolePermissions): string {
  if (isOwnRole(role.role)) return 'Da empresa'
  const { granted, limits } = ROLE_PRESETS[getBaseRole(role.role)]
  return role.granted === granted && role.limits === limits ? 'Padrão' : 'Alterado pela empresa'
}

/** A cell of the table: whether the role has the permission, and its limit. */
function grantText(role: RolePermissions, permission: Permission): string {
  if (!may(role, permission)) return '—'
  const limited = LIMITED_PERMISSIONS.find((one) => one === permission)
  return limited ? `Sim, ${limitText(role.limits[limited])}` : 'Sim'
}

/** The permissions of all roles side by side. */
async function showRoles(visit: PageContext): Promise<PanelPage> {
  const roles = await loadRoles(visit)
  const nameOf = ({ role, name }: NamedRole) => {
    const path = `${ROLES_PATH}/${role}`
    return role !== 'owner' && visit.reaches('GET', path) ? <a href={link(path)}>{name}</a> : name
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
            { head: 'Situação', cell: stateText },
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
              head: role.name,
              cell: (permission: Permission) => grantText(role, permission),
            })),
          ]}
        />
      </Card>
    </>
  )
  return {
    title: 'Perfis de acesso',
    parent: { label: 'Configurações', to: '/configuracoes' },
    body,
    main: { label: 'Novo perfil', to: NEW_PATH },
  }
}

/** The adjustable role of a path; owners always have all permissions. */
async function roleOf(visit: PageContext): Promise<NamedRole | null> {
  const found = (await loadRoles(visit)).find(({ role }) => role === visit.params.role)
  return found && found.role !== 'owner' ? found : null
}

/** A permission to tick, with what it brings along (ROLE-111). */
function optionOf(permission: Permission): Option {
  const requires = listRequired(permission)
  // What those bring along stands at them.
  const direct = requires.filter((one) => !requires.some((other) => listRequired(other).includes(one)))
  const label = PERMISSION_NAMES[permission]
  return { value: permission, label, requires, note: direct.map((one) => `+ ${permissionPhrase(one)}`).join('\n') }
}

const name = { label: 'Nome', kind: lineInput, isRequired: true, hint: 'Por exemplo: Repositor, Vendedora.' } as const

function fieldsOf({ role }: NamedRole): Fields {
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
  return { ...(isOwnRole(role) && { name }), permissions, ...limits }
}

const textOf = (cents: number | null): string | null => (cents === null ? null : fromCents(cents))

const RoleForm = z.object({
  name: AdjustRoleInput.shape.name,
  permissions: AdjustRoleInput.shape.permissions,
  return_limit: AdjustRoleInput.shape.return_limit.default(null),
  discount_limit: AdjustRoleInput.shape.discount_limit.default(null),
})

const at = { section: 'settings', access: 'manage_company' } as const

/** What the role is, whatever its permissions, and what a standard one has by default. */
const RoleIntro = ({ role }: NamedRole) => (
  <p>
    {getTraits(role).readsOnly ? 'Este perfil só consulta. ' : ''}
    Vale a partir da próxima página de cada pessoa com este perfil.{' '}
    {!isOwnRole(role) && `Por padrão: ${ROLE_PRESETS[getBaseRole(role)].granted.map(permissionPhrase).join('; ')}.`}
  </p>
)

/** Roles of the company: a standard one is adjusted, and restored by choosing its preset again; own ones come and go. */
export const rolePages: readonly PanelRoute[] = [
  { path: ROLES_PATH, section: 'settings', access: 'see_company', show: showRoles },
  ...formPages({
    ...at,
    path: NEW_PATH,
    subject: loadRoles,
    title: () => 'Novo perfil',
    intro: () => (
      <p>O perfil começa igual ao que você copiar: depois escolha o que ele pode. Você só dá permissões que tem.</p>
    ),
    label: 'Criar perfil',
    back: () => ROLES_PATH,
    fields: (roles) => ({
      name,
      copy_of: { label: 'Copiar de', kind: choiceInput(roleOptions(roles)), isRequired: true },
    }),
    initial: () => ({ copy_of: 'clerk' }),
    schema: CreateRoleInput,
    async act(submission, _, input) {
      const answer = await submission.run(createRole, input)
      if (isRefusal(answer)) return answer
      const roles = await loadAdjustedRoles(submission.primary)
      const made = listOwnRoles(roles).find((role) => roles[role]?.name === input.name)
      return { to: made ? `${ROLES_PATH}/${made}` : ROLES_PATH, flash: 'perfil-criado' }
    },
  }),
  ...formPages({
    ...at,
    path: ONE,
    subject: roleOf,
    title: ({ name }) => `Perfil de acesso: ${name}`,
    before: ({ role }) =>
      isOwnRole(role) && (
        <p>
          <a href={link(`${ROLES_PATH}/${role}/remover`)}>Remover este perfil</a>
        </p>
      ),
    intro: RoleIntro,
    label: 'Salvar',
    back: () => ROLES_PATH,
    fields: fieldsOf,
    initial: ({ name, granted, limits }) => ({
      name,
      permissions: granted,
      return_limit: textOf(limits.return_goods),
      discount_limit: textOf(limits.give_discount),
    }),
    schema: RoleForm,
    act: (submission, { role }, input) =>
      runAndRedirect(submission, adjustRole, { role, ...input }, { to: ROLES_PATH, flash: 'perfil-alterado' }),
  }),
  ...formPages({
    ...at,
    path: `${ONE}/remover`,
    subject: async (visit) => {
      const found = await roleOf(visit)
      return found && isOwnRole(found.role) ? { name: found.name, role: found.role } : null
    },
    title: ({ name }) => `Remover o perfil ${name}`,
    intro: () => <p>Só sai o perfil que ninguém tem. O que as pessoas fizeram com ele continua no histórico.</p>,
    label: 'Remover perfil',
    isDangerous: true,
    back: ({ role }) => `${ROLES_PATH}/${role}`,
    fields: () => ({}),
    schema: z.object({}),
    act: (submission, { role }) =>
      runAndRedirect(submission, removeRole, { role }, { to: ROLES_PATH, flash: 'perfil-removido' }),
  }),
]

/** Explanation of each role, by default; the settings show what the company has adjusted. */
const ROLE_RIGHTS: Readonly<Record<BaseRole, string>> = {
  owner: 'vê e altera tudo: também usuários, chaves de API, webhooks e configurações.',
  manager: 'cuida da loja: vê e altera tudo, menos usuários, integrações e configurações; aprova operações dos caixas.',
  clerk:
    'vende e cuida de catálogo, clientes e contas a receber; vê só as próprias vendas de hoje, não cancela as de outros, não altera preços e não baixa arquivos.',
  accountant:
    'vê vendas, recibos, catálogo com custos e contas, baixa os arquivos e verifica a auditoria, sem o conteúdo dos eventos; não altera nada e não entra nos caixas.',
  auditor: 'vê tudo até uma data, inclusive a auditoria; não altera nada e não entra nos caixas.',
}

export const RolesExplained = () => (
  <details>
    <summary>Permissões de cada perfil</summary>
    <ul>
      {ROLES.map((one) => (
        <li key={one}>
          <strong>{ROLE_NAMES[one]}</strong> {ROLE_RIGHTS[one]}
        </li>
      ))}
    </ul>
  </details>
)
