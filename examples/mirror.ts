/** Copies a company into an SQLite file, and keeps it so until it is stopped: `npm run -s mirror -- mirror.sqlite`. */
import { createClient, TillbookError } from '@tillbook/client'
import { openRecords } from './records.ts'

const { BASE = 'http://127.0.0.1:3000', KEY = '', EVERY_SECONDS = '30' } = process.env
const records = openRecords(process.argv[2] ?? 'mirror.sqlite')
const tillbook = createClient({ baseUrl: BASE, key: KEY })

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())

async function follow(): Promise<void> {
  const everyMs = Number(EVERY_SECONDS) * 1000
  const since = records.position()
  for await (const changes of tillbook.changes({ since, follow: true, everyMs, signal: stop.signal })) {
    records.take(changes)
    console.log(`${changes.resource}: ${changes.records.length} changed, ${changes.deleted.length} deleted`)
  }
}

while (!stop.signal.aborted) {
  await follow().catch((error: unknown) => {
    if (stop.signal.aborted) return
    // A test company was emptied: what it had is gone.
    if (!(error instanceof TillbookError && error.code === 'test_data_erased')) throw error
    records.clear()
    console.log('the company was emptied: beginning anew')
  })
}
