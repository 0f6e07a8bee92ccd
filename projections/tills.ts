import type { ChainWarning } from '#events/till-events.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import { companyRef } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'

/** First and last of consecutive numbers. */
export type NumberRange = readonly [from: number, to: number]

interface TillState {
  readonly id: number
  readonly number: number
  readonly name: string
  /** Numbers that have come or were given up, in order. */
  readonly settled: readonly NumberRange[]
  /** What was told last. */
  readonly told: readonly NumberRange[]
  readonly created_at: string
}

export interface TillRow extends ChangedFields {
  company_id: number
  id: number
  x: string
  y: string
  ended_at: string | null
  /** Last number that has come, was given up or was told to be missing. */
  told_to: number
  doc: TillState
}

const tills = table<TillRow>('tills', {
  about: 'Tills that sign what they record, with the numbers that have come.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    x: 'text',
    y: 'text',
    ended_at: 'timestamptz',
    told_to: 'bigint',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], key: ['company_id', 'x', 'y'] },
  indexes: [INDEX_BY_CHANGE, INDEX_BY_PAST],
  past: { id: 'id' },
})

export const tillById = (id: number) => byPk(tills, id)
export const tillByKey = (x: string, y: string) => byKey(tills, 'key', x, y)

export interface TillElementRow {
  company_id: number
  till_id: number
  number: number
  hash: string
  content_hash: string | null
  previous: string | null
  warnings: readonly ChainWarning[]
}

const tillElements = table<TillElementRow>('till_elements', {
  about: 'What has come of the chain of each till.',
  columns: {
    company_id: 'bigint',
    till_id: 'bigint',
    number: 'bigint',
    hash: 'text',
    content_hash: 'text',
    previous: 'text',
    warnings: 'json',
  },
  keys: { pk: ['company_id', 'till_id', 'number'] },
})

export const tillElement = (tillId: number, number: number) => byPk(tillElements, tillId, number)

/** The ranges with another one, in order, without overlaps or neighbours. */
export function withRange(ranges: readonly NumberRange[], [from, to]: NumberRange): NumberRange[] {
  const before = ranges.filter(([, end]) => end < from - 1)
  const after = ranges.filter(([start]) => start > to + 1)
  const touched = ranges.slice(before.length, ranges.length - after.length)
  const merged: NumberRange = [Math.min(from, touched[0]?.[0] ?? from), Math.max(to, touched.at(-1)?.[1] ?? to)]
  return [...before, merged, ...after]
}

/** Numbers from 1 to `last` that are in no range. */
export function gapsIn(settled: readonly NumberRange[], last: number): NumberRange[] {
  const gaps: NumberRange[] = []
  let next = 1
  for (const [from, to] of settled) {
    if (from > last) break
    if (from > next) gaps.push([next, from - 1])
    next = to + 1
  }
  return next <= last ? [...gaps, [next, last]] : gaps
}

/** Last number of a till that has come or was given up; 0 if none. */
export const lastSettled = ({ settled }: Pick<TillState, 'settled'>): number => settled.at(-1)?.[1] ?? 0

/** `to`: a number up to which nothing is to be told any more. */
const changed = (
  row: Readonly<TillRow>,
  event: Parameters<typeof stamp>[0],
  change: Partial<TillState>,
  to = 0,
): TillRow => ({
  ...row,
  ...stamp(event),
  told_to: Math.max(row.told_to, to),
  doc: { ...row.doc, ...change },
})

export const tillsProjection = projection('tills', [tills, tillElements], {
  TillRegistered: {
    apply(rows, event) {
      const { id, name, x, y } = event.data
      const doc = { id, number: id, name, settled: [], told: [], created_at: event.recorded_at }
      rows.put(tills, {
        company_id: companyRef(rows).company_id,
        id,
        x,
        y,
        ended_at: null,
        told_to: 0,
        ...stamp(event),
        doc,
      })
    },
    refs: ({ data: { id } }) => [tillById(id)],
  },
  TillElementReceived: {
    refs: ({ data: { id, number } }) => [tillById(id), tillElement(id, number), tillElement(id, number + 1)],
    apply(rows, event) {
      const { id, number, hash, content_hash, previous, warnings, breaks_next } = event.data
      const till = existing(rows, tillById(id))
      const settled = withRange(till.doc.settled, [number, number])
      rows.put(tills, changed(till, event, { settled }, number))
      const { company_id } = till
      rows.put(tillElements, { company_id, till_id: id, number, hash, content_hash, previous, warnings })
      const next = breaks_next && existing(rows, tillElement(id, number + 1))
      if (next) rows.put(tillElements, { ...next, warnings: [...new Set([...next.warnings, 'till_chain' as const])] })
    },
  },
  TillGapDetected: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      const { missing: told } = event.data
      rows.put(tills, changed(till, event, { told }, told.at(-1)?.[1]))
    },
  },
  TillElementsGivenUp: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      const { from, to } = event.data
      const settled = withRange(till.doc.settled, [from, to])
      rows.put(tills, changed(till, event, { settled }, to))
    },
  },
  TillEnded: {
    refs: ({ data: { id } }) => [tillById(id)],
    apply(rows, event) {
      const till = existing(rows, tillById(event.data.id))
      rows.put(tills, { ...changed(till, event, {}), ended_at: event.recorded_at })
    },
  },
})

/** The till as the webhook tells its gaps: `missing` is what was told last. */
export const tillView: RecordView = {
  refs: (id) => [tillById(id)],
  render(rows, id) {
    const row = rows.get(tillById(id))
    if (!row) return null
    const { number, name, told: missing } = row.doc
    return JSON.stringify({ id, number, name, missing })
  },
}
