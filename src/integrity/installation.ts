import * as z from 'zod'
import { type Envelope, GENESIS_HASH, hashEnvelope } from '#ledger/command.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import type { Queryable } from '#postgres/database.ts'

type Client = Queryable

/**
 * Installation id of this database: a uuid, created with the database. It is part of the origin of every checkpoint.
 */
export async function loadInstallationId(client: Client): Promise<string> {
  return (await loadInstallation(client)).id
}

/** Row of `ops.installation`. */
export interface Installation {
  readonly id: string
  /** The first of several installations with one ring of keys; names the ring and the logs of companies. */
  readonly family: string
  /** Number of this cell; 0 of the first one. */
  readonly cell: number
  /** Hosts of the EventStoreDB with the ledgers; null if they are in this Postgres or none was recorded. */
  readonly event_store: string | null
  readonly identity: string | null
  /** A deliberate copy, which sends nothing to the outside. */
  readonly is_copy: boolean
  /** State of an unfinished restore (src/integrity/restore.ts). */
  readonly restoring: unknown
  /** Whether the database has any event. */
  readonly has_ledgers: boolean
}

export async function loadInstallation(client: Client): Promise<Installation> {
  const { rows } = await client.query<Installation>({
    name: 'installation',
    text: `select id, coalesce(family, id) as family, cell, event_store, identity, is_copy, restoring,
             exists (select from ops.ledgers where revision >= 0) as has_ledgers from ops.installation`,
  })
  const [row] = rows
  if (!row) throw new Error('the database has no installation id')
  return row
}

/** Companies that are open in another installation, and have left this one. */
export async function departedCompanies(client: Client): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ company_id: number }>(
    `select company_id from ops.company_moves where state in ('confirmed', 'removed')`,
  )
  return new Set(rows.map(({ company_id }) => company_id))
}

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
  const claim: Envelope = { ...head, hash: hashEnvelope({ ...head, data }), data }
  await store
    .append([{ stream: STREAM, expectedRevision: revision - 1, commands: [[claim]] }], NO_TRANSACTION)
    .catch((error: unknown) => {
      if (!(error instanceof WrongExpectedRevision)) throw error
    })
}

const NO_TRANSACTION = { query: () => Promise.reject(new Error('a store outside Postgres has its own transactions')) }
