import { apiKeyPages } from './pages/api-keys.tsx'
import { packPage } from './pages/audit/pack.tsx'
import { recordAuditPages } from './pages/audit/records.tsx'
import { timelinePages } from './pages/audit/timeline.tsx'
import { verifyForm } from './pages/audit/verification.tsx'
import { brandForms } from './pages/brand.tsx'
import { refusedMovementPages } from './pages/cash/refused-movements.tsx'
import { cashSessionPages } from './pages/cash/sessions.tsx'
import { categoryPages } from './pages/catalog/categories.tsx'
import { inventoryPages } from './pages/catalog/inventories.tsx'
import { catalogPages, itemReactivation } from './pages/catalog/items.tsx'
import { movementPages } from './pages/catalog/movements.tsx'
import { pictureForms } from './pages/catalog/picture.tsx'
import { runningOutPages } from './pages/catalog/running-out.tsx'
import { stockForm } from './pages/catalog/stock.tsx'
import { variantForm } from './pages/catalog/variants.tsx'
import { companyPages } from './pages/companies.tsx'
import { financePages } from './pages/finance/accounts.tsx'
import { importRoutes } from './pages/import.tsx'
import { integrationsPage } from './pages/integrations.tsx'
import { orderPages } from './pages/order.tsx'
import { orderCancellation } from './pages/order-cancellation.tsx'
import { orderRefundPages } from './pages/order-refund.tsx'
import { orderFile } from './pages/orders.tsx'
import { paymentTypePages } from './pages/payment-types.tsx'
import { peoplePages } from './pages/people.tsx'
import { profilePages } from './pages/profile.tsx'
import { requestPages } from './pages/requests.tsx'
import { rolePages } from './pages/roles.tsx'
import { saleReceiptPage } from './pages/sales/receipt.tsx'
import { recordRefusedPages } from './pages/sales/record-refused.tsx'
import { refusedReturnPages } from './pages/sales/refused-returns.tsx'
import { refusedSalePages } from './pages/sales/refused-sales.tsx'
import { returnPages } from './pages/sales/return-pages.tsx'
import { returnListPages } from './pages/sales/returns.tsx'
import { salePage } from './pages/sales/sale.tsx'
import { saleActions } from './pages/sales/sale-actions.tsx'
import { saleCustomerPages } from './pages/sales/sale-customer.tsx'
import { salesPages } from './pages/sales/sales.tsx'
import { tillsPages } from './pages/sales/tills.tsx'
import { tillsClosingPage } from './pages/sales/tills-closing.tsx'
import { searchPage } from './pages/search.tsx'
import { secondFactorPages } from './pages/second-factors.tsx'
import { settingsPages } from './pages/settings.tsx'
import { startPage } from './pages/start/start.tsx'
import { storePages } from './pages/stores.tsx'
import { testCompanyPages } from './pages/test-company.tsx'
import { userRecoveryPages } from './pages/user-recovery.tsx'
import { userForgetting, userPages } from './pages/users.tsx'
import { deliveryPages } from './pages/webhooks/deliveries.tsx'
import { webhookPages } from './pages/webhooks/webhook.tsx'
import type { PanelRoute } from './route.ts'

export const PANEL_ROUTES: readonly PanelRoute[] = [
  startPage,
  searchPage,
  ...profilePages,
  ...secondFactorPages,
  ...companyPages,
  ...settingsPages,
  ...brandForms,
  ...testCompanyPages,
  ...paymentTypePages,
  ...userPages,
  ...userForgetting,
  ...rolePages,
  ...userRecoveryPages,
  ...salesPages,
  ...returnPages,
  ...returnListPages,
  salePage,
  saleReceiptPage,
  ...saleActions,
  ...saleCustomerPages,
  ...tillsPages,
  tillsClosingPage,
  ...cashSessionPages,
  ...refusedReturnPages,
  ...refusedMovementPages,
  ...refusedSalePages,
  ...recordRefusedPages,
  ...peoplePages,
  ...movementPages,
  ...runningOutPages,
  ...inventoryPages,
  ...catalogPages,
  stockForm,
  ...itemReactivation,
  ...pictureForms,
  variantForm,
  ...categoryPages,
  ...importRoutes,
  ...financePages,
  ...orderPages,
  orderFile,
  ...orderCancellation,
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
