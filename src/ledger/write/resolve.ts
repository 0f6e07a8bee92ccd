import type { PoolClient } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { assertCommitted, pipelined, transactionOn } from '#postgres/transaction.ts'
import { streamOf } from '../envelope.ts'
import { advanceLedger, type OpenLedger } from '../ledgers.ts'
import type { EventStore } from '../port.ts'
import { createWorkingSet } from '../working-set.ts'
import { type AttemptOptions, beginAttempt, finishAttempt, reportCommit } from './attempt.ts'
import { catchUp } from './catch-up.ts'
import { storeAnswer } from './idempotency.ts'
import { type Decided, needing, type Request } from './unit-of-work.ts'

/** A request with its attempts of unknown outcome. */
export interface Doubtful extends Request {
  readonly inDoubt: Decided[]
}

/**
 * Reads each company's stream under its lock, applies its events, and returns the requests with stored events. Their
 * other rows (answers, hashes of secrets) are written in the same commit. For a company that takes no writes nothing is
 * applied: the outcome of its requests stays unknown.
 */
export async function findStored<R extends Doubtful>(
  options: AttemptOptions,
  client: PoolClient,
  group: readonly R[],
): Promise<ReadonlyMap<R, Decided>> {
  const set = createWorkingSet(options.keys.vault)
  const tx = transactionOn(client)
  const ledgers = await beginAttempt(options, client, tx, set, group.map(needing))
  for (const ledger of ledgers.values()) if (!ledger.closed) await catchUp(ledger, { ...options, tx, set })
  const isClosed = ({ companyId }: R) => ledgers.get(companyId)?.closed !== null
  const found = new Map<R, Decided>(group.filter(isClosed).map((request) => [request, UNKNOWN]))
  const open = group.filter((request) => !found.has(request))
  const stored = await storedIds(options.store, open)
  for (const request of open) {
    const past = request.inDoubt.find((attempt) => isStored(attempt, stored))
    if (!past) continue
    found.set(request, past)
    const rows = set.of(request.companyId)
    const ledger = ledgers.get(request.companyId) as OpenLedger
    const { actor, idempotency } = request
    if (idempotency && 'json' in past.answer) storeAnswer(rows, { actor, idempotency }, past.answer, ledger)
    for (const { table, row } of past.privateRows) rows.put(table, row)
  }
  const moved = [...ledgers.values()].filter(({ revision, expectedRevision }) => revision > expectedRevision)
  await pipelined(client, () => [...set.flush(tx), ...(moved.length > 0 ? [advanceLedger(tx, moved)] : [])])
  await finishAttempt(tx, [...ledgers.values()])
  assertCommitted(await client.query('commit'))
  reportCommit(options, ledgers.values())
  return found
}

/** Neither done nor refused as far as this process can tell. Only the caller may repeat the request. */
const UNKNOWN: Decided = {
  answer: new Unavailable('the outcome is unknown, and the company takes no writes'),
  eventIds: [],
  fromRevision: 0,
  privateRows: [],
}

/**
 * Event ids of a request's attempts that the streams contain. Each attempt began at most a few events before the end.
 */
async function storedIds(store: EventStore, group: readonly Doubtful[]): Promise<Set<string>> {
  const stored = new Set<string>()
  for (const companyId of new Set(group.map((request) => request.companyId))) {
    const from = Math.min(
      ...group.filter((r) => r.companyId === companyId).flatMap((r) => r.inDoubt.map((past) => past.fromRevision)),
    )
    for await (const event of store.read(streamOf(companyId), from)) stored.add(event.id)
  }
  return stored
}

const isStored = (past: Decided, stored: ReadonlySet<string>): boolean =>
  past.eventIds.length > 0 && past.eventIds.every((id) => stored.has(id))
