import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { type AddressLimit, createMinuteLimit } from '#access/login-limits.ts'
import { CHECKOUT, canBePaid, createFormCode, isFormCode, isOrderToken, parseOrderToken } from '#domain/order-states.ts'
import { Email } from '#domain/text.ts'
import { dropFormCharset, FORM_TYPE } from '#http/answers.ts'
import {
  assetsBelow,
  BASE_STYLE,
  brandStyleUrl,
  FONT,
  FONT_STYLE,
  ICON,
  projectFile,
  serveBrandStyles,
} from '#http/assets.ts'
import { bodyProblem, holdBody, unauthenticatedBodyBudget } from '#http/bodies.ts'
import { limitUnauthenticatedBy, mountRoutes, problemHandler, rateLimitProblem, requireHttps } from '#http/edge.ts'
import { type FailureReason, Problem, type ProblemCode, toHttpStatus } from '#http/problems.ts'
import { paymentOptions } from '#payments/pay-order.ts'
import {
  type BuyersOrder,
  type CheckoutState,
  findBuyersOrder,
  mayAskForPix,
  type Shop,
  toCheckoutState,
} from '#queries/order-queries.ts'
import { Alias } from '#records/company-settings.ts'
import type { Services } from '#services.ts'
import { createOrderUpdates, type Followers, streamTo } from './checkout-live.ts'
import {
  ATTEMPTS_FOR_PAGES,
  type CheckoutView,
  createCheckoutPage,
  createPayByPix,
  createTakesPix,
  type PayByPix,
  ShopName,
  type TakesPix,
  toCheckoutTitle,
} from './checkout-page.tsx'

const ASSETS = `${CHECKOUT}/assets`

/** Static files of the pages. */
const assets = assetsBelow(ASSETS, {
  'icon.svg': ICON,
  'inter.woff2': FONT,
  'font.css': FONT_STYLE,
  'base.css': BASE_STYLE,
  'checkout.css': {
    file: projectFile('src/public/checkout/static/checkout.css'),
    type: 'text/css; charset=utf-8',
  },
  'checkout.js': {
    file: projectFile('src/public/checkout/static/checkout.js'),
    type: 'text/javascript; charset=utf-8',
  },
})

/** A checkout page. */
interface Page {
  readonly title: string
  readonly body: ComponentChildren
  /** URL of the page's event stream; null if nothing can change. */
  readonly events: string | null
  /** Null until the order is known. */
  readonly shop: Shop | null
  readonly status?: number
}

/** Reload interval of pending pages without JavaScript, in seconds. */
const RELOAD_SECONDS = '15'

const Document = ({ title, body, events, shop }: Page) => (
  <html lang="pt-BR">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex, nofollow" />
      <title>{title}</title>
      <link rel="icon" href={assets.address('icon.svg')} type="image/svg+xml" />
      <link rel="preload" href={assets.address('inter.woff2')} as="font" type="font/woff2" crossorigin="anonymous" />
      <link rel="stylesheet" href={assets.address('font.css')} />
      <link rel="stylesheet" href={assets.address('base.css')} />
      <link rel="stylesheet" href={assets.address('checkout.css')} />
      {shop?.brand_color && <link rel="stylesheet" href={brandStyleUrl(ASSETS, shop.brand_color)} />}
      <script src={assets.address('checkout.js')} defer />
      {events !== null && (
        <noscript>
          <meta http-equiv="refresh" content={RELOAD_SECONDS} />
        </noscript>
      )}
    </head>
    <body>
      <p class="hidden" role="status" id="aviso" />
      <main id="conteudo" data-events={events ?? undefined}>
        {body}
      </main>
    </body>
  </html>
)

/** Replaces U+0000, which HTML cannot contain and a description may, by U+FFFD. */
function sendCheckoutPage(response: Response, page: Page): void {
  response
    .status(page.status ?? 200)
    .type('html')
    .send(`<!doctype html>${renderToString(<Document {...page} />)}`.replaceAll('\0', '\uFFFD'))
}

const WORDS: Partial<Record<ProblemCode | FailureReason, readonly [title: string, text: string]>> = {
  not_found: ['Página não encontrada', 'Confira o link ou peça outro à loja.'],
  rate_limited: ['Muitas tentativas', 'Aguarde um minuto e abra a página de novo.'],
  cross_site_form: ['Não foi possível continuar', 'Abra a página de novo e repita.'],
  unavailable: [
    'Tente de novo em instantes',
    'Nada foi cobrado. Abra a página de novo: se um código foi gerado, ele aparece lá.',
  ],
  provider_configuration_invalid: [
    'Pagamento indisponível',
    'A loja não pode receber pagamentos agora. Nada foi cobrado: fale com a loja.',
  ],
  https_required: ['Use HTTPS', 'Abra o link com https://.'],
}

const OTHERS = ['Não foi possível continuar', 'Nada foi cobrado. Abra a página de novo e repita.'] as const

/** Path of a form, and the path of its page in the group. */
const FORM = new RegExp(`^(${CHECKOUT}/[^/?]+/[^/?]+)/pix$`)

