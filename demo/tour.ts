import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** Response to a call. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the demo shows answers of many shapes
  readonly body: any
}

/** Selects the printed part of a response. */
type Show = (answer: Answer) => object

/** Prints a title, sends one real request, and prints its response. */
export interface Narrator {
  say(title: string): void
  print(text: string): void
  get(title: string, path: string, show?: Show): Promise<Answer>
  /** `key` is the Idempotency-Key. */
  post(title: string, path: string, body: object, options?: { show?: Show; key?: string }): Promise<Answer>
  remove(title: string, path: string): Promise<Answer>
  /** Call of the till sync: POST with a body, GET without. */
  postAsTill(
    title: string,
    path: string,
    body: object | undefined,
    options: { show?: Show; token?: string },
  ): Promise<Answer>
}

const TIMEOUT_MS = 15_000

/** Calls a running service and writes a transcript. */
export function createNarrator(baseUrl: string, apiKey: string, out: Writable): Narrator {
  let step = 0
  const say = (title: string) => out.write(`\n${++step}. ${title}\n\n`)

  async function call({ method, path, show = ({ body }) => body, body, key, bearer = apiKey }: Call): Promise<Answer> {
    out.write(`  ${method} ${path}\n`)
    if (key) out.write(`  Idempotency-Key: ${key}\n`)
    if (body) out.write(`  ${JSON.stringify(hidden(body))}\n`)
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(key ? { 'idempotency-key': key } : {}),
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).catch((error: unknown) => {
      throw new Error(`no response from ${baseUrl}; start the service first`, { cause: error })
    })
    const answer: Answer = { status: response.status, headers: response.headers, body: parsed(await response.text()) }
    const shown = answer.body === null ? '' : `${indented(show(answer))}\n`
    out.write(`\n  ${answer.status} ${response.statusText}\n${shown}`)
    return answer
  }

  return {
    say,
    print: (text) => out.write(text),
    get(title, path, show) {
      say(title)
      return call({ method: 'GET', path: `/api/v1${path}`, show })
    },
    post(title, path, body, { show, key } = {}) {
      say(title)
      return call({ method: 'POST', path: `/api/v1${path}`, show, body, key })
    },
    remove(title, path) {
      say(title)
      return call({ method: 'DELETE', path: `/api/v1${path}` })
    },
    postAsTill(title, path, body, { show, token }) {
      if (title) say(title)
      return call({ method: body ? 'POST' : 'GET', path: `/api${path}`, show, body, bearer: token })
    },
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly show?: Show | undefined
  readonly body?: object | undefined
  readonly key?: string | undefined
  readonly bearer?: string | undefined
}

const parsed = (text: string) => (text === '' ? null : JSON.parse(text))

/** Transcripts are shared, so passwords are hidden. */
const hidden = (body: object): object => ('password' in body ? { ...body, password: '…' } : body)

const LINE = 110

const indented = (value: object): string => layOut(value, '').replace(/^/gm, '  ')

