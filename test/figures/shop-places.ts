import type { Json } from '../support/api.ts'
import { textIn } from '../support/panel.ts'
import { centsOf, factIn, fileRows, numberOf, tableIn, thousandthsOf } from './parse.ts'
import type { Figures, FiguresPlace } from './places.ts'
import { centsIn, type FiguresShop } from './shop.ts'

/** Pages leave amounts of zero out. */
const ZERO = 'R$ 0,00'

/** Figures without a period: refused sales, orders and stock. */
export async function shopPlaces(shop: FiguresShop): Promise<FiguresPlace[]> {
  return [...(await refusedPlaces(shop)), ...(await orderPlaces(shop)), ...(await stockPlaces(shop))]
}

async function refusedPlaces({ user, refused }: FiguresShop): Promise<FiguresPlace[]> {
  const open = refused.filter(({ isOpen }) => isOpen)
  const start = textIn((await user.get('/painel')).html)
  const [, todo = '0'] = /([\d.]+) vendas? recusadas? para resolver/.exec(start) ?? []
  const [, menu = '0'] = /Caixas ([\d.]+) vendas? recusadas?/.exec(start) ?? []
  const tills = tableIn((await user.get('/painel/caixas')).html, 'Caixas hoje')
  const [, listed = ''] =
    /Para resolver: ([\d.]+)\./.exec(textIn((await user.get('/painel/caixas/recusadas')).html)) ?? []
  const place = (name: string, count: number): FiguresPlace => ({
    name,
    shows: ['recusadas.abertas'],
    figures: { 'recusadas.abertas': count },
  })
  return [
    place('envios dos caixas', open.length),
    place('início: a fazer', numberOf(todo)),
    place('menu', numberOf(menu)),
    place('lista de recusadas', numberOf(listed)),
    place(
      'caixas hoje',
      tills.reduce((sum, { Recusadas = '' }) => sum + Number(Recusadas), 0),
    ),
  ]
}

async function orderPlaces({ company, user, orders }: FiguresShop): Promise<FiguresPlace[]> {
  const [answers, pages, files]: [Figures, Figures, Figures] = [{}, {}, {}]
  for (const id of orders) {
    const order: Json = (await company.get(`/orders/${id}`)).body.data
    const { html } = await user.get(`/painel/loja/pedidos/${id}`)
    answers[`pedido.${id}.total`] = centsIn(order.total)
    answers[`pedido.${id}.devolvido`] = centsIn(order.refunded_total)
    if (order.released_at !== null)
      answers[`pedido.${id}.líquido`] = centsIn(order.total) - centsIn(order.refunded_total)
    pages[`pedido.${id}.devolvido`] = centsOf(factIn(html, 'Estornado') ?? ZERO)
    const net = factIn(html, 'Líquido')
    if (net !== null) pages[`pedido.${id}.líquido`] = centsOf(net)
  }
  for (const { Pedido, Total = '', Líquido = '' } of fileRows((await user.get('/painel/loja/pedidos.csv')).html)) {
    files[`pedido.${Pedido}.total`] = centsOf(Total)
    if (Líquido !== '') files[`pedido.${Pedido}.líquido`] = centsOf(Líquido)
  }
  const sum = (figures: Figures) =>
    Object.entries(figures).reduce((cents, [name, value]) => (name.endsWith('.total') ? cents + value : cents), 0)
  const [, listed] = /[\d.]+ pedidos?, (R\$ [\d.,]+\d)/.exec(textIn((await user.get('/painel/loja')).html)) ?? []
  return [
    { name: 'GET /orders/{id}', shows: ['pedidos.'], figures: { ...answers, 'pedidos.valor': sum(answers) } },
    { name: 'página do pedido', shows: [], figures: pages },
    { name: 'arquivo pedidos.csv', shows: ['pedidos.'], figures: { ...files, 'pedidos.valor': sum(files) } },
    {
      name: 'lista de pedidos',
      shows: [],
      figures: { 'pedidos.valor': centsOf(listed ?? ZERO) },
    },
  ]
}

async function stockPlaces({ company, user, items }: FiguresShop): Promise<FiguresPlace[]> {
  const [answers, pages, files]: [Figures, Figures, Figures] = [{}, {}, {}]
  for (const { id, name } of items) {
    const { stock } = (await company.get(`/catalog/items/${id}`)).body.data
    answers[`estoque.${name}`] = Number(stock.replace('.', ''))
    const { html } = await user.get(`/painel/catalogo/${id}`)
    pages[`estoque.${name}`] = thousandthsOf(factIn(html, 'Estoque') ?? '')
  }
  for (const { Nome = '', Estoque = '' } of fileRows((await user.get('/painel/catalogo.csv')).html))
    files[`estoque.${Nome}`] = thousandthsOf(Estoque)
  return [
    { name: 'GET /catalog/items/{id}', shows: [], figures: answers },
    { name: 'página do produto', shows: [], figures: pages },
    { name: 'arquivo catalogo.csv', shows: [], figures: files },
  ]
}
