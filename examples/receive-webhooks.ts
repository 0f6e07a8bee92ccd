/**
 * Receives webhooks at /hook, and updates the company's records in an SQLite file; an hourly poll finds missed changes:
 * `SECRET=whsec_… npm run -s receive-webhooks -- webhooks.sqlite`.
 */
import { createServer } from 'node:http'
import { createClient, type Resource } from '@tillbook/client'
import { type Delivery, expressHandler } from '@tillbook/client/webhooks'
import { openRecords, type Shown } from './records.ts'

const { BASE = 'http://127.0.0.1:3000', KEY = '', SECRET = '', PORT = '4100' } = process.env
const HOUR_MS = 3_600_000
/** The service may redeliver for this long. */
const KEPT_MS = 40 * 24 * HOUR_MS

const RESOURCES: Readonly<Record<string, Resource>> = {
  customer: '/customers',
  supplier: '/suppliers',
  category: '/catalog/categories',
  catalog_item: '/catalog/items',
  receivable: '/finance/receivables',
  payable: '/finance/payables',
  sale: '/sales',
  order: '/orders',
}

/** Unprocessed delivery; `data` is JSON. */
interface Waiting {
  readonly id: string
  readonly event: string
  readonly data: string
}

const records = openRecords(process.argv[2] ?? 'webhooks.sqlite')
const { database } = records
// Only the id of a processed delivery stays: bodies contain personal data.
database.exec(
  'create table if not exists deliveries (id text primary key, received_at integer not null, event text not null, data text)',
)
const keep = database.prepare('insert or ignore into deliveries values (?, ?, ?, ?)')
const waiting = database.prepare(
  'select id, event, data from deliveries where data is not null order by rowid limit 100',
)
const finish = database.prepare('update deliveries set data = null where id = ?')

/** Stores a delivery only: it is acknowledged at once, and processed afterwards. */
function receive({ id, payload: { event, data } }: Delivery): void {
  const isNew = keep.run(id, Date.now(), event, JSON.stringify(data)).changes > 0
  if (isNew) setImmediate(work)
  else console.log(`${event} came again`)
}

const deal = database.transaction(({ id, event, data }: Waiting) => {
  const [kind = '', what] = event.split('.')
  const resource = RESOURCES[kind]
  // An erased person is also in an `updated` event.
  if (resource && what !== 'forgotten') records.put(resource, JSON.parse(data) as Shown)
  finish.run(id)
})

/** Also processes deliveries left by a kill. */
function work(): void {
  for (const delivery of waiting.all() as Waiting[]) {
    deal(delivery)
    console.log(`${delivery.event} ${JSON.parse(delivery.data).id ?? ''}`.trim())
  }
}

/** Polls for missed changes. During an outage the next hour finds the same. */
async function reconcile(): Promise<void> {
  try {
    for await (const changes of tillbook.changes({ since: records.position() }))
      for (const name of records.take(changes)) console.log(`${name} was not told`)
    database.prepare('delete from deliveries where received_at < ? and data is null').run(Date.now() - KEPT_MS)
  } catch (error) {
    console.error('asking failed:', error)
  }
  setTimeout(reconcile, HOUR_MS).unref()
}

const tillbook = createClient({ baseUrl: BASE, key: KEY })
const handle = expressHandler({ secret: SECRET }, receive)
const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/hook') return void handle(request, response)
  response.writeHead(404).end()
})
work()
server.listen(Number(PORT), () => console.log(`listening at http://localhost:${PORT}/hook`))
await reconcile()
console.log('reconciled')
