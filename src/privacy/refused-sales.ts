import { hash } from 'node:crypto'
import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { JsonMoney, toCents } from '#domain/money.ts'
import { OFFLINE_SALE_STATUSES } from '#events/sale-events.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import type { Database } from '#postgres/database.ts'
import { customerIn, eraseSale, type NamedCustomer } from './erase-person.ts'

/** Result of one uploaded sale. */
export type SaleResult = RecordedSale | ResolvedSale | RefusedUpload

export interface RecordedSale {
  /** As sent, a number as its text; null if it was neither. */
  readonly offline_id: string | null
  readonly status: 'created' | 'cancelled' | 'duplicate'
  readonly sale_id: number
  /** Absent if empty. */
  readonly warnings?: readonly object[]
}

/** Refused earlier and resolved by a person without recording it; the till has nothing more to send. */
export interface ResolvedSale {
  readonly offline_id: string | null
  readonly status: 'resolved'
  readonly sale_id: null
  readonly message: string
}

export interface RefusedUpload {
  readonly offline_id: string | null
  readonly status: 'error'
  readonly sale_id: null
  readonly code: string
  readonly message: string
  readonly errors: Readonly<Record<string, readonly string[]>>
}

/**
 * Maximum number of a company's open refused sales. A defective till must neither fill the disk nor displace stored
 * sales.
 */
export const MAX_OPEN = 1_000
/** Larger sales are stored without their payload. */
const MAX_PAYLOAD_BYTES = 65_536

const KEEP = `
  insert into refused_sales as known
    (company_id, user_id, digest, offline_id, first_refused_at, last_refused_at, times, code, message, errors, payload,
     sold_at, total_cents)
  select $1, $2, digest, offline_id, now(), now(), times, code, message, errors, payload, sold_at, total_cents
  from unnest($3::bytea[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::json[], $9::text[], $11::timestamptz[], $12::bigint[])
    with ordinality as new(digest, offline_id, times, code, message, errors, payload, sold_at, total_cents, place)
  where place <= $10 - (select count(*) from refused_sales where company_id = $1 and resolved_at is null)
    or exists (select from refused_sales same where same.company_id = $1 and same.digest = new.digest)
  on conflict (company_id, digest) do update set
    user_id = excluded.user_id, last_refused_at = excluded.last_refused_at, times = known.times + excluded.times,
    code = excluded.code, message = excluded.message, errors = excluded.errors
  returning encode(digest, 'hex') as digest, resolved_by is not null as is_resolved, sale_id, resolution_note as note`

/**
 * A refused sale with the identifier of another sale needs a person's decision; a recording of the other sale does not
 * resolve it. Locks in the same order as KEEP: a till may send a corrected sale again before the first upload is
 * answered.
 */
const RESOLVE_RECORDED = `
  update refused_sales set resolved_at = now()
  where company_id = $1 and id in (
    select id from refused_sales
    where company_id = $1 and resolved_at is null and code <> 'duplicate_resource' and offline_id = any($2::text[])
    order by digest for update)`

interface RefusalRow {
  readonly sale: unknown
  readonly result: SaleResult
}

/**
 * Stores refused sales, resolves those recorded since, and returns a person's resolution instead of a repeated refusal. Must end before the response: a till that receives an error relies on the sale being visible to people;
 * without a response it sends everything again.
 */
export async function noteRefusals(
  pool: Database,
  { companyId, userId }: { readonly companyId: number; readonly userId: number },
  entries: readonly RefusalRow[],
): Promise<readonly SaleResult[]> {
  const digests = await digestsOf(entries, createTimeSlicer(companyId))
  const refused = distinct(entries, digests)
  const recorded = entries.flatMap(({ result }) => (result.status === 'error' ? [] : (result.offline_id ?? [])))
  if (recorded.length > 0) await pool.query(RESOLVE_RECORDED, [companyId, recorded])
  if (refused.length === 0) return entries.map(({ result }) => result)
  const forgotten = await findForgotten(pool, companyId, refused)
  const known = new Map<string, KeptRow>()
  for (const portion of portionsOf(refused)) {
    const kept = await keep(pool, { companyId, userId }, portion, forgotten)
    for (const row of kept) known.set(row.digest, row)
  }
  return entries.map(({ result }, position) => {
    const row = known.get(digests[position]?.hex ?? '')
    return row?.is_resolved ? resolution(result.offline_id, row) : result
  })
}

/** Bytes of payloads and errors per statement: about 10 ms to serialize. */
const PORTION_BYTES = 1_048_576

function* portionsOf(refused: readonly Refusal[]): Iterable<Refusal[]> {
  let portion: Refusal[] = []
  let bytes = 0
  for (const refusal of refused) {
    portion.push(refusal)
    bytes += refusal.bytes
    if (bytes < PORTION_BYTES) continue
    yield portion
    portion = []
    bytes = 0
  }
  if (portion.length > 0) yield portion
}

