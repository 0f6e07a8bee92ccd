/** A group of operations, as readers look for them. */
interface Tag {
  readonly name: string
  readonly description: string
}

/** By the first part of the path. */
const TAGS: Readonly<Record<string, Tag>> = {
  me: { name: 'Conta', description: 'A empresa, a chave e os limites de quem chama.' },
  catalog: { name: 'Catálogo', description: 'Produtos, serviços e categorias.' },
  customers: { name: 'Clientes', description: 'Pessoas e empresas que compram.' },
  suppliers: { name: 'Fornecedores', description: 'Pessoas e empresas de quem se compra.' },
  finance: { name: 'Financeiro', description: 'Contas a receber, contas a pagar e o resumo do período.' },
  webhooks: { name: 'Webhooks', description: 'Endereços que recebem os eventos, e o que lhes foi entregue.' },
  events: { name: 'Auditoria', description: 'O livro da empresa, evento por evento, e a sua conferência.' },
  sales: { name: 'Vendas', description: 'Vendas já pagas: registrar, consultar e cancelar.' },
  orders: { name: 'Pedidos', description: 'Pedidos da loja online e o seu pagamento.' },
}

/** The group of a path in the router's form. */
export function tagOf(path: string): Tag {
  const tag = TAGS[path.split('/')[1] ?? '']
  if (!tag) throw new Error(`the contract has no group for ${path}`)
  return tag
}
