import { createSemaphore } from '#lib/semaphore.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { headOf, type Ledgers, verifyLedger } from './verify.ts'
import type { Anchor, Verification } from './walk.ts'

/** Longest time that one call spends; it then answers how far it came. */
const LONGEST_MS = 10_000
/** It takes the processor: a few at a time, so that sales go on. */
const LIMITS = { running: 2, waiting: 32 }

/** Verifies ledgers for callers of the service. */
export interface Verifier {
  /**
   * Verifies what follows an event that was verified before, or all; `head` is the read model's revision at the beginning.
   * @throws Unavailable while another verification of the company is under way, unless it is the same one, which is shared.
   */
  verify(companyId: number, after: Anchor | null): Promise<Verified>
}

export interface Verified {
  readonly verification: Verification
  readonly head: number
}

/** `clock` is in milliseconds. */
export function createVerifier(ledgers: Ledgers, clock: () => number): Verifier {
  const semaphore = createSemaphore(LIMITS)
  const running = new Map<number, { readonly after: Anchor | null; readonly result: Promise<Verified> }>()

  async function run(companyId: number, after: Anchor | null): Promise<Verified> {
    const head = await headOf(ledgers.pool, companyId)
    const deadline = clock() + LONGEST_MS
    const isEnough = () => clock() >= deadline
    const verification = await verifyLedger(ledgers, companyId, { ...(after && { after }), isEnough })
    return { verification, head: head.revision }
  }

  return {
    verify(companyId, after) {
      const current = running.get(companyId)
      if (current) {
        if (isSame(current.after, after)) return current.result
        return Promise.reject(new Unavailable('the ledger is being verified'))
      }
      const result = semaphore.run(() => run(companyId, after)).finally(() => running.delete(companyId))
      running.set(companyId, { after, result })
      return result
    },
  }
}

const isSame = (a: Anchor | null, b: Anchor | null): boolean => a?.revision === b?.revision && a?.hash === b?.hash
