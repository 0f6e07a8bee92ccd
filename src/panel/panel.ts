import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { ApiAuthenticator } from '#access/api-authenticator.ts'
import { createMinuteLimit, type MinuteLimit } from '#access/login-limits.ts'
import { dropFormCharset, FORM_TYPE } from '#http/answers.ts'
import { serveBrandStyles } from '#http/assets.ts'
import {
  type BodyBudget,
  bodyProblem,
  chargeOrRefuse,
  companyBodyBudget,
  declaredBytes,
  holdBody,
  unauthenticatedBodyBudget,
} from '#http/bodies.ts'
import { type HttpRoute, limitUnauthenticatedBy, mountRoutes, problemHandler, requireHttps } from '#http/edge.ts'
import type { Params } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import type { KeyedSemaphore } from '#lib/fair-sharing.ts'
import { countPending, type PendingCounts } from '#queries/company-queries.ts'
import { PACK_DOWNLOAD, packDownload } from './audit-pack-pages.tsx'
import { fileTurns, RECEIPT_FILE_PATH, receiptFileDownload, sendFile } from './csv-files.ts'
import { fileForm, fileFormBytes, formText, isFileForm } from './forms/panel-form.ts'
import { linkRoutes } from './link-pages.tsx'
import { placeholderPage, unreachableMoment } from './moment-pages.tsx'
import { MONTH_FILE_PATH, monthDownload } from './month-file.ts'
import {
  atMoment,
  createFormSubmission,
  createRouteReach,
  link,
  mayOpen,
  maySee,
  PANEL,
  permissionsFor,
  readFormBody,
  routeAt,
  withReplicaReads,
} from './page-context.ts'
import { seesRefusedMovements, seesRefusedReturns } from './pages/refused-upload-pages.tsx'
import {
  answerPanelFailure,
  isCrossSite,
  isOpenToLinks,
  type ResponseTarget,
  sendPanelPage,
  sendRedirect,
  sendStep,
  stepFirst,
} from './panel-answer.tsx'
import { serveAssets } from './panel-assets.ts'
import { AGAIN, encodePreservedInput, noteDone, pagePolicy, requireOwnSite, requireText } from './panel-cookies.ts'
import { ifStillAllowed, LIVE_PATH, liveStream, whileAllowed } from './panel-live.tsx'
import {
  loginRoutes,
  requireCsrf,
  requireSession,
  requireSessionStill,
  sendLogin,
  setSessionCookie,
} from './panel-login.tsx'
import type {
  FormRoute,
  PageContext,
  PageRoute,
  PanelPage,
  PanelRoute,
  PanelServices,
  Redirect,
} from './panel-route.ts'
import { DATA_EXPORT_PATH, dataExportDownload } from './person-file.ts'
import { PANEL_ROUTES } from './routes.ts'

/**
 * Redirects to the login, and back to the page afterwards. The login page carries the submitted form; the server stores
 * nothing of it. `read` limits the form to the size that unauthenticated clients may send.
 */
function createLoginRedirect(routes: readonly PanelRoute[], mostBytes: number, read: RequestHandler): RequestHandler {
  const find = routeAt(routes)
  return async (request, response, next) => {
    // htmx would insert the login into a part of the page: the whole page is redirected instead.
    if (request.get('hx-request') === 'true') {
      noteDone(response, 'entre')
      return void response
        .status(401)
        .setHeader('HX-Redirect', link('/entrar', { feito: 'entre' }))
        .end()
    }
    const route = request.method === 'POST' ? find('POST', request.path) : undefined
    const refills = route && 'refill' in route && route.refill !== undefined
    if (!refills || !isSmallForm(request, mostBytes)) return sendToLogin(request, response)
    try {
      if (request.body === undefined) await readForm(read, request, response)
      keepTyped(request, response)
    } catch (error) {
      next(error)
    }
  }

  function keepTyped(request: Request, response: Response): void {
    const typed = encodePreservedInput(request.path, readFormBody(request))
    const next = find('GET', request.path) ? request.originalUrl : ''
    if (typed === null) sendToLogin(request, response)
    else sendLogin(response, { email: '', target: { next, typed, company: '' }, flash: 'entre-e-continue' }, 401)
  }
}

/** Resolves when the form has been read. An exception in a callback of the parser would end the process. */
const readForm = (read: RequestHandler, request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    void read(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })

const isSmallForm = (request: Request, mostBytes: number): boolean =>
  Boolean(request.is(FORM_TYPE)) &&
  request.headers['content-encoding'] === undefined &&
  Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= mostBytes

function sendToLogin(request: Request, response: Response): void {
  const para = request.method === 'GET' && request.url !== '/' ? request.originalUrl : undefined
  sendRedirect(response, link('/entrar', { para }), 'entre')
}

/** In bytes and fields. */
interface FormLimits {
  readonly limit: number
  readonly parameterLimit: number
}

/** About a hundred thousand characters; five fields for each line of an NF-e. */
const FORM_LIMITS: FormLimits = { limit: 400_000, parameterLimit: 6_000 }

