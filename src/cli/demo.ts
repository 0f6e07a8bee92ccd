import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { streamOf } from '../ledger/envelope.ts'
import { type Answer, createNarrator, type Narrator } from './demo-narrator.ts'
import { optional, verb } from './verb.ts'

/** The main job on a running service, step by step, with real requests and answers. */
export const demo = verb({
  summary: 'shows the main job on a running service: a sale, its replay, a refusal, its cancellation, the ledger',
  flags: { url: optional('URL'), key: optional('API_KEY') },
  async run(context, { url, key }) {
    const base = url ?? context.config.PUBLIC_URL
    const narrator = createNarrator(base, key ?? (await demoCompany(context.config)).api_key, process.stdout)
    const me = await narrator.call('Who am I?', 'GET', '/me', undefined, whoLine)
    await tellSale(narrator)
    const { store } = await context.core()
    narrator.say(`The ledger of ${me.body.data.company.name}, last events`)
    await showLedger(narrator, store.read(streamOf(me.body.data.company.id), 0))
    return undefined
  },
})

async function demoCompany({ DATA_DIR }: Config): Promise<{ api_key: string }> {
  const file = join(DATA_DIR, 'demo.json')
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`${file} is not there: start the service with its demo data first (npm start)`)
  })
  return JSON.parse(text).companies[0]
}

/** One item, one sale, and everything that may happen to it. */
async function tellSale(narrator: Narrator): Promise<void> {
  const since = new Date().toISOString()
  const run = Date.now().toString(36)
  const item = await narrator.call(
    'Create an item with a stock of 10',
    'POST',
    '/catalog/items',
    {
      external_id: `cafe-${run}`,
      name: `Café torrado 500 g (${run})`,
      price: '18.90',
      stock: '10',
    },
    itemLine,
  )
  const types = await narrator.call(
    'Which payment types are there?',
    'GET',
    '/sales/payment-types',
    undefined,
    shortList,
  )
  const cash = (types.body.data as { id: number; is_cash: boolean }[]).find((type) => type.is_cash)?.id
  const sale = {
    external_id: `pedido-${run}`,
    items: [{ catalog_item_external_id: `cafe-${run}`, quantity: '2' }],
    payments: [{ payment_type_id: cash, amount: '40.00' }],
  }
  const key = `demo-${run}`
  const sold = await narrator.call(
    'Register a sale; the price is the list price, the surplus of cash is change',
    'POST',
    '/sales',
    sale,
    undefined,
    key,
  )
  await narrator.call(
    'The answer was lost? Send it again: the same sale, not another one',
    'POST',
    '/sales',
    sale,
    replayLine,
    key,
  )
  await narrator.call('Sell more than the stock: refused, and nothing is debited', 'POST', '/sales', {
    items: [{ catalog_item_external_id: `cafe-${run}`, quantity: '9' }],
    payments: [{ payment_type_id: cash, amount: '170.10' }],
  })
  await narrator.call(
    'Cancel the sale: the stock goes back',
    'POST',
    `/sales/${sold.body.data.id}/cancel`,
    { reason: 'Cliente desistiu' },
    stateLine,
  )
  await narrator.call(
    'The item has its stock again',
    'GET',
    `/catalog/items/${item.body.data.id}`,
    undefined,
    stockLine,
  )
  await narrator.call(
    'Poll what changed since the demo began',
    'GET',
    `/sales?updated_since=${since}`,
    undefined,
    shortList,
  )
}

const whoLine = ({ body: { data } }: Answer) => ({ company: data.company, key: data.key.prefix, limits: data.limits })
const replayLine = ({ body, headers }: Answer) => ({
  'Idempotent-Replayed': headers.get('idempotent-replayed'),
  id: body.data.id,
  total: body.data.total,
})
const stateLine = ({ body }: Answer) => ({
  id: body.data.id,
  status: body.data.status,
  cancel_reason: body.data.cancel_reason,
})
const itemLine = ({ body: { data } }: Answer) => ({
  id: data.id,
  name: data.name,
  price: data.price,
  stock: data.stock,
})
const stockLine = ({ body }: Answer) => ({ id: body.data.id, stock: body.data.stock })
const shortList = ({ body }: Answer) => ({
  data: (body.data as Record<string, unknown>[]).map(({ id, name, status, fee_percentage, accepts_api }) =>
    JSON.parse(JSON.stringify({ id, name, status, fee_percentage, accepts_api })),
  ),
  ...(body.meta ? { meta: body.meta } : {}),
})

const LAST_EVENTS = 8

async function showLedger(
  narrator: Narrator,
  events: AsyncIterable<{ revision: number; type: string; subject: string; hash: string }>,
) {
  const last: string[] = []
  for await (const { revision, type, subject, hash } of events) {
    last.push(`  ${String(revision).padStart(4)}  ${type.padEnd(22)} ${subject.padEnd(18)} ${hash.slice(0, 16)}…`)
    if (last.length > LAST_EVENTS) last.shift()
  }
  narrator.print(`  rev.  type                   subject            hash\n${last.join('\n')}\n`)
}
