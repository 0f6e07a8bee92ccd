import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createReceiver, open } from './load.ts'

/** Requests at a steady rate, regardless of responses. */
export interface Pace {
  readonly url: string
  readonly perSecond: number
  readonly seconds: number
  /** Expected status of every response. */
  readonly status: number
  readonly next: () => string
}

/** Sends all requests and returns the response times, in milliseconds since 1970, by request. */
export async function sendPaced({ url, perSecond, seconds, status, next }: Pace): Promise<Map<string, number>> {
  const answeredAt = new Map<string, number>()
  const idle: Socket[] = []
  const all: Socket[] = []
  const total = perSecond * seconds
  const began = performance.now()
  const answers: Promise<void>[] = []
  try {
    for (let sent = 0; sent < total; sent++) {
      const wait_ms = began + (sent * 1000) / perSecond - performance.now()
      if (wait_ms > 0) await pause(wait_ms)
      const socket = idle.pop() ?? (await open(url))
      if (!all.includes(socket)) all.push(socket)
      const request = next()
      const answered = ask(socket, request, status).then(() => {
        answeredAt.set(request, performance.timeOrigin + performance.now())
        idle.push(socket)
      })
      answers.push(answered)
    }
    await Promise.all(answers)
    return answeredAt
  } finally {
    for (const socket of all) socket.destroy()
  }
}

function ask(socket: Socket, request: string, expected: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      socket.off('data', receive).off('error', done)
      if (error) reject(error)
      else resolve()
    }
    const receive = createReceiver((status, text) => {
      done(status === expected ? undefined : new Error(`an answer was ${status}, not ${expected}: ${text()}`))
    }, done)
    socket.on('data', receive).on('error', done)
    socket.write(request)
  })
}
