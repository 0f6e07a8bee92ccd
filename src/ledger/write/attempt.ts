import type { PoolClient } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import {
  assertCommitted,
  type BulkTransaction,
  runPipelined,
  type Transaction,
  transactionOn,
} from '#postgres/transaction.ts'
import { type Lookup, streamName } from '../command.ts'
import { advanceLedger, lockLedger, type OpenLedger, openLedger, readLedgerClock } from '../ledgers.ts'
import type { Append, EventStore } from '../port.ts'
import type { Reactor, ReadModel } from '../projection.ts'
import { createKeychain, type Keychain, type PersonKeys, personKeys } from '../sealed-fields.ts'
import type { AnyRef } from '../table.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'
import { useProvisionalIds } from './dry-run.ts'
import {
  collectNeeds,
  type Decided,
  decideRequest,
  keyRefsOfFound,
  type Needing,
  needing,
  type Request,
} from './unit-of-work.ts'

export interface AttemptOptions {
  readonly store: EventStore
  readonly model: ReadModel
  readonly reactors: readonly Reactor[]
  readonly keys: PersonKeys
  /** A UUID version 7, for events and rows derived from them. */
  readonly newId: () => string
  /** Called after each commit that advanced ledgers, to notify components that wait for it. */
  readonly onCommitted: (moved: readonly Committed[]) => void
  /** Called if the tables belong to another version of the projections: this process must not write and should exit. */
  readonly onOutdated: () => void
}

export interface Committed {
  readonly companyId: number
  readonly revision: number
  /** Whether reactors created work that other components wait for, such as deliveries. */
  readonly hasReacted: boolean
}

/** The outcome of an append or COMMIT is unknown: the streams must be read before anything is decided again. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt'
}

/**
 * One attempt: lock, load, decide, flush, append, COMMIT. `onDecided` receives the decisions before anything is sent.
 */
export async function attempt(
  options: AttemptOptions,
  client: PoolClient,
  group: readonly Request[],
  onDecided: (decided: Decided[]) => void,
): Promise<Decided[]> {
  const set = createWorkingSet(options.keys.vault)
  const tx = transactionOn(client)
  const needed = group.map(needing)
  const ledgers = await beginAttempt(options, client, tx, set, needed)
  const load = async (companyId: number, refs: readonly AnyRef[]) => {
    set.queue(companyId, refs)
    await runPipelined(client, () => set.load(tx))
  }
  const find = async (companyId: number, { values, ...statement }: Lookup) =>
    (await tx.query(statement, [companyId, ...values])).rows
  const { store, model, reactors, newId } = options
  for (const each of needed) {
    const { companyId } = each.request
    set.queue(companyId, keyRefsOfFound(model, set.of(companyId), each))
  }
  if (set.hasQueued()) await runPipelined(client, () => set.load(tx))
  const keychain = createKeychain(options.keys.vault, newId)
  const deciding = { tx, model, reactors, newId, set, load, find, keychain, keysCommitTogether: store.transactional }
  // A dry run is a group by itself (writer.ts).
  const isDryRun = group.some((request) => request.isDryRun)
  if (isDryRun) for (const ledger of ledgers.values()) useProvisionalIds(ledger)
  const decided: Decided[] = []
  for (const request of group) {
    decided.push(await decideRequest(request, ledgers.get(request.companyId) as OpenLedger, deciding))
  }
  if (isDryRun) {
    await client.query('rollback')
    return decided
  }
  onDecided(decided)
  const commands = group.reduce((sum, { invocations }) => sum + invocations.length, 0)
  await commit(options, client, tx, { set, keychain, isLarge: commands >= LARGE_COMMANDS }, [...ledgers.values()])
  reportCommit(options, ledgers.values())
  return decided
}

/** Runs after COMMIT; a failure does not affect the answers. */
export function reportCommit({ onCommitted }: AttemptOptions, ledgers: Iterable<OpenLedger>): void {
  const moved = [...ledgers].filter(({ revision, expectedRevision }) => revision > expectedRevision)
  if (moved.length > 0) onCommitted(moved)
}

