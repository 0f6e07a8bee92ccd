import { dateInZone } from '#domain/instant.ts'
import { shareDiscount } from '#domain/sale-discount.ts'
import type { Json } from '../support/api.ts'
import { textIn } from '../support/panel.ts'
import { centsOf, factIn, fileRows, lineIn, numberOf, type TableRow, tableIn, thousandthsOf } from './parse.ts'
import { centsIn, type FiguresShop, ZONE } from './shop.ts'

/** Figures that a place shows, by name: cents, thousandths or counts. */
export type Figures = Record<string, number>

/** A page, answer, file or paper with figures of one day. */
export interface FiguresPlace {
  readonly name: string
  /** Beginnings of the figures that it shows completely: an absent one is zero there. */
  readonly shows: readonly string[]
  readonly figures: Figures
}

const added = (figures: Figures, name: string, value: number): void => {
  figures[name] = (figures[name] ?? 0) + value
}

const withPrefix = (prefix: string, figures: object): Figures =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [`${prefix}${name}`, value as number]))

/** A table of sales by way of paying; the last row is the total. */
function reconciled(rows: readonly TableRow[], prefix = ''): Figures {
  const figures: Figures = {}
  for (const row of rows) {
    const way = row.Forma === 'Total' ? `${prefix}total.` : `${prefix}forma.${row.Forma}.`
    const net = centsOf(row.Líquido ?? row.Valor ?? '')
    figures[`${way}vendas`] = numberOf(row.Vendas ?? '')
    figures[`${way}vendido`] = row.Vendido === undefined ? net : centsOf(row.Vendido)
    figures[`${way}cancelado`] = centsOf(row.Cancelado ?? '0,00')
    figures[`${way}devolvido`] = centsOf(row.Devolvido ?? '0,00')
    figures[`${way}líquido`] = net
  }
  return figures
}

const RECONCILED = ['vendas', 'vendido', 'cancelado', 'devolvido', 'líquido'] as const
const TOTALS = RECONCILED.map((name) => `total.${name}`)

async function summary({ company }: FiguresShop, from: string, to: string): Promise<FiguresPlace> {
  const { sales } = (await company.get(`/finance/summary?from=${from}&to=${to}`)).body.data
  return {
    name: 'GET /finance/summary',
    shows: [...TOTALS, 'total.canceladas', 'total.devoluções', 'concluídas'],
    figures: {
      'total.vendas': sales.sold.count,
      'total.vendido': centsIn(sales.sold.amount),
      'total.canceladas': sales.cancelled.count,
      'total.cancelado': centsIn(sales.cancelled.amount),
      'total.devoluções': sales.returned.count,
      'total.devolvido': centsIn(sales.returned.amount),
      'total.líquido': centsIn(sales.net),
      'concluídas.vendas': sales.count,
      'concluídas.valor': centsIn(sales.gross),
    },
  }
}

async function start({ user }: FiguresShop, from: string, to: string): Promise<FiguresPlace> {
  const { html } = await user.get(`/painel?periodo=intervalo&de=${from}&ate=${to}`)
  const figures = reconciled(tableIn(html, 'Formas de pagamento'))
  const [, label = ''] = /<dt>(Vendas de [^<]+)<\/dt>/.exec(html) ?? []
  figures['concluídas.valor'] = centsOf(factIn(html, label) ?? '')
  const bars = ['hora', 'dia', 'mês'].flatMap((bar) => tableIn(html, `Vendas por ${bar}`))
  for (const { Vendas = '' } of bars) added(figures, 'concluídas.vendas', numberOf(Vendas))
  const charted = bars.reduce((sum, { Total = '' }) => sum + centsOf(Total), 0)
  if (charted !== figures['concluídas.valor']) figures['concluídas.valor'] = Number.NaN
  figures['itens.unidades'] = numberOf(factIn(html, 'Itens') ?? '')
  for (const { Produto, Quantidade = '', Total = '' } of tableIn(html, 'Produtos que mais venderam')) {
    figures[`item.${Produto}.quantidade`] = thousandthsOf(Quantidade)
    figures[`item.${Produto}.valor`] = centsOf(Total)
  }
  for (const { Canal, Vendas = '', Total = '' } of tableIn(html, 'Vendas por canal')) {
    figures[`canal.${Canal}.vendas`] = numberOf(Vendas)
    figures[`canal.${Canal}.valor`] = centsOf(Total)
  }
  return { name: 'início', shows: [...TOTALS, 'forma.', 'concluídas.', 'itens.', 'item.', 'canal.'], figures }
}

