/**
 * Registers the sales of a web shop: `npm run -s push-sales -- sales.jsonl`. The shop appends one line of JSON per
 * sale, the body of `POST /sales` with its order number as `external_id`; the outcome of each is appended to
 * `sales.jsonl.done`. The program may be killed and restarted at any time: no sale is registered twice.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createClient, type Schema } from '@tillbook/client'

const { BASE = 'http://127.0.0.1:3000', KEY = '' } = process.env
const [file = 'sales.jsonl'] = process.argv.slice(2)
const tillbook = createClient({ baseUrl: BASE, key: KEY })

/** Outcome of a line: a sale, or a refusal for a person to resolve. A line without an outcome is tried again. */
interface Outcome {
  readonly external_id: string
  readonly sale_id?: number
  readonly refused?: string
  readonly message?: string
}

/** Complete lines: the last one may be incomplete, during a write or after a kill. */
function linesOf<T>(path: string, text = readFileSync(path, 'utf8')): T[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line.startsWith('{') && line.endsWith('}')).map((line) => JSON.parse(line))
}

/** A conflict is a sale registered more than a day ago, after its Idempotency-Key expired. */
async function push(sale: Schema<'SaleInput'> & { external_id: string }): Promise<Outcome> {
  const { external_id } = sale
  const params = { header: { 'Idempotency-Key': external_id } }
  const { data, error } = await tillbook.POST('/sales', { params, body: sale })
  if (data) return { external_id, sale_id: data.data.id }
  const { code, message } = error.error
  if (code === 'duplicate_resource') return { external_id, sale_id: error.error.details.conflicting_id }
  // Configuration errors: the next run tries again.
  if (['invalid_token', 'missing_token', 'plan_required', 'insufficient_scope'].includes(code)) throw new Error(message)
  if (['rate_limited', 'internal_error', 'unavailable'].includes(code)) throw new Error(message)
  return { external_id, refused: code, message }
}

const done = openSync(`${file}.done`, 'a+')
const earlier = readFileSync(done, 'utf8')
// Ends an incomplete line.
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
