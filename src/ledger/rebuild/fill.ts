import type { PoolClient } from 'pg'
import { type BulkTransaction, inTransaction } from '#postgres/transaction.ts'
import { companyIdOfStream, type Envelope, streamOf } from '../envelope.ts'
import { type Ids, idsAfter } from '../ledgers.ts'
import type { MissingKeys } from '../missing-keys.ts'
import type { CannotOpen } from '../personal-fields.ts'
import { readNewest } from '../reading.ts'
import {
  forgetBuilt,
  noteBuilt,
  openTables,
  PARALLEL,
  prepareForQueries,
  type RebuildOptions,
  type RebuildReport,
  sideBySide,
} from './build.ts'
import { replay } from './replay.ts'
import { switchSchemas } from './switch-schemas.ts'

type FillOptions = RebuildOptions & Required<Pick<RebuildOptions, 'tell'>>

/**
 * Creates the tables of a Postgres that never had any, and its rows of `ops.ledgers`, from the store. No webhooks are
 * sent for past events. Each company is one transaction; after a crash the next run continues with the missing
 * companies (OPS-920). There are no concurrent writers, because without tables no command can be decided. `holder` has
 * the rebuild's lock.
 */
export async function fill(options: FillOptions, holder: PoolClient): Promise<RebuildReport> {
  const { buildPool, model, store, tell, parallel = PARALLEL } = options
  const filled = new Set((await openTables(holder, options)).map(({ company_id }) => company_id))
  const companies: number[] = []
  for await (const stream of store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null && !filled.has(companyId)) companies.push(companyId)
  }
  const work = { events: 0 }
  await sideBySide(companies, (companyId) => fillCompany(options, work, companyId), parallel)
  await prepareForQueries(options)
  await switchSchemas({
    holder,
    buildPool,
    model,
    tell,
    before: null,
    keepUp: async () => {},
    finish: () => forgetBuilt(holder),
  })
  return { events: work.events, companies: filled.size + companies.length, parity: null }
}

/** State at the end of a ledger: its last event and assigned ids. */
interface End {
  last: Pick<Envelope, 'revision' | 'hash' | 'recorded_at'> | null
  ids: Ids
  /** The first failure to open a field; null if there was none. */
  cannotOpen: CannotOpen | null
}

async function fillCompany(options: FillOptions, work: { events: number }, companyId: number): Promise<void> {
  const { buildPool, model, onApplied, missingKeys, tell } = options
  const end: End = { last: null, ids: {}, cannotOpen: null }
  const onCannotOpen = (error: CannotOpen) => {
    end.cannotOpen ??= error
  }
  const reading = { ...options, ...(missingKeys === 'block' && { onCannotOpen }) }
  const events = watched(readNewest(reading, streamOf(companyId), 0), end)
  const applied = await inTransaction(buildPool, async (tx) => {
    const replayed = await replay(tx, model, companyId, events, Number.MAX_SAFE_INTEGER, { onApplied })
    await adopt(tx, companyId, end)
    return replayed
  })
  if (end.cannotOpen) tell(`company ${companyId} is read-only, with empty fields: ${end.cannotOpen.message}`)
  // Added after the wait: other companies are filled concurrently.
  work.events += applied
}

async function* watched(events: AsyncIterable<Envelope>, end: End): AsyncGenerator<Envelope> {
  for await (const event of events) {
    end.ids = idsAfter(end.ids, event)
    end.last = event
    yield event
  }
}

/** Creates the ledger row at the end of its stream. */
async function adopt(tx: BulkTransaction, companyId: number, { last, ids, cannotOpen }: End): Promise<void> {
  const missingKeys: MissingKeys | null = cannotOpen ? 'blank' : null
  if (last)
    await tx.query(ADOPT_LEDGER, [
      companyId,
      last.revision,
      last.hash,
      last.recorded_at,
      JSON.stringify(ids),
      missingKeys,
    ])
  await noteBuilt(tx, { company_id: companyId, revision: last?.revision ?? -1, is_blank: cannotOpen !== null })
}

const ADOPT_LEDGER = {
  name: 'adopt_ledger',
  text: `insert into ops.ledgers as l (company_id, revision, reacted_revision, hash, last_recorded_at, ids, missing_keys)
         values ($1, $2, $2, $3, $4, $5, $6)
         on conflict (company_id) do update
         set revision = excluded.revision, reacted_revision = excluded.reacted_revision, hash = excluded.hash,
           last_recorded_at = excluded.last_recorded_at, ids = excluded.ids, missing_keys = excluded.missing_keys
         where l.revision < excluded.revision`,
}
