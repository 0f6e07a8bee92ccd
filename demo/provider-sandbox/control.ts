import express, { type Response, type Router } from 'express'
import { z } from 'zod'
import type { Provider } from './api.ts'
import { type Book, MOVES, type Move, type SandboxPayment } from './book.ts'
import { FAULTS, type Faults } from './faults.ts'
import { FORGERIES, forgery } from './forgeries.ts'
import { DELIVERIES, type Notification, ORDERS } from './notifications.ts'
import { Refusal } from './refusal.ts'

/** Longest that answers may be held back. */
const MAX_DELAY_MS = 60_000

const faultBody = z.strictObject({
  mode: z.enum(FAULTS),
  delay_ms: z.int().min(0).max(MAX_DELAY_MS).default(10_000),
})
const notifyBody = z.strictObject({ times: z.int().min(1).max(100).default(1), at_once: z.boolean().default(false) })
const forgeBody = z.strictObject({ as: z.enum(FORGERIES), url: z.url().optional() })
const settingsBody = z.strictObject({
  delivery: z.enum(DELIVERIES).optional(),
  secret: z.string().min(1).nullable().optional(),
})
const releaseBody = z.strictObject({ order: z.enum(ORDERS).default('forward') })

/** What the real provider does not offer: deciding what happens to a payment, and how it is told. */
export function control(provider: Provider, faults: Faults): Router {
  const { book, notifier } = provider
  const router = express.Router()

  router.get('/payments', (_request, response) => void response.json(book.all()))
  for (const move of Object.keys(MOVES) as Move[]) {
    router.post(`/payments/:id/${move}`, async (request, response) => {
      const moved = book.move(existing(book, request.params.id), move)
      if (!moved) throw new Refusal(409, `a payment can only ${move} from ${MOVES[move].from}`)
      answer(response, { payment: moved, notification: view(await notifier.tell(moved)) })
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
    const { delivery, secret } = read(settingsBody, request.body)
    if (delivery !== undefined) notifier.delivery = delivery
    if (secret !== undefined) notifier.secret = secret
    answer(response, { delivery: notifier.delivery, signs: notifier.secret !== null })
  })
  router.put('/fault', (request, response) => {
    Object.assign(faults, read(faultBody, request.body))
    answer(response, { mode: faults.mode, delay_ms: faults.delay_ms })
  })
  return router
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body ?? {})
  if (result.success) return result.data
  throw new Refusal(422, z.prettifyError(result.error))
}

function payment(book: Book, id: string): SandboxPayment {
  const found = book.get(id)
  if (!found) throw new Refusal(404, `there is no payment ${id}`)
  return found
}

const existing = (book: Book, id: string): string => String(payment(book, id).id)

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
