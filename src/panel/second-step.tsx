import type { Request, Response } from 'express'
import type { PendingLogin } from '#access/login.ts'
import type { SecondStep } from '#access/second-steps.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { asset } from './assets.ts'
import { formText } from './forms/form.ts'
import { link } from './link.ts'
import { type LoginTarget, LoginTargetFields, loginTargetOf, openSession } from './open-session.tsx'
import { formOf } from './page-context.ts'
import type { PanelServices } from './route.ts'
import { loginOriginOf } from './session.ts'
import { Alert } from './ui/parts.tsx'

export const SECOND_STEP_PATH = '/entrar/verificar'

const STEP = 'etapa'

/** Asks for the second factor after the password. The form has the step's token; no cookie is set. */
export async function beginSecondStep(
  context: PanelServices,
  response: Response,
  { holder }: PendingLogin,
  target: LoginTarget,
): Promise<void> {
  const { token, step } = await context.access.secondFactors.steps.begin('login', holder)
  await sendSecondStep(context, response, { token, step, target })
}

/** The answer to the second step: it opens the session, once. */
export async function submitSecondStep(context: PanelServices, request: Request, response: Response): Promise<void> {
  const { login, secondFactors } = context.access
  const form = formOf(request)
  const token = formText(form, STEP)
  const target = loginTargetOf(form)
  const step = await secondFactors.steps.find('login', token)
  if (!step) return sendRedirect(response, link('/entrar', { para: target.next || undefined }), 'etapa-vencida')
  const answer = { code: formText(form, 'code').slice(0, 40), passkey: formText(form, 'passkey') }
  const outcome = await login.completeLogin(step, loginOriginOf(request), () => secondFactors.verify(step, answer))
  const shown = { token, step, target }
  if (outcome.kind === 'limited') {
    response.setHeader('Retry-After', outcome.retryAfter)
    const problem = `Muitas tentativas. Aguarde ${outcome.retryAfter} segundos e tente de novo.`
    return sendSecondStep(context, response, { ...shown, problem, status: 429 })
  }
  if (outcome.kind === 'wrong') {
    await secondFactors.steps.countFailure(step)
    const problem =
      answer.passkey === '' ? 'Código incorreto ou já usado.' : 'Não foi possível confirmar a chave de acesso.'
    return sendSecondStep(context, response, { ...shown, problem, status: 401 })
  }
  // Of two right answers at a time one opens a session.
  const isOpen = await secondFactors.steps.end(step)
  const refused = isOpen ? await openSession(context, request, response, { ...outcome, target }) : { kind: 'wrong' }
  if (refused) sendRedirect(response, link('/entrar'), 'etapa-vencida')
}

interface SecondStepPage {
  readonly token: string
  readonly step: SecondStep
  readonly target: LoginTarget
  readonly problem?: string
  readonly status?: number
}

async function sendSecondStep(
  { access: { secondFactors } }: PanelServices,
  response: Response,
  { token, step, target, problem, status = 200 }: SecondStepPage,
): Promise<void> {
  const passkeys = await secondFactors.loginOptions(step)
  const body = (
    <form method="post" action={link(SECOND_STEP_PATH)} class="form">
      {problem && <Alert>{problem}</Alert>}
      <p>Digite o código do aplicativo autenticador ou um código de recuperação.</p>
      <input type="hidden" name={STEP} value={token} />
      <LoginTargetFields target={target} />
      <div class="field w12">
        <label for="code">Código</label>
        <input id="code" name="code" type="text" autocomplete="one-time-code" maxlength={40} autofocus />
      </div>
      <div class="actions">
        <button type="submit" class="main">
          Confirmar
        </button>
        <a href={link('/entrar')}>Voltar</a>
      </div>
      {passkeys && <PasskeyButton options={passkeys} />}
    </form>
  )
  sendPlainPage(response, { title: 'Verificação em duas etapas', status, body })
}

interface PasskeyProps {
  /** For `navigator.credentials`. */
  readonly options: object
}

/** A button that asks the browser for a passkey and submits its answer. Its script shows it where there are passkeys. */
const PasskeyButton = ({ options }: PasskeyProps) => (
  <div class="actions" data-passkey="get" data-options={JSON.stringify(options)} hidden>
    <input type="hidden" name="passkey" value="" />
    <button type="button">Usar chave de acesso</button>
    <PasskeyProblem />
  </div>
)

/** In a form that registers a passkey: its submission asks the browser first. */
export const PasskeyForm = ({ options }: PasskeyProps) => (
  <div data-passkey="create" data-options={JSON.stringify(options)}>
    <input type="hidden" name="passkey" value="" />
    <PasskeyProblem />
  </div>
)

const PasskeyProblem = () => (
  <>
    <p class="error" role="alert" hidden>
      O navegador não confirmou a chave de acesso. Tente de novo.
    </p>
    <script src={asset('passkey.js')} defer />
  </>
)
