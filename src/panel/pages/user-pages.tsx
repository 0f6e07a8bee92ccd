import * as z from 'zod'
import type { NewInvitation } from '#access/one-time-links.ts'
import { InviteFields, inviteUser, renewInvitation } from '#commands/invitation-commands.ts'
import {
  AdjustRoleInput,
  adjustRole,
  CreateUserInput,
  deactivateUser,
  reactivateUser,
  updateUser,
} from '#commands/user-commands.ts'
import { fromCents } from '#domain/money.ts'
import { formatDateTime, formatDay, formatPersonName } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import {
  grantableTo,
  LIMITED_PERMISSIONS,
  listRequired,
  may,
  PERMISSIONS,
  type Permission,
  ROLE_PRESETS,
  ROLE_TRAITS,
  ROLES,
  type Role,
  type RolePermissions,
  seesPersons,
  toRolePermissions,
} from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import type { UserObject } from '#projections/users.ts'
import { getUser, loadAdjustedRoles } from '#queries/company-queries.ts'
import {
  amountInput,
  choiceInput,
  choicesInput,
  dateInput,
  emailInput,
  lineInput,
  namedOptions,
  type Option,
  yesOrNoInput,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { dataExportActions } from '../person-file.ts'
import { History } from '../record-history.tsx'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, Secret, StateBadge } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { LIMIT_NAMES, limitText, PERMISSION_NAMES, permissionPhrase, ROLE_NAMES } from '../words/message-words.ts'
import { forgetAction, forgetPages } from './erase-person-pages.tsx'
import { endSessions, SessionsCard } from './profile-pages.tsx'
import { recoveryActions, secondFactorText } from './user-recovery.tsx'

export const ROLES_PATH = '/configuracoes/perfis'

const rolesOf = async ({ readModel }: PageContext): Promise<RolePermissions[]> => {
  const adjusted = await loadAdjustedRoles(readModel.reader)
  return ROLES.map((role) => toRolePermissions(role, adjusted))
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
  const requires = listRequired(permission)
  // What those bring along stands at them.
  const direct = requires.filter((one) => !requires.some((other) => listRequired(other).includes(one)))
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

/** Explanation of each role, by default; the settings show what the company has adjusted. */
const ROLE_RIGHTS: Readonly<Record<Role, string>> = {
  owner: 'vê e altera tudo: também usuários, chaves de API, webhooks e configurações.',
  manager: 'cuida da loja: vê e altera tudo, menos usuários, integrações e configurações; aprova operações dos caixas.',
  clerk:
    'vende e cuida de catálogo, clientes e contas a receber; vê só as próprias vendas de hoje, não cancela as de outros, não altera preços e não baixa arquivos.',
  accountant:
    'vê vendas, recibos, catálogo com custos e contas, baixa os arquivos e verifica a auditoria, sem o conteúdo dos eventos; não altera nada e não entra nos caixas.',
  auditor: 'vê tudo até uma data, inclusive a auditoria; não altera nada e não entra nos caixas.',
}

const RolesExplained = () => (
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

const STATES = {
  active: ['good', 'Ativo'],
  inactive: ['plain', 'Desativado'],
  invited: ['plain', 'Convidado'],
  cancelled: ['plain', 'Convite cancelado'],
} as const

const HOME = '/configuracoes'
export const USERS_PATH = `${HOME}/usuarios`
const ONE = `${USERS_PATH}/:id`
const at = { section: 'settings', access: 'see_company' } as const
const changing = { ...at, access: 'manage_users' } as const

const name = { label: 'Nome', kind: lineInput, isRequired: true } as const
const role = { label: 'Perfil de acesso', kind: choiceInput(namedOptions(ROLE_NAMES)), isRequired: true } as const
const terms: Fields = {
  access_until: {
    label: 'Acesso até',
    kind: dateInput,
    columns: 4,
    hint: 'Obrigatório: último dia de acesso do auditor.',
    of: 'auditor',
  },
  personal_data: { label: 'Vê dados pessoais', kind: yesOrNoInput, columns: 12, of: 'auditor' },
}
const NEW: Fields = { name, role, email: { label: 'E-mail', kind: emailInput, isRequired: true }, ...terms }

const Changes = CreateUserInput.omit({ email: true, password_hash: true })

/** Without the fields of auditors for other roles: the browser sends hidden fields too. */
function termsOfRole<F extends z.infer<typeof Changes>>({ access_until, personal_data, ...fields }: F) {
  return ROLE_TRAITS[fields.role].isGuest ? { ...fields, access_until, personal_data } : fields
}

type User = Omit<UserObject, 'company_id'>

/** The user of a path, with times on the company's clock; null if it does not exist. */
const userOf = (visit: PageContext): Promise<User | null> =>
  loadRecord(visit, ({ readModel }, id) => getUser(readModel.reader, id))

const UserBadge = ({ status }: Pick<User, 'status'>) => <StateBadge state={STATES[status]} />

async function showUser(visit: PageContext): Promise<PanelPage | null> {
  const user = await userOf(visit)
  if (!user) return null
  const here = `${USERS_PATH}/${user.id}`
  const of = { companyId: visit.session.companyId, userId: user.id }
  const isActive = user.status === 'active'
  const hasJoined = isActive || user.status === 'inactive'
  const isSelf = user.id === visit.session.userId
  const isForgotten = user.forgotten_at !== null
  const { isGuest } = ROLE_TRAITS[user.role]
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', formatPersonName(user.name)],
            ['E-mail', user.email],
            ['Perfil de acesso', ROLE_NAMES[user.role]],
            ['Acesso até', isGuest && user.access_until && formatDay(user.access_until)],
            ['Dados pessoais', isGuest && (seesPersons(user) ? 'Vê' : 'Retidos')],
            ['Situação', <UserBadge status={user.status} />],
            ['Verificação em duas etapas', hasJoined ? await secondFactorText(visit, user.email) : null],
            ['Cadastro', formatDateTime(user.created_at, visit.readModel.timezone)],
            [
              'Dados pessoais excluídos (LGPD)',
              user.forgotten_at && formatDateTime(user.forgotten_at, visit.readModel.timezone),
            ],
          ]}
        />
      </Card>
      {visit.reaches('POST', `${here}/encerrar-sessoes`) &&
        (await SessionsCard({ visit, of, to: `${here}/encerrar-sessoes`, endAll: 'Encerrar todas' }))}
      {await History({ visit, subject: `user/${user.id}` })}
    </>
  )
  const isOthers = hasJoined && !isSelf && !isForgotten
  const recovery = recoveryActions(visit, user)
  return {
    title: formatPersonName(user.name),
    parent: { label: 'Configurações', to: HOME },
    body,
    main: !isForgotten && { label: 'Editar', to: `${here}/editar` },
    more: [
      isSelf && { label: 'Trocar senha', to: '/conta/senha' },
      !hasJoined && !isForgotten && { label: 'Enviar convite de novo', to: `${here}/convidar`, values: {} },
      recovery.link,
      isOthers && !isActive && { label: 'Reativar', to: `${here}/reativar`, values: {} },
      ...dataExportActions('user', user, visit),
    ],
    dangers: [
      user.status === 'invited' && { label: 'Cancelar convite', to: `${here}/desativar` },
      recovery.removal,
      isOthers && isActive && { label: 'Desativar', to: `${here}/desativar` },
      !isSelf && forgetAction(visit, user, here),
    ],
  }
}

