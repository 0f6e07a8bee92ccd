import QRCode from 'qrcode'
import * as z from 'zod'
import type { LoginFailure } from '#access/login.ts'
import {
  createTotpSecret,
  isTotpSecret,
  type SecondFactor,
  totpUri,
  type VerifiedFactor,
} from '#access/second-factors.ts'
import { recordRecoveryCodes, recordSecondFactor, recordSecondFactorRemoval } from '#commands/user-commands.ts'
import { formatDateTime } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { limitedText } from '#domain/text.ts'
import type { SecondFactorMethod } from '#events/company-events.ts'
import { isRefusal } from '#ledger/command.ts'
import { choiceInput, lineInput, passwordInput } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { PasskeyForm } from '../panel-login.tsx'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card } from '../ui/page-parts.tsx'

export const METHOD_NAMES: Readonly<Record<SecondFactorMethod, string>> = {
  totp: 'Aplicativo autenticador',
  passkey: 'Chave de acesso',
}

const HOME = '/conta'
const PATH = `${HOME}/verificacao`
const own = { section: 'profile', changes: false } as const

const current_password = {
  label: 'Senha atual',
  kind: passwordInput('current-password'),
  isRequired: true,
  columns: 12,
} as const
const Confirmed = z.object({ current_password: z.string().max(200) })

/** Message of a refused password prompt. */
export const toPasswordRefusal = (failure: LoginFailure): Refusal =>
  failure.kind === 'wrong'
    ? refuseField('current_password', 'está incorreta')
    : refuseField('current_password', `muitas tentativas: aguarde ${failure.retryAfter} segundos`)

async function confirmPassword(
  { context, session, address }: FormSubmission,
  { current_password: password }: z.infer<typeof Confirmed>,
): Promise<Refusal | null> {
  const { email } = session
  const confirmed = await context.access.login.confirm({ email, password }, { address, isInside: true })
  return confirmed.kind === 'right' ? null : toPasswordRefusal(confirmed)
}

/** The user's second factors, with what can be done about them. */
export async function SecondFactorsCard({ visit }: { readonly visit: PageContext }) {
  const { session, context, readModel } = visit
  const { secondFactors } = context.access
  const [factors, left] = await Promise.all([
    secondFactors.list(session.email),
    secondFactors.recoveryCodes.count(session.email),
  ])
  const hasApp = factors.some(({ method }) => method === 'totp')
  return (
    <Card title="Verificação em duas etapas" id="verificacao">
      {factors.length === 0 ? (
        <p>
          Além da senha, o painel pede um código do celular ou uma chave de acesso. Recomendado para proprietários. Os
          caixas continuam entrando com a senha.
        </p>
      ) : (
        <FactorTable factors={factors} timezone={readModel.timezone} />
      )}
      {factors.length > 0 && (
        <p class="hint">{`Códigos de recuperação restantes: ${left}. Cada um vale uma vez, se você perder o aparelho.`}</p>
      )}
      <div class="actions">
        {!hasApp && <ButtonLink to={`${PATH}/aplicativo`}>Adicionar aplicativo</ButtonLink>}
        {secondFactors.takesPasskeys && <ButtonLink to={`${PATH}/chave`}>Adicionar chave de acesso</ButtonLink>}
        {factors.length > 0 && <ButtonLink to={`${PATH}/codigos`}>Novos códigos de recuperação</ButtonLink>}
        {factors.length > 0 && <ButtonLink to={`${PATH}/remover`}>Remover</ButtonLink>}
      </div>
    </Card>
  )
}

const FactorTable = ({
  factors,
  timezone,
}: {
  readonly factors: readonly SecondFactor[]
  readonly timezone: string
}) => (
  <ListTable
    isList
    caption="Verificação em duas etapas"
    rows={factors}
    empty=""
    columns={[
      {
        head: 'Método',
        cell: (factor) => factorName(factor),
      },
      { head: 'Desde', cell: ({ created_at }) => formatDateTime(created_at, timezone) },
      {
        head: 'Último uso',
        cell: ({ last_used_at }) => (last_used_at === null ? 'Nunca' : formatDateTime(last_used_at, timezone)),
      },
    ]}
  />
)

/** Recovery codes, shown on this page only. */
const codesPage = (codes: readonly string[]): PanelPage => ({
  title: 'Códigos de recuperação',
  body: (
    <Card title="Guarde estes códigos">
      <p>
        <strong>Copie agora: por segurança, não serão mostrados de novo.</strong> Cada código entra uma vez no lugar do
        aplicativo ou da chave de acesso.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code class="secret">{code}</code>
          </li>
        ))}
      </ul>
      <div class="actions">
        <button type="button" data-copy={codes.join('\n')}>
          Copiar
        </button>
        <ButtonLink to={HOME}>Ir para Minha conta</ButtonLink>
      </div>
    </Card>
  ),
})