/** For the login, which needs no session. */
const LOGIN_LIMITS: FormLimits = { limit: 16_384, parameterLimit: 20 }

/** For forms whose session has ended; the login page carries them. */
const ENDED_LIMITS: FormLimits = { limit: 16_384, parameterLimit: 300 }

/** Reads the form of a request. */
function formParser(room: BodyBudget, limits: FormLimits): RequestHandler {
  const parseForm = express.urlencoded({ extended: false, ...limits })
  return (request, response, next) => {
    if (request.method !== 'POST') return next()
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const isSent = encoding !== undefined || Number(length ?? 0) > 0
    if (isSent && !request.is(FORM_TYPE)) throw new Problem('unsupported_media_type')
    dropFormCharset(request)
    holdBody(room, limits.limit, request, response)
    parseForm(request, response, (error?: unknown) =>
      next(error === undefined ? undefined : bodyProblem(error, limits.limit, request)),
    )
  }
}

/** Larger forms count towards the company's bytes of a day, as all with a file do: smaller ones are always taken. */
const UNCOUNTED_BYTES = 16_384

/** Parses a form, with a file if its page accepts one. */
function parserOf(room: BodyBudget, authenticator: ApiAuthenticator): RequestHandler {
  const plain = formParser(room, FORM_LIMITS)
  const find = routeAt(PANEL_ROUTES)
  return async (request, response, next) => {
    const route = request.method === 'POST' ? find('POST', request.path) : undefined
    const takesFile = route && 'submit' in route && route.takesFile && isFileForm(request.get('content-type'))
    const limit = takesFile ? fileFormBytes(route.maxFileBytes) : FORM_LIMITS.limit
    // Browsers announce the size of their forms: others count as the largest.
    const bytes = declaredBytes(request, limit) ?? limit
    if (takesFile || bytes > UNCOUNTED_BYTES) {
      const { companyId } = (response.locals.place as ResponseTarget).visit.session
      await chargeOrRefuse((company, size) => authenticator.charge(company, size), response, companyId, bytes)
    }
    return takesFile ? fileForm(room, limit)(request, response, next) : plain(request, response, next)
  }
}

/** Router of the panel: pages rendered on the server. */
export function panel(context: PanelServices): Router {
  const router = express.Router({ caseSensitive: true })
  router.use('/assets', serveAssets(), serveBrandStyles())
  router.use(pagePolicy, requireHttps(limitUnauthenticatedBy(context.limits.addresses)), requireOwnSite)
  const readStrangersForm = formParser(
    unauthenticatedBodyBudget(context.traffic.unauthenticatedBodies.panelLogins),
    LOGIN_LIMITS,
  )
  router.use(loginRoutes(context, readStrangersForm), linkRoutes(context, readStrangersForm))
  const readEndedForm = formParser(
    unauthenticatedBodyBudget(context.traffic.unauthenticatedBodies.panelLogins),
    ENDED_LIMITS,
  )
  const login = createLoginRedirect(PANEL_ROUTES, ENDED_LIMITS.limit, readEndedForm)
  router.use(
    requireSession(context, {
      reachOfRole: createRouteReach(PANEL_ROUTES),
      toLogin: login,
      apart: createSeparateLimits(context),
    }),
    parserOf(companyBodyBudget(context.traffic.bodies), context.access.authenticator),
    requireSessionStill(context, login),
  )
  const turns = { files: fileTurns(), pages: context.traffic.panelTurns }
  const pages = PANEL_ROUTES.map((route): HttpRoute => {
    return { method: 'submit' in route ? 'post' : 'get', path: route.path, handlers: [handlerOf(route, turns)] }
  })
  mountRoutes(router, PANEL, [
    { method: 'get', path: LIVE_PATH, handlers: [liveStream(context)] },
    { method: 'get', path: PACK_DOWNLOAD, handlers: [stepFirst, packDownload(context)] },
    { method: 'get', path: DATA_EXPORT_PATH, handlers: [stepFirst, dataExportDownload(context)] },
    { method: 'get', path: MONTH_FILE_PATH, handlers: [stepFirst, monthDownload(context)] },
    { method: 'get', path: RECEIPT_FILE_PATH, handlers: [stepFirst, receiptFileDownload()] },
    ...pages,
  ])
  router.use((_request, _response, next) => next(new Problem('not_found')))
  router.use(problemHandler(context.log, answerPanelFailure))
  return router
}

/** Requests per minute that other sites may cause in a session. They do not reduce its own limit. */
const CROSS_SITE_PER_MINUTE = 30

/**
 * Separate limits for event streams, which stay open for hours, and for requests from other sites, which must not use
 * up the session's limit. Per process.
 */
function createSeparateLimits({ limits }: PanelServices): (request: Request) => MinuteLimit | null {
  const streams = createMinuteLimit({ perMinute: limits.panel.ofSession })
  const fromOtherSites = createMinuteLimit({ perMinute: CROSS_SITE_PER_MINUTE })
  return (request) => (request.path === LIVE_PATH ? streams : isCrossSite(request) ? fromOtherSites : null)
}

