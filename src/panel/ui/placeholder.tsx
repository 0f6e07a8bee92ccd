import type { PageContext, PanelPage } from '../route.ts'
import { Nothing } from './parts.tsx'

/** In the place of a record at a moment before it was created: what it is, and where it is shown as it is now. */
export const placeholderPage = ({ title, parent }: PanelPage, { path }: PageContext): PanelPage => ({
  title,
  ...(parent && { parent }),
  status: 404,
  body: (
    <Nothing title="Ainda não existia" action={{ label: 'Ver como é agora', to: path }}>
      Nesse momento este registro ainda não tinha sido criado. O histórico dele diz quando foi.
    </Nothing>
  ),
})
