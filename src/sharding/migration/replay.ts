import type { Pool } from 'pg'
import { type Anchor, walkChain } from '#integrity/audit/chain-walk.ts'
import { storedEvents } from '#integrity/audit/verify.ts'
import { type Envelope, GENESIS_HASH, streamOf } from '#ledger/envelope.ts'
import type { Ids } from '#ledger/ledgers.ts'
import { readNewest } from '#ledger/reading.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { readSchemasOf } from '#ledger/rebuild/version.ts'
import { createPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { MigratingShard, Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'

/** The row of `ops.ledgers`. */
export interface LedgerHead extends Anchor {
  readonly reacted_revision: number
  readonly last_recorded_at: string | null
  readonly ids: Ids
}

export async function readLedgerHead({ pool }: Pick<MigratingShard, 'pool'>, companyId: number): Promise<LedgerHead> {
  const { rows } = await pool.query<LedgerHead>(
    'select revision, hash, reacted_revision, last_recorded_at, ids from ops.ledgers where company_id = $1',
    [companyId],
  )
  const [head] = rows
  if (!head) throw new MigrationRefused('company', `company ${companyId} has no ledger on this shard`)
  return head
}

/** Events per transaction: bounds memory, locks and time. */
const PORTION = 5_000

/** One connection for the replay, opened before writes are closed. */
export const createReplayPool = ({ databaseUrl, model }: MigratingShard): Pool =>
  createPool(databaseUrl, {
    max: 1,
    pipeline: true,
    keyLookupsOnly: true,
    read_schemas: readSchemasOf(model),
    statement_timeout_ms: 0,
    application_name: 'tillbook move',
  })

/**
 * Builds the read model of an arriving company up to a revision that has arrived with its keys. Like a rebuild it
 * writes rows only: deliveries and stored answers are carried (SHARD-53).
 */
export async function replayTo({ companyId, to, progress }: Migration, pool: Pool, revision: number): Promise<void> {
  progress?.begin('events', revision - (await readLedgerHead(to, companyId)).revision)
  for (;;) {
    const { revision: done } = await readLedgerHead(to, companyId)
    if (done >= revision) return
    const upTo = Math.min(revision, done + PORTION)
    await replayPortion({ companyId, to }, pool, upTo)
    progress?.add(upTo - done)
  }
}

async function replayPortion(
  { companyId, to }: Pick<Migration, 'companyId' | 'to'>,
  pool: Pool,
  upTo: number,
): Promise<void> {
  await inTransaction(pool, async (tx, client) => {
    const { rows } = await client.query<{ revision: number; version: string | null }>(
      `select l.revision, (select version from ops.read_model) as version from ops.ledgers l
       where l.company_id = $1 and l.move = 'arriving' for update of l`,
      [companyId],
    )
    const [ledger] = rows
    if (!ledger) throw new MigrationRefused('company', `company ${companyId} is not arriving on shard ${to.name}`)
    if (ledger.version !== to.model.version)
      throw new MigrationRefused('versions', `the tables of shard ${to.name} belong to another version`)
    const last: { event: Envelope | null } = { event: null }
    const events = trackLastEvent(readNewest(to, streamOf(companyId), ledger.revision + 1), upTo, last)
    // A person may have been erased since an event was read, here or by another portion.
    const applied = await replay(tx, to.model, companyId, events, upTo, { erasesAfter: -1 })
    if (applied !== upTo - ledger.revision || !last.event)
      throw new MigrationRefused('replication', `the ledger on shard ${to.name} ends before revision ${upTo}`)
    const { hash, recorded_at } = last.event
    await client.query('update ops.ledgers set revision = $2, hash = $3, last_recorded_at = $4 where company_id = $1', [
      companyId,
      upTo,
      hash,
      recorded_at,
    ])
  })
}

async function* trackLastEvent(
  events: AsyncIterable<Envelope>,
  upTo: number,
  last: { event: Envelope | null },
): AsyncGenerator<Envelope> {
  for await (const event of events) {
    if (event.revision <= upTo) last.event = event
    yield event
  }
}

/**
 * Verifies the target's ledger from a verified event up to the given head. An external event store is the same for both
 * shards. @throws MigrationRefused
 */
export async function verifyLedgerTo(
  { companyId, to, progress }: Migration,
  after: Anchor,
  head: Anchor,
): Promise<void> {
  if (!to.store.transactional || head.revision <= after.revision) return
  const stream = streamOf(companyId)
  const { valid, first_error } = await walkChain(
    storedEvents(to.store, stream, after.revision < 0 ? null : after.revision),
    {
      stream,
      after,
      anchors: [head],
      isEnough: (revision) => revision >= head.revision,
      onEvent: () => progress?.add(1),
    },
  )
  if (!valid)
    throw new MigrationRefused(
      'differs',
      `the ledger on shard ${to.name}: ${first_error?.reason} at revision ${first_error?.revision}`,
    )
}

export const LEDGER_START: Anchor = { revision: -1, hash: GENESIS_HASH }
