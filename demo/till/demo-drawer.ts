import { setTimeout as pause } from 'node:timers/promises'
import { fromCents } from '#domain/money.ts'
import { StepRefused } from '#lib/errors.ts'
import {
  type Answer,
  type Call,
  type Line,
  LineBroken,
  type OfflineSale,
  type PaymentType,
  type Queue,
  type World,
} from './demo-sales.ts'

/** Login of the till's user. */
export interface Credentials {
  readonly email: string
  readonly password: string
}

/** Response that a retry would not change; its own message is for the person at the counter. */
export class Refusal extends StepRefused {
  constructor({ status }: Answer) {
    const reason = status === 401 ? 'wrong e-mail or password, or an ended login' : 'the request is wrong'
    super(`http_${status}`, `The service answered ${status}: ${reason}.`)
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

/** Movement as stored and uploaded by the till (CASH-2). */
export interface CashMovement {
  readonly offline_id: string
  readonly session_id: string
  readonly kind: 'opened' | 'out' | 'closed'
  readonly amount: number | null
  readonly at: string
  readonly reason?: string
  readonly counted?: Readonly<Record<string, number>>
}

/** Drawer of the till: one cash session a day. */
export interface Drawer {
  open(): Promise<void>
  /** Session that sales name; null while the drawer is closed. */
  readonly session: () => string | null
  /** Takes the money of a sale, and brings notes away when there is much of it. */
  take(sale: OfflineSale, types: readonly PaymentType[]): Promise<void>
  /** Gives money back as it was taken today; false if the drawer holds less. */
  giveBack(paymentTypeId: number, amount: number): boolean
  /** Counts what is there, without asking what should be. */
  close(): Promise<void>
  /** Uploads movements; sales go first, so that a session is complete when it is closed. */
  upload(): Promise<void>
  tally(): DrawerTally
}

export interface DrawerTally {
  /** Movements that the service has. */
  readonly movements: number
  readonly movements_refused: number
  /** Cash at the last closing. */
  readonly counted: string
}

interface DrawerOptions {
  readonly session: Session
  readonly queue: Queue<CashMovement>
  readonly world: Pick<World, 'now' | 'newId'>
  readonly say: (text: string) => void
}

const FLOAT_CENTS = 15_000
/** More than this is brought away, down to the float. */
const MOST_CENTS = 50_000
const PORTION = 100

const cents = (amount: number): number => Math.round(amount * 100)

export function createDrawer({ session, queue, world: { now, newId }, say }: DrawerOptions): Drawer {
  let open: string | null = null
  let inDrawer = 0
  let others = new Map<number, number>()
  const counts = { movements: 0, movements_refused: 0 }

  const add = (session_id: string, movement: Pick<CashMovement, 'kind' | 'amount' | 'reason' | 'counted'>) =>
    queue.add({ offline_id: newId(), session_id, at: now().toISOString(), ...movement })

  return {
    session: () => open,
    tally: () => ({ ...counts, counted: fromCents(inDrawer) }),
    async open() {
      open = newId()
      inDrawer = FLOAT_CENTS
      others = new Map()
      await add(open, { kind: 'opened', amount: FLOAT_CENTS / 100 })
    },
    async take({ status, total, payments: [payment] }, types) {
      if (open === null || status === 'cancelled' || !payment) return
      const { payment_type_id: id } = payment
      if (!types.some((type) => type.id === id && type.is_cash)) {
        others.set(id, (others.get(id) ?? 0) + cents(total))
        return
      }
      inDrawer += cents(total)
      if (inDrawer <= MOST_CENTS) return
      await add(open, { kind: 'out', amount: (inDrawer - FLOAT_CENTS) / 100, reason: 'Sangria' })
      inDrawer = FLOAT_CENTS
    },
    giveBack(id, amount) {
      const sum = others.get(id)
      if (sum !== undefined) others.set(id, sum - cents(amount))
      else if (open === null || inDrawer < cents(amount)) return false
      else inDrawer -= cents(amount)
      return true
    },
    async close() {
      if (open === null) return
      const counted = { cash: inDrawer / 100, ...Object.fromEntries([...others].map(([id, sum]) => [id, sum / 100])) }
      await add(open, { kind: 'closed', amount: null, counted })
      open = null
    },
    async upload() {
      while (queue.size() > 0) {
        const movements = queue.first(PORTION)
        const answer = await session.call({ method: 'POST', path: '/sync/cash', body: { movements } })
        for (const { offline_id, status, message } of answer.results) {
          const isRefused = status === 'error' || status === 'refused'
          counts[isRefused ? 'movements_refused' : 'movements'] += 1
          if (isRefused) say(`${offline_id} was refused: ${message}`)
        }
        await queue.remove(new Set(movements.map((movement) => movement.offline_id)))
        say(answer.message)
      }
    },
  }
}

/** Return as stored and uploaded by the till (UP-100). */
export interface OfflineReturn {
  readonly offline_id: string
  readonly sale_offline_id: string
  readonly reason: string
  readonly returned_at: string
  readonly cash_session_id?: string
  readonly items: readonly { readonly line: number; readonly quantity: number }[]
  readonly refunds: readonly { readonly payment_type_id: number; readonly amount: number }[]
}

/** Where customers of the day bring goods back. */
export interface ReturnDesk {
  /** After a sale: some buyers bring a whole line back, and get its price back as they paid it. */
  serve(sale: OfflineSale): Promise<OfflineReturn | null>
  /** Uploads returns; their sales may follow. */
  upload(): Promise<void>
  readonly tally: () => { readonly returned: number; readonly returns_refused: number }
}

interface ReturnDeskOptions {
  readonly session: Session
  readonly queue: Queue<OfflineReturn>
  readonly drawer: Drawer
  readonly world: World
  readonly say: (text: string) => void
}

const RETURNED = 0.08

export function createReturnDesk({ session, queue, drawer, world, say }: ReturnDeskOptions): ReturnDesk {
  const { random, now, newId } = world
  const counts = { returned: 0, returns_refused: 0 }
  return {
    tally: () => ({ ...counts }),
    async serve({ offline_id: sale_offline_id, status, items: [item], payments: [payment] }) {
      if (random() >= RETURNED || status === 'cancelled' || !item || !payment || item.total === 0) return null
      const { payment_type_id } = payment
      if (!drawer.giveBack(payment_type_id, item.total)) return null
      const cash_session_id = drawer.session()
      const returned = {
        ...{ offline_id: newId(), sale_offline_id, reason: 'Troca', returned_at: now().toISOString() },
        items: [{ line: 0, quantity: item.quantity }],
        refunds: [{ payment_type_id, amount: item.total }],
        ...(cash_session_id !== null && { cash_session_id }),
      }
      await queue.add(returned)
      return returned
    },
    async upload() {
      while (queue.size() > 0) {
        const returns = queue.first(PORTION)
        const answer = await session.call({ method: 'POST', path: '/sync/returns', body: { returns } })
        for (const { offline_id, status, message } of answer.results) {
          const isRefused = status === 'error' || status === 'refused'
          counts[isRefused ? 'returns_refused' : 'returned'] += 1
          if (isRefused) say(`${offline_id} was refused: ${message}`)
        }
        await queue.remove(new Set(returns.map((each) => each.offline_id)))
        say(answer.message)
      }
    },
  }
}
