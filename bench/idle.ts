import type { Socket } from 'node:net'
import { createReceiver, open } from './load.ts'

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n'

/**
 * Runs `work` while `count` idle keep-alive clients are connected, each after one request. Connections closed by the
 * server are reopened, like those of a connection pool.
 */
export async function withIdleClients<T>(url: string, count: number, work: () => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>()
  let done = false
  const enter = async () => {
    const socket = await ask(url)
    if (done) {
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      // Without a server the measurement itself fails.
      if (!done) void enter().catch(() => {})
    })
  }
  try {
    await Promise.all(Array.from({ length: count }, enter))
    return await work()
  } finally {
    done = true
    for (const socket of sockets) socket.destroy()
  }
}

/** Opens a connection and waits for one response. */
async function ask(url: string): Promise<Socket> {
  const socket = await open(url)
  return new Promise((resolve, reject) => {
    const receive = createReceiver((status) => {
      if (status !== 200) return reject(new Error(`/health/live answered ${status}`))
      resolve(socket)
    }, reject)
    socket.on('data', receive)
    socket.on('error', reject)
    socket.write(LIVE)
  })
}
