import { customerPages } from './pages/customers.tsx'
import { startPage } from './pages/start.tsx'
import { supplierPages } from './pages/suppliers.tsx'
import type { PanelRoute } from './route.ts'

/** All pages and forms of the panel. */
export const PANEL_ROUTES: readonly PanelRoute[] = [startPage, ...customerPages, ...supplierPages]