/** Pretty-printed JSON: values that fit on a line stay on one, others are expanded level by level. */
function layOut(value: unknown, indent: string): string {
  const line = JSON.stringify(value)
  if (indent.length + line.length <= LINE || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((element) => layOut(element, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${layOut(member, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}

/** Payment sandbox, as started by `tillbook provider-sandbox`. */
interface SandboxAddress {
  readonly url: string
}

/** Order of the online store: the buyer pays by Pix, and the shop refunds a part. */
export async function tellOrder(narrator: Narrator, store: { alias: string }, sandbox: SandboxAddress): Promise<void> {
  const { get, post, say, print } = narrator
  const run = Date.now().toString(36)
  const order = {
    store_alias: store.alias,
    customer: { name: 'Maria da Silva', email: 'maria@example.com' },
    items: [{ description: 'Cesta de café da manhã', quantity: '1', unit_price: '89.90' }],
    delivery_fee: '10.00',
  }
  const placed = await post(
    'Create an order of the online store: payment_url is the page of the buyer',
    '/orders',
    order,
    {
      show: ({ body: { data } }) => ({
        id: data.id,
        status: data.status,
        total: data.total,
        payment_url: data.payment_url,
      }),
    },
  )
  const path = `/orders/${placed.body.data.id}`
  const paying = await post(
    'Create a Pix payment, like the button of that page',
    `${path}/payments`,
    { method: 'pix' },
    {
      key: `demo-pix-${run}`,
      show: ({ body }) => pixLine(body),
    },
  )
  if (paying.status !== 201) {
    print('\n  The service does not ask the sandbox of the provider. To see an order paid, start it with\n')
    print(`    PAYMENT_PROVIDER_URL=${sandbox.url}\n`)
    return
  }
  const approve = `/sandbox/payments/${paying.body.data.payment.provider_payment_id}/approve`
  say('The buyer pays at the bank; the provider notifies the service, which verifies it at the provider')
  print(`  POST ${sandbox.url}${approve}\n`)
  const answer = await fetch(sandbox.url + approve, { method: 'POST', signal: AbortSignal.timeout(TIMEOUT_MS) })
  const { notification } = (await answer.json()) as { notification: { sent: { status: number; answer: object }[] } }
  const told = notification.sent.at(-1)
  print(`\n  the notification was answered ${told?.status} ${JSON.stringify(told?.answer)}\n`)
  await get('The order is paid, its sale registered, and the commission split', path, ({ body: { data } }) => ({
    status: data.status,
    sale_id: data.sale_id,
    commission: data.commission,
    payment_url: data.payment_url,
  }))
  await post(
    'Refund a part',
    `${path}/refunds`,
    { amount: '30.00' },
    {
      key: `demo-refund-${run}`,
      show: ({ body: { data } }) => ({
        status: data.status,
        refunded_total: data.refunded_total,
        partially_refunded: data.partially_refunded,
        commission: data.commission,
      }),
    },
  )
}

// biome-ignore lint/suspicious/noExplicitAny: an order, or an error
const pixLine = ({ data, error }: any): object =>
  data
    ? { status: data.status, status_detail: data.payment.status_detail, qr_code: data.payment.pix?.qr_code }
    : { error: { code: error.code, message: error.message } }

const WAIT_MS = 10_000
const RECORDED_AFTER_MS = 300

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/**
 * A till uploads an offline sale, and an integration receives its webhook: registers a local endpoint, and verifies the
 * delivery as docs/webhooks.md describes.
 */
export async function tellWebhook(
  { get, post, remove, postAsTill, say, print }: Narrator,
  user: { readonly email: string; readonly password: string },
): Promise<void> {
  const inbox = await openInbox()
  try {
    const fields = { url: inbox.url, events: ['sale.completed'], description: 'demo' }
    const webhook = await post('Register a webhook endpoint; the secret is shown once', '/webhooks', fields, {
      show: ({ body: { data } }) => ({ id: data.id, status: data.status, secret: `${data.secret.slice(0, 12)}…` }),
    })
    const { id, secret } = webhook.body.data
    const login = await postAsTill('A till logs in', '/auth/login', user, {
      show: ({ body: { data } }) => ({ user: data.user, token: `${data.token.slice(0, 12)}…` }),
    })
    const sale = await offlineSale(login.body.data.token, postAsTill)
    await postAsTill(
      'The till uploads a sale that it made offline',
      '/sync/sales',
      { sales: [sale] },
      {
        token: login.body.data.token,
      },
    )
    say('The integrator receives the webhook, and verifies its signature')
    print(await describe(await inbox.next(), secret))
    // The delivery result is recorded shortly after the response.
    await delay(RECORDED_AFTER_MS)
    await get('Show the recorded delivery', `/webhooks/${id}/deliveries?limit=1`, ({ body }) => {
      const [{ event, sequence, status, attempts }] = body.data
      return { event, sequence, status, attempts }
    })
    await remove('Delete the webhook endpoint', `/webhooks/${id}`)
  } finally {
    inbox.close()
  }
}

/** Sale of one piece of the catalog's first product, paid in cash. */
async function offlineSale(token: string, call: Narrator['postAsTill']): Promise<object> {
  const config = await call('The till downloads products and payment types', '/sync/config', undefined, {
    token,
    show: ({ body }) => ({ company: body.data.company.name, payment_types: body.data.payment_types.length }),
  })
  const products = await call('', '/sync/products', undefined, {
    token,
    show: ({ body }) => ({ total: body.total, sync_timestamp: body.sync_timestamp }),
  })
  const [{ id, price }] = products.body.data
  const cash = config.body.data.payment_types.find((type: { is_cash: boolean }) => type.is_cash)
  const now = new Date().toISOString()
  return {
    offline_id: `caixa-1-${Date.now().toString(36)}`,
    total: price,
    amount_received: price,
    change: 0,
    status: 'completed',
    created_at: now,
    items: [{ product_id: id, quantity: 1, price, total: price }],
    payments: [{ payment_type_id: cash.id, amount: price, status: 'completed' }],
  }
}

async function describe({ headers, body }: Received, secret: string): Promise<string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  const name = 'webhook-signature'
  const given = Buffer.from(String(headers[name]))
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected)
  const shown = ['x-service-event', 'x-service-sequence', 'x-service-revision', 'webhook-id', 'webhook-timestamp', name]
  const lines = shown.map((header) => `  ${header}: ${headers[header]}`)
  const { event, origin, data } = JSON.parse(body)
  const told = JSON.stringify({ event, origin, data: { id: data.id, total: data.total, status: data.status } })
  return `${lines.join('\n')}\n  ${told}\n\n  the signature is ${isGenuine ? 'genuine' : 'FORGED'}\n`
}

/** Local receiver. */
async function openInbox() {
  let arrived: (received: Received) => void = () => {}
  const first = new Promise<Received>((resolve) => {
    arrived = resolve
  })
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.writeHead(204).end()
      arrived({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/eventos`,
    async next(): Promise<Received> {
      const late = new Promise<never>((_, reject) => {
        setTimeout(() => reject(new Error('webhook not delivered in time')), WAIT_MS).unref()
      })
      return Promise.race([first, late])
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
