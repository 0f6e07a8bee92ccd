import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Costing } from './cost.ts'
import type { Side } from './rounds.ts'

/** Raw HTTP/1.1 request with the status of a successful response. */
export interface Call {
  readonly text: string
  readonly status: number
}

/** Response to a call. */
export interface Answer {
  readonly status: number
  readonly took_ms: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Calls to send over keep-alive connections, one at a time on each, as fast as possible. */
export interface Load {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly next: () => Call
  /** Stops after this number of requests. */
  readonly requests?: number
  readonly onAnswer?: (call: Call, answer: Answer) => void
  /** Whether answers with another status are accepted, too; otherwise one fails the load. */
  readonly isTolerant?: boolean
}

export interface LoadResult {
  /** Number of responses. Every sent request got one. */
  readonly answered: number
  readonly perSecond: number
}

/**
 * Load generator on plain sockets. On two cores the generator competes with the server: this one costs 25 µs per
 * request, autocannon 60 to 80. It also ends without aborting requests, so that every stored sale was acknowledged.
 */
export async function generate(load: Load): Promise<LoadResult> {
  const started = performance.now()
  const until = started + load.seconds * 1_000
  let left = load.requests ?? Number.POSITIVE_INFINITY
  let answered = 0
  const worker = async () => {
    const socket = await open(load.url)
    try {
      for (; left > 0 && performance.now() < until; answered += 1) {
        left -= 1
        await ask(socket, load.next(), load)
      }
    } finally {
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: load.connections }, worker))
  return { answered, perSecond: answered / ((performance.now() - started) / 1_000) }
}

/** Side of a benchmark that loads a server as fast as it answers. */
export interface Loading extends Omit<Load, 'seconds'> {
  readonly name: string
  readonly costing?: Costing
  /** Operations of a call. */
  readonly each?: number
  readonly acknowledge?: (operations: number) => void
}

/** Operations a second. */
export function loadSide({ name, costing, each = 1, acknowledge, ...load }: Loading): Side {
  return {
    name,
    async measure(seconds) {
      const send = () => generate({ ...load, seconds })
      const { answered, perSecond } = costing ? await costing.round(send, (sent) => sent.answered * each) : await send()
      acknowledge?.(answered * each)
      return perSecond * each
    },
  }
}

/** Calls at a steady rate, regardless of responses. */
export interface Pace extends Omit<Load, 'connections' | 'requests'> {
  readonly perSecond: number
}

/** Sends calls and returns when all are answered. */
export async function sendPaced({ url, perSecond, seconds, next, ...hearing }: Pace): Promise<LoadResult> {
  const idle: Socket[] = []
  const all: Socket[] = []
  const answers: Promise<void>[] = []
  const began = performance.now()
  const send = async (call: Call) => {
    let socket = idle.pop()
    if (!socket || socket.destroyed) {
      socket = await open(url)
      all.push(socket)
    }
    await ask(socket, call, hearing)
    idle.push(socket)
  }
  try {
    for (let sent = 0; sent < perSecond * seconds; sent++) {
      const wait_ms = began + (sent * 1_000) / perSecond - performance.now()
      if (wait_ms > 0.5) await pause(wait_ms)
      answers.push(send(next()))
      // It ends the load after the last call.
      answers.at(-1)?.catch(() => {})
    }
    await Promise.all(answers)
    return { answered: answers.length, perSecond: answers.length / ((performance.now() - began) / 1_000) }
  } finally {
    for (const socket of all) socket.destroy()
  }
}

const LIVE: Call = {
  text: 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n',
  status: 200,
}

/**
 * Runs `work` while `count` idle keep-alive clients are connected, each after one request. Connections closed by the
 * server are reopened, like those of a connection pool.
 */
export async function withIdleClients<T>(url: string, count: number, work: () => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>()
  let isOver = false
  const enter = async () => {
    const socket = await open(url)
    await ask(socket, LIVE, {})
    if (isOver) return void socket.destroy()
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      // Without a server the measurement itself fails.
      if (!isOver) void enter().catch(() => {})
    })
  }
  try {
    await Promise.all(Array.from({ length: count }, enter))
    return await work()
  } finally {
    isOver = true
    for (const socket of sockets) socket.destroy()
  }
}

/** Connects to the server of a URL, without delay for small writes. */
export function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => {
      socket.off('error', reject).on('error', () => {})
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

const HEAD_END = Buffer.from('\r\n\r\n')
/** Printed part of an unexpected response. */
const SHOWN_CHARACTERS = 500

/** Sends a call and waits for its whole response. */
function ask(
  socket: Socket,
  call: Call,
  { onAnswer, isTolerant }: Pick<Load, 'onAnswer' | 'isTolerant'>,
): Promise<void> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => {
      socket.off('data', receive).off('close', closed)
      if (error) reject(error)
      else resolve()
    }
    const closed = () => done(new Error('the server closed a connection'))
    const receive = createReceiver((status, text) => {
      const now = performance.now()
      onAnswer?.(call, { status, took_ms: now - began, at: performance.timeOrigin + now })
      if (isTolerant || status === call.status) return done()
      done(new Error(`an answer was ${status}, not ${call.status}: ${text()}`))
    }, done)
    socket.on('data', receive).on('close', closed)
    socket.write(call.text)
  })
}

/** Finds the end of a response by its Content-Length; a body is counted, not stored, once the header is known. */
function createReceiver(
  onAnswer: (status: number, text: () => string) => void,
  onError: (error: Error) => void,
): (chunk: Buffer) => void {
  let head: Buffer = Buffer.alloc(0)
  let status = 0
  let missing = 0
  return (chunk) => {
    if (missing > 0) {
      missing -= chunk.length
    } else {
      head = head.length > 0 ? Buffer.concat([head, chunk]) : chunk
      const end = head.indexOf(HEAD_END)
      if (end < 0) return
      const lines = head.toString('latin1', 0, end)
      const length = /\r\ncontent-length: *(\d+)/i.exec(lines)?.[1]
      status = Number(lines.slice(9, 12))
      if (length === undefined && status !== 204 && status !== 304)
        return onError(new Error(`an answer has no Content-Length: ${lines}`))
      missing = Number(length ?? 0) - (head.length - end - HEAD_END.length)
    }
    if (missing < 0) return onError(new Error('an answer is longer than its Content-Length'))
    if (missing === 0) onAnswer(status, () => head.toString('utf8', 0, SHOWN_CHARACTERS))
  }
}
