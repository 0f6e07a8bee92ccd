import { createHmac, randomInt, randomUUID } from 'node:crypto'
import type { SandboxPayment } from './sandbox-book.ts'

/** Delivery of new notifications: at once, held for later, or lost. */
export const DELIVERIES = ['send', 'hold', 'lose'] as const
type Delivery = (typeof DELIVERIES)[number]

/** Order in which held notifications are sent. */
export const ORDERS = ['forward', 'backward', 'shuffled', 'at_once'] as const
type Order = (typeof ORDERS)[number]

/** Sent notification; `sent` counts its repetitions. */
export interface Notification {
  readonly number: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly sent: { readonly status: number; readonly answer: string }[]
}

/** Overrides of a notification's content. */
export interface Claims {
  readonly dataId?: string
  readonly liveMode?: boolean
  readonly type?: string
  readonly action?: string
  readonly url?: string
  /** Null: unsigned. */
  readonly secret?: string | null
}

export interface Notifier {
  /** Notifies of a payment according to the delivery mode; null if nothing is sent now. */
  tell(payment: SandboxPayment, claims?: Claims): Promise<Notification | null>
  /** Sends a notification regardless of the delivery mode, possibly again. */
  send(notification: Notification): Promise<Notification>
  /** Creates a notification without sending it. */
  make(payment: SandboxPayment, claims?: Claims): Notification
  /** Sends held notifications. */
  release(order: Order): Promise<Notification[]>
  /** Repeats those without a 2xx response, as the provider does for days. */
  retry(): Promise<Notification[]>
  /** All notifications in order of creation. */
  readonly made: readonly Notification[]
  delivery: Delivery
  /** Sets the secret that signs notifications of a store, by alias, or of all stores without one; null: unsigned. */
  setSecret(secret: string | null, store?: string): void
  /** Whether notifications of a store, or of any store, are signed. */
  signs(store?: string): boolean
  /** Resolves once no delivery is running. */
  idle(): Promise<void>
}

const SEND_TIMEOUT_MS = 20_000
/** Limit of remembered notifications; older ones are dropped. */
const REMEMBERED = 1_000

/**
 * Creates and sends notifications like the provider: signed over data.id, request id and time, with data.id in the
 * query too.
 */
export function createNotifier(options: {
  /** Of stores without a secret of their own. */
  readonly secret: string | null
  /** By alias. */
  readonly storeSecrets?: Readonly<Record<string, string>>
  readonly now: () => Date
  readonly log: (line: string) => void
}): Notifier {
  const made: Notification[] = []
  const kept = new Set<Notification>()
  const underWay = new Set<Promise<unknown>>()
  const secrets = new Map<string, string | null>(Object.entries(options.storeSecrets ?? {}))
  let commonSecret = options.secret
  let lastNumber = 0

  function secretOf(store: string | undefined): string | null {
    const own = store === undefined ? undefined : secrets.get(store)
    return own === undefined ? commonSecret : own
  }

  async function post({ number, url, headers, body, sent }: Notification): Promise<void> {
    try {
      const signal = AbortSignal.timeout(SEND_TIMEOUT_MS)
      const response = await fetch(url, { method: 'POST', headers, body, signal })
      sent.push({ status: response.status, answer: await response.text() })
    } catch (error) {
      sent.push({ status: 0, answer: (error as Error).message })
    }
    const last = sent.at(-1)
    options.log(`notification ${number} → ${url}: ${last?.status} ${last?.answer}`)
  }

  const notifier: Notifier = {
    made,
    delivery: 'send',
    setSecret(secret, store) {
      if (store === undefined) commonSecret = secret
      else secrets.set(store, secret)
    },
    signs: (store) =>
      store === undefined
        ? [commonSecret, ...secrets.values()].some((secret) => secret !== null)
        : secretOf(store) !== null,
    make(payment, claims = {}) {
      const { url = payment.notification_url } = claims
      if (!url) throw new Error(`payment ${payment.id}: no notification_url`)
      const secret = claims.secret === undefined ? secretOf(storeOf(url)) : claims.secret
      const notification = signed({ payment, claims, url, secret, number: ++lastNumber, at: options.now() })
      made.push(notification)
      if (made.length > REMEMBERED) made.shift()
      return notification
    },
    async send(notification) {
      kept.delete(notification)
      const sending = post(notification)
      underWay.add(sending)
      await sending.finally(() => underWay.delete(sending))
      return notification
    },
    async tell(payment, claims) {
      if (!payment.notification_url || notifier.delivery === 'lose') return null
      const notification = notifier.make(payment, claims)
      if (notifier.delivery === 'send') return notifier.send(notification)
      kept.add(notification)
      return null
    },
    release: (order) => sendAll(inOrder([...kept], order), order === 'at_once'),
    retry: () => sendAll(made.filter(isUnanswered), false),
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }

  async function sendAll(notifications: readonly Notification[], atOnce: boolean): Promise<Notification[]> {
    if (atOnce) return Promise.all(notifications.map(notifier.send))
    for (const notification of notifications) await notifier.send(notification)
    return [...notifications]
  }

  return notifier
}

/** Alias of the notified store. */
const storeOf = (url: string): string | undefined => /\/paymentprovider\/([^/]+)\//.exec(new URL(url).pathname)?.[1]

const isUnanswered = ({ sent }: Notification): boolean => {
  const last = sent.at(-1)
  return last !== undefined && (last.status < 200 || last.status > 299)
}

function inOrder<T>(list: readonly T[], order: Order): T[] {
  if (order === 'backward') return list.toReversed()
  if (order !== 'shuffled') return [...list]
  const left = [...list]
  return list.flatMap(() => left.splice(randomInt(left.length), 1))
}

interface Draft {
  readonly payment: SandboxPayment
  readonly claims: Claims
  readonly url: string
  readonly secret: string | null
  readonly number: number
  readonly at: Date
}

function signed({ payment, claims, url, secret, number, at }: Draft): Notification {
  const dataId = claims.dataId ?? String(payment.id)
  const type = claims.type ?? 'payment'
  const content = {
    id: Number(`${payment.id}${String(number).padStart(4, '0')}`.slice(-15)),
    live_mode: claims.liveMode ?? payment.live_mode,
    type,
    date_created: at.toISOString(),
    user_id: '44444',
    api_version: 'v1',
    action: claims.action ?? 'payment.updated',
    data: { id: dataId },
  }
  const requestId = randomUUID()
  const target = new URL(url)
  target.searchParams.set('data.id', dataId)
  target.searchParams.set('type', type)
  return {
    number,
    url: target.href,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'MercadoPago WebHook v1.0 payment',
      'x-request-id': requestId,
      ...(secret === null ? {} : { 'x-signature': signature(dataId, requestId, at, secret) }),
    },
    body: JSON.stringify(content),
    sent: [],
  }
}

function signature(dataId: string, requestId: string, at: Date, secret: string): string {
  const ts = Math.floor(at.getTime() / 1000)
  const manifest = `id:${dataId.toLowerCase()};request-id:${requestId};ts:${ts};`
  return `ts=${ts},v1=${createHmac('sha256', secret).update(manifest).digest('hex')}`
}
