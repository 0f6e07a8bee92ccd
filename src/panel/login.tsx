import type { Request, RequestHandler, Response, Router } from 'express'
import express from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { Email } from '#domain/text.ts'
import { routed } from '#http/middleware/routed.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { textOf } from './forms/form.ts'
import { onlyBy } from './guard.ts'
import { link, PANEL } from './link.ts'
import type { PanelContext } from './route.ts'
import { clearSessionCookie, requireCsrf, sessionCookie, setSessionCookie } from './session.ts'
import { Alert } from './ui/parts.tsx'
import { formOf } from './visit.ts'
import { FLASHES, flashOf } from './words/flashes.ts'

/** Logging in and out of the panel. */
export function entrance({ panel: { login, sessions } }: PanelContext, readForm: RequestHandler): Router {
  const router = express.Router({ caseSensitive: true })
  const entering = router.route('/entrar').all(routed(`${PANEL}/entrar`))
  entering.get((request, response) => {
    const notice = flashOf(String(request.query.feito ?? ''))
    sendLogin(response, { email: '', next: String(request.query.para ?? ''), told: notice && FLASHES[notice] })
  })
  entering.post(readForm, async (request, response) => {
    const form = formOf(request)
    const [typed, password, next] = [textOf(form, 'email'), textOf(form, 'password'), textOf(form, 'para')]
    const email = Email.safeParse(typed)
    // Whatever cannot be an address is nobody's.
    const outcome = email.success ? await login.logIn({ email: email.data, password }, request.ip ?? '') : WRONG
    if (outcome.kind === 'wrong') return sendLogin(response, { email: typed, next, problem: WRONG.message }, 401)
    if (outcome.kind === 'limited') {
      response.setHeader('Retry-After', outcome.retryAfter)
      return sendLogin(response, { email: typed, next, problem: tooMany(outcome.retryAfter) }, 429)
    }
    const before = await sessionOf(request)
    const { token, expiresAt } = await sessions.issue(outcome.holder)
    // Nobody could end it any more: the browser forgets it now.
    if (before) await sessions.revoke(before)
    setSessionCookie(request, response, token, expiresAt)
    sendRedirect(response, ownPage(next) ?? link('/'))
  })
  entering.all(onlyBy('GET, HEAD, POST'))
  router
    .route('/sair')
    .all(routed(`${PANEL}/sair`))
    .post(readForm, (request, response) => leave(request, response))
    .all(onlyBy('POST'))

  async function sessionOf(request: Request): Promise<PanelSession | null> {
    const token = sessionCookie(request)
    return token === null ? null : sessions.find(token)
  }

  async function leave(request: Request, response: Response): Promise<void> {
    const session = await sessionOf(request)
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

/** A page of the panel to go on to; no other site can be put there, nor what is no page to look at. */
const ownPage = (path: string): string | null =>
  /^\/painel(?=[/?]|$)(?!\/(?:entrar|sair|ao-vivo)\b)[\w/?=&%.:+-]*$/.test(path) ? path : null

interface LoginPage {
  readonly email: string
  readonly next: string
  readonly told?: string | null
  readonly problem?: string
}

function sendLogin(response: Response, { email, next, told, problem }: LoginPage, status = 200): void {
  const body = (
    <form method="post" action={link('/entrar')} class="form">
      {told && (
        <p class="notice" role="status">
          {told}
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
      </div>
    </form>
  )
  sendPlainPage(response, { title: 'Entrar', status, body })
}
