import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Systems give higher ones to outgoing connections: a server that restarts could find its own port taken. */
const PORTS = { from: 20_000, to: 32_768 }
const PORT_TRIES = 50

/** `preferred` if it is free on the loopback interface, else any free port below those of outgoing connections. */
export async function freePort(preferred: number | null): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = (tries === 0 && preferred) || randomInt(PORTS.from, PORTS.to)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${PORT_TRIES} ports from ${PORTS.from} to ${PORTS.to} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
