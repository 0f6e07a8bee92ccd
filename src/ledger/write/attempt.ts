import type { PoolClient } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import {
  assertCommitted,
  type BulkTransaction,
  pipelined,
  type Transaction,
  transactionOn,
} from '#postgres/transaction.ts'
import type { Lookup } from '../command.ts'
import { streamOf } from '../envelope.ts'
import { advanceLedger, lockLedger, type OpenLedger, openLedger, readLedgerClock } from '../ledgers.ts'
import { createKeychain, type Keychain, type PersonKeys, personKeys } from '../person-keys.ts'
import type { Append, EventStore } from '../port.ts'
import type { ReadModel } from '../projection.ts'
import type { Reactor } from '../reactor.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'
import { type NameReserver, reserveNames } from './name-reservation.ts'
import {
  type Decided,
  decideRequest,
  keyRefsOfFound,
  type Needing,
  needing,
  needsOf,
  type Request,
} from './unit-of-work.ts'

export interface AttemptOptions {
  readonly store: EventStore
  readonly model: ReadModel
  readonly reactors: readonly Reactor[]
  readonly keys: PersonKeys
  /** What is asked before anything is appended; absent where no name is unique beyond this database. */
  readonly reserve?: NameReserver | undefined
  /** A uuid of version 7, for events and what follows from them. */
  readonly newId: () => string
  /** Called after each commit that has moved ledgers: whoever waits for that can be told. */
  readonly onCommitted: (moved: readonly Committed[]) => void
  /** Called when the tables belong to another version of the projections: this process must not write and should leave. */
  readonly onOutdated: () => void
}

export interface Committed {
  readonly companyId: number
  readonly revision: number
  /** Whether anything was made that others wait for, as deliveries. */
  readonly hasReacted: boolean
}

/** The outcome of an append or COMMIT is unknown: nothing may be decided again before the streams were read. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt'
}

/** One attempt: lock, load, decide, flush, append, COMMIT. `onDecided` hands out the decisions before anything is sent. */
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
  const load = async (companyId: number, refs: Parameters<WorkingSet['want']>[1]) => {
    set.want(companyId, refs)
    await pipelined(client, () => set.load(tx))
  }
  const find = async (companyId: number, { values, ...statement }: Lookup) =>
    (await tx.query(statement, [companyId, ...values])).rows
  const { store, model, reactors, newId } = options
  for (const each of needed) {
    const { companyId } = each.request
    set.want(companyId, keyRefsOfFound(model, set.of(companyId), each))
  }
  if (set.isWanting()) await pipelined(client, () => set.load(tx))
  const keychain = createKeychain(options.keys.vault, newId)
  const deciding = { tx, model, reactors, newId, set, load, find, keychain, keysCommitTogether: store.transactional }
  const decided: Decided[] = []
  for (const request of group) {
    decided.push(await decideRequest(request, ledgers.get(request.companyId) as OpenLedger, deciding))
  }
  onDecided(decided)
  if (options.reserve) await reserveNames(options.reserve, set)
  const commands = group.reduce((sum, { invocations }) => sum + invocations.length, 0)
  await commit(options, client, tx, { set, keychain, isLarge: commands >= LARGE_COMMANDS }, [...ledgers.values()])
  reportCommit(options, ledgers.values())
  return decided
}

/** After the commit, and never in its way. */
export function reportCommit({ onCommitted }: AttemptOptions, ledgers: Iterable<OpenLedger>): void {
  const moved = [...ledgers].filter(({ revision, expectedRevision }) => revision > expectedRevision)
  if (moved.length > 0) onCommitted(moved)
}

/** First round trip: BEGIN, lock, clock, and all rows that are known to be needed. */
export async function beginAttempt(
  { model, onOutdated }: AttemptOptions,
  client: PoolClient,
  tx: Transaction,
  set: WorkingSet,
  needed: readonly Needing[],
): Promise<Map<number, OpenLedger>> {
  const companyIds = [...new Set(needed.map(({ request }) => request.companyId))]
  for (const each of needed) set.want(each.request.companyId, needsOf(model, each))
  const [, locked, time] = await pipelined(client, () => [
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

/** Does what is left to do by statements when the rows are written. */
export async function finishAttempt(tx: Transaction, ledgers: readonly OpenLedger[]): Promise<void> {
  for (const { finishing } of ledgers) for (const step of finishing) await step(tx)
}

/** From so many commands on, as of a batch or an upload, most rows are new to their tables, and many. */
const LARGE_COMMANDS = 100

/** What a group has decided. */
interface Outcome {
  readonly set: WorkingSet
  readonly keychain: Keychain
  readonly isLarge: boolean
}

/** Last round trip. Nothing that can refuse comes after the append. */
async function commit(
  { store, keys }: AttemptOptions,
  client: PoolClient,
  tx: BulkTransaction,
  { set, keychain, isLarge }: Outcome,
  ledgers: readonly OpenLedger[],
): Promise<void> {
  const changed = ledgers.filter((ledger) => ledger.commands.length > 0)
  const appends: Append[] = changed.map((ledger) => ({
    stream: streamOf(ledger.companyId),
    expectedRevision: ledger.expectedRevision,
    commands: ledger.commands,
  }))
  const together = store.transactional || appends.length === 0
  // Events may land though this transaction dies: what has sealed them must be there by then.
  if (!together && keychain.made.length > 0) {
    await keys.save(keychain.made)
    set.wereAdded(personKeys)
  }
  const finishes = ledgers.some(({ finishing }) => finishing.length > 0)
  if (finishes) {
    await pipelined(client, () => set.flush(tx))
    await finishAttempt(tx, ledgers)
  }
  const write = () => (together && isLarge ? set.flushInBulk(tx) : set.flush(tx))
  const flush = () => (finishes ? [] : write())
  const rows = () => [...flush(), ...(changed.length > 0 ? [advanceLedger(tx, changed)] : [])]
  if (together) {
    return commitTogether(client, () => [...rows(), ...(appends.length > 0 ? [store.append(appends, tx)] : [])])
  }
  await pipelined(client, rows)
  try {
    await store.append(appends, tx)
    assertCommitted(await client.query('commit'))
  } catch (error) {
    throw new InDoubt('the outcome of an append or its commit is unknown', { cause: error })
  }
}

/** Sends the last statements and COMMIT in one go. Only COMMIT's own answer tells whether the outcome is known. */
async function commitTogether(client: PoolClient, send: () => Promise<unknown>[]): Promise<void> {
  let committing: Promise<{ command: string }> | undefined
  try {
    await pipelined(client, () => {
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
