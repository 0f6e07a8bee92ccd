import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import express, { type Request, type Response } from 'express'
import pg from 'pg'
import * as z from 'zod'

/**
 * Floors of batches, downloads and lists, hand-written: customers upserted in one statement; the products of COMPANY
 * selected and sent as JSON; the bytes of the file BODY from memory.
 */

const { PORT = '0', DATABASE_URL, COMPANY = '', BODY } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 8, options: '-c search_path=floor -c TimeZone=UTC' })
pool.on('error', (error) => console.error(error))
const body = BODY ? readFileSync(BODY) : Buffer.alloc(0)

const Customer = z.strictObject({
  external_id: z.string().min(1).max(100),
  name: z.string().trim().min(1).max(120),
  email: z.email().optional(),
  phone: z.string().max(40).optional(),
})
const Batch = z.strictObject({ items: z.array(Customer).min(1).max(500) })

const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.get('/health/live', (_request, response) => void response.json({ status: 'ok' }))
app.get('/api/v1/sales', (_request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', body.length)
  response.end(body)
})
app.get('/api/sync/products', getProducts)
app.post('/api/v1/customers/batch', express.json({ limit: '1mb' }), postBatch)
const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close(() => void pool.end())
  server.closeAllConnections()
})

async function getProducts(_request: Request, response: Response): Promise<void> {
  const { rows } = await pool.query({
    name: 'products',
    text: 'select id, name, price, stock, changed_at from catalog_items where company_id = $1 order by id',
    values: [COMPANY],
  })
  const data = rows.map(({ id, name, price, stock, changed_at }) => ({
    id: Number(id),
    name,
    barcode: '',
    price: Number(price),
    stock: Number(stock),
    category_name: '',
    updated_at: changed_at.toISOString(),
  }))
  response.json({ success: true, data, sync_timestamp: new Date().toISOString(), total: data.length })
}

const KEY = {
  name: 'key',
  text: 'select company_id from api_keys where hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())',
}

const UPSERT = {
  name: 'upsert_customers',
  text: `insert into batch_customers (company_id, external_id, name, email, phone)
         select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::text[])
         on conflict (company_id, external_id) do update
         set name = excluded.name, email = excluded.email, phone = excluded.phone, updated_at = now()
         returning id, external_id, name, email, phone, created_at, updated_at`,
}

async function postBatch(request: Request, response: Response): Promise<void> {
  const key = /^Bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1] ?? ''
  const found = await pool.query({ ...KEY, values: [createHash('sha256').update(key).digest()] })
  if (!found.rows[0]) return void response.status(401).json({ error: { code: 'invalid_token' } })
  const parsed = Batch.safeParse(request.body)
  if (!parsed.success) {
    return void response.status(422).json({ error: { code: 'validation_failed', details: parsed.error.issues } })
  }
  const { items } = parsed.data
  const { rows } = await pool.query({
    ...UPSERT,
    values: [
      found.rows[0].company_id,
      items.map((item) => item.external_id),
      items.map((item) => item.name),
      items.map((item) => item.email ?? null),
      items.map((item) => item.phone ?? null),
    ],
  })
  response.json({ data: rows.map((row) => ({ ...row, id: Number(row.id) })) })
}
