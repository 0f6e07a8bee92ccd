/** Copies a company into an SQLite file, and updates it until it is stopped: `npm run -s mirror -- mirror.sqlite`. */
import { createClient } from '@tillbook/client'
import { openRecords } from './records.ts'

const { BASE = 'http://127.0.0.1:3000', KEY = '', EVERY_SECONDS = '30' } = process.env
const records = openRecords(process.argv[2] ?? 'mirror.sqlite')
const tillbook = createClient({ baseUrl: BASE, key: KEY })

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

const everyMs = Number(EVERY_SECONDS) * 1000
const since = records.position()
try {
  for await (const changes of tillbook.changes({ since, follow: true, everyMs, signal: stop.signal })) {
    records.take(changes)
    console.log(`${changes.resource}: ${changes.records.length} changed, ${changes.deleted.length} deleted`)
  }
} catch (error) {
  if (!stop.signal.aborted) throw error
}
