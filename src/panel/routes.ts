import { accountPages } from './pages/account.tsx'
import { apiKeyPages } from './pages/api-keys.tsx'
import { timelinePage } from './pages/audit.tsx'
import { eventPage } from './pages/audit-event.tsx'
import { recordAuditPages } from './pages/audit-record.tsx'
import { verifyForm } from './pages/audit-verify.tsx'
import { catalogPages } from './pages/catalog.tsx'
import { stockForm } from './pages/catalog-stock.tsx'
import { categoryPages } from './pages/categories.tsx'
import { customerPages } from './pages/customers.tsx'
import { deliveryPages } from './pages/deliveries.tsx'
import { integrationsPage } from './pages/integrations.tsx'
import { orderPage } from './pages/order.tsx'
import { payablePages } from './pages/payables.tsx'
import { paymentTypePages } from './pages/payment-types.tsx'
import { receivablePages } from './pages/receivables.tsx'
import { salePages } from './pages/sales.tsx'
import { settingsPages } from './pages/settings.tsx'
import { startPage } from './pages/start.tsx'
import { storePage } from './pages/store.tsx'
import { storePages } from './pages/stores.tsx'
import { supplierPages } from './pages/suppliers.tsx'
import { tillPages } from './pages/tills.tsx'
import { userPages } from './pages/users.tsx'
import { webhookFormPages } from './pages/webhook-forms.tsx'
import { webhookPages } from './pages/webhooks.tsx'
import type { PanelRoute } from './route.ts'

/** All pages and forms of the panel. */
export const PANEL_ROUTES: readonly PanelRoute[] = [
  startPage,
  ...accountPages,
  ...settingsPages,
  ...paymentTypePages,
  ...userPages,
  ...salePages,
  ...tillPages,
  ...customerPages,
  ...supplierPages,
  ...catalogPages,
  stockForm,
  ...categoryPages,
  ...receivablePages,
  ...payablePages,
  storePage,
  orderPage,
  ...storePages,
  integrationsPage,
  ...apiKeyPages,
  ...webhookFormPages,
  ...webhookPages,
  ...deliveryPages,
  timelinePage,
  eventPage,
  ...recordAuditPages,
  verifyForm,
]
