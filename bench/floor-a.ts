import { createHash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import express, { type ErrorRequestHandler, type Request, type Response } from 'express'
import helmet from 'helmet'
import pg, { type PoolClient, type QueryResultRow } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { type ItemRow, type PaymentTypeRow, priceSale, Refused, SaleBody, saleObject } from './floor-sale.ts'
import * as sql from './floor-statements.ts'

/**
 * Floor A: POST /sales as a competent engineer would write it by hand with Express, zod and pg: prepared statements, a
 * pool, one transaction per request with the company's row locked. It runs in a separate process, like the service.
 */

const canonicalize = canonicalizeModule as unknown as (value: unknown) => string

/** Best of 8 to 48 on two cores: more connections only wait for each other inside Postgres. */
const CONNECTIONS = 16

const { DATABASE_URL, PORT = '0', QUOTA_PER_MINUTE = '120', QUOTA_PER_DAY = '50000' } = process.env

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: CONNECTIONS,
  options: '-c search_path=floor -c TimeZone=UTC',
})
pool.on('error', (error) => console.error(error))
const LIMITS = { perMinute: Number(QUOTA_PER_MINUTE), perDay: Number(QUOTA_PER_DAY) }

const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.get('/health/live', (_request, response) => void response.json({ status: 'ok' }))
app.use(helmet())
app.post('/api/v1/sales', express.json({ limit: '1mb' }), postSale)
app.use(failures())
const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close(() => void pool.end())
  server.closeAllConnections()
})

async function postSale(request: Request, response: Response): Promise<void> {
  const requestId = request.get('x-request-id') ?? uuidv7()
  response.setHeader('X-Request-Id', requestId)
  const key = /^Bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1]
  if (key === undefined) throw new Refused(401, 'missing_token')
  const parsed = SaleBody.safeParse(request.body)
  if (!parsed.success) throw new Refused(422, 'validation_failed', { issues: parsed.error.issues })
  const answer = await registerSale({
    keyHash: sha256(key).digest(),
    idempotencyKey: request.get('idempotency-key'),
    requestHash: sha256(`POST /api/v1/sales\n${canonicalize(request.body)}`).digest('hex'),
    requestId,
    body: parsed.data,
  })
  response.setHeader('X-RateLimit-Limit', answer.rate.limit)
  response.setHeader('X-RateLimit-Remaining', answer.rate.remaining)
  response.setHeader('X-RateLimit-Reset', answer.rate.reset)
  if (answer.replayed) response.setHeader('Idempotent-Replayed', 'true')
  response.status(answer.status).type('json').send(answer.body)
}

function failures(): ErrorRequestHandler {
  return (error, _request, response, _next) => {
    const refused = error instanceof Refused ? error : new Refused(500, 'internal_error')
    if (refused !== error) console.error(error)
    response.status(refused.status).json({ error: { code: refused.code, details: refused.details } })
  }
}

function sha256(text: string) {
  return createHash('sha256').update(text)
}

interface SaleRequest {
  readonly keyHash: Buffer
  readonly idempotencyKey: string | undefined
  readonly requestHash: string
  readonly requestId: string
  readonly body: SaleBody
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
async function registerSale(request: SaleRequest) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const answer = await decide(client, request)
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

async function decide(client: PoolClient, request: SaleRequest) {
  const { body } = request
  const caller = await admit(client, request.keyHash)
  const rate = await count(client, caller)
  const [ledger] = await run<Ledger>(client, sql.lockLedger, [caller.company_id])
  if (!ledger) throw new Error('a company without a ledger')
  const stored = await findAnswer(client, caller, request)
  if (stored) return { ...stored, replayed: true, rate }
  const itemIds = [...new Set(body.items.map((item) => item.catalog_item_id))]
  const rows = await run<ItemRow>(client, sql.findItems, [caller.company_id, itemIds])
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

async function count(client: PoolClient, caller: Caller) {
  const values = [caller.company_id, caller.timezone]
  type Counted = Readonly<Record<'minute_count' | 'day_count' | 'minute_ends', number>>
  const [counted] = await run<Counted>(client, sql.countCall, values)
  if (!counted) throw new Error('a call was not counted')
  if (counted.minute_count > LIMITS.perMinute || counted.day_count > LIMITS.perDay)
    throw new Refused(429, 'rate_limited')
  return {
    limit: LIMITS.perMinute,
    remaining: LIMITS.perMinute - counted.minute_count,
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
