import { type GetPromptResult, type Prompt, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

interface WrittenPrompt extends Prompt {
  readonly name: string
  readonly text: string
}

export const PROMPTS: readonly WrittenPrompt[] = [
  {
    name: 'reconcile_day',
    title: 'Conferir o dia',
    description: 'Confere as vendas de um dia com os caixas e com o que entrou no financeiro.',
    arguments: [{ name: 'day', description: 'O dia, AAAA-MM-DD.', required: true }],
    text: 'Confira o dia {day}. Some as vendas com listSales (sold_from e sold_to nesse dia, todas as páginas), sem as canceladas, por forma de pagamento. Some as devoluções com listReturns. Compare com as sessões de listCashSessions e com getSummary do mesmo dia. Mostre uma tabela por forma de pagamento e liste cada diferença, com os ids. Só leia: não altere nada.',
  },
  {
    name: 'customer_debt',
    title: 'O que um cliente deve',
    description: 'Diz o que um cliente deve, o que está vencido e o que já pagou.',
    arguments: [{ name: 'customer', description: 'Nome, documento ou id do cliente.', required: true }],
    text: 'Diga o que o cliente "{customer}" deve. Ache-o com listCustomers ou getCustomer; se houver mais de um, pergunte qual. Liste as contas com listReceivables (customer_id), todas as páginas: em aberto, vencidas e os pagamentos de cada uma. Veja o crédito com getCustomerCredit. Mostre o total, o vencido e as datas. Só leia: não altere nada.',
  },
  {
    name: 'price_list',
    title: 'Lista de preços',
    description: 'Monta a lista de preços dos produtos ativos.',
    arguments: [{ name: 'category', description: 'Só desta categoria; sem ela, de todas.', required: false }],
    text: 'Monte a lista de preços dos produtos ativos. Categoria: {category}. Leia as categorias com listCategories e os produtos com listCatalogItems, todas as páginas. Mostre, por categoria e em ordem alfabética, nome, unidade e preço, sem custos. Só leia: não altere nada.',
  },
]

const LONGEST = 200

export function promptMessages(name: string, given: Readonly<Record<string, string>>): GetPromptResult {
  const prompt = PROMPTS.find((each) => each.name === name)
  if (!prompt)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Roteiro desconhecido: ${name.slice(0, LONGEST)}`)
  const text = (prompt.arguments ?? []).reduce((written, argument) => {
    const value = given[argument.name]?.trim() ?? ''
    if (value.length > LONGEST || (value === '' && argument.required))
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Informe ${argument.name}, com até ${LONGEST} caracteres`,
      )
    return written.replaceAll(`{${argument.name}}`, () => value || 'todas')
  }, prompt.text)
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}
