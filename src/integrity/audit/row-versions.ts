import type { PoolClient } from 'pg'
import { streamOf } from '#ledger/envelope.ts'
import { type Handler, READ_SCHEMA } from '#ledger/projection.ts'
import { type EventReader, pickNewest } from '#ledger/reading.ts'
import type { RowPast } from '#ledger/row-history.ts'
import type { AnyRef, AnyTable } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { groupBy } from '#lib/group-by.ts'

export type PastRow = Record<string, unknown>

/** History columns of a present row. */
export interface RowChange {
  readonly id: number
  readonly revision: number
  readonly past_revisions: readonly number[] | null
}

/** Version chain of a row: the events (ascending) that produce its past state from a stored state, or from nothing. */
interface Course {
  readonly id: number
  readonly state: PastRow | null
  readonly revisions: readonly number[]
}

/** A company's ledger up to a revision. */
export interface Ledger extends EventReader {
  readonly companyId: number
  readonly revision: number
  /** Upper bound of the times of its events; null if a clock correction makes times unreliable. */
  readonly until: string | null
  /** Aborts the work in progress. */
  readonly signal: AbortSignal
}

/** Builds version chains from the rows' history columns and their stored history. */
export async function versionChainsOf(
  client: PoolClient,
  { companyId, revision }: Ledger,
  table: AnyTable,
  rows: readonly RowChange[],
): Promise<Course[]> {
  const found = await client.query<RowPast>({
    name: 'row_pasts',
    text: ROW_PASTS,
    values: [companyId, table.name, rows.map(({ id }) => id), revision],
  })
  const kept = groupBy(found.rows, ({ row_id }) => row_id)
  return rows.map(({ id, revision: last, past_revisions }) => {
    const parts = kept.get(id) ?? []
    const base = parts.findLast((part) => part.state !== null)
    const revisions = [...parts.flatMap((part) => part.revisions), ...(past_revisions ?? []), last]
    const after = base?.revision ?? -1
    return {
      id,
      state: (base?.state as PastRow | undefined) ?? null,
      revisions: revisions.filter((each) => each > after && each <= revision),
    }
  })
}

/**
 * Selects from the last stored state before the revision to the section with the revision. `offset 0` makes Postgres
 * find these bounds first instead of reading the whole history.
 */
const ROW_PASTS = `select p.row_id, p.revision, p.revisions, case when p.revision <= $4 then p.state end as state
  from unnest($3::bigint[]) as wanted(id)
  left join lateral (
    select s.revision from ${READ_SCHEMA}.row_pasts s
    where s.company_id = $1 and s.of_table = $2 and s.row_id = wanted.id and s.revision <= $4 and s.state is not null
    order by s.revision desc limit 1) first on true
  left join lateral (
    select n.revision from ${READ_SCHEMA}.row_pasts n
    where n.company_id = $1 and n.of_table = $2 and n.row_id = wanted.id and n.revision > $4
    order by n.revision limit 1) last on true
  cross join lateral (
    select * from ${READ_SCHEMA}.row_pasts p
    where p.company_id = $1 and p.of_table = $2 and p.row_id = wanted.id
      and p.revision between coalesce(first.revision, 0) and coalesce(last.revision, $4)
    offset 0) p
  order by p.row_id, p.revision`

/** The row that every projection may read (`base`), at any revision. */
export interface BaseRow {
  readonly ref: AnyRef
  at(revision: number): PastRow | null
}

/** Reconstructs the row of `base` at each of its revisions. */
export async function baseOf(client: PoolClient, ledger: Ledger): Promise<BaseRow> {
  const { companyId, model } = ledger
  const [ref] = model.base
  if (!ref?.table.past) throw new Error('a read model has a row that all projections read')
  const { rows } = await client.query<RowChange>({
    name: `base_${ref.table.name}`,
    text: `select ${ref.table.past.id} as id, revision, past_revisions from ${READ_SCHEMA}.${ref.table.name} where company_id = $1`,
    values: [companyId],
  })
  const states: { revision: number; row: PastRow }[] = []
  const base: BaseRow = {
    ref,
    at: (at) => states.findLast((state) => state.revision <= at)?.row ?? null,
  }
  const courses = await versionChainsOf(client, ledger, ref.table, rows)
  await reconstruct(ledger, ref.table, courses, base, (at, remade) => {
    const row = remade.get(companyId)?.row
    if (row) states.push({ revision: at, row })
  })
  return base
}

interface Remade extends Course {
  row: PastRow | null
  /** Index in `revisions` of the next event. */
  next: number
}

/** Reconstructs past rows of one table. @throws if the ledger's events do not match the rows' history. */
export async function reconstruct(
  ledger: Ledger,
  table: AnyTable,
  courses: readonly Course[],
  base: BaseRow,
  onEvent: (revision: number, rows: ReadonlyMap<number, Readonly<Remade>>) => void = () => {},
): Promise<PastRow[]> {
  const { model, companyId, signal } = ledger
  const remade = new Map(courses.map((course) => [course.id, { ...course, row: course.state, next: 0 }]))
  const work = createChanges(table, remade, companyId, base)
  const handlers = model.projections.filter(({ tables }) => tables.includes(table))
  const revisions = [...new Set(courses.flatMap((course) => course.revisions))].sort((a, b) => a - b)
  for await (const event of pickNewest(ledger, streamOf(companyId), revisions)) {
    signal.throwIfAborted()
    work.begin(event.revision)
    for (const { on } of handlers) (on[event.type] as Handler | undefined)?.apply(work.changes, event)
    work.end()
    onEvent(event.revision, remade)
  }
  return [...remade.values()].map(({ id, row, next, revisions: all }) => {
    if (!row || next < all.length) throw new Error(`${table.name} ${id} is not what event ${all[next]} made of it`)
    return row
  })
}

/** Changes restricted to the rows with the current event in their version chain; other changes are ignored. */
function createChanges(table: AnyTable, remade: ReadonlyMap<number, Remade>, companyId: number, base: BaseRow) {
  const idColumn = table.past?.id ?? ''
  const touched = new Set<Remade>()
  let revision = -1
  const wanted = (id: unknown): Remade | null => {
    const one = remade.get(id as number)
    return one && one.revisions[one.next] === revision ? one : null
  }
  const idOf = (ref: AnyRef): unknown => ref.values.at(-1) ?? companyId
  const put = (of: AnyTable, row: unknown) => {
    const one = of === table ? wanted((row as PastRow)[idColumn]) : null
    if (!one) return
    one.row = row as PastRow
    touched.add(one)
  }
  const changes: Changes = {
    get<R>(ref: AnyRef): Readonly<R> | null {
      // Unique keys have no effect on past states.
      if (ref.by !== 'pk') return null
      if (ref.table !== table) return base.at(revision) as R | null
      return (wanted(idOf(ref))?.row ?? null) as R | null
    },
    add: put,
    put,
    wants: (ref: AnyRef) => ref.table !== table || wanted(idOf(ref)) !== null,
  }
  return {
    changes,
    begin(next: number) {
      revision = next
    },
    end() {
      for (const one of touched) one.next += 1
      touched.clear()
    },
  }
}
