import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { LoginFailure } from '#access/login.ts'
import { Email } from '#domain/text.ts'
import { routed } from '#http/middleware/observe.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { doneBefore, forgetDone } from './cookies.ts'
import { formText } from './forms/form.ts'
import { onlyBy } from './guard.ts'
import { link, PANEL } from './link.ts'
import { type LoginTarget, LoginTargetFields, loginTargetOf, openSession } from './open-session.tsx'
import { formOf } from './page-context.ts'
import type { PanelServices } from './route.ts'
import { beginSecondStep, SECOND_STEP_PATH, submitSecondStep } from './second-step.tsx'
import { clearSessionCookie, loginOriginOf, panelSessionOf, requireCsrf } from './session.ts'
import { Alert } from './ui/parts.tsx'
import { FLASHES, type FlashCode, flashClassOf } from './words/flashes.ts'

/** Login and logout. */
export function loginRoutes(context: PanelServices, readForm: RequestHandler): Router {
  const { login, sessions } = context.access
  const router = express.Router({ caseSensitive: true })
  const enter = router.route('/entrar').all(routed(`${PANEL}/entrar`))
  enter.get((request, response) => {
    const done = doneBefore(request, request.query.feito)
    if (done) forgetDone(response)
    sendLogin(response, {
      email: '',
      target: { next: String(request.query.para ?? ''), typed: '', company: '' },
      flash: done,
    })
  })
  enter.post(readForm, async (request, response) => {
    const form = formOf(request)
    const [address, password] = [formText(form, 'email'), formText(form, 'password')]
    const target = loginTargetOf(form)
    const email = Email.safeParse(address)
    // An invalid e-mail address has no user.
    const outcome = email.success ? await login.logIn({ email: email.data, password }, loginOriginOf(request)) : WRONG
    if (outcome.kind === 'secondStep') return beginSecondStep(context, response, outcome, target)
    const failure =
      outcome.kind === 'loggedIn' ? await openSession(context, request, response, { ...outcome, target }) : outcome
    if (failure) sendRefused(response, failure, { email: address, target })
  })
  enter.all(onlyBy('GET, HEAD, POST'))
  router
    .route(SECOND_STEP_PATH)
    .all(routed(`${PANEL}${SECOND_STEP_PATH}`))
    // Opened without the form: the login begins again.
    .get((_request, response) => sendRedirect(response, link('/entrar')))
    .post(readForm, (request, response) => submitSecondStep(context, request, response))
    .all(onlyBy('GET, HEAD, POST'))
  router
    .route('/sair')
    .all(routed(`${PANEL}/sair`))
    .post(readForm, (request, response) => leave(request, response))
    .all(onlyBy('POST'))

  async function leave(request: Request, response: Response): Promise<void> {
    const session = await panelSessionOf(context, request)
    if (session) {
      requireCsrf(session, formOf(request))
      await sessions.revoke(session)
    }
    clearSessionCookie(request, response)
    sendRedirect(response, link('/entrar'), 'saiu')
  }
  return router
}

const WRONG = { kind: 'wrong', message: 'E-mail ou senha incorretos.' } as const

const tooMany = (seconds: number): string => `Muitas tentativas. Aguarde ${seconds} segundos e tente de novo.`

function sendRefused(response: Response, failure: LoginFailure, page: Pick<LoginPage, 'email' | 'target'>): void {
  if (failure.kind === 'limited') response.setHeader('Retry-After', failure.retryAfter)
  const [status, problem] = failure.kind === 'wrong' ? [401, WRONG.message] : [429, tooMany(failure.retryAfter)]
  sendLogin(response, { ...page, problem }, status as number)
}

interface LoginPage {
  readonly email: string
  readonly target: LoginTarget
  readonly flash?: FlashCode | null
  readonly problem?: string
}

export function sendLogin(response: Response, { email, target, flash, problem }: LoginPage, status = 200): void {
  const body = (
    <form method="post" action={link('/entrar')} class="form">
      {flash && (
        <p class={flashClassOf(flash)} role="status">
          {FLASHES[flash]}
        </p>
      )}
      {problem && <Alert>{problem}</Alert>}
      <LoginTargetFields target={target} />
      <p>
        <label for="email">E-mail</label>
        <input id="email" name="email" type="email" autocomplete="username" required value={email} />
      </p>
      <p>
        <label for="password">Senha</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required maxlength={200} />
      </p>
      <div class="actions">
        <button type="submit" class="main">
          Entrar
        </button>
        <a href={link('/esqueci')}>Esqueci a senha</a>
      </div>
    </form>
  )
  sendPlainPage(response, { title: 'Entrar', status, body })
}
