import type { PageContext, PanelPage } from '../route.ts'
import { Nothing } from './parts.tsx'

/** Replaces a record at a moment before its creation: shows its title and a link to its present state. */
export const placeholderPage = ({ title, parent }: PanelPage, { path }: PageContext): PanelPage => ({
  title,
  ...(parent && { parent }),
  status: 404,
  body: (
    <Nothing title="Ainda não existia" action={{ label: 'Ver como é agora', to: path }}>
      Nesse momento este cadastro ainda não existia. Veja no histórico quando foi criado.
    </Nothing>
  ),
})
