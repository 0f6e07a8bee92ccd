import { createServer } from 'node:http'

/** An integrator's server: /hooks/… answers 204 at once, /dead/… never; GET /taken tells what came since it was last asked. */

const { PORT = '0' } = process.env

/** Of the arrivals since the last time: milliseconds since the event, or since it was posted when it says so. */
let delays: number[] = []
let count = 0
let lastAt = 0

const now = () => performance.timeOrigin + performance.now()
const OCCURRED_AT = /"occurred_at":"([^"]+)"/

const server = createServer((request, response) => {
  const path = request.url ?? ''
  if (path === '/taken') {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ count, lastAt, delays }))
    delays = []
    count = 0
    return
  }
  if (path === '/health/live') return void response.end('{}')
  if (path.startsWith('/dead')) return
  const arrived = now()
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const posted = request.headers['x-bench-posted']
    const occurred = OCCURRED_AT.exec(Buffer.concat(chunks).toString())?.[1] ?? ''
    delays.push(arrived - (posted === undefined ? Date.parse(occurred) : Number(posted)))
    count += 1
    lastAt = arrived
    response.writeHead(204).end()
  })
})
server.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
