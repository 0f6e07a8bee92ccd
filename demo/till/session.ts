import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, type Line, LineBroken } from './line.ts'

/** Who is at the till. */
export interface Credentials {
  readonly email: string
  readonly password: string
}

/** The service answered, and what it said is nothing that asking again would change. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor({ status, body }: Answer) {
    super(`the service answered ${status}: ${body?.message ?? 'without a message'}`)
  }
}

/** Calls with a token that is renewed as needed, repeated until they are answered. */
export interface Session {
  /** The answer of a successful call. @throws Refusal, or LineBroken when the service stays out of reach */
  call(call: Omit<Call, 'token'>): Promise<Answer['body']>
  /** Calls that had to be made again. */
  readonly retries: () => number
}

interface Options {
  readonly line: Line
  readonly credentials: Credentials
  readonly say: (text: string) => void
  /** From 0 to 1. */
  readonly random: () => number
  /** Waits before the second attempt, and at the most; each wait is twice the one before. */
  readonly firstWait_ms?: number
  readonly longestWait_ms?: number
}

const ATTEMPTS = 10
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 15_000

/** Too much was asked, or the service cannot at the moment. */
const TRY_AGAIN = [429, 500, 502, 503, 504]

/** A session of a user. It logs in when it has to: at first, and when the service does not know the token any more. */
export function createSession(options: Options): Session {
  const { line, credentials, say } = options
  let token: string | null = null
  let retries = 0

  /** Repeating is safe: reads change nothing, and an uploaded sale is known by its offline_id. */
  async function insist(call: Call): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await line.send(call).catch((error: unknown) => {
        if (error instanceof LineBroken) return error
        throw error
      })
      if (!(outcome instanceof LineBroken) && !TRY_AGAIN.includes(outcome.status)) return outcome
      const reason = outcome instanceof LineBroken ? outcome.message : `the service answered ${outcome.status}`
      if (attempt === ATTEMPTS) throw outcome instanceof LineBroken ? outcome : new Refusal(outcome)
      const wait_ms = waitAfter(attempt, outcome instanceof LineBroken ? undefined : outcome.headers['retry-after'])
      say(`${call.method} ${call.path}: ${reason}; trying again in ${Math.round(wait_ms)} ms`)
      retries += 1
      await pause(wait_ms)
    }
  }

  /** Exponential backoff: the whole wait or as little as half of it, so that tills do not come back all at once. */
  function waitAfter(attempt: number, retryAfter: string | undefined): number {
    const { firstWait_ms = FIRST_WAIT_MS, longestWait_ms = LONGEST_WAIT_MS, random } = options
    const wait_ms = Math.min(firstWait_ms * 2 ** (attempt - 1), longestWait_ms) * (0.5 + random() / 2)
    return Math.max(wait_ms, 1000 * (Number(retryAfter) || 0))
  }

  /** Shows the token that it has, which the service does not know any more: nobody else's failures hold this till back then. */
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
