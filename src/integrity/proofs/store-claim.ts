import * as z from 'zod'
import { type Envelope, GENESIS_HASH, hashOf } from '#ledger/envelope.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'

interface Claiming {
  /** UUID version 7. */
  readonly newId: () => string
  /** UTC. */
  readonly now: () => string
}

/** Stream beside those of companies; its last event names the installation that owns the store. */
const STREAM = 'tillbook-installation'

const Claim = z.object({ installation: z.uuid() })

export async function lastClaim(store: OutsideStore): Promise<{ installation: string; event: Envelope } | null> {
  let last: Envelope | null = null
  for await (const event of store.read(STREAM, 0)) last = event
  return last && { installation: Claim.parse(last.data).installation, event: last }
}

/** Records the installation that owns a store. Of two concurrent claims the first wins. */
export async function claimStore({ newId, now }: Claiming, store: OutsideStore, installation: string): Promise<void> {
  const last = await lastClaim(store)
  if (last?.installation === installation) return
  const revision = (last?.event.revision ?? -1) + 1
  const head = {
    id: newId(),
    type: 'StoreClaimed',
    version: 1,
    stream: STREAM,
    revision,
    recorded_at: now(),
    subject: `installation/${installation}`,
    origin: 'system',
    actor: null,
    request_id: null,
    idempotency: null,
    previous_hash: last?.event.hash ?? GENESIS_HASH,
  } as const
  const data = { installation }
  const claim: Envelope = { ...head, hash: hashOf({ ...head, data }), data }
  await store
    .append([{ stream: STREAM, expectedRevision: revision - 1, commands: [[claim]] }], NO_TRANSACTION)
    .catch((error: unknown) => {
      if (!(error instanceof WrongExpectedRevision)) throw error
    })
}

const NO_TRANSACTION = { query: () => Promise.reject(new Error('a store outside Postgres has its own transactions')) }
