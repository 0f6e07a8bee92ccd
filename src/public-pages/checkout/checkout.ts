import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { type AddressLimit, createMinuteLimit } from '#access/minute-limit.ts'
import { Alias } from '#commands/stores.ts'
import { canBePaid } from '#domain/orders.ts'
import { CHECKOUT, formCodeOf, isFormCode, isTokenOf, orderIdOf } from '#domain/payment-link.ts'
import { Email } from '#domain/text.ts'
import { serveBrandStyles } from '#http/brand-style.ts'
import { dropFormCharset, FORM_TYPE } from '#http/content-type.ts'
import { bodyProblem, holdBody, unauthenticatedBodyBudget } from '#http/middleware/json-body.ts'
import { routed } from '#http/middleware/observe.ts'
import { problemHandler } from '#http/middleware/problem-handler.ts'
import { requireHttps } from '#http/middleware/transport.ts'
import { limited, limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { httpStatusOf, Problem } from '#http/problems.ts'
import { paymentOptions } from '#payments/payment-options.ts'
import { checkoutStateOf, mayAskForPix } from '#queries/checkout-state.ts'
import { type BuyersOrder, findBuyersOrder } from '#queries/orders.ts'
import type { Services } from '#services.ts'
import { answerCheckoutFailure, sendCheckoutPage } from './answer.tsx'
import { assets } from './assets.ts'
import { createOrderUpdates } from './live.ts'
import { type CheckoutView, checkoutPageOf, titleOf } from './page.tsx'
import { createTakesPix, type TakesPix } from './payment-methods.ts'
import { ATTEMPTS_FOR_PAGES, createPayByPix, type PayByPix } from './pix.ts'
import { type Followers, streamTo } from './stream.ts'

/** Requests per minute and address (ORDER-36); many buyers may share an address. */
export const CHECKOUTS_PER_MINUTE = 240
/** Payment attempts per minute and order, by any form (PAY-42). */
const PRESSES_PER_MINUTE = 30

/** Largest form, in bytes. */
const FORM_BYTES = 2_048
const FORM_FIELDS = 10

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The URL grants access to the order: no cache stores the page, no search engine lists it, no other site learns the
 * URL.
 */
const pagePolicy: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('X-Robots-Tag', 'noindex, nofollow')
  next()
}

/** What checkout pages are given. */
type CheckoutServices = Pick<Services, 'reads' | 'payments' | 'live' | 'limits' | 'traffic' | 'log'>

interface CheckoutContext extends CheckoutServices {
  readonly payByPix: PayByPix
  readonly takesPix: TakesPix
  readonly presses: ReturnType<typeof createMinuteLimit>
  readonly followers: Followers
}

const ORDER = '/:store_alias/:token'

/** Pages below /pagar on which buyers see and pay an order; the link is the only credential (ORDER-30 … ORDER-36). */
export function checkout(services: CheckoutServices): Router {
  const { reads, payments, live, limits, log } = services
  const onError = (error: unknown) => log('checkout: open pages are not updated', error, '')
  const desk: CheckoutContext = {
    ...services,
    payByPix: createPayByPix(payments),
    takesPix: createTakesPix(() => performance.now()),
    presses: createMinuteLimit({ perMinute: PRESSES_PER_MINUTE }),
    followers: createOrderUpdates({ live, pool: reads.pool, onError }),
  }
  const router = express.Router({ caseSensitive: true, strict: true })
  router.use('/assets', assets.serve(), serveBrandStyles())
  router.use(pagePolicy, requireHttps(limitUnauthenticatedBy(limits.checkouts)), limitAddresses(limits.checkouts))
  serve(router, ORDER, 'get', 'GET, HEAD', (request, response) => show(desk, request, response))
  serve(router, `${ORDER}/ao-vivo`, 'get', 'GET, HEAD', async (request, response) =>
    streamTo(desk.followers, await orderOf(desk, request, response), request, response),
  )
  serve(router, `${ORDER}/pix`, 'post', 'POST', (request, response) => pay(desk, request, response))
  router.use((_request, _response, next) => next(new Problem('not_found')))
  // The request path is a credential and must not be logged.
  router.use(problemHandler((_, error, id) => log('checkout: request failed', error, id), answerCheckoutFailure))
  return router
}

function serve(router: Router, path: string, method: 'get' | 'post', allow: string, handler: RequestHandler): void {
  const one = router.route(path).all(routed(`${CHECKOUT}${path}`))
  one[method](handler)
  one.all(() => {
    throw new Problem('method_not_allowed', undefined, { Allow: allow })
  })
}

const limitAddresses =
  (addresses: AddressLimit): RequestHandler =>
  async (request, _response, next) => {
    const counted = await addresses.consume(request.ip ?? '')
    next(counted.limited ? limited(counted) : undefined)
  }

