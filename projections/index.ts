import type { PersonKind } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { EVENT_TYPES, indexPersonalFields } from '#events/catalogue.ts'
import { createUpcaster } from '#events/event-definitions.ts'
import { hashModelVersion, type Projection, type ReadModel } from '#ledger/projection.ts'
import type { AnyTable } from '#ledger/table.ts'
import { rowPasts } from '#ledger/working-set.ts'
import { acquirerPaymentsProjection } from './acquirer-payments.ts'
import { cashSessionsProjection, cashSessionView } from './cash-sessions.ts'
import { paymentProofsProjection } from './cash-takings.ts'
import {
  barcodeHoldersProjection,
  catalogItemsProjection,
  catalogItemView,
  categoriesProjection,
  categoryById,
  gtinHoldersProjection,
  variantCountsProjection,
} from './catalog.ts'
import { companiesProjection, companysTime, companyView, onCompanysClock, ownCompany } from './companies.ts'
import { docView, projection } from './define-projection.ts'
import { payablesProjection, payableView, receivablesProjection, receivableView } from './finance.ts'
import { fiscalDocumentsProjection, offlineSalesProjection } from './fiscal-documents.ts'
import { goodsReceiptById, goodsReceiptsProjection } from './goods-receipts.ts'
import { READ_MODEL_NUMBER } from './number.ts'
import { paymentKeysProjection } from './order-payments.ts'
import { orderById, orders, ordersProjection } from './orders.ts'
import {
  customerById,
  customers,
  customersProjection,
  erasuresProjection,
  supplierById,
  suppliers,
  suppliersProjection,
} from './people.ts'
import { priceChangeById, priceChangesProjection } from './price-changes.ts'
import { offlineReturnsProjection, returnById, returnsProjection } from './returns.ts'
import { saleById, salesProjection } from './sales.ts'
import { salesRollupsProjection } from './sales-rollups.ts'
import { inventoriesProjection, inventoryById, stockMovementView, stockProjection } from './stock.ts'
import { storeCreditProjection } from './store-credit.ts'
import { paymentTypeById, paymentTypesProjection, storeById, storesProjection } from './stores.ts'
import {
  cashDrawersProjection,
  offlineRecordsProjection,
  tillElementsProjection,
  tillsProjection,
  tillView,
} from './tills.ts'
import { limitUsesProjection, userById, users, usersProjection } from './users.ts'
import { vouchersProjection } from './vouchers.ts'
import { apiKeyById, apiKeysProjection, webhooksProjection, webhookView } from './webhooks.ts'

/** Order in which they handle each event. The company comes first, because the others read it. */
const projections = [
  companiesProjection,
  paymentTypesProjection,
  usersProjection,
  apiKeysProjection,
  customersProjection,
  suppliersProjection,
  offlineRecordsProjection,
  categoriesProjection,
  catalogItemsProjection,
  stockProjection,
  inventoriesProjection,
  priceChangesProjection,
  goodsReceiptsProjection,
  gtinHoldersProjection,
  barcodeHoldersProjection,
  variantCountsProjection,
  salesProjection,
  returnsProjection,
  offlineReturnsProjection,
  storeCreditProjection,
  vouchersProjection,
  fiscalDocumentsProjection,
  offlineSalesProjection,
  paymentProofsProjection,
  cashSessionsProjection,
  cashDrawersProjection,
  receivablesProjection,
  payablesProjection,
  acquirerPaymentsProjection,
  limitUsesProjection,
  webhooksProjection,
  storesProjection,
  ordersProjection,
  paymentKeysProjection,
  tillsProjection,
  tillElementsProjection,
  erasuresProjection,
  salesRollupsProjection,
  // The working set writes this table for every changed row.
  projection('row_histories', [rowPasts], {}),
]

/**
 * Tables that survive the erasure of a test company's data: the company, its users and keys, and its settings.
 */
const KEPT: readonly Projection[] = [
  companiesProjection,
  paymentTypesProjection,
  usersProjection,
  apiKeysProjection,
  webhooksProjection,
  storesProjection,
  tillsProjection,
  tillElementsProjection,
]

const NOTHING: readonly AnyTable[] = []
const EMPTIED = projections
  .filter((each) => !KEPT.includes(each))
  .flatMap(({ tables }) => tables)
  .filter((each) => each !== rowPasts)

const views: ReadModel['views'] = {
  company: companyView,
  payment_type: docView(paymentTypeById),
  user: docView(userById),
  api_key: docView(apiKeyById),
  customer: docView(customerById),
  supplier: docView(supplierById),
  category: docView(categoryById),
  catalog_item: catalogItemView,
  stock_movement: stockMovementView,
  goods_receipt: docView(goodsReceiptById),
  inventory: docView(inventoryById),
  price_change: docView(priceChangeById),
  sale: docView(saleById),
  return: docView(returnById),
  receivable: receivableView,
  payable: payableView,
  webhook: webhookView,
  store: docView(storeById),
  order: docView(orderById),
  cash_session: cashSessionView,
  till: tillView,
}

const persons = new Map<AnyTable, PersonKind>([
  [customers, 'customer'],
  [suppliers, 'supplier'],
  [users, 'user'],
  [orders, 'order'],
])

export const readModel: ReadModel = {
  number: READ_MODEL_NUMBER,
  version: hashModelVersion(projections, READ_MODEL_NUMBER),
  projections,
  views: Object.fromEntries(Object.entries(views).map(([type, view]) => [type, onCompanysClock(view)])),
  upcast: createUpcaster(EVENT_TYPES),
  personalFields: indexPersonalFields(EVENT_TYPES),
  persons,
  base: [ownCompany],
  timeOf: companysTime,
  emptiedBy: ({ type }) => (type === 'TestDataErased' ? EMPTIED : NOTHING),
}

/** Table of each kind of record that has a document, and the id column within a company. */
export const RECORD_ROWS: Readonly<Partial<Record<RecordKind, readonly [table: string, column: string]>>> = {
  company: ['companies', 'company_id'],
  user: ['users', 'id'],
  api_key: ['api_keys', 'id'],
  payment_type: ['payment_types', 'id'],
  customer: ['customers', 'id'],
  supplier: ['suppliers', 'id'],
  category: ['categories', 'id'],
  catalog_item: ['catalog_items', 'id'],
  goods_receipt: ['goods_receipts', 'id'],
  inventory: ['inventories', 'id'],
  price_change: ['price_changes', 'id'],
  sale: ['sales', 'id'],
  return: ['returns', 'id'],
  receivable: ['receivables', 'id'],
  payable: ['payables', 'id'],
  webhook: ['webhooks', 'id'],
  store: ['stores', 'id'],
  order: ['orders', 'id'],
  cash_session: ['cash_sessions', 'id'],
  till: ['tills', 'id'],
}
