import { apiKeyPages } from './pages/api-keys.tsx'
import { packPage } from './pages/audit/pack.tsx'
import { recordAuditPages } from './pages/audit/records.tsx'
import { timelinePages } from './pages/audit/timeline.tsx'
import { verifyForm } from './pages/audit/verification.tsx'
import { categoryPages } from './pages/catalog/categories.tsx'
import { catalogPages, itemReactivation } from './pages/catalog/items.tsx'
import { movementPages } from './pages/catalog/movements.tsx'
import { stockForm } from './pages/catalog/stock.tsx'
import { companyPages } from './pages/companies.tsx'
import { financePages } from './pages/finance/accounts.tsx'
import { importRoutes } from './pages/import.tsx'
import { integrationsPage } from './pages/integrations.tsx'
import { orderPages } from './pages/order.tsx'
import { orderCancellation } from './pages/order-cancellation.tsx'
import { orderForgetting } from './pages/order-erasure.tsx'
import { orderRefundPages } from './pages/order-refund.tsx'
import { orderFile } from './pages/orders.tsx'
import { paymentTypePages } from './pages/payment-types.tsx'
import { peoplePages } from './pages/people.tsx'
import { profilePages } from './pages/profile.tsx'
import { requestPages } from './pages/requests.tsx'
import { saleReceiptPage } from './pages/sales/receipt.tsx'
import { recordRefusedPages } from './pages/sales/record-refused.tsx'
import { refusedSalePages } from './pages/sales/refused-sales.tsx'
import { salePage } from './pages/sales/sale.tsx'
import { saleActions } from './pages/sales/sale-actions.tsx'
import { saleCustomerPages } from './pages/sales/sale-customer.tsx'
import { salesPages } from './pages/sales/sales.tsx'
import { tillsPages } from './pages/sales/tills.tsx'
import { tillsClosingPage } from './pages/sales/tills-closing.tsx'
import { searchPage } from './pages/search.tsx'
import { settingsPages } from './pages/settings.tsx'
import { startPage } from './pages/start/start.tsx'
import { storePages } from './pages/stores.tsx'
import { testCompanyPages } from './pages/test-company.tsx'
import { userForgetting, userPages } from './pages/users.tsx'
import { deliveryPages } from './pages/webhooks/deliveries.tsx'
import { webhookPages } from './pages/webhooks/webhook.tsx'
import type { PanelRoute } from './route.ts'

export const PANEL_ROUTES: readonly PanelRoute[] = [
  startPage,
  searchPage,
  ...profilePages,
  ...companyPages,
  ...settingsPages,
  ...testCompanyPages,
  ...paymentTypePages,
  ...userPages,
  ...userForgetting,
  ...salesPages,
  salePage,
  saleReceiptPage,
  ...saleActions,
  ...saleCustomerPages,
  ...tillsPages,
  tillsClosingPage,
  ...refusedSalePages,
  ...recordRefusedPages,
  ...peoplePages,
  ...movementPages,
  ...catalogPages,
  stockForm,
  itemReactivation,
  ...categoryPages,
  ...importRoutes,
  ...financePages,
  ...orderPages,
  orderFile,
  ...orderCancellation,
  ...orderForgetting,
  ...orderRefundPages,
  ...storePages,
  integrationsPage,
  ...apiKeyPages,
  ...webhookPages,
  ...deliveryPages,
  ...requestPages,
  ...timelinePages,
  ...recordAuditPages,
  verifyForm,
  packPage,
]
