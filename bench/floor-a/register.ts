import { createHash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import type { Pool, PoolClient, QueryResultRow } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { type ItemRow, type PaymentTypeRow, priceSale, Refused, type SaleBody, saleObject } from './sale.ts'
import * as sql from './statements.ts'

const canonicalize = canonicalizeModule as unknown as (value: unknown) => string

export interface SaleRequest {
  readonly keyHash: Buffer
  readonly idempotencyKey: string | undefined
  readonly requestHash: string
  readonly requestId: string
  readonly body: SaleBody
}

export interface Limits {
  readonly perMinute: number
  readonly perDay: number
}

interface Rate {
  limit: number
  remaining: number
  reset: number
}

export interface Answer {
  readonly status: number
  readonly body: string
  readonly replayed: boolean
  readonly rate: Rate
}

interface Caller {
  key_id: number
  company_id: number
  scopes: string[]
  plan: string
  timezone: string
}

interface Ledger {
  revision: number
  hash: string
  last_recorded_at: Date
  sale_id: number
}

/** Registers a sale in one transaction, with the company's ledger row locked. */
export async function registerSale(pool: Pool, limits: Limits, request: SaleRequest): Promise<Answer> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const answer = await decide(client, limits, request)
    await client.query('commit')
    client.release()
    return answer
  } catch (error) {
    await client.query('rollback').then(
      () => client.release(),
      () => client.release(true),
    )
    throw error
  }
}

async function decide(client: PoolClient, limits: Limits, request: SaleRequest): Promise<Answer> {
  const { body } = request
  const caller = await admit(client, request.keyHash)
  const rate = await count(client, caller, limits)
  const [ledger] = await run<Ledger>(client, sql.lockLedger, [caller.company_id])
  if (!ledger) throw new Error('a company without a ledger')
  const stored = await findAnswer(client, caller, request)
  if (stored) return { ...stored, replayed: true, rate }
  const rows = await findItems(client, caller.company_id, body)
  const typeIds = [...new Set(body.payments.map((payment) => payment.payment_type_id))]
  const types = await run<PaymentTypeRow>(client, sql.findPaymentTypes, [caller.company_id, typeIds])
  const customer = await findCustomer(client, caller.company_id, body.customer_external_id)
  const priced = priceSale(body, rows, types)
  const now = new Date(Math.max(Date.now(), ledger.last_recorded_at.getTime()))
  const sale = saleObject(body, priced, { id: ledger.sale_id, customer, now, timezone: caller.timezone })
  const text = JSON.stringify({ data: sale })
  await store(client, request, { caller, ledger, sale, now, text, totalCents: priced.totalCents, taken: priced.taken })
  return { status: 201, body: text, replayed: false, rate }
}

async function admit(client: PoolClient, hash: Buffer): Promise<Caller> {
  const [caller] = await run<Caller>(client, sql.findKey, [hash])
  if (!caller) throw new Refused(401, 'invalid_token')
  if (caller.plan !== 'api') throw new Refused(402, 'plan_required')
  if (!caller.scopes.includes('sales:write'))
    throw new Refused(403, 'insufficient_scope', { missing_scope: 'sales:write' })
  return caller
}

async function count(client: PoolClient, caller: Caller, limits: Limits): Promise<Rate> {
  const values = [caller.company_id, caller.timezone]
  const [counted] = await run<{ minute_count: number; day_count: number; minute_ends: number }>(
    client,
    sql.countCall,
    values,
  )
  if (!counted) throw new Error('a call was not counted')
  if (counted.minute_count > limits.perMinute || counted.day_count > limits.perDay)
    throw new Refused(429, 'rate_limited')
  return {
    limit: limits.perMinute,
    remaining: limits.perMinute - counted.minute_count,
    reset: Math.ceil(counted.minute_ends),
  }
}

