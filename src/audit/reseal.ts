import type { Pool, PoolClient } from 'pg'
import { companyOf, type Envelope, GENESIS_HASH, hashOf, streamOf } from '#ledger/envelope.ts'
import { type EventStore, isOutside, type OutsideStore } from '#ledger/port.ts'
import { type CopyReport, copyLedgers, type Rewriting } from '#ledger/stores/copy.ts'
import { hasFormerLedgers, indexNextLedgers, openNextLedgers, switchLedgers } from '#ledger/stores/next-ledgers.ts'
import { OtherVersion } from '#lib/other-version.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { draftMapping, mappingFileOf } from './reseal-mapping.ts'
import type { SigningKey } from './signing-key.ts'
import { NotWhole, storedEvents } from './verify.ts'
import { type Anchor, parseStored, type Verification, type Walk, walk } from './walk.ts'

/** How data about people are sealed in events of one ledger, and opened; what is sealed already stays as it is. */
export interface Cipher {
  seal(companyId: number, events: readonly Envelope[]): Promise<readonly Envelope[]>
  /** Fields of whom was forgotten are null, sealed or not. */
  open(companyId: number, events: readonly Envelope[]): Promise<readonly Envelope[]>
}

export interface Resealing {
  /** Of its own: statements take as long as they need. */
  readonly pool: Pool
  /** The ledgers as they are. */
  readonly store: EventStore
  /** Where they are written anew; null: in this Postgres. */
  readonly target: OutsideStore | null
  readonly cipher: Cipher
  /** What mappings are signed with, and where they are kept. */
  readonly key: SigningKey
  readonly directory: string
  /** UTC. */
  readonly now: () => string
  /** What was sealed of a ledger as it is: it has to go through that. */
  readonly sealed?: (companyId: number) => Promise<Pick<Walk, 'anchors' | 'watch'>>
  readonly onStream?: (stream: string, events: number) => void
}

export interface ResealReport extends CopyReport {
  /** Files with the signed mappings; none where there was nothing to do. */
  readonly mappings: readonly string[]
}

/** Nothing was switched; what was written so far is used by the next run. */
export class CannotReseal extends Unavailable {}

/** One at a time. */
const RESEAL_LOCK = 7_106_802
/** Copies of what has come since the one before, until nobody is found to have written. */
const PASSES = 3

/** Where a ledger ends, as the service has noted it. */
interface Head extends Anchor {
  readonly company_id: number
}

/** A ledger in both forms: the same revision under two hashes. */
interface Resealed {
  readonly company_id: number
  readonly revision: number
  readonly old_hash: string
  readonly new_hash: string
}

/**
 * Writes all ledgers anew with data about people sealed: ids, revisions, times and all else stay, hashes change (PRIV-52). Both
 * are verified, event by event, and the mapping of each ledger is signed and on the disk before one transaction switches to
 * the new ones. A run that was interrupted anywhere is finished by the next one; after the switch there is nothing to do.
 * @throws CannotReseal, NotWhole, CopyDiffers
 */
export async function resealLedgers(resealing: Resealing): Promise<ResealReport> {
  const { pool } = resealing
  const holder = await pool.connect()
  try {
    const lock = await holder.query<{ ok: boolean }>('select pg_try_advisory_lock($1) as ok', [RESEAL_LOCK])
    if (!lock.rows[0]?.ok) throw new CannotReseal('another command is resealing the ledgers')
    const { rowCount } = await holder.query('select from ops.clear_ledgers limit 1')
    if (rowCount === 0) return { streams: 0, events: 0, known: 0, mappings: [] }
    if (await hasFormerLedgers(holder))
      throw new CannotReseal('ledgers of an earlier resealing are still kept aside: end them first, with --drop-old')
    return await resealAlone(resealing, holder)
  } finally {
    // It goes with its connection too, but a moment later than the next run may come.
    await holder.query('select pg_advisory_unlock($1)', [RESEAL_LOCK]).catch(() => {})
    holder.release(true)
  }
}

