import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Narrator } from './narrator.ts'

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