async function findAnswer(client: PoolClient, caller: Caller, { idempotencyKey, requestHash }: SaleRequest) {
  if (idempotencyKey === undefined) return null
  const values = [caller.company_id, idempotencyKey]
  const [stored] = await run<{ request_hash: string; status: number; body: string }>(client, sql.findAnswer, values)
  if (stored && stored.request_hash !== requestHash) throw new Refused(409, 'idempotency_key_reuse')
  return stored ?? null
}

async function findItems(client: PoolClient, companyId: number, { items }: SaleBody): Promise<ItemRow[]> {
  const ids = [...new Set(items.flatMap((item) => item.catalog_item_id ?? []))]
  const externalIds = [...new Set(items.flatMap((item) => item.catalog_item_external_id ?? []))]
  const byId = ids.length > 0 ? await run<ItemRow>(client, sql.findItems, [companyId, ids]) : []
  if (externalIds.length === 0) return byId
  return [...byId, ...(await run<ItemRow>(client, sql.findItemsByExternalId, [companyId, externalIds]))]
}

async function findCustomer(client: PoolClient, companyId: number, externalId: string | undefined) {
  if (externalId === undefined) return null
  const values = [companyId, externalId]
  const [customer] = await run<{ id: number; external_id: string; name: string }>(client, sql.findCustomer, values)
  if (!customer) throw new Refused(422, 'validation_failed', { fields: { customer_external_id: ['unknown customer'] } })
  return customer
}

interface Decided {
  readonly caller: Caller
  readonly ledger: Ledger
  readonly sale: ReturnType<typeof saleObject>
  readonly now: Date
  readonly text: string
  readonly totalCents: number
  readonly taken: ReadonlyMap<number, number>
}

/** Writes event, sale, stock, answer and ledger. */
async function store(client: PoolClient, request: SaleRequest, decided: Decided): Promise<void> {
  const { caller, ledger, sale, now, text, totalCents, taken } = decided
  const { company_id: companyId } = caller
  const revision = ledger.revision + 1
  const event = seal(request, decided, revision)
  const { stream, id, subject, recorded_at, hash } = event
  await run(client, sql.insertEvent, [stream, revision, id, subject, recorded_at, JSON.stringify(event)])
  try {
    const values = [companyId, sale.id, sale.external_id, sale.customer?.id, sale.sold_at, totalCents, revision, now]
    await run(client, sql.insertSale, [...values, JSON.stringify(sale)])
  } catch (error) {
    if ((error as { constraint?: string }).constraint === 'sales_external_key')
      throw new Refused(409, 'duplicate_resource')
    throw error
  }
  if (taken.size > 0)
    await run(client, sql.takeStock, [companyId, [...taken.keys()], [...taken.values()], now, revision])
  if (request.idempotencyKey !== undefined) {
    await run(client, sql.insertAnswer, [companyId, request.idempotencyKey, request.requestHash, 201, text, now])
  }
  await run(client, sql.advanceLedger, [companyId, revision, hash, now])
}

function seal(request: SaleRequest, { caller, ledger, sale, now }: Decided, revision: number) {
  const { id, external_id, customer, items, payments, subtotal, delivery_fee, total, change } = sale
  const event = {
    id: uuidv7(),
    type: 'SaleCompleted',
    version: 1,
    stream: `company-${caller.company_id}`,
    revision,
    recorded_at: now.toISOString(),
    subject: `sale/${id}`,
    origin: 'api',
    actor: `api_key/${caller.key_id}`,
    request_id: request.requestId,
    idempotency:
      request.idempotencyKey === undefined
        ? null
        : { key: request.idempotencyKey, request_hash: request.requestHash, status: 201 },
    previous_hash: ledger.hash,
    data: { id, external_id, customer, sold_at: sale.sold_at, items, payments, subtotal, delivery_fee, total, change },
  }
  return { ...event, hash: createHash('sha256').update(canonicalize(event)).digest('hex') }
}

async function run<R extends QueryResultRow>(
  client: PoolClient,
  statement: sql.Statement,
  values: unknown[],
): Promise<R[]> {
  const { rows } = await client.query<R>({ ...statement, values })
  return rows
}
