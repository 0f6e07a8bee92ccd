import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { LoginFailure } from '#access/login.ts'
import { csrfTokenOf } from '#access/sessions.ts'
import { Email } from '#domain/text.ts'
import { routed } from '#http/middleware/observe.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { doneBefore, forgetDone } from './cookies.ts'
import { formText } from './forms/form.ts'
import { onlyBy } from './guard.ts'
import { link, PANEL } from './link.ts'
import { formOf } from './page-context.ts'
import { AGAIN, decodePreservedInput, inputOwnerOf, type PreservedInput } from './preserved-input.ts'
import type { PanelContext } from './route.ts'
import {
  clearSessionCookie,
  deviceCookie,
  panelSessionOf,
  requireCsrf,
  setDeviceCookie,
  setSessionCookie,
} from './session.ts'
import { Alert } from './ui/parts.tsx'
import { FLASHES } from './words/flashes.ts'

const TYPED = 'digitado'

/** Login and logout. */
export function loginRoutes(context: PanelContext, readForm: RequestHandler): Router {
  const { login, sessions } = context.panel
  const router = express.Router({ caseSensitive: true })
  const enter = router.route('/entrar').all(routed(`${PANEL}/entrar`))
  enter.get((request, response) => {
    const done = doneBefore(request, request.query.feito)
    if (done) forgetDone(response)
    sendLogin(response, { email: '', next: String(request.query.para ?? ''), flash: done && FLASHES[done] })
  })
  enter.post(readForm, async (request, response) => {
    const form = formOf(request)
    const [address, password, next] = [formText(form, 'email'), formText(form, 'password'), formText(form, 'para')]
    const page = { email: address, next, typed: formText(form, TYPED) }
    const email = Email.safeParse(address)
    // An invalid e-mail address has no user.
    const from = { address: request.ip ?? '', keeps: 'cookie', kept: deviceCookie(request) } as const
    const outcome = email.success ? await login.logIn({ email: email.data, password }, from) : WRONG
    if (outcome.kind !== 'loggedIn') return sendRefused(response, outcome, page)
    const { memberships, device } = outcome
    // Preserved input is returned only to its author, in the same company.
    const kept = decodePreservedInput(page.typed)
    const author = kept && memberships.find(({ holder }) => inputOwnerOf(holder) === kept.owner)
    const first = author ?? memberships[0]
    const refused = first ? await login.admit(first) : WRONG
    if (!first || refused) return sendRefused(response, refused ?? WRONG, page)
    const before = await panelSessionOf(context, request)
    const { token, expiresAt } = await sessions.issue(first.holder, request.get('user-agent'))
    // The browser loses the token of the previous session, so that session could not be ended later.
    if (before) await sessions.revoke(before)
    setSessionCookie(request, response, token, expiresAt)
    setDeviceCookie(request, response, device)
    if (kept && author) return sendTyped(response, kept, csrfTokenOf(token))
    // Users of several companies choose one first.
    sendRedirect(response, memberships.length > 1 ? link('/empresas') : (ownPage(next) ?? link('/')))
  })
  enter.all(onlyBy('GET, HEAD, POST'))
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

/** The page to continue with, if it belongs to the panel: `para` comes from the address and may name another site. */
const ownPage = (path: string): string | null =>
  /^\/painel(?=[/?]|$)(?!\/(?:entrar|sair|ao-vivo|convite|esqueci|nova-senha)\b)[\w/?=&%.:+-]*$/.test(path)
    ? path
    : null

function sendRefused(
  response: Response,
  failure: LoginFailure,
  page: Pick<LoginPage, 'email' | 'next' | 'typed'>,
): void {
  if (failure.kind === 'limited') response.setHeader('Retry-After', failure.retryAfter)
  const [status, problem] = failure.kind === 'wrong' ? [401, WRONG.message] : [429, tooMany(failure.retryAfter)]
  sendLogin(response, { ...page, problem }, status as number)
}

interface LoginPage {
  readonly email: string
  readonly next: string
  /** A form that was submitted after the session had ended (preserved-input.ts). */
  readonly typed?: string
  readonly flash?: string | null
  readonly problem?: string
}

export function sendLogin(response: Response, { email, next, typed, flash, problem }: LoginPage, status = 200): void {
  const body = (
    <form method="post" action={link('/entrar')} class="form">
      {flash && (
        <p class="notice" role="status">
          {flash}
        </p>
      )}
      {problem && <Alert>{problem}</Alert>}
      <input type="hidden" name="para" value={next} />
      {typed && <input type="hidden" name={TYPED} value={typed} />}
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

/** Sends preserved input back to its form, which shows it without executing it. Scripts submit it at once. */
function sendTyped(response: Response, { path, form }: PreservedInput, csrfToken: string): void {
  const body = (
    <form method="post" action={link(path)} class="form" data-sent>
      <p>O que você digitou está guardado nesta página.</p>
      <input type="hidden" name="_csrf" value={csrfToken} />
      <input type="hidden" name={AGAIN} value="1" />
      {Object.entries(form).flatMap(([name, value]) =>
        [value].flat().map((text, at) => <input key={`${name} ${at}`} type="hidden" name={name} value={text} />),
      )}
      <div class="actions">
        <button type="submit" class="main">
          Voltar ao formulário
        </button>
      </div>
    </form>
  )
  sendPlainPage(response, { title: 'Você entrou', body })
}
