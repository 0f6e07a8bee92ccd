import type { PanelRoute } from '../route.ts'

export const startPage: PanelRoute = {
  path: '/',
  section: 'start',
  show: async ({ session }) => ({ title: 'Início', body: <p>Bem-vindo, {session.userName}.</p> }),
}
