import { createHash } from 'node:crypto'
import express, { type Request, type Response } from 'express'
import pg from 'pg'
import * as z from 'zod'

/**
 * Floor of batches: a hand-written handler that checks the key, validates the customers and upserts them in one
 * statement.
 */

const { PORT = '0', DATABASE_URL } = process.env
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 8, options: '-c search_path=floor -c TimeZone=UTC' })
pool.on('error', (error) => console.error(error))

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
app.post('/api/v1/customers/batch', express.json({ limit: '1mb' }), postBatch)
const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close(() => void pool.end())
  server.closeAllConnections()
})

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
  response.json({ data: rows })
}
