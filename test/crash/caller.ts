import { setTimeout as pause } from 'node:timers/promises'
import { type Reply, send } from '../support/api.ts'

/** One request; a path below the service's address. */
export interface Call {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers: Record<string, string>
}

/** Calls a service that may die, and come back on the same address, at any moment. */
export interface Caller {
  /** Sends until there is an answer, as an integrator does: the same call, after every lost connection and every 503. */
  insist(call: Call): Promise<Reply>
  /** Sends once; null when nobody knows what became of it. */
  tell(call: Call): Promise<Reply | null>
  /** Answers so far, and attempts that were left without one. */
  answers(): number
  unknown(): number
  /** Answers that nobody should ever get, whatever breaks. */
  readonly strange: readonly string[]
}

/** A connection that says nothing for so long is given up; how it should have ended is not for the clock to judge. */
const SILENCE_MS = 60_000
/** An integrator would wait as long as Retry-After says; here it is about how much happens, not about politeness. */
const AGAIN_MS = 100
/** Nothing stays away for so long. */
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