async function resealAlone(resealing: Resealing, holder: PoolClient): Promise<ResealReport> {
  const { pool, store, cipher, directory, onStream } = resealing
  const target = resealing.target ?? (await openNextLedgers(pool))
  const rewriting = sealingWith(cipher)
  for (let pass = 0; pass < PASSES; pass++) {
    const heads = await headsOf(holder)
    const copied = await copyLedgers(store, target, { rewriting, ...(onStream && { onStream }) })
    if (!resealing.target) await indexNextLedgers(pool)
    const resealed: Resealed[] = []
    for (const head of heads) resealed.push(await vouchFor(resealing, target, head))
    if (await switchOver(resealing, holder, { heads, resealed }))
      return { ...copied, mappings: heads.map(({ company_id }) => mappingFileOf(directory, company_id)) }
  }
  throw new CannotReseal('somebody goes on writing to the ledgers: stop every process of the service')
}

async function headsOf(client: PoolClient): Promise<Head[]> {
  const { rows } = await client.query<Head>(
    'select company_id, revision, hash from ops.ledgers where revision >= 0 order by company_id',
  )
  return rows
}

/** Events with sealed fields, chained anew. */
function sealingWith({ seal, open }: Cipher): Rewriting {
  const companyIdOf = ([event]: readonly Envelope[]): number => companyOf(event?.stream ?? '') ?? 0
  return {
    async write(events, before) {
      let previous_hash = before?.hash ?? GENESIS_HASH
      const sealed = await seal(companyIdOf(events), events)
      return sealed.map(({ hash: _, data, ...members }) => {
        const head = { ...members, previous_hash }
        const event = { ...head, hash: hashOf({ ...head, data }), data }
        previous_hash = event.hash
        return event
      })
    },
    async differing(events, written, before) {
      const companyId = companyIdOf(written)
      const [expected, opened] = [await open(companyId, events), await open(companyId, written)]
      return written.findIndex((event, place) => {
        const previous = (place === 0 ? before : written[place - 1])?.hash ?? GENESIS_HASH
        return event.previous_hash !== previous || textOf(expected[place]) !== textOf(opened[place])
      })
    },
  }
}

/** All that must be the same in both. */
function textOf(event: Envelope | undefined): string {
  if (!event) return ''
  const { hash: _hash, previous_hash: _previous, ...same } = event
  return JSON.stringify(same)
}

/** Verifies a ledger in both forms, and signs which hash has become which. @throws NotWhole, CannotReseal */
async function vouchFor(
  { store, key, directory, now, sealed = async () => ({}) }: Resealing,
  target: EventStore,
  { company_id, ...head }: Head,
): Promise<Resealed> {
  const stream = streamOf(company_id)
  const draft = await draftMapping(directory, company_id)
  let isFinished = false
  try {
    async function* mapped() {
      for await (const stored of storedEvents(store, stream, null)) {
        await draft.add(parseStored(stored)?.hash ?? '')
        yield stored
      }
    }
    const { anchors = [], ...watching } = await sealed(company_id)
    const before = wholeOf(company_id, await walk(mapped(), { stream, anchors: [head, ...anchors], ...watching }))
    if (before.revision !== head.revision)
      throw new CannotReseal(
        `the ledger of company ${company_id} holds more than was applied: start the service, and stop it again`,
      )
    const since = wholeOf(company_id, await walk(storedEvents(target, stream, null), { stream }))
    if (since.revision !== head.revision)
      throw new CannotReseal(
        `somebody has written to the ledger of company ${company_id}: stop every process of the service`,
      )
    isFinished = true
    await draft.finish(since.hash, now(), key)
    return { company_id, revision: head.revision, old_hash: before.hash, new_hash: since.hash }
  } finally {
    if (!isFinished) await draft.abandon()
  }
}

