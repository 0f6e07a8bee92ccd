import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { CompletedLogin, LoginFailure, PendingLogin } from '#access/login.ts'
import type { AddressLimit, MinuteLimit } from '#access/login-limits.ts'
import type { SecondStep } from '#access/second-factors.ts'
import { type AdmittedSession, csrfMatches, deriveCsrfToken, type PanelSession } from '#access/sessions.ts'
import { Email } from '#domain/text.ts'
import { type HttpRoute, mountRoutes, rateLimitProblem } from '#http/edge.ts'
import { Problem } from '#http/problems.ts'
import { assertOpen } from '#ledger/ledgers.ts'
import { type FormBody, formText } from './forms/panel-form.ts'
import { createPageContext, type createRouteReach, link, PANEL, readFormBody } from './page-context.ts'
import { type ResponseTarget, sendPlainPage, sendRedirect } from './panel-answer.tsx'
import { asset } from './panel-assets.ts'
import {
  AGAIN,
  attributesFor,
  decodePreservedInput,
  doneBefore,
  forgetDone,
  nameFor,
  type PreservedInput,
  readCookie,
  toInputOwner,
} from './panel-cookies.ts'
import type { PanelServices } from './panel-route.ts'
import { Alert } from './ui/page-parts.tsx'
import { FLASHES, type FlashCode, toFlashClass } from './words/message-words.ts'

const deviceNameFor = (request: Request): string => `${nameFor(request)}-device`

/** Maximum cookie lifetime in browsers. */
const DEVICE_DAYS = 400

/** Session token of the browser's cookie; null without one. */
export const sessionCookie = (request: Request): string | null => readCookie(request, nameFor(request))

/** Device token of an earlier login in this browser; null before the first login. */
const deviceCookie = (request: Request): string | null => readCookie(request, deviceNameFor(request))

/** Origin of a login in a browser. */
export const toLoginOrigin = (request: Request) =>
  ({ address: request.ip ?? '', keeps: 'cookie', kept: deviceCookie(request) }) as const

export function setSessionCookie(request: Request, response: Response, token: string, expiresAt: string): void {
  response.cookie(nameFor(request), token, { ...attributesFor(request), expires: new Date(expiresAt) })
}

/** Survives a logout: the cookie grants no access, but marks a known device at the next login. */
function setDeviceCookie(request: Request, response: Response, device: string | null): void {
  if (device === null) return
  response.cookie(deviceNameFor(request), device, { ...attributesFor(request), maxAge: DEVICE_DAYS * 86_400_000 })
}

const shopNameFor = (request: Request): string => `${nameFor(request)}-loja`

/** Pages before the next login show this company's brand. */
const setShopCookie = (request: Request, response: Response, code: string): void =>
  void response.cookie(shopNameFor(request), code, { ...attributesFor(request), maxAge: DEVICE_DAYS * 86_400_000 })

/** Loads the shop that pages without a login show: the browser's last one, or the only one; none above the limit. */
export const loadShownShop =
  ({ access: { shownShops } }: PanelServices, limit: AddressLimit | null): RequestHandler =>
  async (request, response, next) => {
    const counted = await limit?.consume(request.ip ?? '')
    const code = readCookie(request, shopNameFor(request))
    if (!counted?.limited) response.locals.shop = await shownShops.find(shownShops.read(code))
    next()
  }

function clearSessionCookie(request: Request, response: Response): void {
  response.clearCookie(nameFor(request), attributesFor(request))
}

/** Session of a request; null without a login. */
async function findPanelSession({ access }: PanelServices, request: Request): Promise<PanelSession | null> {
  const token = sessionCookie(request)
  return token === null ? null : access.sessions.find(token)
}

interface SessionRules {
  readonly reachOfRole: ReturnType<typeof createRouteReach>
  readonly toLogin: RequestHandler
  /** Limit that counts the request instead of the quota; null if the quota counts it. */
  apart(request: Request): MinuteLimit | null
}

