import { inZone } from '#domain/instant.ts'
import type { DataOf } from '#events/catalogue.ts'
import { byKey, byPk, markTable, plainSql, table } from '#ledger/table.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  projection,
  stamp,
} from './define-projection.ts'

type Stocked = DataOf<'GoodsStocked'>['lines'][number]

/** Goods of a supplier as pages show them. */
export type GoodsReceiptObject = DataOf<'GoodsReceived'> & {
  readonly lines: readonly (Omit<Stocked, 'before' | 'after'> & { readonly moves_stock: boolean })[]
  readonly costs: DataOf<'GoodsStocked'>['costs']
  readonly created_at: string
  readonly undone_at: string | null
  /** Items whose cost its undoing left. */
  readonly left: readonly number[]
}

interface GoodsReceiptRow extends ChangedFields {
  company_id: number
  id: number
  /** Null once it is undone: the note may come again. */
  access_key: string | null
  supplier_id: number | null
  undone_at: string | null
  doc: GoodsReceiptObject
}

const goodsReceipts = table<GoodsReceiptRow>('goods_receipts', {
  about: 'Goods that suppliers delivered, each NF-e once.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    access_key: 'text',
    supplier_id: 'bigint',
    undone_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], access_key: ['company_id', 'access_key'] },
  indexes: [INDEX_BY_CHANGE],
  past: { id: 'id' },
})

export const goodsReceiptById = (id: number) => byPk(goodsReceipts, id)
export const goodsReceiptByKey = (accessKey: string) => byKey(goodsReceipts, 'access_key', accessKey)

/** What a supplier calls an item, and how many of its units are in one of the supplier's. */
interface SupplierItemRow extends ChangedFields {
  company_id: number
  supplier_id: number
  code: string
  unit: string
  catalog_item_id: number
  factor: string
}

export const supplierItems = table<SupplierItemRow>('supplier_items', {
  about: 'Items by code and unit of their suppliers, as they were last received.',
  columns: {
    company_id: 'bigint',
    supplier_id: 'bigint',
    code: 'text',
    unit: 'text',
    catalog_item_id: 'bigint',
    factor: 'numeric',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'supplier_id', 'code', 'unit'] },
})

const namesOf = ({ supplier_id, lines }: DataOf<'GoodsStocked'>) =>
  lines.flatMap(({ code, unit, catalog_item_id, factor }) =>
    supplier_id === null || code === null || unit === null
      ? []
      : [{ supplier_id, code, unit, catalog_item_id, factor }],
  )

export const goodsReceiptsProjection = projection('goods_receipts', [goodsReceipts, supplierItems], {
  GoodsReceived: {
    apply(rows, event) {
      const { id, access_key, supplier_id } = event.data
      const created_at = inZone(event.recorded_at, getTimezone(rows))
      const doc = { ...event.data, lines: [], costs: [], created_at, undone_at: null, left: [] }
      const { company_id } = companyRef(rows)
      rows.add(goodsReceipts, { company_id, id, access_key, supplier_id, undone_at: null, ...stamp(event), doc })
    },
  },
  GoodsStocked: {
    refs: ({ data }) => [
      goodsReceiptById(data.id),
      ...namesOf(data).map(({ supplier_id, code, unit }) => byPk(supplierItems, supplier_id, code, unit)),
    ],
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const row = existing(rows, goodsReceiptById(event.data.id))
      const { costs } = event.data
      const lines = event.data.lines.map(({ before: _, after, ...line }) => ({ ...line, moves_stock: after !== null }))
      rows.put(goodsReceipts, { ...row, ...stamp(event), doc: { ...row.doc, lines, costs } })
      for (const name of namesOf(event.data)) rows.put(supplierItems, { company_id, ...name, ...stamp(event) })
    },
  },
  GoodsReceiptUndone: {
    refs: ({ data }) => [goodsReceiptById(data.id)],
    apply(rows, event) {
      const row = existing(rows, goodsReceiptById(event.data.id))
      const undone_at = inZone(event.recorded_at, getTimezone(rows))
      const doc = { ...row.doc, undone_at, left: event.data.left }
      rows.put(goodsReceipts, { ...row, access_key: null, undone_at: event.recorded_at, ...stamp(event), doc })
    },
  },
})

/**
 * Items ($2) whose cost a purchase that stands has given from a movement ($3) on, also the same cost again. Purchases that
 * brought no stock are not among them.
 */
export const LATER_PURCHASES = {
  name: 'later_purchases',
  text: plainSql(`select distinct m.catalog_item_id from ${markTable('stock_movements')} m
    where m.company_id = $1 and m.catalog_item_id = any($2::bigint[]) and m.id >= $3 and m.kind = 'purchase'
      and m.unit_cost is not null and not exists (select from ${markTable('goods_receipts')} r
        where r.company_id = $1 and m.record = 'goods_receipt/' || r.id and r.undone_at is not null)`),
}

/** The first live supplier with a CPF or CNPJ ($2). */
export const SUPPLIERS_WITH_DOCUMENT = {
  name: 'suppliers_with_document',
  text: plainSql(`select id, external_id, doc ->> 'name' as name from ${markTable('suppliers')}
    where company_id = $1 and document = $2 and deleted_at is null and doc ->> 'forgotten_at' is null
      and doc ->> 'forgetting_due_on' is null
    order by id limit 1`),
}
