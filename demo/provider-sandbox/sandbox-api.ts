import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type * as z from 'zod'
import {
  type Book,
  type Cause,
  Charge,
  cardOptions,
  chargeProblem,
  METHODS,
  type SandboxPayment,
} from './sandbox-book.ts'
import type { Notifier } from './sandbox-notifications.ts'

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
export const FAULTS = [
  'none',
  'slow',
  'late',
  'down',
  'error',
  'limited',
  'html',
  'wrong_types',
  'huge',
  'trickle',
] as const
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
