import { inZone } from '../src/domain/instant.ts'
import { toCents } from '../src/domain/money.ts'
import type { DataOf, EventOf } from '../src/events/catalogue.ts'
import type { Origin } from '../src/ledger/envelope.ts'
import { byKey, byPk, table } from '../src/ledger/table.ts'
import { companyOf, timezoneOf } from './companies.ts'
import { BY_CHANGE, type Changed, changedColumns, docView, existing, projection, stamp } from './define.ts'

type Completed = DataOf<'SaleCompleted'>

export interface FiscalDocument {
  status: 'authorized'
  number: string
  issued_at: string
}

/** A sale as the API shows it (DESIGN section 5, Sale). Names are those of the moment of the sale. */
export interface SaleObject {
  id: number
  external_id: string | null
  status: 'completed' | 'cancelled'
  origin: Origin
  customer: Completed['customer']
  sold_at: string
  items: Omit<Completed['items'][number], 'moves_stock'>[]
  payments: Completed['payments']
  subtotal: string
  delivery_fee: string
  total: string
  change: string
  fiscal_document: FiscalDocument | null
  cancelled_at: string | null
  cancel_reason: string | null
  created_at: string
  updated_at: string
}

export interface SaleRow extends Changed {
  company_id: number
  id: number
  /** A cancelled sale keeps its external id. */
  external_id: string | null
  status: 'completed' | 'cancelled'
  origin: Origin
  customer_id: number | null
  sold_at: string
  total_cents: number
  /** What the sale took from stock, for its cancellation. */
  stock_moves: { catalog_item_id: number; quantity: string }[]
  doc: SaleObject
}

export const sales = table<SaleRow>('sales', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    status: 'text',
    origin: 'text',
    customer_id: 'bigint',
    sold_at: 'timestamptz',
    total_cents: 'bigint',
    stock_moves: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'] },
  indexes: [BY_CHANGE, '(company_id, sold_at)'],
})

export const saleById = (id: number) => byPk(sales, id)
export const saleByExternalId = (externalId: string) => byKey(sales, 'external', externalId)

function saleObject(event: EventOf<'SaleCompleted'>, zone: string): SaleObject {
  const { id, external_id, customer, items, payments, subtotal, delivery_fee, total, change } = event.data
  const at = inZone(event.recorded_at, zone)
  return {
    id,
    external_id,
    status: 'completed',
    origin: event.origin,
    customer,
    sold_at: inZone(event.data.sold_at, zone),
    items: items.map(({ moves_stock: _, ...item }) => item),
    payments,
    subtotal,
    delivery_fee,
    total,
    change,
    fiscal_document: null,
    cancelled_at: null,
    cancel_reason: null,
    created_at: at,
    updated_at: at,
  }
}

function stockMoves(items: Completed['items']): SaleRow['stock_moves'] {
  return items.flatMap(({ catalog_item_id, quantity, moves_stock }) =>
    moves_stock && catalog_item_id !== null ? [{ catalog_item_id, quantity }] : [],
  )
}

export const salesProjection = projection('sales', [sales], {
  SaleCompleted: {
    apply(rows, event) {
      const doc = saleObject(event, timezoneOf(rows))
      rows.add(sales, {
        company_id: companyOf(rows).company_id,
        id: doc.id,
        external_id: doc.external_id,
        status: doc.status,
        origin: doc.origin,
        customer_id: doc.customer?.id ?? null,
        sold_at: event.data.sold_at,
        total_cents: toCents(doc.total),
        stock_moves: stockMoves(event.data.items),
        ...stamp(event),
        doc,
      })
    },
  },
  SaleCancelled: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, saleById(event.data.id))
      const at = inZone(event.recorded_at, timezoneOf(rows))
      const doc: SaleObject = {
        ...before.doc,
        status: 'cancelled',
        cancelled_at: at,
        cancel_reason: event.data.reason,
        updated_at: at,
      }
      rows.put(sales, { ...before, status: 'cancelled', ...stamp(event), doc })
    },
  },
  FiscalDocumentAuthorized: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, saleById(event.data.id))
      const zone = timezoneOf(rows)
      const fiscal_document: FiscalDocument = {
        status: 'authorized',
        number: event.data.number,
        issued_at: inZone(event.data.issued_at, zone),
      }
      rows.put(sales, {
        ...before,
        ...stamp(event),
        doc: { ...before.doc, fiscal_document, updated_at: inZone(event.recorded_at, zone) },
      })
    },
  },
})

export const saleView = docView(saleById)
