import { inZone } from '#domain/instant.ts'
import type { PriceRule } from '#domain/prices.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  projection,
  stamp,
} from './define-projection.ts'

export const PRICE_CHANGE_STATUSES = ['scheduled', 'applied', 'cancelled', 'undone'] as const
export type PriceChangeStatus = (typeof PRICE_CHANGE_STATUSES)[number]

export type NewPrice = DataOf<'PriceChangePlanned'>['prices'][number]

/** Prices of many items as one act. */
export interface PriceChangeObject {
  readonly id: number
  readonly status: PriceChangeStatus
  readonly rule: PriceRule
  readonly prices: readonly NewPrice[]
  readonly starts_at: string | null
  readonly created_at: string
  readonly applied_at: string | null
  readonly cancelled_at: string | null
  readonly undone_at: string | null
  /** Ids of items whose price it did not change, and of those whose price its undoing did not. */
  readonly left: readonly number[]
  readonly left_undone: readonly number[]
}

interface PriceChangeRow extends ChangedFields {
  company_id: number
  id: number
  status: PriceChangeStatus
  starts_at: string | null
  doc: PriceChangeObject
}

const priceChanges = table<PriceChangeRow>('price_changes', {
  about: 'Changes of many prices: scheduled, applied, cancelled or undone.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    status: 'text',
    starts_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'] },
  // Scheduled ones of all companies, earliest first.
  indexes: [INDEX_BY_CHANGE, `(starts_at, company_id, id) where status = 'scheduled'`],
  past: { id: 'id' },
})

export const priceChangeById = (id: number) => byPk(priceChanges, id)

type Closing = 'PriceChangeApplied' | 'PriceChangeCancelled' | 'PriceChangeUndone'

/** Changes the state of an act; `more` are the members of its document that follow from the event. */
const closes = <N extends Closing>(
  status: PriceChangeStatus,
  more: (event: EventOf<N>, at: string) => Partial<PriceChangeObject>,
) => ({
  refs: ({ data: { id } }: EventOf<N>) => [priceChangeById(id)],
  apply(rows: Changes, event: EventOf<N>) {
    const row = existing(rows, priceChangeById(event.data.id))
    const doc = { ...row.doc, status, ...more(event, inZone(event.recorded_at, getTimezone(rows))) }
    rows.put(priceChanges, { ...row, status, ...stamp(event), doc })
  },
})

export const priceChangesProjection = projection('price_changes', [priceChanges], {
  PriceChangePlanned: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, rule, starts_at, prices } = event.data
      const timezone = getTimezone(rows)
      const doc: PriceChangeObject = {
        ...{ id, status: 'scheduled', rule, prices },
        starts_at: starts_at && inZone(starts_at, timezone),
        created_at: inZone(event.recorded_at, timezone),
        ...{ applied_at: null, cancelled_at: null, undone_at: null, left: [], left_undone: [] },
      }
      rows.add(priceChanges, { company_id, id, status: 'scheduled', starts_at, ...stamp(event), doc })
    },
  },
  PriceChangeApplied: closes<'PriceChangeApplied'>('applied', ({ data: { left } }, applied_at) => ({
    applied_at,
    left,
  })),
  PriceChangeCancelled: closes<'PriceChangeCancelled'>('cancelled', (_, cancelled_at) => ({ cancelled_at })),
  PriceChangeUndone: closes<'PriceChangeUndone'>('undone', ({ data: { left } }, undone_at) => ({
    undone_at,
    left_undone: left,
  })),
})