/** Ends the sessions that began without a second factor, in all companies of the person. */
async function endOtherSessions({ context, session }: FormSubmission): Promise<void> {
  const { login, sessions } = context.access
  for (const { holder } of await login.membershipsOf(session.email)) {
    const allBut = holder.companyId === session.companyId ? session.sessionHash : null
    await sessions.end(holder, { allBut })
  }
}

/** Records and stores a verified factor. The first one brings the recovery codes. */
async function addFactor(submission: FormSubmission, factor: VerifiedFactor): Promise<PanelPage | Redirect | Refusal> {
  const { context, session, run } = submission
  const { secondFactors } = context.access
  const { method } = factor
  const answer = await run(recordSecondFactor, { id: session.userId, method })
  if (isRefusal(answer)) return answer
  if (answer.replayed) return { to: HOME, flash: 'sem-alteracao' }
  const addition = await secondFactors.add(session.email, factor)
  if (addition.kind === 'refused') return refuseField('code', 'este método já está na sua conta, ou há métodos demais')
  secondFactors.notify(session.email, { kind: 'second_factor_added' })
  if (addition.recoveryCodes === null) return { to: HOME, flash: 'alterado' }
  await endOtherSessions(submission)
  return codesPage(addition.recoveryCodes)
}

interface AppSetup {
  readonly secret: string
  /** SVG. */
  readonly image: string
}

const SECRET = 'chave'

/** The secret of the form if it is shown again, else a new one. Null for an invalid one. */
async function appSetup(visit: PageContext | FormSubmission): Promise<AppSetup | null> {
  const secret = 'form' in visit ? formText(visit.form, SECRET) : createTotpSecret()
  if (!isTotpSecret(secret)) return null
  const image = await QRCode.toString(totpUri(secret, visit.session.email), { type: 'svg', margin: 2 })
  return { secret, image }
}

const APP_FIELDS: Fields = {
  code: {
    label: 'Código do aplicativo',
    kind: lineInput,
    isRequired: true,
    hint: 'Digite os 6 números do aplicativo.',
  },
  current_password,
}

const appPages = formPages({
  ...own,
  path: `${PATH}/aplicativo`,
  subject: appSetup,
  title: () => 'Adicionar aplicativo autenticador',
  intro: ({ secret, image }) => (
    <>
      <p>Leia o código QR com um aplicativo autenticador e digite o código que ele mostra.</p>
      {/* SVG paths from the library; they contain none of the text. */}
      <div class="qr" role="img" aria-label="QR Code do aplicativo" dangerouslySetInnerHTML={{ __html: image }} />
      <p class="hint">
        Sem câmera, digite esta chave no aplicativo: <code id="segredo">{secret.match(/.{4}/g)?.join(' ')}</code>
      </p>
      <input type="hidden" name={SECRET} value={secret} />
    </>
  ),
  label: 'Adicionar',
  back: () => HOME,
  fields: () => APP_FIELDS,
  schema: Confirmed.extend({ code: z.string().max(20) }),
  async act(submission, { secret }, { code, ...confirmed }) {
    const refused = await confirmPassword(submission, confirmed)
    if (refused) return refused
    const factor = await submission.context.access.secondFactors.verifyNew({ method: 'totp', secret, code })
    return factor ? addFactor(submission, factor) : refuseField('code', 'está incorreto. Confira a hora do celular')
  },
})

interface PasskeySetup {
  readonly token: string
  readonly options: object
}

const NO_PASSKEYS = 'O endereço deste serviço é um número IP, e navegadores só criam chaves de acesso para nomes.'

const STEP = 'etapa'

/** Each page begins a step: its challenge is valid once. */
async function passkeySetup({ context, session }: PageContext): Promise<PasskeySetup> {
  const { secondFactors } = context.access
  const { email, personGeneration: generation, userName } = session
  const { token, step } = await secondFactors.steps.begin('registration', { email, generation })
  const options = await secondFactors.registrationOptions(step, userName)
  return { token, options: options ?? {} }
}