function wholeOf(companyId: number, found: Verification): Verification {
  if (!found.valid) throw new NotWhole(companyId, found)
  return found
}

interface Switch {
  readonly heads: readonly Head[]
  readonly resealed: readonly Resealed[]
}

/** All of it in one transaction, or nothing: false where somebody has written meanwhile. */
async function switchOver({ store, target }: Resealing, holder: PoolClient, ready: Switch): Promise<boolean> {
  await holder.query('begin')
  try {
    // A unit of work that holds a ledger has appended before this is granted, and none begins before it is over.
    await holder.query('lock table ops.ledgers in exclusive mode')
    if (await hasMoved(holder, store, ready.heads)) {
      await holder.query('rollback')
      return false
    }
    const { rowCount } = await holder.query('select from ledger.events limit 1')
    if (!target || rowCount === 1) await switchLedgers(holder, { isNextHere: !target })
    await note(holder, ready.resealed)
    // Positions mean nothing in another store.
    if (target || isOutside(store)) await holder.query('delete from ops.checkpoints')
    await holder.query('commit')
    return true
  } catch (error) {
    await holder.query('rollback').catch(() => {})
    throw error
  }
}

async function hasMoved(holder: PoolClient, store: EventStore, heads: readonly Head[]): Promise<boolean> {
  const same = (a: Head, b: Head | undefined) => a.company_id === b?.company_id && a.hash === b.hash
  const now = await headsOf(holder)
  if (now.length !== heads.length || !now.every((head, place) => same(head, heads[place]))) return true
  if (!isOutside(store)) return false
  for (const { company_id, revision } of heads)
    for await (const _ of store.read(streamOf(company_id), revision + 1)) return true
  return false
}

async function note(holder: PoolClient, resealed: readonly Resealed[]): Promise<void> {
  const columns = (['company_id', 'revision', 'old_hash', 'new_hash'] as const).map((name) =>
    resealed.map((each) => each[name]),
  )
  const given = 'unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])'
  await holder.query(
    `update ops.ledgers l set hash = v.new_hash from ${given} as v(company_id, revision, old_hash, new_hash)
     where l.company_id = v.company_id and l.revision = v.revision and l.hash = v.old_hash`,
    columns,
  )
  await holder.query(
    `insert into ops.resealed_ledgers (company_id, revision, old_hash, new_hash, resealed_at)
     select v.*, clock_timestamp() from ${given} as v
     on conflict (company_id) do update set revision = excluded.revision, old_hash = excluded.old_hash,
       new_hash = excluded.new_hash, resealed_at = excluded.resealed_at`,
    columns,
  )
  await holder.query('delete from ops.clear_ledgers')
}

/**
 * After a resealing the ledgers of before are not written to any more: their hashes are not those that the service goes on
 * from. @throws OtherVersion where the store holds them.
 */
export async function assertResealed(pool: Pool, store: EventStore): Promise<void> {
  const { rows } = await pool.query<Resealed>('select * from ops.resealed_ledgers order by company_id limit 1')
  const [known] = rows
  if (!known) return
  for await (const { hash } of store.read(streamOf(known.company_id), known.revision)) {
    if (hash === known.new_hash) return
    break
  }
  throw new OtherVersion(
    'These are not the ledgers that were resealed: EVENTSTORE_URL has to lead to where they are, or be left out where they are in Postgres.',
  )
}

/** How many ledgers hold data about people in clear (PRIV-53). */
export async function countClearLedgers(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*) as count from ops.clear_ledgers')
  return rows[0]?.count ?? 0
}

/** Connections by which a service is known; those of commands have other names. */
const OF_SERVICES = ['tillbook', 'tillbook gate', 'tillbook live', 'tillbook webhooks', 'tillbook listener']

/** Whether a process of the service is at work on this database. */
export async function isServed(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and application_name = any($1::text[]) limit 1`,
    [OF_SERVICES],
  )
  return rowCount === 1
}
