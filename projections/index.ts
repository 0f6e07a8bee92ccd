import { EVENT_TYPES } from '#events/catalogue.ts'
import { upcasterOf } from '#events/define.ts'
import type { Sequences } from '#ledger/follow/preparation.ts'
import { type ReadModel, versionOf } from '#ledger/projection.ts'
import { apiKeysProjection, apiKeyView } from './api-keys.ts'
import { catalogItemsProjection, catalogItemView } from './catalog-items.ts'
import { categoriesProjection, categoryView } from './categories.ts'
import { companiesProjection, companyView, ownCompany } from './companies.ts'
import { customersProjection, customerView } from './customers.ts'
import { offlineSalesProjection } from './offline-sales.ts'
import { ordersProjection, orderView } from './orders.ts'
import { payablesProjection, payableView } from './payables.ts'
import { paymentTypesProjection, paymentTypeView } from './payment-types.ts'
import { receivablesProjection, receivableView } from './receivables.ts'
import { salesProjection, saleView } from './sales.ts'
import { storesProjection, storeView } from './stores.ts'
import { suppliersProjection, supplierView } from './suppliers.ts'
import { usersProjection, userView } from './users.ts'
import { webhooksProjection, webhookView } from './webhooks.ts'

/** Grows when a projection starts to write something else from the same events; the tables are then rebuilt at the next start. */
const MEANING = 1

/** In the order in which they see each event; the company comes first, because the others read it. */
const projections = [
  companiesProjection,
  paymentTypesProjection,
  usersProjection,
  apiKeysProjection,
  customersProjection,
  suppliersProjection,
  categoriesProjection,
  catalogItemsProjection,
  salesProjection,
  offlineSalesProjection,
  receivablesProjection,
  payablesProjection,
  webhooksProjection,
  storesProjection,
  ordersProjection,
]

/** The whole read model. */
export const readModel: ReadModel = {
  version: versionOf(projections, MEANING),
  projections,
  views: {
    company: companyView,
    payment_type: paymentTypeView,
    user: userView,
    api_key: apiKeyView,
    customer: customerView,
    supplier: supplierView,
    category: categoryView,
    catalog_item: catalogItemView,
    sale: saleView,
    receivable: receivableView,
    payable: payableView,
    webhook: webhookView,
    store: storeView,
    order: orderView,
  },
  upcast: upcasterOf(EVENT_TYPES),
  base: [ownCompany],
}

/** Where the highest id of each kind is found. Rows of what was deleted stay. */
export const ID_COLUMNS: Sequences = {
  company: ['companies', 'company_id'],
  user: ['users', 'id'],
  api_key: ['api_keys', 'id'],
  payment_type: ['payment_types', 'id'],
  customer: ['customers', 'id'],
  supplier: ['suppliers', 'id'],
  category: ['categories', 'id'],
  catalog_item: ['catalog_items', 'id'],
  sale: ['sales', 'id'],
  receivable: ['receivables', 'id'],
  payable: ['payables', 'id'],
  webhook: ['webhooks', 'id'],
  store: ['stores', 'id'],
  order: ['orders', 'id'],
}