/** Sends an invitation's link, or shows it without a mail server. A repeated form neither shows nor sends it again. */
async function handOver(
  { context, session, requestId }: FormSubmission,
  invitation: Pick<NewInvitation, 'link'>,
  { email }: Pick<User, 'email'>,
  isReplayed: boolean,
): Promise<PanelPage | Redirect> {
  const { invitations } = context.access
  if (isReplayed) return { to: HOME, flash: 'convidado' }
  try {
    if (email !== null && (await invitations.send(invitation, { email, companyId: session.companyId })))
      return { to: HOME, flash: 'convidado' }
  } catch (error) {
    context.log('panel: invitation e-mail failed', error, { request_id: requestId })
    return { to: HOME, flash: 'convite-nao-enviado' }
  }
  const body = (
    <>
      <Secret title="Link do convite" secret={invitation.link}>
        <p class="hint">
          O envio de e-mail não está configurado. Copie o link e mande para a pessoa (válido por 7 dias, uso único).
        </p>
      </Secret>
      <ButtonLink to={HOME}>Ir para as configurações</ButtonLink>
    </>
  )
  return { title: 'Convite criado', body }
}

async function invite(
  submission: FormSubmission,
  fields: z.infer<typeof InviteFields>,
): Promise<PanelPage | Redirect | Refusal> {
  const { link, ...made } = submission.context.access.invitations.create()
  const answer = await submission.run(inviteUser, { ...fields, ...made })
  return isRefusal(answer) ? answer : handOver(submission, { link }, fields, answer.replayed)
}

async function inviteAgain(submission: FormSubmission, { id, email }: User): Promise<PanelPage | Redirect | Refusal> {
  const { link, ...made } = submission.context.access.invitations.create()
  const answer = await submission.run(renewInvitation, { id, ...made })
  return isRefusal(answer) ? answer : handOver(submission, { link }, { email }, answer.replayed)
}

