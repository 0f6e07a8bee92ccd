import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import * as z from 'zod'
import {
  ALL_MOVES,
  type AnyMove,
  type Book,
  type Cause,
  Charge,
  type Connections,
  cardOptions,
  chargeProblem,
  METHODS,
  type SandboxPayment,
} from './sandbox-book.ts'
import { type Claims, DELIVERIES, type Notification, type Notifier, ORDERS } from './sandbox-notifications.ts'

/** Dependencies of the endpoints. */
export interface Provider {
  readonly book: Book
  readonly notifier: Notifier
  readonly now: () => Date
}

/** Payment endpoints of the provider, as publicly documented. */
export function providerApi({ book, notifier, now }: Provider): Router {
  const router = express.Router()
  /** Payments by account and idempotency key, with the creating body. */
  const made = new Map<string, { body: string; id: string }>()
  /** Refunds by account, payment and idempotency key. */
  const refunded = new Map<string, number>()
  router.use(authenticate)

  router.post('/payments', (request, response) => {
    const key = request.get('x-idempotency-key')
    if (!key) return refuse(response, 400, [4292, "Header X-Idempotency-Key can't be null"])
    const account = accountOf(request)
    const name = JSON.stringify([account, key])
    const body = JSON.stringify(request.body)
    const before = made.get(name)
    if (before && before.body !== body)
      return refuse(response, 409, [4293, 'The X-Idempotency-Key was used with another body'])
    if (before) return void response.status(201).json(book.get(before.id))
    const asked = Charge.safeParse(request.body)
    if (!asked.success) return refuse(response, 400, ...asked.error.issues.map(causeOf))
    if (!METHODS.some(({ id }) => id === asked.data.payment_method_id))
      return refuse(response, 400, [10102, 'Payment method not found'])
    const problem = chargeProblem(asked.data, now())
    if (problem) return refuse(response, 400, problem)
    const payment = book.charge(account, asked.data)
    made.set(name, { body, id: String(payment.id) })
    // Not awaited: as with the real provider, the notification may arrive before this response.
    void notifier.tell(payment, { action: 'payment.created' })
    response.status(201).json(payment)
  })

  router.get('/payments/search', (request, response) => {
    const reference = String(request.query.external_reference ?? '')
    const limit = Math.min(Number(request.query.limit ?? 30), 1000)
    const results: SandboxPayment[] = book.find(accountOf(request), reference)
    response.json({ paging: { total: results.length, limit, offset: 0 }, results: results.slice(0, limit) })
  })

  router.get('/payments/:id', (request, response) => {
    const payment = book.get(request.params.id, accountOf(request))
    if (payment) response.json(payment)
    else refuse(response, 404, [2000, 'Payment not found'])
  })

  router.post('/payments/:id/refunds', (request, response) => {
    const { id } = request.params
    const key = request.get('x-idempotency-key')
    if (!key) return refuse(response, 400, [4292, "Header X-Idempotency-Key can't be null"])
    if (!book.get(id, accountOf(request))) return refuse(response, 404, [2000, 'Payment not found'])
    const name = JSON.stringify([accountOf(request), id, key])
    const made = book.get(id)?.refunds.find((each) => each.id === refunded.get(name))
    const refund = made ?? book.refund(id, request.body?.amount ?? null)
    if (!refund) return refuse(response, 400, [2063, 'The action requested is not valid for the current payment state'])
    if (!refunded.has(name)) void notifier.tell(book.get(id) as SandboxPayment)
    refunded.set(name, refund.id)
    // As the provider does, unless the header asks for the refund itself.
    if (refund.status === 'in_process' && request.get('x-render-in-process-refunds') !== 'true')
      return refuse(response, 400, [2085, 'The refund is in process'])
    response.status(201).json(refund)
  })

  router.put('/payments/:id', (request, response) => {
    const { id } = request.params
    if (!book.get(id, accountOf(request))) return refuse(response, 404, [2000, 'Payment not found'])
    const moved = request.body?.status === 'cancelled' ? book.move(id, 'cancel') : null
    if (!moved) return refuse(response, 400, [2041, 'The action requested is not valid for the current payment state'])
    void notifier.tell(moved)
    response.json(moved)
  })

  router.get('/payment_methods', (_request, response) => void response.json(METHODS))

  router.get('/payment_methods/installments', (request, response) => {
    const { amount, bin } = request.query
    const card = METHODS.find(({ bins }) => bins.some((first) => String(bin ?? '').startsWith(first)))
    response.json(card ? [cardOptions(card.id, Number(amount))] : [])
  })

  return router
}