async function addPasskey(
  submission: FormSubmission,
  { label, ...confirmed }: z.infer<typeof Confirmed> & { readonly label: string },
): Promise<PanelPage | Redirect | Refusal> {
  const { context, session, form } = submission
  const { secondFactors } = context.access
  const refused = await confirmPassword(submission, confirmed)
  if (refused) return refused
  const step = await secondFactors.steps.find('registration', formText(form, STEP))
  const isOwn = step !== null && step.email === session.email && (await secondFactors.steps.end(step))
  const answer = formText(form, 'passkey')
  const factor = isOwn ? await secondFactors.verifyNew({ method: 'passkey', step, answer, label }) : null
  return factor
    ? addFactor(submission, factor)
    : refuseField('label', 'a chave de acesso não foi confirmada. Tente de novo')
}

const passkeyPages = formPages({
  ...own,
  path: `${PATH}/chave`,
  subject: async (visit) => (visit.context.access.secondFactors.takesPasskeys ? passkeySetup(visit) : NO_PASSKEYS),
  obstacle: (setup) => (typeof setup === 'string' ? setup : null),
  title: () => 'Adicionar chave de acesso',
  intro: (setup) => (
    <>
      <p>
        O navegador vai pedir a digital, o rosto, o PIN do aparelho ou uma chave de segurança. Dê um nome que lembre o
        aparelho.
      </p>
      {typeof setup !== 'string' && (
        <>
          <input type="hidden" name={STEP} value={setup.token} />
          <PasskeyForm options={setup.options} />
        </>
      )}
    </>
  ),
  label: 'Adicionar',
  back: () => HOME,
  fields: () => ({ label: { label: 'Nome da chave', kind: lineInput, isRequired: true }, current_password }),
  initial: () => ({ label: 'Este aparelho' }),
  schema: Confirmed.extend({ label: limitedText(1_060).trim().min(1).max(60) }),
  act: (submission, _setup, input) => addPasskey(submission, input),
})

const ownFactors = ({ context, session }: PageContext): Promise<readonly SecondFactor[]> =>
  context.access.secondFactors.list(session.email)

const noFactor = (factors: readonly SecondFactor[]): string | null =>
  factors.length === 0 ? 'A verificação em duas etapas não está ativada.' : null

const factorName = ({ method, label }: SecondFactor): string =>
  method === 'totp' ? METHOD_NAMES.totp : `${METHOD_NAMES.passkey}: ${label}`

const codePages = formPages({
  ...own,
  path: `${PATH}/codigos`,
  subject: ownFactors,
  obstacle: noFactor,
  title: () => 'Novos códigos de recuperação',
  intro: () => <p>Os códigos anteriores deixam de valer.</p>,
  label: 'Criar códigos',
  back: () => HOME,
  fields: () => ({ current_password }),
  schema: Confirmed,
  async act(submission, _factors, confirmed) {
    const { context, session, run } = submission
    const refused = await confirmPassword(submission, confirmed)
    if (refused) return refused
    const answer = await run(recordRecoveryCodes, { id: session.userId })
    if (isRefusal(answer)) return answer
    const { secondFactors } = context.access
    const codes = answer.replayed ? null : await secondFactors.recoveryCodes.renew(session.email)
    if (codes === null) return { to: HOME, flash: 'sem-alteracao' }
    secondFactors.notify(session.email, { kind: 'recovery_codes_renewed' })
    return codesPage(codes)
  },
})

const removalPages = formPages({
  ...own,
  path: `${PATH}/remover`,
  subject: ownFactors,
  obstacle: noFactor,
  title: () => 'Remover método',
  intro: () => <p>Sem nenhum método, o painel pede só a senha e os códigos de recuperação deixam de valer.</p>,
  label: 'Remover',
  isDangerous: true,
  back: () => HOME,
  fields: (factors) => {
    const options = factors.map((factor) => ({ value: factor.id, label: factorName(factor) }))
    return { id: { label: 'Método', kind: choiceInput(options), isRequired: true, columns: 12 }, current_password }
  },
  schema: Confirmed.extend({ id: z.string() }),
  async act(submission, factors, { id, ...confirmed }) {
    const factor = factors.find((one) => one.id === id)
    if (!factor) return refuseField('id', 'não está na sua conta')
    const { method } = factor
    const { context, session, run } = submission
    const refused = await confirmPassword(submission, confirmed)
    if (refused) return refused
    const answer = await run(recordSecondFactorRemoval, { id: session.userId, method })
    if (isRefusal(answer)) return answer
    await context.access.secondFactors.remove(session.email, id)
    context.access.secondFactors.notify(session.email, { kind: 'second_factor_removed' })
    return { to: HOME, flash: 'etapa-removida' }
  },
})

/** The user's own second factors. Each change needs the password: an open browser alone changes nothing. */
export const secondFactorPages: readonly PanelRoute[] = [...appPages, ...passkeyPages, ...codePages, ...removalPages]
