import { packPage } from './audit-pack-pages.tsx'
import { timelinePages } from './moment-pages.tsx'
import { financePages } from './pages/account-pages.tsx'
import { apiKeyPages, requestPages } from './pages/api-key-pages.tsx'
import { recordAuditPages, verifyForm } from './pages/audit-pages.tsx'
import { cashSessionPages } from './pages/cash-session-pages.tsx'
import { categoryPages } from './pages/category-pages.tsx'
import { brandForms, companyPages, settingsPages, testCompanyPages } from './pages/company-pages.tsx'
import { companyTillPages, tillsPages } from './pages/company-tills.tsx'
import { deliveryPages } from './pages/delivery-pages.tsx'
import { firstStepsPages } from './pages/first-steps-pages.tsx'
import { goodsReceiptPages } from './pages/goods-receipt-pages.tsx'
import { importRoutes } from './pages/import-pages.tsx'
import { integrationsPage } from './pages/integration-page.tsx'
import { inventoryPages } from './pages/inventory-pages.tsx'
import { catalogPages, itemReactivation } from './pages/item-pages.tsx'
import { labelPages } from './pages/label-pages.tsx'
import { monthPages } from './pages/month-pages.tsx'
import { newOrderPages } from './pages/new-order-pages.tsx'
import { orderFile } from './pages/order-lists.tsx'
import { orderPages } from './pages/order-page.tsx'
import { orderCancellation, orderRefundPages, surplusPages } from './pages/order-refund-pages.tsx'
import { paymentTypePages } from './pages/payment-type-pages.tsx'
import { peoplePages } from './pages/person-pages.tsx'
import { priceChangePages } from './pages/price-change-pages.tsx'
import { pricePages } from './pages/price-pages.tsx'
import { profilePages } from './pages/profile-pages.tsx'
import { purchaseListPages } from './pages/purchase-list-pages.tsx'
import { saleReceiptPages } from './pages/purchase-pages.tsx'
import { recordRefusedPages } from './pages/record-refused.tsx'
import { refusedSalePages } from './pages/refused-sale-pages.tsx'
import { refusedMovementPages, refusedReturnPages } from './pages/refused-upload-pages.tsx'
import { returnListPages } from './pages/return-list.tsx'
import { returnPages } from './pages/return-pages.tsx'
import { rolePages } from './pages/role-pages.tsx'
import { saleActions, saleCustomerPages } from './pages/sale-actions.tsx'
import { salesPages } from './pages/sale-list.tsx'
import { salePage } from './pages/sale-page.tsx'
import { searchPage } from './pages/search-page.tsx'
import { secondFactorPages } from './pages/second-factor-pages.tsx'
import { chargePages } from './pages/settle-pages.tsx'
import { startPage } from './pages/start-page.tsx'
import { statementPages } from './pages/statement-pages.tsx'
import { movementPages } from './pages/stock-movement-pages.tsx'
import { runningOutPages, stockForm } from './pages/stock-pages.tsx'
import { storePages } from './pages/store-pages.tsx'
import { tillsClosingPage } from './pages/tills-closing.tsx'
import { userForgetting, userPages } from './pages/user-pages.tsx'
import { userRecoveryPages } from './pages/user-recovery.tsx'
import { pictureForms, variantForm } from './pages/variant-pages.tsx'
import { voucherPages } from './pages/voucher-pages.tsx'
import { webhookPages } from './pages/webhook-pages.tsx'
import type { PanelRoute } from './panel-route.ts'

export const PANEL_ROUTES: readonly PanelRoute[] = [
  startPage,
  ...firstStepsPages,
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
  ...voucherPages,
  salePage,
  ...saleReceiptPages,
  ...saleActions,
  ...saleCustomerPages,
  ...tillsPages,
  tillsClosingPage,
  ...companyTillPages,
  ...cashSessionPages,
  ...refusedReturnPages,
  ...refusedMovementPages,
  ...refusedSalePages,
  ...recordRefusedPages,
  ...peoplePages,
  ...statementPages,
  ...movementPages,
  ...runningOutPages,
  ...purchaseListPages,
  ...inventoryPages,
  ...pricePages,
  ...priceChangePages,
  ...goodsReceiptPages,
  ...labelPages,
  ...catalogPages,
  stockForm,
  ...itemReactivation,
  ...pictureForms,
  variantForm,
  ...categoryPages,
  ...importRoutes,
  ...chargePages,
  ...surplusPages,
  ...financePages,
  ...newOrderPages,
  ...monthPages,
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