/** What happens when a person's access ends. */
const ENDING = {
  active:
    'A pessoa sai agora de todos os aparelhos e caixas, e não entra mais nesta empresa. O que ela fez continua registrado com o nome dela; o que o caixa dela vendeu e ainda não enviou é aceito por 30 dias. Você pode reativá-la quando quiser.',
  invited: 'O link do convite deixa de valer. A pessoa pode ser convidada de novo depois.',
}

const endingWords = (status: User['status']): string => (status === 'invited' ? 'Cancelar convite' : 'Desativar')

/** Users, roles and invitations. Only the person sets the password. */
export const userPages: readonly PanelRoute[] = [
  ...formPages({
    ...changing,
    path: `${USERS_PATH}/novo`,
    subject: () => ({}),
    title: () => 'Convidar usuário',
    intro: () => (
      <>
        <p>A pessoa recebe um link para aceitar o convite e criar a senha.</p>
        <RolesExplained />
      </>
    ),
    label: 'Convidar',
    back: () => HOME,
    fields: () => NEW,
    // The default role sees the least.
    initial: () => ({ role: 'clerk' }),
    schema: InviteFields,
    act: (submission, _, fields) => invite(submission, termsOfRole(fields)),
  }),
  { ...at, path: ONE, show: showUser },
  ...formPages({
    ...changing,
    path: `${ONE}/editar`,
    subject: userOf,
    title: (user) => `Editar ${formatPersonName(user.name)}`,
    label: 'Salvar',
    back: ({ id }) => `${USERS_PATH}/${id}`,
    intro: () => <RolesExplained />,
    fields: () => ({ name, role, ...terms }),
    initial: (user) => ({ ...user, personal_data: ROLE_TRAITS[user.role].isGuest && user.personal_data }),
    schema: Changes,
    act: (submission, { id }, changes) =>
      runAndRedirect(
        submission,
        updateUser,
        { id, ...termsOfRole(changes) },
        { to: `${USERS_PATH}/${id}`, flash: 'alterado' },
      ),
  }),
  buttonRoute({ ...changing, path: `${ONE}/convidar`, subject: userOf, act: inviteAgain }),
  buttonRoute({
    ...changing,
    path: `${ONE}/encerrar-sessoes`,
    subject: userOf,
    act: (submission, { id }) =>
      endSessions(submission, { companyId: submission.session.companyId, userId: id }, `${USERS_PATH}/${id}`),
  }),
  ...formPages({
    ...changing,
    path: `${ONE}/desativar`,
    subject: userOf,
    title: ({ name, status }) => `${endingWords(status)}: ${formatPersonName(name)}`,
    obstacle: ({ status }) =>
      status === 'active' || status === 'invited' ? null : 'Esta pessoa já não tem acesso à empresa.',
    intro: ({ status }) => <p>{status === 'invited' ? ENDING.invited : ENDING.active}</p>,
    label: ({ status }) => endingWords(status),
    isDangerous: true,
    back: ({ id }) => `${USERS_PATH}/${id}`,
    fields: () => ({}),
    schema: z.object({}),
    act: (submission, { id, status }) =>
      runAndRedirect(
        submission,
        deactivateUser,
        { id },
        { to: `${USERS_PATH}/${id}`, flash: status === 'invited' ? 'convite-cancelado' : 'desativado' },
      ),
  }),
  buttonRoute({
    ...changing,
    path: `${ONE}/reativar`,
    subject: userOf,
    act: (submission, { id }) =>
      runAndRedirect(submission, reactivateUser, { id }, { to: `${USERS_PATH}/${id}`, flash: 'reativado' }),
  }),
]

/** Erasure of a former user. */
export const userForgetting = forgetPages({
  path: ONE,
  section: 'settings',
  kind: 'user',
  goes: 'Serão apagados nome e e-mail do usuário, que não poderá mais entrar na empresa.',
  stays: 'O que a pessoa fez continua registrado com o número do usuário.',
  canWait: false,
  recordOf: userOf,
  personOf: ({ name }) => ({ name }),
})

export async function UserTable({
  visit,
  users,
}: {
  readonly visit: PageContext
  readonly users: readonly UserObject[]
}) {
  const emails = users.flatMap(({ email }) => email ?? [])
  const methods = await visit.context.access.secondFactors.methodsOf(emails)
  return (
    <ListTable
      isList
      caption="Usuários"
      rows={users}
      empty="Nenhum usuário ainda."
      columns={[
        { head: 'Nome', cell: ({ id, name }) => <a href={link(`${USERS_PATH}/${id}`)}>{formatPersonName(name)}</a> },
        { head: 'E-mail', cell: ({ email }) => email },
        { head: 'Perfil de acesso', cell: ({ role }) => ROLE_NAMES[role] },
        { head: 'Duas etapas', cell: ({ email }) => (methods.has(email ?? '') ? 'Ativada' : '—') },
        { head: 'Situação', cell: ({ status }) => <UserBadge status={status} /> },
      ]}
    />
  )
}