/** Requires a live session and counts the request; redirects to the login otherwise. @throws Problem 429 */
export function requireSession(context: PanelServices, { reachOfRole, toLogin, apart }: SessionRules): RequestHandler {
  return async (request, response, next) => {
    const admitted = await admittedOf(context, request, apart(request))
    if (!admitted) return void (await toLogin(request, response, next))
    const { session, retryAfter } = admitted
    // Without the menu, which would cost as much as many pages.
    if (retryAfter !== null) throw rateLimitProblem({ retryAfter })
    response.locals.session = session
    // For error pages, which have the menu too.
    response.locals.place = {
      section: null,
      visit: createPageContext(context, session, reachOfRole(session.permissions), request),
    } satisfies ResponseTarget
    next()
  }
}

async function admittedOf(
  context: PanelServices,
  request: Request,
  apart: MinuteLimit | null,
): Promise<AdmittedSession | null> {
  if (!apart) return context.access.sessions.admit(sessionCookie(request) ?? '')
  const session = await findPanelSession(context, request)
  if (!session) return null
  const counted = await apart.consume(session.sessionHash.toString('base64'))
  return { session, retryAfter: counted.limited ? counted.retryAfter : null }
}

/** Checks the session again after the form was read: it may have ended meanwhile. */
export function requireSessionStill({ access, reads }: PanelServices, toLogin: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    if (request.method !== 'POST') return next()
    if (!(await access.sessions.isLive(sessionCookie(request) ?? '')))
      return void (await toLogin(request, response, next))
    // Second factors are of no company: the ledger's lock does not keep them from changing (CELL-3).
    await assertOpen(reads.pool, (response.locals.session as PanelSession).companyId)
    next()
  }
}

/** @throws Problem if the form lacks the session's CSRF token */
export function requireCsrf(session: PanelSession, form: FormBody): void {
  if (!csrfMatches(session, formText(form, '_csrf'))) throw new Problem('cross_site_form')
}

/** Where a login leads to; both steps of a login carry it in hidden fields. */
interface LoginTarget {
  /** Page to continue with, as in the address; empty without one. */
  readonly next: string
  /** A form that was submitted after the session had ended; empty without one. */
  readonly typed: string
  /** Company to open; empty if the person chooses. */
  readonly company: string
}

const NEXT = 'para'
const TYPED = 'digitado'
const COMPANY = 'empresa'

const loginTargetOf = (form: FormBody): LoginTarget => ({
  next: formText(form, NEXT),
  typed: formText(form, TYPED),
  company: formText(form, COMPANY),
})

const LoginTargetFields = ({ target: { next, typed, company } }: { readonly target: LoginTarget }) => (
  <>
    <input type="hidden" name={NEXT} value={next} />
    {typed !== '' && <input type="hidden" name={TYPED} value={typed} />}
    {company !== '' && <input type="hidden" name={COMPANY} value={company} />}
  </>
)

/** Opens the session of a completed login and answers the request, unless it is refused. */
export async function openSession(
  context: PanelServices,
  request: Request,
  response: Response,
  { memberships, device, target, done }: CompletedLogin & { readonly target: LoginTarget; readonly done?: FlashCode },
): Promise<LoginFailure | null> {
  const { login, sessions } = context.access
  // Preserved input is returned only to its author, in the same company.
  const kept = decodePreservedInput(target.typed)
  const author = kept && memberships.find(({ holder }) => toInputOwner(holder) === kept.owner)
  const asked = memberships.find(({ holder }) => String(holder.companyId) === target.company)
  const first = author ?? asked ?? memberships[0]
  if (!first) return { kind: 'wrong' }
  const refused = await login.admit(first)
  if (refused) return refused
  const before = await findPanelSession(context, request)
  const { token, expiresAt } = await sessions.issue(first.holder, request.get('user-agent'))
  // The browser loses the token of the previous session, so that session could not be ended later.
  if (before) await sessions.revoke(before)
  setSessionCookie(request, response, token, expiresAt)
  setDeviceCookie(request, response, device)
  setShopCookie(request, response, context.access.shownShops.codeFor(first.holder.companyId))
  // Users of several companies choose one first.
  const to = memberships.length > 1 && !asked ? link('/empresas') : (ownPage(target.next) ?? link('/'))
  if (kept && author) sendTyped(response, kept, deriveCsrfToken(token))
  else sendRedirect(response, to, done)
  return null
}