const authenticate: RequestHandler = (request, response, next) => {
  const account = accountOf(request)
  // Tokens that demonstrate wrong credentials.
  if (account === '' || account.startsWith('INVALID')) refuse(response, 401, [300, 'invalid access token'])
  else next()
}

const accountOf = (request: Request): string => /^Bearer (\S+)$/.exec(request.get('authorization') ?? '')?.[1] ?? ''

const causeOf = ({ path, message }: z.core.$ZodIssue): Cause => [4050, `${path.join('.')}: ${message}`]

/** Error body of the provider. */
function refuse(response: Response, status: number, ...causes: readonly Cause[]): void {
  const cause = causes.map(([code, description]) => ({ code, description, data: null }))
  response.status(status).json({ message: cause[0]?.description, error: 'bad_request', status, cause })
}

/** Behaviours of the endpoints: correct, or one of the failure modes. */
const FAULTS = ['none', 'slow', 'late', 'down', 'error', 'limited', 'html', 'wrong_types', 'huge', 'trickle'] as const
type Fault = (typeof FAULTS)[number]

export interface Faults {
  mode: Fault
  /** Delay of the call in mode `slow`, and of the response after a change in mode `late`. */
  delay_ms: number
  /** Received calls, failed ones included. */
  calls: number
}

const HUGE_BYTES = 8 * 1024 * 1024
const TRICKLE_EVERY_MS = 200

const WRONG_TYPES = { id: {}, status: 7, transaction_amount: 'much', live_mode: 'yes', external_reference: [] }

const BROKEN: { readonly [F in Exclude<Fault, 'none' | 'slow' | 'late'>]: (response: Response) => void } = {
  down: (response) => response.destroy(),
  error: (response) => response.status(500).json({ message: 'internal_error', error: 'internal_error', status: 500 }),
  limited: (response) => response.status(429).set('Retry-After', '1').json({ message: 'too many requests' }),
  html: (response) => response.type('html').send('<!doctype html><title>Maintenance</title>'),
  wrong_types: (response) => response.json({ ...WRONG_TYPES, results: [WRONG_TYPES] }),
  huge: (response) => response.type('json').send(`{"id":1,"status":"${'x'.repeat(HUGE_BYTES)}"}`),
  trickle(response) {
    response.type('json').write('{"id":')
    const timer = setInterval(() => response.write(' '), TRICKLE_EVERY_MS)
    response.on('close', () => clearInterval(timer))
  },
}

/** Applies the current failure mode, before or instead of the endpoint. */
export function failing(faults: Faults): RequestHandler {
  return (request, response, next) => {
    faults.calls += 1
    const { mode } = faults
    if (mode === 'none') return next()
    if (mode !== 'slow' && mode !== 'late') return BROKEN[mode](response)
    const late = (act: () => void) => {
      const timer = setTimeout(act, faults.delay_ms)
      response.on('close', () => clearTimeout(timer))
    }
    if (mode === 'slow') return late(next)
    // Reads change nothing.
    if (request.method === 'GET') return next()
    const answer = response.json.bind(response)
    response.json = (body) => {
      late(() => answer(body))
      return response
    }
    next()
  }
}

/** Invalid control call. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** Longest delay of responses. */
const MAX_DELAY_MS = 60_000

/** Forged notifications; all are signed with the true secret, except where the signature is the forgery. */
export const FORGERIES = [
  'bad_signature',
  'unsigned',
  'other_order',
  'other_amount',
  'other_mode',
  'unknown_payment',
  'other_type',
] as const

type Forgery = (typeof FORGERIES)[number]

