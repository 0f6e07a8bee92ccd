import { setTimeout as pause } from 'node:timers/promises'
import { type Reply, send } from '../support/api.ts'

/** One request; the path is relative to the service's address. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers: Record<string, string>
}

/** Calls a service that may crash and restart on the same address at any moment. */
export interface Caller {
  /** Retries the same call until it is answered: after every lost connection and every 503. */
  insist(call: Call): Promise<Reply>
  /** Sends once; null if the outcome is unknown. */
  tell(call: Call): Promise<Reply | null>
  /** Number of answers, and of attempts without one. */
  answers(): number
  unknown(): number
  /** Answers that are wrong under any fault. */
  readonly strange: readonly string[]
}

/** Silence after which a connection is given up. The test does not judge how the call should have ended. */
const SILENCE_MS = 60_000
/** Retry pause. Shorter than Retry-After, because the load matters here. */
const AGAIN_MS = 100
/** No outage lasts this long. */
const PATIENCE_MS = 180_000

export function createCaller(baseUrl: () => string): Caller {
  let answers = 0
  let unknown = 0
  const strange: string[] = []

  async function tell({ method, path, body, headers }: Call): Promise<Reply | null> {
    let reply: Reply
    try {
      reply = await withinSilence(send(`${baseUrl()}${path}`, method, body, headers, 'manual'))
    } catch {
      unknown += 1
      return null
    }
    const isOutage = reply.status === 503 && reply.headers.has('retry-after')
    if (isOutage) {
      unknown += 1
      return null
    }
    if (reply.status >= 500) strange.push(`${method} ${path}: ${reply.status} ${reply.text}`)
    answers += 1
    return reply
  }

  return {
    tell,
    async insist(call) {
      const deadline = Date.now() + PATIENCE_MS
      while (Date.now() < deadline) {
        const reply = await tell(call)
        if (reply && reply.status < 500) return reply
        await pause(AGAIN_MS)
      }
      throw new Error(`${call.method} ${call.path} was never answered`)
    },
    answers: () => answers,
    unknown: () => unknown,
    strange,
  }
}

function withinSilence<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('silence')), SILENCE_MS)
  })
  return Promise.race([work, silence]).finally(() => clearTimeout(timer))
}
