/**
 * Receives webhooks at /hook, and keeps the company's records in an SQLite file by them; what they did not tell is found by
 * asking once an hour: `SECRET=whsec_… npm run -s receive-webhooks -- webhooks.sqlite`.
 */
import { createServer } from 'node:http'
import { createClient, type Resource } from '@tillbook/client'
import { type Delivery, expressHandler } from '@tillbook/client/webhooks'
import { openRecords, type Shown } from './records.ts'

const { BASE = 'http://127.0.0.1:3000', KEY = '', SECRET = '', PORT = '4000' } = process.env
const HOUR_MS = 3_600_000
/** For as long as the service may deliver again. */
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

/** A delivery that has not been dealt with; `data` is JSON. */
interface Waiting {
  readonly id: string
  readonly event: string
  readonly data: string
}

const records = openRecords(process.argv[2] ?? 'webhooks.sqlite')
const { database } = records
// What has been dealt with stays by its id alone: bodies have data about people.
database.exec(
  'create table if not exists deliveries (id text primary key, received_at integer not null, event text not null, data text)',
)
const keep = database.prepare('insert or ignore into deliveries values (?, ?, ?, ?)')
const waiting = database.prepare(
  'select id, event, data from deliveries where data is not null order by rowid limit 100',
)
const finish = database.prepare('update deliveries set data = null where id = ?')

/** Puts a delivery on record, and no more: it is acknowledged at once, and dealt with afterwards. */
function receive({ id, payload: { event, data } }: Delivery): void {
  const isNew = keep.run(id, Date.now(), event, JSON.stringify(data)).changes > 0
  if (isNew) setImmediate(work)
  else console.log(`${event} came again`)
}

const deal = database.transaction(({ id, event, data }: Waiting) => {
  const [kind = '', what] = event.split('.')
  const resource = RESOURCES[kind]
  // Of who is forgotten `updated` tells as well.
  if (resource && what !== 'forgotten') records.put(resource, JSON.parse(data) as Shown)
  finish.run(id)
})

/** Also what a kill has left. */
function work(): void {
  for (const delivery of waiting.all() as Waiting[]) {
    deal(delivery)
    console.log(`${delivery.event} ${JSON.parse(delivery.data).id ?? ''}`.trim())
  }
}

/** Finds what webhooks did not tell. The service may be away: the next hour finds the same. */
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