/** Cards of the tills with their names; a till without sales of the day has no table. */
const tillCards = (html: string): [string, string][] =>
  html
    .split('<section class="card">')
    .filter((card) => factIn(card, 'Esperado na gaveta') !== null)
    .map((card) => [textIn(/<h2>(.*?)<\/h2>/.exec(card)?.[1] ?? ''), card])

async function closing({ user }: FiguresShop, day: string): Promise<FiguresPlace[]> {
  const { html } = await user.get(`/painel/caixas/fechamento?dia=${day}`)
  const total = reconciled(tableIn(html, 'Todas as vendas do dia por forma de pagamento'))
  const parts = reconciled(tableIn(html, 'Vendas de outros canais por forma de pagamento'))
  for (const [name, card] of tillCards(html)) {
    const caption = `Vendas de ${name} por forma de pagamento`
    for (const [figure, value] of Object.entries(reconciled(tableIn(html, caption)))) {
      added(parts, figure, value)
      total[`caixa.${name}.${figure}`] = value
    }
    total[`gaveta.${name}`] = centsOf(factIn(card, 'Esperado na gaveta') ?? '')
    total['gaveta.todas'] = (total['gaveta.todas'] ?? 0) + (total[`gaveta.${name}`] as number)
  }
  const refused: Figures = {}
  for (const [, count = '', amount = ''] of textIn(html).matchAll(
    /Fora destas somas: (\d+) vendas? recusadas?, (R\$ [\d.,]+\d)/g,
  )) {
    added(refused, 'recusadas.vendas', numberOf(count))
    added(refused, 'recusadas.valor', centsOf(amount))
  }
  const drawers = factIn(html, 'Esperado nas gavetas')
  const line = textIn(html.slice(html.lastIndexOf('Total do dia')))
  return [
    { name: 'fechamento do dia', shows: [...TOTALS, 'forma.', 'caixa.', 'gaveta.'], figures: total },
    { name: 'fechamento: soma dos caixas e dos outros canais', shows: [...TOTALS, 'forma.'], figures: parts },
    { name: 'fechamento: vendas recusadas', shows: ['recusadas.'], figures: refused },
    ...(drawers === null
      ? []
      : [
          {
            name: 'fechamento: todas as gavetas',
            shows: ['gaveta.todas'],
            figures: { 'gaveta.todas': centsOf(drawers) },
          },
          { name: 'fechamento: linha do dia', shows: TOTALS, figures: withPrefix('total.', lineIn(line)) },
        ]),
  ]
}

async function lists(shop: FiguresShop, from: string, to: string): Promise<FiguresPlace[]> {
  const { user, items, types } = shop
  const text = async (filter = '') =>
    textIn((await user.get(`/painel/vendas?sold_from=${from}&sold_to=${to}${filter}`)).html)
  const figures: Figures = withPrefix('total.', lineIn(await text()))
  const names = { cash: 'cash', pix: 'pix', card: 'card', account: 'credit_account' } as const
  for (const kind of Object.keys(types) as (keyof typeof types)[]) {
    const line = lineIn(await text(`&payment_type_id=${types[kind]}`), 'Nesta forma de pagamento: ')
    for (const figure of RECONCILED) figures[`forma.${names[kind]}.${figure}`] = line[figure]
  }
  for (const { id, name } of items) {
    const [, quantity = '', amount = ''] =
      /Deste item: ([−-]?[\d.,]+) \w+, ([−-]?R\$ [\d.,]+\d)/.exec(await text(`&item=${id}`)) ?? []
    figures[`item.${name}.quantidade`] = thousandthsOf(quantity)
    figures[`item.${name}.valor`] = centsOf(amount)
  }
  for (const [channel, origin] of Object.entries({ API: 'api', 'Ponto de venda': 'pdv', 'Loja online': 'system' })) {
    const { vendas, líquido } = lineIn(await text(`&status=completed&origin=${origin}`))
    Object.assign(figures, { [`canal.${channel}.vendas`]: vendas, [`canal.${channel}.valor`]: líquido })
  }
  const ofTypes = Object.values(names).flatMap((name) => RECONCILED.map((figure) => `forma.${name}.${figure}`))
  return [{ name: 'lista de vendas', shows: [...TOTALS, 'total.canceladas', ...ofTypes, 'item.', 'canal.'], figures }]
}

