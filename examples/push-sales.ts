/**
 * Registers the sales of a web shop: `npm run -s push-sales -- sales.jsonl`. The shop appends a line of JSON for each sale, the
 * body of `POST /sales` with its order's number as `external_id`; what has become of each is appended to `sales.jsonl.done`. It
 * may be killed and started again at any time: no sale is registered twice.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createClient, type Schema } from '@tillbook/client'

const { BASE = 'http://127.0.0.1:3000', KEY = '' } = process.env
const [file = 'sales.jsonl'] = process.argv.slice(2)
const tillbook = createClient({ baseUrl: BASE, key: KEY })

/** What a line of the shop has become: a sale, or a refusal for a person to look at. Without its line there it is tried again. */
interface Outcome {
  readonly external_id: string
  readonly sale_id?: number
  readonly refused?: string
  readonly message?: string
}

/** The lines that are whole: the last one may still be being written, or have been cut off by a kill. */
function linesOf<T>(path: string, text = readFileSync(path, 'utf8')): T[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line.startsWith('{') && line.endsWith('}')).map((line) => JSON.parse(line))
}

/** A conflict is a sale that was registered more than a day ago, when its Idempotency-Key was still known. */
async function push(sale: Schema<'SaleInput'> & { external_id: string }): Promise<Outcome> {
  const { external_id } = sale
  const params = { header: { 'Idempotency-Key': external_id } }
  const { data, error } = await tillbook.POST('/sales', { params, body: sale })
  if (data) return { external_id, sale_id: data.data.id }
  const { code, message } = error.error
  if (code === 'duplicate_resource') return { external_id, sale_id: error.error.details.conflicting_id }
  // Neither the sale nor the shop is to blame: the next run tries again.
  if (['invalid_token', 'missing_token', 'plan_required', 'insufficient_scope'].includes(code)) throw new Error(message)
  if (['rate_limited', 'internal_error', 'unavailable'].includes(code)) throw new Error(message)
  return { external_id, refused: code, message }
}

const done = openSync(`${file}.done`, 'a+')
const earlier = readFileSync(done, 'utf8')
// A line that was cut off stays alone.
if (!earlier.endsWith('\n') && earlier !== '') writeSync(done, '\n')
const known = new Set(linesOf<Outcome>('', earlier).map(({ external_id }) => external_id))
for (const sale of linesOf<Schema<'SaleInput'> & { external_id: string }>(file)) {
  if (known.has(sale.external_id)) continue
  const outcome = await push(sale)
  writeSync(done, `${JSON.stringify(outcome)}\n`)
  fsyncSync(done)
  known.add(sale.external_id)
  console.log(`${sale.external_id}: ${outcome.refused ?? `sale ${outcome.sale_id}`}`)
}
closeSync(done)
