import type { Stage } from './act.ts'
import { ACTS } from './acts.ts'
import { type Book, createBook } from './book.ts'
import { type Caller, createCaller } from './caller.ts'
import type { PlayedCompany } from './companies.ts'
import type { Dice } from './dice.ts'
import { PANEL_ACTS } from './panel-acts.ts'

/** Clients of several shops that run until they are stopped. */
export interface Load {
  readonly caller: Caller
  readonly books: ReadonlyMap<PlayedCompany, Book>
  /** Resolves once every client has its last answer. Rejects if an answer was wrong. */
  stop(): Promise<void>
  /** Whether a client has found a wrong answer; waiting is then pointless. */
  hasFailed(): boolean
}

const CLIENTS_OF_A_SHOP = 6

const ALL_ACTS = [...ACTS, ...PANEL_ACTS]

/** Starts clients for a service that may crash and restart. */
export function startLoad(baseUrl: () => string, shops: readonly PlayedCompany[], dice: Dice): Load {
  const caller = createCaller(baseUrl)
  const books = new Map(shops.map((shop) => [shop, createBook()]))
  let stopping = false
  let failed = false
  let last = 0
  const next = () => ++last

  async function work(stage: Stage): Promise<void> {
    try {
      while (!stopping && !failed) await stage.dice.pick(ALL_ACTS)(stage)
    } catch (error) {
      failed = true
      throw error
    }
  }

  const clients = [...books].flatMap(([shop, book]) =>
    Array.from({ length: CLIENTS_OF_A_SHOP }, () => work({ shop, book, caller, dice: dice.fork(), next })),
  )
  const ended = Promise.allSettled(clients)
  return {
    caller,
    books,
    hasFailed: () => failed,
    async stop() {
      stopping = true
      await ended
      await Promise.all(clients)
    },
  }
}
