import { readFileSync } from 'node:fs'
import express from 'express'

/** Floor of lists: Express sends the bytes of the file BODY from memory. */

const { PORT = '0', BODY = '' } = process.env
const body = readFileSync(BODY)

const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.get('/health/live', (_request, response) => void response.json({ status: 'ok' }))
app.get('/api/v1/sales', (_request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', body.length)
  response.end(body)
})
const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