/** A problem as a page: with the shop's name once the order was found, and without any detail of the order. */
export function answerCheckoutFailure(response: Response, problem: Problem): void {
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
  const [title, text] = (problem.reason && WORDS[problem.reason]) ?? WORDS[problem.code] ?? OTHERS
  const page = FORM.exec(response.req.originalUrl)?.[1]
  const shop = (response.locals.shop as Shop | undefined) ?? null
  const body = (
    <>
      {shop && <ShopName shop={shop} />}
      <h1>{title}</h1>
      <p>{text}</p>
      {page !== undefined && problem.code !== 'not_found' && (
        <p>
          <a href={page}>Abrir a página do pedido</a>
        </p>
      )}
      <p class="hint">Código da requisição: {response.locals.requestId as string}</p>
    </>
  )
  sendCheckoutPage(response, { title, body, shop, events: null, status: toHttpStatus(problem.code) })
}

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
  const onError = (error: unknown) => log('checkout: updates of open pages failed, will retry', error)
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
  const follow: RequestHandler = async (request, response) =>
    streamTo(desk.followers, await orderOf(desk, request, response), request, response)
  mountRoutes(router, CHECKOUT, [
    { method: 'get', path: ORDER, handlers: [(request, response) => show(desk, request, response)] },
    { method: 'get', path: `${ORDER}/ao-vivo`, handlers: [follow] },
    { method: 'post', path: `${ORDER}/pix`, handlers: [(request, response) => pay(desk, request, response)] },
  ])
  router.use((_request, _response, next) => next(new Problem('not_found')))
  // The request path is a credential and must not be logged.
  router.use(
    problemHandler((_, error, fields) => log('checkout: request failed', error, fields), answerCheckoutFailure),
  )
  return router
}

const limitAddresses =
  (addresses: AddressLimit): RequestHandler =>
  async (request, _response, next) => {
    const counted = await addresses.consume(request.ip ?? '')
    next(counted.limited ? rateLimitProblem(counted) : undefined)
  }

/** The order of a request's path; error pages then name its shop. @throws Problem: the same 404 for everything that is wrong with it */
async function orderOf(
  { reads: { pool, paymentLinks } }: CheckoutContext,
  { params }: Request,
  response: Response,
): Promise<BuyersOrder> {
  const { store_alias, token } = params as { store_alias: string; token: string }
  const alias = Alias.safeParse(store_alias).data
  const id = alias === undefined ? null : parseOrderToken(paymentLinks.secret, alias, token)
  const found = alias === undefined || id === null ? null : await findBuyersOrder(pool, alias, id)
  if (!found || !isOrderToken(paymentLinks.secret, token, found.order)) throw new Problem('not_found')
  response.locals.shop = found.shop
  return found
}

const pathOf = ({ params }: Request): string => `${CHECKOUT}/${params.store_alias}/${params.token}`

async function show(desk: CheckoutContext, request: Request, response: Response): Promise<void> {
  await answer(desk, request, response, { found: await orderOf(desk, request, response), problem: null })
}

/** A charge that the account does not owe any more is closed, even while a code could still be paid. */
function stateOf({ order, now, is_over }: BuyersOrder): CheckoutState {
  const state = toCheckoutState(order, now)
  return is_over && canBePaid(order) ? { is: 'cancelled' } : state
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
  const state = stateOf(found)
  const formCode = mayAskForPix(state) && (await isPixOffered(desk, found)) ? codeOf(desk, request) : null
  const shown: CheckoutView = { found, state, path, formCode, problem }
  const events = canBePaid(found.order) ? `${path}/ao-vivo?desde=${found.revision}` : null
  sendCheckoutPage(response, {
    title: toCheckoutTitle(shown),
    body: await createCheckoutPage(shown),
    shop: found.shop,
    events,
    status,
  })
}

const codeOf = ({ reads: { paymentLinks } }: CheckoutContext, { params }: Request): string =>
  createFormCode(paymentLinks.secret, params.token as string)

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
  if (pressed.limited) throw rateLimitProblem(pressed)
  const back = () => response.redirect(303, pathOf(request))
  if (!mayAskForPix(stateOf(found)) || !(await isPixOffered(desk, found))) return back()
  const given = Email.safeParse(request.body.email).data
  const email = found.order.customer.email === null ? (given ?? null) : null
  if (email === null && found.order.customer.email === null)
    return answer(desk, request, response, { found, problem: 'Informe um e-mail válido.', status: 422 })
  const { companyId, order } = found
  const refused = await desk.payByPix({ companyId, order, email, requestId: response.locals.requestId as string })
  if (!refused) return back()
  const now = (await findBuyersOrder(desk.reads.pool, order.store_alias, order.id)) ?? found
  // Paid, cancelled or waiting by now: the page says so itself.
  if (!mayAskForPix(stateOf(now))) return back()
  const problem = refused.refused === 'payment_refused' ? NOT_TAKEN : NOT_MADE
  await answer(desk, request, response, { found: now, problem, status: toHttpStatus(refused.refused) })
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