interface PanelTurns {
  /** Keyed by company. */
  readonly files: KeyedSemaphore
  /** Keyed by user: few requests of a user run at once, and other users of the company do not wait for them. */
  readonly pages: KeyedSemaphore
}

function handlerOf(route: PanelRoute, { files, pages }: PanelTurns): RequestHandler {
  return async (request, response) => {
    const began = performance.now()
    const entered = response.locals.place as ResponseTarget
    const visit: PageContext = { ...entered.visit, params: request.params as Params }
    const place: ResponseTarget = { section: route.section, visit }
    response.locals.place = place
    requireRight(route, visit)
    requireText(visit.query)
    const gone = abortOnClose(response)
    const { companyId, userId } = visit.session
    const inTurn = (work: () => Promise<void>) => pages.run(`${companyId}/${userId}`, work, gone)
    if ('submit' in route) return inTurn(() => submit(route, place, request, response))
    if (isCrossSite(request) && !isOpenToLinks(route, visit)) return sendStep(request, response, place)
    const unreachable = 'asOf' in route && route.asOf ? await unreachableMoment(visit) : null
    if (unreachable) return sendPanelPage(response, unreachable, place)
    if ('table' in route) {
      const read = (ended: AbortSignal) => {
        const send = (then: PageContext) => sendFile(route, then, request, response, ended)
        return route.asOf ? atMoment(withReplicaReads(visit), send, AbortSignal.any([gone, ended])) : send(visit)
      }
      return files.run(companyId, () => whileAllowed(visit, request, response, read), gone)
    }
    await inTurn(async () => {
      const answering = await show(route, place, request, response, gone)
      await ifStillAllowed(visit, began, request, response, answering)
    })
  }
}

/** Does the work of a page; the result sends it. */
async function show(
  route: PageRoute,
  place: ResponseTarget,
  request: Request,
  response: Response,
  gone: AbortSignal,
): Promise<() => void> {
  const { visit } = place
  const read = route.asOf || route.fromReplica ? withReplicaReads(visit) : visit
  const [shown, waiting] = await Promise.all([
    route.asOf ? atMoment(read, (then) => showAt(route, then), gone) : showAt(route, read),
    request.get('hx-request') === 'true' ? null : loadPendingCounts(visit),
  ])
  const page = shown.page ?? (await placeholderOf(route, read, shown.visit))
  return () => answer(response, page, { ...place, visit: shown.visit, waiting })
}

function loadPendingCounts(visit: PageContext): Promise<PendingCounts> {
  const { today, now } = visit.session
  const [decidesReturns, decidesMovements] = [seesRefusedReturns(visit), seesRefusedMovements(visit)]
  return countPending(visit.primary, { today, now, decidesReturns, decidesMovements })
}

/** @throws Problem if the role may not open the page */
function requireRight(route: PanelRoute, { session: { permissions } }: PageContext): void {
  if (mayOpen(permissions, route)) return
  throw new Problem(maySee(permissions, permissionsFor(route)) ? 'changes_nothing' : 'owners_only')
}

/** Aborted when the connection closes. */
function abortOnClose(response: Response): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}

const showAt = async (route: PageRoute, visit: PageContext) => ({
  visit,
  page: await route.show(visit),
})

/**
 * Placeholder for a record that did not exist yet at the requested moment; null if it does not exist at present either.
 */
async function placeholderOf(
  route: PageRoute,
  visit: PageContext,
  { readModel: { moment } }: PageContext,
): Promise<PanelPage | null> {
  if (!moment) return null
  const now = await route.show({ ...visit, query: {} })
  return now && !('to' in now) ? placeholderPage(now, visit) : null
}

async function submit(route: FormRoute, place: ResponseTarget, request: Request, response: Response): Promise<void> {
  const form = readFormBody(request)
  requireCsrf(place.visit.session, form)
  const sender = {
    requestId: response.locals.requestId as string,
    address: request.ip ?? '',
    file: (response.locals.file ?? null) as Buffer | null,
    permissions: permissionsFor(route),
  }
  const submission = createFormSubmission(place.visit, form, sender)
  if (formText(form, AGAIN) !== '' && route.refill) {
    const visit: PageContext = { ...place.visit, flash: 'de-volta' }
    const [page, waiting] = await Promise.all([route.refill(submission), loadPendingCounts(visit)])
    return answer(response, page, { ...place, visit, waiting })
  }
  const result = await route.submit(submission)
  const waiting = result && 'body' in result ? await loadPendingCounts(place.visit) : null
  if (result && 'issued' in result && result.issued)
    setSessionCookie(request, response, result.issued.token, result.issued.expiresAt)
  answer(response, result, { ...place, waiting })
}

function answer(response: Response, result: PanelPage | Redirect | null, place: ResponseTarget): void {
  if (result === null) throw new Problem('not_found')
  if ('to' in result) sendRedirect(response, link(result.to, result.parameters), result.flash)
  else sendPanelPage(response, result, place)
}