async function file({ user }: FiguresShop, from: string, to: string): Promise<FiguresPlace> {
  const { html } = await user.get(`/painel/vendas.csv?sold_from=${from}&sold_to=${to}`)
  const figures: Figures = {}
  for (const { Situação, Total = '', Itens = '' } of fileRows(html)) {
    added(figures, 'total.vendas', 1)
    added(figures, 'total.vendido', centsOf(Total))
    if (Situação === 'Cancelada') {
      added(figures, 'total.canceladas', 1)
      added(figures, 'total.cancelado', centsOf(Total))
    } else {
      added(figures, 'concluídas.vendas', 1)
      added(figures, 'concluídas.valor', centsOf(Total))
      added(figures, 'itens.unidades', numberOf(Itens))
    }
  }
  const shows = ['total.vendas', 'total.vendido', 'total.canceladas', 'total.cancelado', 'concluídas.', 'itens.']
  return { name: 'arquivo vendas.csv', shows, figures }
}

async function allOf({ company }: FiguresShop, path: string): Promise<Json[]> {
  const records: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: Json } = await company.get(`${path}?limit=200${cursor ? `&cursor=${cursor}` : ''}`)
    records.push(...body.data)
    cursor = body.meta.next_cursor
  }
  return records
}

interface ShopRecords {
  readonly sales: readonly Json[]
  /** Of goods, and refunds of orders. */
  readonly returns: readonly Json[]
  /** Names of the tills, by sale. */
  readonly tills: ReadonlyMap<number, string>
}

/** What was given back of orders, in the form of returns without goods; a cancelled sale has none. */
function refundsOfOrders(orders: readonly Json[], sales: readonly Json[]): Json[] {
  return orders.flatMap(({ sale_id, refunds }) => {
    const sale = sales.find(({ id }) => id === sale_id)
    if (sale?.status !== 'completed') return []
    const done = refunds.filter(({ status }: Json) => status === 'completed')
    return done.map(({ amount, completed_at }: Json) => ({
      ...{ total: amount, returned_at: completed_at, items: [] },
      refunds: [{ name: sale.payments[0].name, amount }],
    }))
  })
}

/** All sales and returns as the API shows them, with the name of the till of each sale. */
async function recordsOf(shop: FiguresShop): Promise<ShopRecords> {
  const { user } = shop
  const [sales, goods] = [await allOf(shop, '/sales'), await allOf(shop, '/returns')]
  const returns = [...goods, ...refundsOfOrders(await allOf(shop, '/orders'), sales)]
  const uploads = fileRows((await user.get('/painel/caixas.csv')).html)
  return { sales, returns, tills: new Map(uploads.map((row) => [Number(row.Venda), row['Enviada por'] ?? ''])) }
}

const dayOf = (instant: string): string => dateInZone(new Date(instant).toISOString(), ZONE)
const isCash = ({ name }: Json): boolean => name === 'cash'
const taken = ({ net, surcharge }: Json): number => centsIn(net) + centsIn(surcharge)