const refundBody = z.strictObject({ amount: z.number().positive().nullable().default(null) })
const faultBody = z.strictObject({
  mode: z.enum(FAULTS),
  delay_ms: z.int().min(0).max(MAX_DELAY_MS).default(10_000),
})
const notifyBody = z.strictObject({ times: z.int().min(1).max(100).default(1), at_once: z.boolean().default(false) })
const forgeBody = z.strictObject({ as: z.enum(FORGERIES), url: z.url().optional() })
const settingsBody = z.strictObject({
  delivery: z.enum(DELIVERIES).optional(),
  /** Whose notifications `secret` signs; without it, those of all stores without a secret of their own. */
  store: z.string().min(1).max(100).optional(),
  secret: z.string().min(1).nullable().optional(),
})
const connectionsBody = z.strictObject({
  token_seconds: z.int().min(1).max(315_360_000).optional(),
  revoked: z.boolean().optional(),
})
const releaseBody = z.strictObject({ order: z.enum(ORDERS).default('forward') })

/** Control API beyond the real provider: decides payments and deliveries of notifications. */
export function control(provider: Provider, faults: Faults, connections: Connections): Router {
  const { book, notifier } = provider
  const router = express.Router()

  router.get('/payments', (_request, response) => void response.json(book.all()))
  for (const move of ALL_MOVES) {
    router.post(`/payments/:id/${move}`, async (request, response) => {
      const amount = move === 'refund' ? read(refundBody, request.body).amount : null
      const { payment, notification } = await play(provider, request.params.id, move, amount)
      answer(response, { payment, notification: view(notification) })
    })
  }
  router.post('/payments/:id/notify', async (request, response) => {
    const { times, at_once } = read(notifyBody, request.body)
    const notification = notifier.make(payment(book, request.params.id))
    const sendings = Array.from({ length: times }, () => () => notifier.send(notification))
    if (at_once) await Promise.all(sendings.map((send) => send()))
    else for (const send of sendings) await send()
    answer(response, { notification: view(notification) })
  })
  router.post('/payments/:id/forge', async (request, response) => {
    const { as, url } = read(forgeBody, request.body)
    const [subject, claims] = forgery(provider, payment(book, request.params.id), as, url)
    answer(response, { notification: view(await notifier.send(notifier.make(subject, claims))) })
  })
  router.get('/notifications', (_request, response) => void response.json(notifier.made.map(view)))
  router.post('/notifications/release', async (request, response) => {
    const { order } = read(releaseBody, request.body)
    answer(response, { notifications: (await notifier.release(order)).map(view) })
  })
  router.post('/notifications/retry', async (_request, response) => {
    answer(response, { notifications: (await notifier.retry()).map(view) })
  })
  router.put('/settings', (request, response) => {
    const { delivery, store, secret } = read(settingsBody, request.body)
    if (delivery !== undefined) notifier.delivery = delivery
    if (secret !== undefined) notifier.setSecret(secret, store)
    answer(response, { delivery: notifier.delivery, signs: notifier.signs(store) })
  })
  router.put('/connections', (request, response) => {
    Object.assign(connections, read(connectionsBody, request.body))
    answer(response, connections)
  })
  router.put('/fault', (request, response) => {
    Object.assign(faults, read(faultBody, request.body))
    answer(response, { mode: faults.mode, delay_ms: faults.delay_ms })
  })
  return router
}

/**
 * Applies a transition to a payment and notifies the service. `amount`: of a refund; null refunds all that is left.
 * @throws Refusal
 */
export async function play({ book, notifier }: Provider, id: string, move: AnyMove, amount: number | null) {
  const before = payment(book, id)
  const moved = move === 'refund' ? book.refund(id, amount) && book.get(id) : book.move(String(before.id), move)
  if (!moved) throw new Refusal(409, `payment cannot ${move}: it can ${book.moves(id).join(', ') || 'do nothing'}`)
  // Nothing has happened yet to a payment whose next refund will stay in process.
  return { payment: moved, notification: move === 'refund-in-process' ? null : await notifier.tell(moved) }
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body ?? {})
  if (result.success) return result.data
  throw new Refusal(422, z.prettifyError(result.error))
}

function payment(book: Book, id: string): SandboxPayment {
  const found = book.get(id)
  if (!found) throw new Refusal(404, `payment ${id} not found`)
  return found
}

function view(notification: Notification | null) {
  if (!notification) return null
  const { number, url, body, sent } = notification
  return { number, url, body: JSON.parse(body) as unknown, sent: sent.map(readable) }
}

function readable({ status, answer }: Notification['sent'][number]) {
  try {
    return { status, answer: JSON.parse(answer) as unknown }
  } catch {
    return { status, answer }
  }
}

