import type { Drawer } from './drawer.ts'
import type { OfflineSale, Queue, World } from './sale.ts'
import type { Session } from './session.ts'

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

interface Options {
  readonly session: Session
  readonly queue: Queue<OfflineReturn>
  readonly drawer: Drawer
  readonly world: World
  readonly say: (text: string) => void
}

const RETURNED = 0.08
const PORTION = 100

export function createReturnDesk({ session, queue, drawer, world, say }: Options): ReturnDesk {
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
