import type { Access, Section } from './route.ts'

export interface MenuEntry {
  readonly section: Section
  readonly label: string
  /** Below the panel. */
  readonly path: string
  readonly access?: Access
}

/** The menu, in order. What a clerk cannot reach is not shown to one. */
export const MENU: readonly MenuEntry[] = [
  { section: 'start', label: 'Início', path: '/' },
  { section: 'sales', label: 'Vendas', path: '/vendas' },
  { section: 'catalog', label: 'Catálogo', path: '/catalogo' },
  { section: 'customers', label: 'Clientes', path: '/clientes' },
  { section: 'suppliers', label: 'Fornecedores', path: '/fornecedores' },
  { section: 'receivables', label: 'Contas a receber', path: '/contas-a-receber' },
  { section: 'payables', label: 'Contas a pagar', path: '/contas-a-pagar' },
  { section: 'tills', label: 'Caixas', path: '/caixas' },
  { section: 'store', label: 'Loja online', path: '/loja' },
  { section: 'integrations', label: 'Integrações', path: '/integracoes', access: 'owner' },
  { section: 'audit', label: 'Auditoria', path: '/auditoria', access: 'owner' },
  { section: 'settings', label: 'Configurações', path: '/configuracoes', access: 'owner' },
]