/** First round trip: BEGIN, lock, clock, and all rows that the requests are known to need. */
export async function beginAttempt(
  { model, onOutdated }: AttemptOptions,
  client: PoolClient,
  tx: Transaction,
  set: WorkingSet,
  needed: readonly Needing[],
): Promise<Map<number, OpenLedger>> {
  const companyIds = [...new Set(needed.map(({ request }) => request.companyId))]
  for (const each of needed) set.queue(each.request.companyId, collectNeeds(model, each))
  const [, locked, time] = await runPipelined(client, () => [
    client.query('begin'),
    lockLedger(tx, companyIds),
    readLedgerClock(tx),
    ...set.load(tx),
  ])
  if (time.version !== model.version) {
    onOutdated()
    throw new Unavailable('the read model has another version')
  }
  return new Map(
    companyIds.map((companyId) => {
      const row = locked.get(companyId)
      if (!row) throw new Error(`company ${companyId} has no ledger`)
      return [companyId, openLedger(row, time.now)]
    }),
  )
}

/** Runs the remaining statements after the rows are written. */
export async function finishAttempt(tx: Transaction, ledgers: readonly OpenLedger[]): Promise<void> {
  for (const { finishing } of ledgers) for (const step of finishing) await step(tx)
}

/**
 * Minimum number of commands for a bulk flush: in batches and uploads this large, most rows are new, and there are
 * many.
 */
const LARGE_COMMANDS = 100

/** Result of deciding a group. */
interface Outcome {
  readonly set: WorkingSet
  readonly keychain: Keychain
  readonly isLarge: boolean
}

/** Last round trip. Nothing after the append can refuse the commit. */
async function commit(
  { store, keys }: AttemptOptions,
  client: PoolClient,
  tx: BulkTransaction,
  { set, keychain, isLarge }: Outcome,
  ledgers: readonly OpenLedger[],
): Promise<void> {
  const changed = ledgers.filter((ledger) => ledger.commands.length > 0)
  const appends: Append[] = changed.map((ledger) => ({
    stream: streamName(ledger.companyId),
    expectedRevision: ledger.expectedRevision,
    commands: ledger.commands,
  }))
  const together = store.transactional || appends.length === 0
  // Events may be stored even if this transaction fails, so the keys that seal them must be committed first.
  if (!together && keychain.made.length > 0) {
    await keys.save(keychain.made)
    set.markWritten(personKeys)
  }
  const finishes = ledgers.some(({ finishing }) => finishing.length > 0)
  if (finishes) {
    await runPipelined(client, () => set.flush(tx))
    await finishAttempt(tx, ledgers)
  }
  const write = () => (together && isLarge ? set.flushInBulk(tx) : set.flush(tx))
  const flush = () => (finishes ? [] : write())
  const rows = () => [...flush(), ...(changed.length > 0 ? [advanceLedger(tx, changed)] : [])]
  if (together) {
    return commitTogether(client, () => [...rows(), ...(appends.length > 0 ? [store.append(appends, tx)] : [])])
  }
  await runPipelined(client, rows)
  try {
    await store.append(appends, tx)
    assertCommitted(await client.query('commit'))
  } catch (error) {
    throw new InDoubt('the outcome of an append or its commit is unknown', { cause: error })
  }
}

/** Sends the last statements and COMMIT in one write. Only the answer to COMMIT tells whether the outcome is known. */
async function commitTogether(client: PoolClient, send: () => Promise<unknown>[]): Promise<void> {
  let committing: Promise<{ command: string }> | undefined
  try {
    await runPipelined(client, () => {
      const sent = send()
      committing = client.query('commit')
      return [...sent, committing]
    })
  } catch (error) {
    const outcome = await committing?.catch(() => null)
    if (!committing || outcome?.command === 'ROLLBACK') throw error
    throw new InDoubt('the outcome of a commit is unknown', { cause: error })
  }
  assertCommitted((await committing) as Parameters<typeof assertCommitted>[0])
}
