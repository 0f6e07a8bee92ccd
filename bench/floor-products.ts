import express from 'express'
import pg from 'pg'

/** Floor of downloads: a hand-written handler that selects the products of COMPANY and sends them as JSON. */

const { PORT = '0', DATABASE_URL, COMPANY = '' } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 8, options: '-c search_path=floor -c TimeZone=UTC' })
pool.on('error', (error) => console.error(error))

const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.get('/health/live', (_request, response) => void response.json({ status: 'ok' }))
app.get('/api/sync/products', async (_request, response) => {
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
})
const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close(() => void pool.end())
  server.closeAllConnections()
})
