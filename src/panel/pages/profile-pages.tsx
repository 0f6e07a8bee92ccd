import * as z from 'zod'
import { changeOwnPassword, Pin } from '#access/login.ts'
import type { OpenSession, SessionsOf } from '#access/open-sessions.ts'
import { hashPassword, Password } from '#access/passwords.ts'
import { changePin } from '#commands/user-commands.ts'
import { formatDateTime } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { getRoleName } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { loadAdjustedRoles } from '#queries/company-queries.ts'
import { passwordInput } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { ButtonForm } from '../ui/form-fields.tsx'
import { buttonRoute, formPages } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Facts, PanelBadge } from '../ui/page-parts.tsx'
import { MORNING_PATH, morningPages } from './good-morning.tsx'
import { SecondFactorsCard, toPasswordRefusal } from './second-factor-pages.tsx'

type NamePatterns = readonly (readonly [word: RegExp, name: string])[]

/** The first match counts: browsers also name those they are compatible with. */
const BROWSERS: NamePatterns = [
  [/Edg/, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser/, 'Samsung Internet'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrom|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
]
const SYSTEMS: NamePatterns = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'Mac'],
  [/CrOS/, 'Chromebook'],
  [/Linux/, 'Linux'],
]

/** Readable form of a user agent: `Chrome, Android`. */
function browserName(userAgent: string | null): string {
  const found = [BROWSERS, SYSTEMS].flatMap((named) => named.find(([word]) => word.test(userAgent ?? ''))?.[1] ?? [])
  return found.length === 0 ? 'Navegador desconhecido' : found.join(', ')
}

interface SessionsProps {
  readonly visit: PageContext
  readonly of: SessionsOf
  /** Path of the form below the panel. */
  readonly to: string
  /** Label of the button that ends all other sessions. */
  readonly endAll: string
}

const idOf = ({ session }: Pick<PageContext, 'session'>): string => session.sessionHash.toString('hex')

/** Browsers logged in to this company. */
export async function SessionsCard({ visit, of, to, endAll }: SessionsProps) {
  const sessions = await visit.context.access.sessions.list(of)
  const own = idOf(visit)
  const { timezone } = visit.readModel
  return (
    <Card
      title="Sessões abertas"
      id="sessoes"
      aside={sessions.some(({ id }) => id !== own) && <ButtonForm visit={visit} to={to} label={endAll} isDangerous />}
    >
      <ListTable<OpenSession>
        isList
        caption="Sessões abertas"
        rows={sessions}
        empty="Nenhuma sessão aberta."
        columns={[
          {
            head: 'Navegador',
            cell: ({ id, user_agent }) => (
              <>
                {browserName(user_agent)} {id === own && <PanelBadge tone="good">Esta</PanelBadge>}
              </>
            ),
          },
          { head: 'Desde', cell: ({ created_at }) => formatDateTime(created_at, timezone) },
          { head: 'Último uso', cell: ({ last_seen_at }) => formatDateTime(last_seen_at, timezone) },
          {
            head: 'Encerrar',
            cell: ({ id }) =>
              id !== own && <ButtonForm visit={visit} to={to} label="Encerrar" values={{ sessao: id }} />,
          },
        ]}
      />
    </Card>
  )
}

/** Ends the session in the form, or all others, then redirects to `back`. */
export async function endSessions(submission: FormSubmission, of: SessionsOf, back: string): Promise<Redirect> {
  const { sessions } = submission.context.access
  const id = formText(submission.form, 'sessao')
  await sessions.end(of, id === '' ? { allBut: submission.session.sessionHash } : { id })
  return { to: back, flash: id === '' ? 'sessoes-encerradas' : 'sessao-encerrada' }
}

const PATH = '/conta'
const END_PATH = `${PATH}/encerrar-sessoes`

const FIELDS: Fields = {
  current_password: { label: 'Senha atual', kind: passwordInput('current-password'), isRequired: true, columns: 12 },
  new_password: {
    label: 'Senha nova',
    kind: passwordInput('new-password'),
    isRequired: true,
    columns: 12,
    hint: 'De 8 a 200 caracteres.',
  },
  repeated: { label: 'Confirme a senha', kind: passwordInput('new-password'), isRequired: true, columns: 12 },
}

