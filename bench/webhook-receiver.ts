import { createServer } from 'node:http'

/** Server of an integrator: /hooks/… answers 204 at once, /dead/… never; GET /taken returns the arrivals since the last call. */

const { PORT = '0' } = process.env

/** Arrivals since the last call: the sale of a body, and its time in milliseconds since 1970. */
let arrivals: [sale: string, at: number][] = []

const EXTERNAL_ID = /"external_id":"([^"]+)"/

const server = createServer((request, response) => {
  const path = request.url ?? ''
  if (path === '/taken') {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(arrivals))
    arrivals = []
    return
  }
  if (path === '/health/live') return void response.end('{}')
  if (path.startsWith('/dead')) return
  const at = performance.timeOrigin + performance.now()
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    arrivals.push([EXTERNAL_ID.exec(Buffer.concat(chunks).toString())?.[1] ?? '', at])
    response.writeHead(204).end()
  })
})
// All of 127.0.0.0/8: each address is a different server for clients.
server.listen(Number(PORT), '0.0.0.0')

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
