import type { Narrator } from './narrator.ts'

/** Payment sandbox, as started by `tillbook provider-sandbox`. */
interface SandboxAddress {
  readonly url: string
}

const TIMEOUT_MS = 15_000

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
