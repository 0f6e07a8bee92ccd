import type { Scope } from '#domain/scopes.ts'

/** What a key may do, in words of a shop. */
export const SCOPE_NAMES: Readonly<Record<Scope, string>> = {
  'catalog:read': 'Catálogo: ler',
  'catalog:write': 'Catálogo: alterar',
  'customers:read': 'Clientes: ler',
  'customers:write': 'Clientes: alterar',
  'suppliers:read': 'Fornecedores: ler',
  'suppliers:write': 'Fornecedores: alterar',
  'finance:read': 'Contas: ler',
  'finance:write': 'Contas: lançar e liquidar',
  'sales:read': 'Vendas: ler',
  'sales:write': 'Vendas: registrar e cancelar',
  'orders:read': 'Pedidos da loja online: ler',
  'orders:write': 'Pedidos da loja online: fazer e cobrar',
  'webhooks:manage': 'Webhooks: administrar',
  'audit:read': 'Auditoria: ler o livro',
}
