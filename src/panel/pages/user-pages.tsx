import * as z from 'zod'
import type { NewInvitation } from '#access/one-time-links.ts'
import { InviteFields, inviteUser, renewInvitation } from '#commands/invitation-commands.ts'
import { CreateUserInput, deactivateUser, reactivateUser, updateUser } from '#commands/user-commands.ts'
import { formatDateTime, formatDay, formatPersonName } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { getRoleName, getTraits, seesPersons } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import type { UserObject } from '#projections/users.ts'
import { getUser, loadAdjustedRoles } from '#queries/company-queries.ts'
import { choiceInput, dateInput, emailInput, lineInput, yesOrNoInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { dataExportActions } from '../person-file.ts'
import { History } from '../record-history.tsx'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, Facts, Secret, StateBadge } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { forgetAction, forgetPages } from './erase-person-pages.tsx'
import { endSessions, SessionsCard } from './profile-pages.tsx'
import { loadRoles, RolesExplained, roleOptions } from './role-pages.tsx'
import { recoveryActions, secondFactorText } from './user-recovery.tsx'

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
const roleField = async (visit: PageContext) => ({
  label: 'Perfil de acesso',
  kind: choiceInput(roleOptions(await loadRoles(visit))),
  isRequired: true,
})
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
const email = { label: 'E-mail', kind: emailInput, isRequired: true } as const

const Changes = CreateUserInput.omit({ email: true, password_hash: true })

/** Without the fields of auditors for other roles: the browser sends hidden fields too. */
function termsOfRole<F extends z.infer<typeof Changes>>({ access_until, personal_data, ...fields }: F) {
  return getTraits(fields.role).isGuest ? { ...fields, access_until, personal_data } : fields
}

type User = Omit<UserObject, 'company_id'>

/** The user of a path, with times on the company's clock; null if it does not exist. */
const userOf = (visit: PageContext): Promise<User | null> =>
  loadRecord(visit, ({ readModel }, id) => getUser(readModel.reader, id))

const loadRoleName = async (visit: PageContext, { role }: Pick<User, 'role'>): Promise<string> =>
  getRoleName(role, await loadAdjustedRoles(visit.readModel.reader))

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
  const { isGuest } = getTraits(user.role)
  const body = (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', formatPersonName(user.name)],
            ['E-mail', user.email],
            ['Perfil de acesso', await loadRoleName(visit, user)],
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
      {await History({ visit, subject: `user/${user.id}`, isNowOnly: true })}
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
    fields: async (_, visit) => ({ name, role: await roleField(visit), email, ...terms }),
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
    fields: async (_, visit) => ({ name, role: await roleField(visit), ...terms }),
    initial: (user) => ({ ...user, personal_data: getTraits(user.role).isGuest && user.personal_data }),
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
  const roles = await loadAdjustedRoles(visit.readModel.reader)
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
        { head: 'Perfil de acesso', cell: ({ role }) => getRoleName(role, roles) },
        { head: 'Duas etapas', cell: ({ email }) => (methods.has(email ?? '') ? 'Ativada' : '—') },
        { head: 'Situação', cell: ({ status }) => <UserBadge status={status} /> },
      ]}
    />
  )
}
