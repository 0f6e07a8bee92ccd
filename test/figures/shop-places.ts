import type { Json } from '../support/api.ts'
import { figuresIn, fileRows } from './parse.ts'
import type { Figures, FiguresPlace } from './places.ts'
import type { FiguresShop } from './shop.ts'

/** Figures without a period: refused sales, orders, stock and open accounts. */
export async function shopPlaces(shop: FiguresShop): Promise<FiguresPlace[]> {
  const start = figuresIn((await shop.user.get('/painel')).html)
  return [
    ...(await refusedPlaces(shop, start)),
    ...(await orderPlaces(shop)),
    ...(await stockPlaces(shop, start)),
    ...(await accountPlaces(shop, start)),
  ]
}

const sumOf = (figures: Figures, pattern: RegExp): number =>
  Object.entries(figures).reduce((sum, [name, value]) => (pattern.test(name) ? sum + value : sum), 0)

async function refusedPlaces({ user, refused }: FiguresShop, start: Figures): Promise<FiguresPlace[]> {
  const tills = figuresIn((await user.get('/painel/caixas')).html)
  const listed = figuresIn((await user.get('/painel/caixas/recusadas')).html)
  const place = (name: string, count: number | undefined): FiguresPlace => ({
    name,
    shows: ['recusadas.abertas'],
    figures: count === undefined ? {} : { 'recusadas.abertas': count },
  })
  return [
    place('envios dos caixas', refused.filter(({ isOpen }) => isOpen).length),
    place('início: a fazer', start['total.recusadas']),
    place('menu', start['menu/tills.pendentes']),
    place('lista de recusadas', listed['total.recusadas']),
    place('caixas hoje', sumOf(tills, /^caixa\/.*\.recusadas$/)),
  ]
}

const number = (text: string): number => Number(text.replace(',', '.'))

async function orderPlaces({ company, user, orders }: FiguresShop): Promise<FiguresPlace[]> {
  const [answers, pages, files]: [Figures, Figures, Figures] = [{}, {}, {}]
  for (const id of orders) {
    const order: Json = (await company.get(`/orders/${id}`)).body.data
    const of = `pedido/${id}`
    answers[`${of}.total`] = number(order.total)
    if (order.store_net !== null) {
      const kept = order.commission === null ? 0 : number(order.commission.amount) - number(order.commission.refunded)
      const net = number(order.total) - number(order.refunded_total)
      const cents = (value: number) => Math.round(value * 100) / 100
      Object.assign(answers, {
        [`${of}.estornado`]: number(order.refunded_total),
        [`${of}.liquido`]: cents(net),
        [`${of}.comissao`]: cents(kept),
        [`${of}.recebe`]: cents(net - kept),
        [`${of}.store_net`]: number(order.store_net),
      })
    }
    Object.assign(pages, figuresIn((await user.get(`/painel/loja/pedidos/${id}`)).html))
  }
  const heads = {
    Total: 'total',
    Estornado: 'estornado',
    Líquido: 'liquido',
    Comissão: 'comissao',
    'Você recebe': 'recebe',
  }
  for (const row of fileRows((await user.get('/painel/loja/pedidos.csv')).html))
    for (const [head, name] of Object.entries(heads))
      if (row[head]) files[`pedido/${row.Pedido}.${name}`] = number(row[head])
  for (const [name, value] of Object.entries(files))
    if (name.endsWith('.recebe')) files[name.replace('recebe', 'store_net')] = value
  const total = (figures: Figures) => Math.round(sumOf(figures, /^pedido\/.*\.total$/) * 100) / 100
  return [
    { name: 'GET /orders/{id}', shows: ['pedidos.'], figures: { ...answers, 'pedidos.total': total(answers) } },
    { name: 'página do pedido', shows: [], figures: pages },
    { name: 'arquivo pedidos.csv', shows: ['pedidos.'], figures: { ...files, 'pedidos.total': total(files) } },
    {
      name: 'lista de pedidos',
      shows: ['pedidos.'],
      figures: figuresIn((await user.get('/painel/loja')).html),
    },
  ]
}

async function stockPlaces({ company, user, items }: FiguresShop, start: Figures): Promise<FiguresPlace[]> {
  const [answers, pages, files]: [Figures, Figures, Figures] = [{}, {}, {}]
  for (const { id } of items) {
    const { stock } = (await company.get(`/catalog/items/${id}`)).body.data
    answers[`item/${id}.estoque`] = number(stock)
    Object.assign(pages, figuresIn((await user.get(`/painel/catalogo/${id}`)).html))
  }
  const ids = new Map(items.map(({ id, name }) => [name, id]))
  for (const { Nome = '', Estoque = '' } of fileRows((await user.get('/painel/catalogo.csv')).html))
    files[`item/${ids.get(Nome)}.estoque`] = number(Estoque)
  const marked = async (path: string) => figuresIn((await user.get(path)).html)
  const low = (await company.get('/stock/low?limit=200')).body.data
  const answered = Object.fromEntries(
    low.map(({ catalog_item_id: id, sold_30_days }: Json) => [`item/${id}.vendido-30-dias`, number(sold_30_days)]),
  )
  const shows = ['total.acabando', 'total.sem-estoque']
  return [
    { name: 'GET /catalog/items/{id}', shows: [], figures: answers },
    { name: 'página do produto', shows: [], figures: pages },
    { name: 'arquivo catalogo.csv', shows: [], figures: files },
    { name: 'catálogo', shows: [], figures: await marked('/painel/catalogo?linhas=100') },
    { name: 'reposição', shows: [], figures: await marked('/painel/catalogo/reposicao') },
    { name: 'catálogo: acabando', shows: [], figures: await marked('/painel/catalogo?low_stock=on') },
    { name: 'catálogo: sem estoque', shows: [], figures: await marked('/painel/catalogo?out_of_stock=on') },
    { name: 'GET /stock/low', shows, figures: { ...answered, 'total.acabando': low.length, ...outIn(low) } },
    {
      name: 'início: estoque',
      shows,
      figures: Object.fromEntries(Object.entries(start).filter(([name]) => shows.includes(name))),
    },
  ]
}

const outIn = (low: readonly Json[]): Figures => ({
  'total.sem-estoque': low.filter(({ stock }) => number(stock) <= 0).length,
})

async function accountPlaces({ company, user }: FiguresShop, start: Figures): Promise<FiguresPlace[]> {
  const { receivables } = (await company.get('/finance/summary?from=2026-01-01&to=2026-12-31')).body.data
  const listed = figuresIn((await user.get('/painel/contas-a-receber')).html)
  const debtors = figuresIn((await user.get('/painel/contas-a-receber/em-aberto')).html)
  const place = (name: string, amount: number | undefined): FiguresPlace => ({
    name,
    shows: ['receber.em-aberto'],
    figures: amount === undefined ? {} : { 'receber.em-aberto': amount },
  })
  return [
    place('GET /finance/summary: a receber', number(receivables.pending.amount)),
    place('início: a receber', start['receber.em-aberto']),
    place('contas a receber', listed['lista.em-aberto']),
    place('devedores', debtors['receber.em-aberto']),
    place('devedores, somados', Math.round(sumOf(debtors, /^cliente\/.*\.em-aberto$/) * 100) / 100),
  ]
}