/** What returns take from the figures of their day. */
function fromReturns({ items: catalog, returnTills }: FiguresShop, returns: readonly Json[]): Figures {
  const figures: Figures = {}
  for (const { id, total, refunds, items } of returns) {
    const till = returnTills.get(id)
    for (const [key, cents] of [
      ['total', centsIn(total)] as const,
      ...refunds.map(({ name, amount }: Json) => [`forma.${name}`, centsIn(amount)] as const),
    ])
      for (const prefix of till === undefined ? [''] : ['', `caixa.${till}.`]) {
        added(figures, `${prefix}${key}.devolvido`, cents)
        added(figures, `${prefix}${key}.líquido`, -cents)
      }
    if (till !== undefined)
      for (const { amount } of refunds.filter(isCash))
        for (const drawer of [`gaveta.${till}`, 'gaveta.todas']) added(figures, drawer, -centsIn(amount))
    for (const item of items) {
      const known = catalog.find(({ id }) => id === item.catalog_item_id)
      if (!known) continue
      added(figures, `item.${known.name}.quantidade`, -Number(item.quantity.replace('.', '')))
      added(figures, `item.${known.name}.valor`, -centsIn(item.amount))
    }
  }
  return figures
}

/** What the records of the API add up to. */
function fromRecords(
  shop: FiguresShop,
  { sales, returns, tills }: ShopRecords,
  from: string,
  to: string,
): FiguresPlace {
  const { items: catalog } = shop
  const within = (day: string) => from <= day && day <= to
  const figures = fromReturns(
    shop,
    returns.filter(({ returned_at }) => within(dayOf(returned_at))),
  )
  for (const sale of sales) {
    const total = centsIn(sale.total)
    const till = tills.get(sale.id)
    const cash = sale.payments.filter(isCash).reduce((sum: number, payment: Json) => sum + taken(payment), 0)
    const hasMoved = sale.cancelled_at !== sale.created_at
    if (till !== undefined && hasMoved)
      for (const drawer of [`gaveta.${till}`, 'gaveta.todas']) {
        if (within(dayOf(sale.sold_at))) added(figures, drawer, cash)
        if (sale.cancelled_at && within(dayOf(sale.cancelled_at))) added(figures, drawer, -cash)
      }
    if (!within(dayOf(sale.sold_at))) continue
    const isCancelled = sale.status === 'cancelled'
    const ways = new Map<string, number>()
    for (const payment of sale.payments) ways.set(payment.name, (ways.get(payment.name) ?? 0) + taken(payment))
    const rest = [...ways.values()].reduce((sum, cents) => sum - cents, total)
    if (rest !== 0) ways.set('Sem forma de pagamento', rest)
    for (const [key, cents] of [
      ['total', total] as const,
      ...[...ways].map(([name, cents]) => [`forma.${name}`, cents] as const),
    ])
      for (const prefix of till === undefined ? [''] : ['', `caixa.${till}.`]) {
        added(figures, `${prefix}${key}.vendas`, 1)
        added(figures, `${prefix}${key}.vendido`, cents)
        added(figures, `${prefix}${key}.${isCancelled ? 'cancelado' : 'líquido'}`, cents)
      }
    if (isCancelled) continue
    const shares = shareDiscount(
      sale.items.map((item: Json) => centsIn(item.total)),
      centsIn(sale.discount),
    )
    for (const [place, item] of sale.items.entries()) {
      const thousandths = Number(item.quantity.replace('.', ''))
      added(figures, 'itens.unidades', thousandths % 1_000 === 0 ? thousandths / 1_000 : 1)
      const known = catalog.find(({ id }) => id === item.catalog_item_id)
      if (!known) continue
      added(figures, `item.${known.name}.quantidade`, thousandths)
      added(figures, `item.${known.name}.valor`, centsIn(item.total) - (shares[place] as number))
    }
  }
  const shows = ['total.vendas', 'total.vendido', 'total.cancelado', 'caixa.', 'itens.', 'item.', 'gaveta.']
  // Returns belong to another day; where there are none, the records say the net too.
  return { name: 'registros da API', shows: [...shows, 'forma.'], figures }
}

/** All places of a day, or of a period of more days, which has no closing. */
export async function placesOf(shop: FiguresShop, from: string, to = from): Promise<FiguresPlace[]> {
  const records = fromRecords(shop, await recordsOf(shop), from, to)
  const all = [
    await summary(shop, from, to),
    await start(shop, from, to),
    ...(await lists(shop, from, to)),
    await file(shop, from, to),
  ]
  return from === to ? [...all, records, ...(await closing(shop, from))] : [...all, records]
}
