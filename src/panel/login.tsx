import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { LoginFailure } from '#access/login.ts'
import { Email } from '#domain/text.ts'
import { routed } from '#http/middleware/observe.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { textOf } from './forms/form.ts'
import { onlyBy } from './guard.ts'
import { link, PANEL } from './link.ts'
import type { PanelContext } from './route.ts'
import {
  clearSessionCookie,
  deviceCookie,
  requireCsrf,
  sessionOf,
  setDeviceCookie,
  setSessionCookie,
} from './session.ts'
import { Alert } from './ui/parts.tsx'
import { formOf } from './visit.ts'
import { FLASHES, flashOf } from './words/flashes.ts'

/** Logging in and out of the panel. */
export function loginRoutes(context: PanelContext, readForm: RequestHandler): Router {
  const { login, sessions } = context.panel
  const router = express.Router({ caseSensitive: true })
  const enter = router.route('/entrar').all(routed(`${PANEL}/entrar`))
  enter.get((request, response) => {
    const flash = flashOf(String(request.query.feito ?? ''))
    sendLogin(response, { email: '', next: String(request.query.para ?? ''), flash: flash && FLASHES[flash] })
  })
  enter.post(readForm, async (request, response) => {
    const form = formOf(request)
    const [typed, password, next] = [textOf(form, 'email'), textOf(form, 'password'), textOf(form, 'para')]
    const email = Email.safeParse(typed)
    // What is no e-mail address belongs to nobody.
    const from = { address: request.ip ?? '', keeps: 'cookie', kept: deviceCookie(request) } as const
    const outcome = email.success ? await login.logIn({ email: email.data, password }, from) : WRONG
    if (outcome.kind !== 'loggedIn') return sendRefused(response, outcome, { email: typed, next })
    const { memberships, device } = outcome
    const [first] = memberships
    const refused = first ? await login.admit(first) : WRONG
    if (!first || refused) return sendRefused(response, refused ?? WRONG, { email: typed, next })
    const before = await sessionOf(context, request)
    const { token, expiresAt } = await sessions.issue(first.holder)
    // The browser forgets the session before: nobody could end it any more.
    if (before) await sessions.revoke(before)
    setSessionCookie(request, response, token, expiresAt)
    setDeviceCookie(request, response, device)
    // Whoever belongs to several companies says first which one it is about.
    sendRedirect(response, memberships.length > 1 ? link('/empresas') : (ownPage(next) ?? link('/')))
  })
  enter.all(onlyBy('GET, HEAD, POST'))
  router
    .route('/sair')
    .all(routed(`${PANEL}/sair`))
    .post(readForm, (request, response) => leave(request, response))
    .all(onlyBy('POST'))

  async function leave(request: Request, response: Response): Promise<void> {
    const session = await sessionOf(context, request)
    if (session) {
      requireCsrf(session, formOf(request))
      await sessions.revoke(session)
    }
    clearSessionCookie(request, response)
    sendRedirect(response, link('/entrar', { feito: 'saiu' }))
  }
  return router
}

const WRONG = { kind: 'wrong', message: 'E-mail ou senha incorretos.' } as const

const tooMany = (seconds: number): string => `Muitas tentativas. Aguarde ${seconds} segundos e tente de novo.`

/** The page to go on to, if it is one of the panel: `para` comes from the address, where anybody could name another site. */
const ownPage = (path: string): string | null =>
  /^\/painel(?=[/?]|$)(?!\/(?:entrar|sair|ao-vivo|convite|esqueci|nova-senha)\b)[\w/?=&%.:+-]*$/.test(path)
    ? path
    : null

function sendRefused(response: Response, failure: LoginFailure, typed: Pick<LoginPage, 'email' | 'next'>): void {
  if (failure.kind === 'limited') response.setHeader('Retry-After', failure.retryAfter)
  const [status, problem] = failure.kind === 'wrong' ? [401, WRONG.message] : [429, tooMany(failure.retryAfter)]
  sendLogin(response, { ...typed, problem }, status as number)
}

interface LoginPage {
  readonly email: string
  readonly next: string
  readonly flash?: string | null
  readonly problem?: string
}

function sendLogin(response: Response, { email, next, flash, problem }: LoginPage, status = 200): void {
  const body = (
    <form method="post" action={link('/entrar')} class="form">
      {flash && (
        <p class="notice" role="status">
          {flash}
        </p>
      )}
      {problem && <Alert>{problem}</Alert>}
      <input type="hidden" name="para" value={next} />
      <div class="field w12">
        <label for="email">E-mail</label>
        <input id="email" name="email" type="email" autocomplete="username" required value={email} />
      </div>
      <div class="field w12">
        <label for="password">Senha</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required maxlength={200} />
      </div>
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