async function keep(
  pool: Database,
  { companyId, userId }: { readonly companyId: number; readonly userId: number },
  refused: readonly Refusal[],
  forgotten: ReadonlySet<NamedCustomer>,
): Promise<KeptRow[]> {
  const isForgotten = (customer: NamedCustomer) => forgotten.has(customer)
  const { rows } = await pool.query<KeptRow>(KEEP, [
    companyId,
    userId,
    refused.map(({ hex }) => Buffer.from(hex, 'hex')),
    refused.map(({ result }) => result.offline_id),
    refused.map(({ times }) => times),
    refused.map(({ result }) => result.code),
    refused.map(({ result }) => result.message),
    refused.map(({ errors }) => errors),
    refused.map(({ payload, customer }) =>
      payload !== null && customer !== null && isForgotten(customer) ? eraseSale(payload, isForgotten) : payload,
    ),
    MAX_OPEN,
    refused.map(({ takings }) => takings?.sold_at ?? null),
    refused.map(({ takings }) => takings?.cents ?? null),
  ])
  return rows
}

/** Erased customers named by these sales; tills may keep them for a long time. */
async function findForgotten(
  pool: Database,
  companyId: number,
  refused: readonly Refusal[],
): Promise<ReadonlySet<NamedCustomer>> {
  const named = [...new Set(refused.map(({ customer }) => customer).filter((customer) => customer !== null))]
  if (named.length === 0) return new Set()
  const { rows } = await pool.query<{ id: number | null; offline_id: string | null }>({
    name: 'find_forgotten_customers',
    text: `with named as (
             select id, null as offline_id from unnest($2::bigint[]) id
             union all select record_id, offline_id from offline_records
             where company_id = $1 and kind = 'customer' and offline_id = any($3::text[]))
           select named.id, named.offline_id from named join person_keys k on k.company_id = $1
             and k.subject = 'customer/' || named.id and k.part = 'identity' and k.destroyed_at is not null`,
    values: [
      companyId,
      named.filter((customer) => typeof customer === 'number'),
      named.filter((customer) => typeof customer === 'string'),
    ],
  })
  return new Set(rows.map(({ id, offline_id }) => offline_id ?? (id as number)))
}

interface KeptRow {
  readonly digest: string
  /** Resolved by a person. */
  readonly is_resolved: boolean
  readonly sale_id: number | null
  readonly note: string | null
}

function resolution(offline_id: string | null, { sale_id, note }: KeptRow): SaleResult {
  if (sale_id !== null) return { offline_id, status: 'duplicate', sale_id }
  const message = 'Uma pessoa resolveu esta venda sem registrá-la.'
  return { offline_id, status: 'resolved', sale_id, message: note === null ? message : `${message} ${note}` }
}

/** A refused sale in the form in which it is stored. */
interface Digest {
  readonly hex: string
  /** JSON text of the sale; null if it is too long to be stored. */
  readonly payload: string | null
  /** JSON text. */
  readonly errors: string
  /** Bytes of both texts. */
  readonly bytes: number
}

/** By position, in slices; undefined if the sale was not refused. */
async function digestsOf(
  entries: readonly RefusalRow[],
  slices: () => Promise<void>,
): Promise<readonly (Digest | undefined)[]> {
  const digests: (Digest | undefined)[] = []
  for (const { sale, result } of entries) {
    await slices()
    if (result.status !== 'error') {
      digests.push(undefined)
      continue
    }
    const text = JSON.stringify(sale)
    const errors = JSON.stringify(result.errors)
    const payload = Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES ? text : null
    const bytes = errors.length + (payload?.length ?? 0)
    digests.push({ hex: hash('sha256', text, 'hex'), payload, errors, bytes })
  }
  return digests
}

/** Removes duplicates and sorts by digest, so that two concurrent uploads cannot deadlock. */
function distinct(entries: readonly RefusalRow[], digests: readonly (Digest | undefined)[]): Refusal[] {
  const refused = new Map<string, Refusal>()
  for (const [position, { sale, result }] of entries.entries()) {
    const digest = digests[position]
    if (result.status !== 'error' || !digest) continue
    const times = (refused.get(digest.hex)?.times ?? 0) + 1
    refused.set(digest.hex, { ...digest, result, times, customer: customerIn(sale), takings: takingsOf(sale) })
  }
  return [...refused].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, refusal]) => refusal)
}

interface Refusal extends Digest {
  readonly result: RefusedUpload
  readonly times: number
  readonly customer: NamedCustomer | null
  readonly takings: Takings | null
}

/** What the till says that it took. */
interface Takings {
  readonly sold_at: string
  readonly cents: number
}

const TakingsInput = z.object({ status: z.enum(OFFLINE_SALE_STATUSES), created_at: Instant, total: JsonMoney })

/** Null where the till's text does not say it. A cancelled sale took nothing. */
function takingsOf(sale: unknown): Takings | null {
  const { data } = TakingsInput.safeParse(sale)
  return data ? { sold_at: data.created_at, cents: data.status === 'completed' ? toCents(data.total) : 0 } : null
}

interface Resolution {
  readonly userId: number
  readonly note: string | null
  /** Id of the recorded sale; absent if it was not recorded. */
  readonly saleId?: number
}

/**
 * Marks a refused sale as resolved by a user. False if it does not exist or is not open.
 */
export async function resolveRefusedSale(
  pool: Database,
  companyId: number,
  id: number,
  { userId, note, saleId }: Resolution,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update refused_sales set resolved_at = now(), resolved_by = $3, resolution_note = $4, sale_id = $5
     where company_id = $1 and id = $2 and resolved_at is null`,
    [companyId, id, userId, note, saleId ?? null],
  )
  return rowCount === 1
}
