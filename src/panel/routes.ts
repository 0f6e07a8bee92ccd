import { apiKeyPages } from './pages/api-keys.tsx'
import { recordAuditPages } from './pages/audit/records.tsx'
import { eventPage, timelinePage } from './pages/audit/timeline.tsx'
import { verifyForm } from './pages/audit/verification.tsx'
import { categoryPages } from './pages/catalog/categories.tsx'
import { catalogPages } from './pages/catalog/items.tsx'
import { stockForm } from './pages/catalog/stock.tsx'
import { payablePages, receivablePages } from './pages/finance/accounts.tsx'
import { integrationsPage } from './pages/integrations.tsx'
import { orderPage } from './pages/orders.tsx'
import { paymentTypePages } from './pages/payment-types.tsx'
import { customerPages, supplierPages } from './pages/people.tsx'
import { profilePages } from './pages/profile.tsx'
import { salePages } from './pages/sales/sales.tsx'
import { tillPages } from './pages/sales/tills.tsx'
import { settingsPages } from './pages/settings.tsx'
import { startPage } from './pages/start.tsx'
import { storePages, storesPage } from './pages/stores.tsx'
import { userPages } from './pages/users.tsx'
import { deliveryPages } from './pages/webhooks/deliveries.tsx'
import { webhookFormPages, webhookPages } from './pages/webhooks/webhook.tsx'
import type { PanelRoute } from './route.ts'

/** All pages and forms of the panel. */
export const PANEL_ROUTES: readonly PanelRoute[] = [
  startPage,
  ...profilePages,
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
  storesPage,
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
