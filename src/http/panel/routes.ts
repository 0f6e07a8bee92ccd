import { customerPages } from './pages/customers.tsx'
import { salePage } from './pages/sale.tsx'
import { saleActions } from './pages/sale-actions.tsx'
import { salesPage } from './pages/sales.tsx'
import { startPage } from './pages/start.tsx'
import type { PanelRoute } from './route.ts'

/** All pages and forms of the panel. */
export const PANEL_ROUTES: readonly PanelRoute[] = [startPage, salesPage, salePage, ...saleActions, ...customerPages]