const PasswordForm = z
  .object({ current_password: z.string().max(200), new_password: Password, repeated: z.string() })
  .refine(({ new_password, repeated }) => new_password === repeated, {
    path: ['repeated'],
    message: 'as senhas não são iguais',
  })

const PIN_FIELDS: Fields = {
  current_password: { label: 'Senha atual', kind: passwordInput('current-password'), isRequired: true, columns: 12 },
  pin: {
    label: 'PIN novo',
    kind: passwordInput('new-password'),
    isRequired: true,
    columns: 6,
    hint: '6 dígitos, sem sequências como 123456.',
  },
  repeated: { label: 'Confirme o PIN', kind: passwordInput('new-password'), isRequired: true, columns: 6 },
}

const PinForm = z
  .object({ current_password: z.string().max(200), pin: Pin, repeated: z.string() })
  .refine(({ pin, repeated }) => pin === repeated, { path: ['repeated'], message: 'os PINs não são iguais' })

/** The password confirms that the session is used by its owner: the PIN approves operations of others. */
async function setPin(
  submission: FormSubmission,
  { current_password: password, pin }: z.infer<typeof PinForm>,
): Promise<Redirect | Refusal> {
  const { session, context, address } = submission
  const confirmed = await context.access.login.confirm({ email: session.email, password }, { address, isInside: true })
  if (confirmed.kind !== 'right') return toPasswordRefusal(confirmed)
  const answer = await submission.run(changePin, { id: session.userId, pin_hash: await hashPassword(pin) })
  return isRefusal(answer) ? answer : { to: PATH, flash: 'pin-alterado' }
}

const showProfile = async (visit: PageContext): Promise<PanelPage> => ({
  title: 'Minha conta',
  body: (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', visit.session.userName],
            ['E-mail', visit.session.email],
            ['Perfil de acesso', getRoleName(visit.session.role, await loadAdjustedRoles(visit.readModel.reader))],
            ['Empresa', visit.session.companyName],
          ]}
        />
      </Card>
      {await SecondFactorsCard({ visit })}
      {await SessionsCard({ visit, of: visit.session, to: END_PATH, endAll: 'Encerrar as outras' })}
    </>
  ),
  more: [
    { label: 'Trocar senha', to: `${PATH}/senha` },
    { label: 'Definir PIN', to: `${PATH}/pin` },
    { label: 'Bom dia por e-mail', to: MORNING_PATH },
    { label: 'Trocar de empresa', to: '/empresas' },
  ],
})

/** All sessions of the person end with the old password, including this one. */
async function change(
  { session, context, address, requestId }: FormSubmission,
  { current_password: current, new_password: next }: z.infer<typeof PasswordForm>,
): Promise<Redirect | Refusal> {
  const services = { login: context.access.login, writer: context.writer }
  const outcome = await changeOwnPassword(services, session, { current, next }, { address, requestId })
  if (isRefusal(outcome)) return outcome
  return outcome.kind === 'changed' ? { to: '/entrar', flash: 'senha-trocada' } : toPasswordRefusal(outcome)
}

/** The user's own account: password and sessions. */
export const profilePages: readonly PanelRoute[] = [
  { path: PATH, section: 'profile', show: showProfile },
  buttonRoute({
    path: END_PATH,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    act: (submission, own) => endSessions(submission, own, PATH),
  }),
  ...formPages({
    path: `${PATH}/senha`,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    title: () => 'Trocar senha',
    intro: () => <p>Você sairá de todos os aparelhos e caixas.</p>,
    label: 'Trocar senha',
    back: () => PATH,
    fields: () => FIELDS,
    schema: PasswordForm,
    act: (submission, _session, input) => change(submission, input),
  }),
  ...formPages({
    path: `${PATH}/pin`,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    title: () => 'Definir PIN',
    intro: () => <p>Com o PIN você autoriza operações de outras pessoas no painel. Ele não serve para entrar.</p>,
    label: 'Definir PIN',
    back: () => PATH,
    fields: () => PIN_FIELDS,
    schema: PinForm,
    act: (submission, _session, input) => setPin(submission, input),
  }),
  ...morningPages,
]