/** The page to continue with, if it belongs to the panel: `para` comes from the address and may name another site. */
const ownPage = (path: string): string | null =>
  /^\/painel(?=[/?]|$)(?!\/(?:entrar|sair|ao-vivo|convite|esqueci|nova-senha)\b)[\w/?=&%.:+-]*$/.test(path)
    ? path
    : null

/** Sends preserved input back to its form, which shows it without executing it. Scripts submit it at once. */
function sendTyped(response: Response, { path, form }: PreservedInput, csrfToken: string): void {
  const body = (
    <form method="post" action={link(path)} class="form" data-sent>
      <p>O que você preencheu está guardado nesta página.</p>
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

const SECOND_STEP_PATH = '/entrar/verificar'

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
async function submitSecondStep(context: PanelServices, request: Request, response: Response): Promise<void> {
  const { login, secondFactors } = context.access
  const form = readFormBody(request)
  const token = formText(form, STEP)
  const target = loginTargetOf(form)
  const step = await secondFactors.steps.find('login', token)
  if (!step) return sendRedirect(response, link('/entrar', { para: target.next || undefined }), 'etapa-vencida')
  const answer = { code: formText(form, 'code').slice(0, 40), passkey: formText(form, 'passkey') }
  const outcome = await login.completeLogin(step, toLoginOrigin(request), () => secondFactors.verify(step, answer))
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

/** Login and logout. */
export function loginRoutes(context: PanelServices, readForm: RequestHandler): Router {
  const { login, sessions } = context.access
  const router = express.Router({ caseSensitive: true })
  const show: RequestHandler = (request, response) => {
    const done = doneBefore(request, request.query.feito)
    if (done) forgetDone(response)
    sendLogin(response, {
      email: '',
      target: { next: String(request.query.para ?? ''), typed: '', company: '' },
      flash: done,
    })
  }
  const enter: RequestHandler = async (request, response) => {
    const form = readFormBody(request)
    const [address, password] = [formText(form, 'email'), formText(form, 'password')]
    const target = loginTargetOf(form)
    const email = Email.safeParse(address)
    // An invalid e-mail address has no user.
    const outcome = email.success ? await login.logIn({ email: email.data, password }, toLoginOrigin(request)) : WRONG
    if (outcome.kind === 'secondStep') return beginSecondStep(context, response, outcome, target)
    const failure =
      outcome.kind === 'loggedIn' ? await openSession(context, request, response, { ...outcome, target }) : outcome
    if (failure) sendRefused(response, failure, { email: address, target })
  }

  async function leave(request: Request, response: Response): Promise<void> {
    const session = await findPanelSession(context, request)
    if (session) {
      requireCsrf(session, readFormBody(request))
      await sessions.revoke(session)
    }
    clearSessionCookie(request, response)
    sendRedirect(response, link('/entrar'), 'saiu')
  }
  const toLogin: RequestHandler = (_request, response) => sendRedirect(response, link('/entrar'))
  const routes: HttpRoute[] = [
    { method: 'get', path: '/entrar', handlers: [show] },
    { method: 'post', path: '/entrar', handlers: [readForm, enter] },
    // Opened without the form: the login begins again.
    { method: 'get', path: SECOND_STEP_PATH, handlers: [toLogin] },
    {
      ...{ method: 'post', path: SECOND_STEP_PATH },
      handlers: [readForm, (request, response) => submitSecondStep(context, request, response)],
    },
    { method: 'post', path: '/sair', handlers: [readForm, leave] },
  ]
  return mountRoutes(router, PANEL, routes, { first: [loadShownShop(context, context.limits.addresses)] })
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
        <p class={toFlashClass(flash)} role="status">
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