const answer = (response: Response, body: object): void => void response.json(body)

/** Claims of a forged notification, and the payment that it names. `url`: notification URL of another order. */
export function forgery(
  { book }: { readonly book: Book },
  subject: SandboxPayment,
  as: Forgery,
  url: string | undefined,
): [SandboxPayment, Claims] {
  switch (as) {
    case 'bad_signature':
      return [subject, { secret: 'not the secret' }]
    case 'unsigned':
      return [subject, { secret: null }]
    case 'other_order':
      if (!url) throw new Refusal(422, 'url: expected the notification URL of another order')
      return [subject, { url }]
    case 'other_amount':
      return [anotherAmount(book, subject), {}]
    case 'other_mode':
      return [subject, { liveMode: !subject.live_mode }]
    case 'unknown_payment':
      return [subject, { dataId: '1' }]
    case 'other_type':
      return [subject, { type: 'plan', action: 'plan.updated' }]
  }
}

/** A real, approved payment of the same order over one cent. */
function anotherAmount(book: Book, subject: SandboxPayment): SandboxPayment {
  const { payment_method_id, payer, external_reference, notification_url } = subject
  const account = book.accountOf(String(subject.id)) ?? ''
  return book.charge(account, {
    payment_method_id,
    payer,
    external_reference: external_reference ?? undefined,
    notification_url: notification_url ?? undefined,
    transaction_amount: subject.transaction_amount === 0.01 ? 0.02 : 0.01,
    token: 'APRO',
  })
}

/** Printed at the start: purpose and curl commands. */
export const sandboxHelp = (url: string): string => `
  A payment provider to try things with answers on ${url}

  Start the service with it, and create a payment of an order (docs/online-store.md):
    PAYMENT_PROVIDER_URL=${url} npm start

  Card tokens: APRO approves at once, OTHE rejects at once; any other payment stays pending until it is paid or its time is over.
  Cards: 4… visa, 5… master, 636… elo, 37… amex, in up to 12 instalments of at least R$ 5,00.
  Access tokens that begin with INVALID are refused. Payments are forgotten when this ends.

  In a browser: what was asked to be paid, and buttons for what buyers do
    ${url}/
  What has been paid, and what was told:
    curl -s ${url}/sandbox/payments
    curl -s ${url}/sandbox/notifications
  What happens to a payment; each tells the service with a signed notification:
    curl -sX POST ${url}/sandbox/payments/ID/approve     also: expire reject cancel
    refund ({"amount": 1.5} for a part) mediate settle-mediation charge-back lose-dispute win-dispute
    refund-in-process (the next refund requested of it stays in process) refund-done refund-rejected (the oldest in process)
  Tell it again, five times side by side:
    curl -sX POST ${url}/sandbox/payments/ID/notify -H 'Content-Type: application/json' -d '{"times":5,"at_once":true}'
  Tell a lie: bad_signature unsigned other_order (with url) other_amount other_mode unknown_payment other_type
    curl -sX POST ${url}/sandbox/payments/ID/forge -H 'Content-Type: application/json' -d '{"as":"bad_signature"}'
  Hold or lose notifications, send what was held (forward backward shuffled at_once), repeat what failed:
    curl -sX PUT  ${url}/sandbox/settings -H 'Content-Type: application/json' -d '{"delivery":"hold"}'
    curl -sX POST ${url}/sandbox/notifications/release -H 'Content-Type: application/json' -d '{"order":"backward"}'
    curl -sX POST ${url}/sandbox/notifications/retry
  Sign a store's notifications with its secret, or not at all (null):
    curl -sX PUT  ${url}/sandbox/settings -H 'Content-Type: application/json' -d '{"store":"ALIAS","secret":"..."}'
  Connected stores (PAYMENT_CLIENT_ID and PAYMENT_CLIENT_SECRET: any; a secret that begins with INVALID is refused): new
  tokens end sooner; renewals are refused:
    curl -sX PUT  ${url}/sandbox/connections -H 'Content-Type: application/json' -d '{"token_seconds":3600,"revoked":true}'
  Fail: none slow (delay_ms) late (acts, and answers a change after delay_ms) down error limited html wrong_types huge trickle
    curl -sX PUT  ${url}/sandbox/fault -H 'Content-Type: application/json' -d '{"mode":"slow","delay_ms":8000}'

`
