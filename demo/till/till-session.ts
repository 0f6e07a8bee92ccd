import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, type Line, LineBroken } from './demo-sales.ts'

/** Login of the till's user. */
export interface Credentials {
  readonly email: string
  readonly password: string
}

/** Response that a retry would not change. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor({ status, body }: Answer) {
    super(`service responded ${status}: ${body?.message ?? 'without a message'}`)
  }
}

/** Renews its token as needed, and retries calls until they get a response. */
export interface Session {
  /** Response of a successful call. @throws Refusal, or LineBroken while the service is unreachable */
  call(call: Omit<Call, 'token'>): Promise<Answer['body']>
  /** Number of retried calls. */
  readonly retries: () => number
}

interface Options {
  readonly line: Line
  readonly credentials: Credentials
  readonly say: (text: string) => void
  /** 0 to 1. */
  readonly random: () => number
  /** First and longest pause between attempts; pauses double. */
  readonly firstWait_ms?: number
  readonly longestWait_ms?: number
}

const ATTEMPTS = 10
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 15_000

/** Statuses worth a retry: overload or a temporary failure. */
const TRY_AGAIN = [429, 500, 502, 503, 504]

/** Session of a user. Logs in at first, and when the service rejects the token. */
export function createSession(options: Options): Session {
  const { line, credentials, say } = options
  let token: string | null = null
  let retries = 0

  /** Retries are safe: reads change nothing, and offline_id identifies uploaded sales. */
  async function insist(call: Call): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await line.send(call).catch((error: unknown) => {
        if (error instanceof LineBroken) return error
        throw error
      })
      if (!(outcome instanceof LineBroken) && !TRY_AGAIN.includes(outcome.status)) return outcome
      const reason = outcome instanceof LineBroken ? outcome.message : `service responded ${outcome.status}`
      if (attempt === ATTEMPTS) throw outcome instanceof LineBroken ? outcome : new Refusal(outcome)
      const wait_ms = waitAfter(attempt, outcome instanceof LineBroken ? undefined : outcome.headers['retry-after'])
      say(`${call.method} ${call.path}: ${reason}; trying again in ${Math.round(wait_ms)} ms`)
      retries += 1
      await pause(wait_ms)
    }
  }

  /** Exponential backoff with jitter from half to the whole pause, so that tills do not retry all at once. */
  function waitAfter(attempt: number, retryAfter: string | undefined): number {
    const { firstWait_ms = FIRST_WAIT_MS, longestWait_ms = LONGEST_WAIT_MS, random } = options
    const wait_ms = Math.min(firstWait_ms * 2 ** (attempt - 1), longestWait_ms) * (0.5 + random() / 2)
    return Math.max(wait_ms, 1000 * (Number(retryAfter) || 0))
  }

  /** Sends the expired token too: failed logins of others then do not lock out this till. */
  async function logIn(): Promise<string> {
    const login = { method: 'POST', path: '/auth/login', body: credentials } as const
    const answer = await insist(token === null ? login : { ...login, token })
    if (answer.status !== 200) throw new Refusal(answer)
    say(`logged in as ${answer.body.data.user.name}`)
    return answer.body.data.token
  }

  return {
    retries: () => retries,
    async call(call) {
      const known = token !== null
      token ??= await logIn()
      let answer = await insist({ ...call, token })
      if (answer.status === 401 && known) {
        token = await logIn()
        answer = await insist({ ...call, token })
      }
      if (answer.status !== 200) throw new Refusal(answer)
      return answer.body
    },
  }
}
