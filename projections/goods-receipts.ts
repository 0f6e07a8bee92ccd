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
  readonly lines: readonly Omit<Stocked, 'before' | 'after'>[]
  readonly created_at: string
}

interface GoodsReceiptRow extends ChangedFields {
  company_id: number
  id: number
  access_key: string | null
  supplier_id: number | null
  doc: GoodsReceiptObject
}

const goodsReceipts = table<GoodsReceiptRow>('goods_receipts', {
  about: 'Goods that suppliers delivered, each NF-e once.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    access_key: 'text',
    supplier_id: 'bigint',
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
      const doc = { ...event.data, lines: [], created_at }
      const { company_id } = companyRef(rows)
      rows.add(goodsReceipts, { company_id, id, access_key, supplier_id, ...stamp(event), doc })
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
      const lines = event.data.lines.map(({ before: _, after: __, ...line }) => line)
      rows.put(goodsReceipts, { ...row, ...stamp(event), doc: { ...row.doc, lines } })
      for (const name of namesOf(event.data)) rows.put(supplierItems, { company_id, ...name, ...stamp(event) })
    },
  },
})

/** The first live supplier with a CPF or CNPJ ($2). */
export const SUPPLIERS_WITH_DOCUMENT = {
  name: 'suppliers_with_document',
  text: plainSql(`select id, external_id, doc ->> 'name' as name from ${markTable('suppliers')}
    where company_id = $1 and document = $2 and deleted_at is null and doc ->> 'forgotten_at' is null
      and doc ->> 'forgetting_due_on' is null
    order by id limit 1`),
}
