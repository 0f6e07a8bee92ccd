import { createHash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import express, { type ErrorRequestHandler, type Request, type Response } from 'express'
import helmet from 'helmet'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { type Limits, registerSale } from './floor-a/register.ts'
import { Refused, SaleBody } from './floor-a/sale.ts'

/**
 * Floor A: POST /sales as a competent engineer would write it by hand with Express, zod and pg: prepared statements, a
 * pool, one transaction per request with the company's row locked. It runs in a separate process, like the service.
 */

const canonicalize = canonicalizeModule as unknown as (value: unknown) => string

/** Best of 8 to 48 on two cores: more connections only wait for each other inside Postgres. */
const CONNECTIONS = 16

const { DATABASE_URL, PORT = '0', QUOTA_PER_MINUTE = '120', QUOTA_PER_DAY = '50000', POOL = CONNECTIONS } = process.env

pg.types.setTypeParser(pg.types.builtins.INT8, Number)
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: Number(POOL),
  options: '-c search_path=floor -c TimeZone=UTC',
})
pool.on('error', (error) => console.error(error))
const limits: Limits = { perMinute: Number(QUOTA_PER_MINUTE), perDay: Number(QUOTA_PER_DAY) }

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
  const answer = await registerSale(pool, limits, {
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