/** The order of a request's path; error pages then name its shop. @throws Problem: the same 404 for everything that is wrong with it (ORDER-32) */
async function orderOf(
  { reads: { pool, paymentLinks } }: CheckoutContext,
  { params }: Request,
  response: Response,
): Promise<BuyersOrder> {
  const { store_alias, token } = params as { store_alias: string; token: string }
  const alias = Alias.safeParse(store_alias).data
  const id = alias === undefined ? null : orderIdOf(paymentLinks.secret, alias, token)
  const found = alias === undefined || id === null ? null : await findBuyersOrder(pool, alias, id)
  if (!found || !isTokenOf(paymentLinks.secret, token, found.order)) throw new Problem('not_found')
  response.locals.shop = found.shop
  return found
}

const pathOf = ({ params }: Request): string => `${CHECKOUT}/${params.store_alias}/${params.token}`

async function show(desk: CheckoutContext, request: Request, response: Response): Promise<void> {
  await answer(desk, request, response, { found: await orderOf(desk, request, response), problem: null })
}

interface Outcome extends Pick<CheckoutView, 'found' | 'problem'> {
  readonly status?: number
}

async function answer(
  desk: CheckoutContext,
  request: Request,
  response: Response,
  { found, problem, status = 200 }: Outcome,
): Promise<void> {
  const path = pathOf(request)
  const state = checkoutStateOf(found.order, found.now)
  const formCode = mayAskForPix(state) && (await isPixOffered(desk, found)) ? codeOf(desk, request) : null
  const shown: CheckoutView = { found, state, path, formCode, problem }
  const events = canBePaid(found.order) ? `${path}/ao-vivo?desde=${found.revision}` : null
  sendCheckoutPage(response, {
    title: titleOf(shown),
    body: await checkoutPageOf(shown),
    shop: found.shop,
    events,
    status,
  })
}

const codeOf = ({ reads: { paymentLinks } }: CheckoutContext, { params }: Request): string =>
  formCodeOf(paymentLinks.secret, params.token as string)

async function isPixOffered(desk: CheckoutContext, { companyId, order, enabled }: BuyersOrder): Promise<boolean> {
  if (!enabled || order.payments.length >= ATTEMPTS_FOR_PAGES) return false
  return desk.takesPix(order.store_alias, async () => {
    const options = await paymentOptions(desk.payments, { companyId, orderId: order.id, bin: undefined })
    return options?.methods ?? []
  })
}

/** Starts a payment, or continues the pending one, and shows the page. */
async function pay(desk: CheckoutContext, request: Request, response: Response): Promise<void> {
  const found = await orderOf(desk, request, response)
  await requireForm(desk, request, response)
  const pressed = await desk.presses.consume(found.order.provider_reference)
  if (pressed.limited) throw limited(pressed)
  const back = () => response.redirect(303, pathOf(request))
  if (!mayAskForPix(checkoutStateOf(found.order, found.now)) || !(await isPixOffered(desk, found))) return back()
  const given = Email.safeParse(request.body.email).data
  const email = found.order.customer.email === null ? (given ?? null) : null
  if (email === null && found.order.customer.email === null)
    return answer(desk, request, response, { found, problem: 'Informe um e-mail válido.', status: 422 })
  const { companyId, order } = found
  const refused = await desk.payByPix({ companyId, order, email, requestId: response.locals.requestId as string })
  if (!refused) return back()
  const now = (await findBuyersOrder(desk.reads.pool, order.store_alias, order.id)) ?? found
  // Paid, cancelled or waiting by now: the page says so itself.
  if (!mayAskForPix(checkoutStateOf(now.order, now.now))) return back()
  const problem = refused.refused === 'payment_refused' ? NOT_TAKEN : NOT_MADE
  await answer(desk, request, response, { found: now, problem, status: httpStatusOf(refused.refused) })
}

const NOT_TAKEN = 'O provedor de pagamento não aceitou gerar o código. Nada foi cobrado: fale com a loja.'
const NOT_MADE = 'Não foi possível gerar o código Pix. Nada foi cobrado: tente de novo ou fale com a loja.'

const parseForm = express.urlencoded({ extended: false, limit: FORM_BYTES, parameterLimit: FORM_FIELDS })

/**
 * Reads the form, which must come from the page. There is no cookie to forge: an attacker would need the link. Browsers
 * hide the origin of such pages' forms, but tell whether it is another site.
 */
async function requireForm(desk: CheckoutContext, request: Request, response: Response): Promise<void> {
  const site = request.get('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Problem('cross_site_form')
  dropFormCharset(request)
  if (!request.is(FORM_TYPE)) throw new Problem('unsupported_media_type')
  holdBody(unauthenticatedBodyBudget(desk.traffic.unauthenticatedBodies.checkouts), FORM_BYTES, request, response)
  await new Promise<void>((resolve, reject) => {
    parseForm(request, response, (error?: unknown) =>
      error === undefined ? resolve() : reject(bodyProblem(error, FORM_BYTES, request)),
    )
  })
  const code: unknown = request.body.codigo
  const isOurs =
    typeof code === 'string' && isFormCode(desk.reads.paymentLinks.secret, request.params.token as string, code)
  if (!isOurs) throw new Problem('cross_site_form')
}
