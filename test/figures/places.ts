import { addDays, dateInZone } from '#domain/instant.ts'
import { fromCents, fromThousandths, percentOfCents, takePercent, toCents, toThousandths } from '#domain/money.ts'
import { amountOfPart, type LinePart, shareDiscount } from '#domain/payment-rules.ts'
import type { Json } from '../support/api.ts'
import { textIn } from '../support/panel.ts'
import { centsIn, type FiguresCompany, ZONE } from './figures-company.ts'
import { figuresIn, fileRows, numberOf } from './parse.ts'

/** Figures that a place shows, by scope and name (docs/requirements/figures.md). */
export type Figures = Record<string, number>

/** A page, answer, file or paper with figures of one day. */
export interface FiguresPlace {
  readonly name: string
  /** Beginnings of the figures that it shows completely: an absent one is zero there. */
  readonly shows: readonly string[]
  readonly figures: Figures
}

/** Sums of amounts are made in cents. */
const added = (figures: Figures, name: string, value: number): void => {
  figures[name] = Math.round(((figures[name] ?? 0) + value) * 1_000) / 1_000
}

/** The figures whose names begin so. */
const chosen = (figures: Figures, ...beginnings: readonly string[]): Figures =>
  Object.fromEntries(Object.entries(figures).filter(([name]) => beginnings.some((each) => name.startsWith(each))))

/** Renames the scope of figures. */
const moved = (figures: Figures, from: string, to: string): Figures =>
  Object.fromEntries(
    Object.entries(figures).flatMap(([name, value]) =>
      name.startsWith(from) ? [[`${to}${name.slice(from.length)}`, value]] : [],
    ),
  )

const RECONCILED = ['vendas', 'vendido', 'cancelado', 'devolvido', 'liquido'] as const
const TOTALS = [...RECONCILED, 'canceladas', 'devolucoes'].map((name) => `total.${name}`)

/** A table has no column `vendido` where nothing was cancelled or returned: what was sold is the net. */
function complete(figures: Figures): Figures {
  const sold = Object.entries(figures).flatMap(([name, net]) => {
    const scope = name.slice(0, -'.liquido'.length)
    const isOfSales = name.endsWith('.liquido') && figures[`${scope}.vendas`] !== undefined
    return isOfSales && figures[`${scope}.vendido`] === undefined ? [[`${scope}.vendido`, net] as const] : []
  })
  return { ...figures, ...Object.fromEntries(sold) }
}

async function summary({ company }: FiguresCompany, from: string, to: string): Promise<FiguresPlace> {
  const { sales } = (await company.get(`/finance/summary?from=${from}&to=${to}`)).body.data
  const figures: Figures = {
    'total.vendas': sales.sold.count,
    'total.vendido': Number(sales.sold.amount),
    'total.canceladas': sales.cancelled.count,
    'total.cancelado': Number(sales.cancelled.amount),
    'total.devolucoes': sales.returned.count,
    'total.devolvido': Number(sales.returned.amount),
    'total.liquido': Number(sales.net),
    'total.concluidas': sales.count,
    'total.faturado': Number(sales.gross),
  }
  for (const { seller, count, net } of sales.by_seller) {
    const key = seller === null ? 'none' : seller.user_id === null ? `name/${seller.name}` : `user/${seller.user_id}`
    figures[`vendedor/${key}.concluidas`] = count
    figures[`vendedor/${key}.liquido`] = Number(net)
  }
  return {
    name: 'GET /finance/summary',
    shows: [...TOTALS, 'total.faturado', 'total.concluidas', 'vendedor/'],
    figures,
  }
}

/** The page of a month has each of its days. */
async function monthDay({ user }: FiguresCompany, day: string): Promise<FiguresPlace> {
  const figures = figuresIn((await user.get(`/painel/fechamento-do-mes/${day.slice(0, 7)}`)).html)
  const net = figures[`dia/${day}.liquido`] ?? 0
  return { name: 'fechamento do mês', shows: ['total.liquido'], figures: { 'total.liquido': net } }
}

/** What the start page says of yesterday; nothing if nothing was taken. */
async function goodMorning({ user }: FiguresCompany): Promise<FiguresPlace> {
  const figures = figuresIn((await user.get('/painel')).html)
  return { name: 'bom dia', shows: [], figures: { 'total.faturado': figures['ontem.faturado'] ?? 0 } }
}

const OF_START = ['total.itens', 'total.taxas', 'total/', 'item/', 'canal/', 'vendedor/']

async function start({ user }: FiguresCompany, from: string, to: string): Promise<FiguresPlace> {
  const figures = complete(figuresIn((await user.get(`/painel?periodo=intervalo&de=${from}&ate=${to}`)).html))
  const shows = ['total.canceladas', 'total.cancelado', 'total.devol', 'total.faturado', 'total.concluidas']
  return {
    name: 'início',
    shows: [...shows, ...OF_START],
    figures: chosen(figures, ...TOTALS, ...shows, ...OF_START),
  }
}

async function closing({ user, company }: FiguresCompany, day: string): Promise<FiguresPlace[]> {
  const { html } = await user.get(`/painel/caixas/fechamento?dia=${day}`)
  const figures = complete(figuresIn(html))
  const parts: Figures = {}
  for (const [name, value] of Object.entries(chosen(figures, 'caixa/', 'outros'))) {
    const [, rest] = /^(?:caixa\/user\/\d+|outros)(\/forma.*\.\w+)$/.exec(name) ?? []
    if (rest) added(parts, `total${rest}`, value)
  }
  const drawers: Figures = {}
  for (const [name, value] of Object.entries(figures))
    if (/^(caixa|gaveta)\/.*\.esperado$/.test(name)) added(drawers, 'total.esperado', value)
  const refused: Figures = {}
  for (const [, count = '', amount = ''] of textIn(html).matchAll(
    /Fora destas somas: (\d+) vendas? recusadas?, R\$ ([\d.,]+\d)/g,
  )) {
    added(refused, 'recusadas.vendas', numberOf(count))
    added(refused, 'recusadas.valor', Number(amount.replace('.', '').replace(',', '.')))
  }
  const sessions: Figures = {}
  for (const { id, expected, counted, difference } of await allOf(company, '/cash-sessions')) {
    const scope = `gaveta/${id}`
    sessions[`${scope}.esperado`] = Number(expected)
    if (counted !== null) sessions[`${scope}.contado`] = Number(counted)
    if (difference !== null) sessions[`${scope}.diferenca`] = Number(difference)
  }
  // A day without sales has no sums.
  const hasSums = figures['total.vendas'] !== undefined
  return [
    { name: 'fechamento do dia', shows: ['total.taxas', ...(hasSums ? ['total/', ...TOTALS] : [])], figures },
    { name: 'fechamento: soma dos caixas e dos outros canais', shows: ['total/'], figures: parts },
    { name: 'fechamento: vendas recusadas', shows: ['recusadas.'], figures: refused },
    ...(hasSums ? [{ name: 'fechamento: soma das gavetas', shows: ['total.esperado'], figures: drawers }] : []),
    { name: 'GET /cash-sessions', shows: [], figures: sessions },
    {
      name: 'sessões de caixa',
      shows: [],
      figures: figuresIn((await user.get('/painel/caixas/sessoes?linhas=100')).html),
    },
  ]
}

async function lists(shop: FiguresCompany, from: string, to: string): Promise<FiguresPlace[]> {
  const { company, user, items, tills } = shop
  const page = async (filter = '') =>
    complete(figuresIn((await user.get(`/painel/vendas?sold_from=${from}&sold_to=${to}${filter}`)).html))
  const figures: Figures = await page()
  for (const { id } of (await company.get('/sales/payment-types')).body.data)
    Object.assign(
      figures,
      // Tables count sales alone.
      chosen(await page(`&payment_type_id=${id}`), ...RECONCILED.map((name) => `total/forma/${id}.${name}`)),
    )
  for (const { id } of items) Object.assign(figures, chosen(await page(`&item=${id}`), `item/${id}`))
  const parts = [
    ...['api', 'pdv', 'system'].map((origin) => [`canal/${origin}`, `&origin=${origin}`]),
    ...['none', ...[user, ...tills.map(({ user }) => user)].map(({ id }) => `user/${id}`)].map((key) => [
      `vendedor/${key}`,
      `&seller=${key}`,
    ]),
  ] as const
  for (const [scope = '', filter = ''] of parts) {
    const sums = await page(`&status=completed${filter}`)
    figures[`${scope}.concluidas`] = sums['total.vendas'] as number
    figures[`${scope}.liquido`] = sums['total.liquido'] as number
  }
  for (const { user } of tills)
    Object.assign(figures, moved(await page(`&actor=user/${user.id}&origin=pdv`), 'total.', `caixa/user/${user.id}.`))
  const back = figuresIn((await user.get(`/painel/devolucoes?returned_from=${from}&returned_to=${to}`)).html)
  return [
    { name: 'lista de vendas', shows: [...TOTALS, 'total/forma/', 'item/', 'canal/', 'vendedor/'], figures },
    { name: 'lista de devoluções', shows: ['total.devol'], figures: back },
  ]
}

async function file({ user }: FiguresCompany, from: string, to: string): Promise<FiguresPlace> {
  const { html } = await user.get(`/painel/vendas.csv?sold_from=${from}&sold_to=${to}`)
  const figures: Figures = {}
  for (const { Situação, Total = '' } of fileRows(html)) {
    const amount = Number(Total.replace(',', '.'))
    added(figures, 'total.vendas', 1)
    added(figures, 'total.vendido', amount)
    if (Situação === 'Cancelada') {
      added(figures, 'total.canceladas', 1)
      added(figures, 'total.cancelado', amount)
    } else {
      added(figures, 'total.concluidas', 1)
      added(figures, 'total.faturado', amount)
    }
  }
  const shows = ['total.vendas', 'total.vendido', 'total.canceladas', 'total.cancelado', 'total.faturado']
  return { name: 'arquivo vendas.csv', shows, figures }
}

async function allOf({ get }: FiguresCompany['company'], path: string): Promise<Json[]> {
  const records: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: { body: Json } = await get(`${path}?limit=200${cursor ? `&cursor=${cursor}` : ''}`)
    records.push(...body.data)
    cursor = body.meta.next_cursor
  }
  return records
}

interface ShopRecords {
  readonly sales: readonly Json[]
  readonly receivables: readonly Json[]
  /** Of goods, and refunds of orders. */
  readonly returns: readonly Json[]
  /** Tills, by sale. */
  readonly tills: ReadonlyMap<number, string>
}

/** Takes goods of an order from the lines of its sale, in their order, at their part of the price. */
function takenBack(lines: { id: number; sold: LinePart; back: LinePart }[], restock: readonly Json[]): Json[] {
  return restock.flatMap(({ catalog_item_id, quantity }) => {
    let left = toThousandths(quantity)
    return lines.flatMap((line) => {
      const thousandths =
        line.id === catalog_item_id ? Math.min(left, line.sold.thousandths - line.back.thousandths) : 0
      if (thousandths === 0) return []
      const cents = amountOfPart(line.sold, line.back, thousandths)
      left -= thousandths
      line.back = { thousandths: line.back.thousandths + thousandths, cents: line.back.cents + cents }
      return [{ catalog_item_id, quantity: fromThousandths(thousandths), amount: fromCents(cents) }]
    })
  })
}

/** What was given back of orders, in the form of returns; a cancelled sale has none. */
function refundsOfOrders(orders: readonly Json[], sales: readonly Json[]): Json[] {
  return orders.flatMap(({ sale_id, refunds }) => {
    const sale = sales.find(({ id }) => id === sale_id)
    if (sale?.status !== 'completed') return []
    const done = refunds.filter(({ status }: Json) => status === 'completed')
    const lines = sale.items.map(({ catalog_item_id: id, quantity, total }: Json) => ({
      ...{ id, sold: { thousandths: toThousandths(quantity), cents: toCents(total) } },
      back: { thousandths: 0, cents: 0 },
    }))
    return done.map(({ amount, completed_at, restock }: Json) => ({
      ...{ sale_id, total: amount, returned_at: completed_at, items: takenBack(lines, restock) },
      refunds: [{ payment_type_id: sale.payments[0].payment_type_id, amount }],
    }))
  })
}

const negative = (amount: string): string => (Number(amount) === 0 ? amount : `-${amount}`)

/** The reversal of a return, in the form of a return. */
const takenBackAgain = ({ sale_id, total, refunds, items, reversed_at }: Json): Json => ({
  ...{ sale_id, total: negative(total), returned_at: reversed_at },
  refunds: refunds.map(({ payment_type_id, amount }: Json) => ({ payment_type_id, amount: negative(amount) })),
  items: items.map((item: Json) => ({ ...item, quantity: negative(item.quantity), amount: negative(item.amount) })),
})

/** All sales and returns as the API shows them, with the till of each sale. */
async function recordsOf(shop: FiguresCompany): Promise<ShopRecords> {
  const { user, company, tills } = shop
  const [sales, goods] = [await allOf(company, '/sales'), await allOf(company, '/returns')]
  const reversals = goods.filter(({ reversed_at }) => reversed_at !== null).map(takenBackAgain)
  const returns = [...goods, ...reversals, ...refundsOfOrders(await allOf(company, '/orders'), sales)]
  const nameOf = new Map(tills.map(({ user }) => [user.name, `caixa/user/${user.id}`]))
  const uploads = fileRows((await user.get('/painel/caixas.csv')).html)
  const tillOf = (row: Readonly<Record<string, string>>) =>
    nameOf.get(row['Enviada por'] ?? '') ?? `caixa/user/${user.id}`
  const receivables = await allOf(company, '/finance/receivables')
  return { sales, receivables, returns, tills: new Map(uploads.map((row) => [Number(row.Venda), tillOf(row)])) }
}

const dayOf = (instant: string): string => dateInZone(new Date(instant).toISOString(), ZONE)
const taken = ({ net, surcharge }: Json): number => (centsIn(net) + centsIn(surcharge)) / 100
const sellerOf = ({ seller }: Json): string => `vendedor/${seller === null ? 'none' : `user/${seller.user_id}`}`
const unitsOf = (quantity: string): number =>
  quantity.endsWith('.000') ? Number(quantity) : quantity.startsWith('-') ? -1 : 1

/** What returns take from the figures of their day: of the sale's till, channel and seller, wherever they were made. */
function fromReturns({ sales, tills }: ShopRecords, returns: readonly Json[]): Figures {
  const figures: Figures = {}
  for (const { sale_id, total, refunds, items } of returns) {
    const sale = sales.find(({ id }) => id === sale_id)
    const till = tills.get(sale_id)
    for (const scope of ['total', 'total/formas', ...(till ? [till, `${till}/formas`] : [])]) {
      added(figures, `${scope}.devolvido`, Number(total))
      added(figures, `${scope}.liquido`, -Number(total))
    }
    for (const { payment_type_id, amount } of refunds)
      for (const scope of ['total', ...(till ? [till] : [])]) {
        added(figures, `${scope}/forma/${payment_type_id}.devolvido`, Number(amount))
        added(figures, `${scope}/forma/${payment_type_id}.liquido`, -Number(amount))
      }
    for (const scope of [`canal/${sale?.origin}`, sellerOf(sale)]) added(figures, `${scope}.liquido`, -Number(total))
    for (const { catalog_item_id, quantity, amount } of items) {
      added(figures, 'total.itens', -unitsOf(quantity))
      if (catalog_item_id === null) continue
      added(figures, `item/${catalog_item_id}.quantidade`, -Number(quantity))
      added(figures, `item/${catalog_item_id}.liquido`, -Number(amount))
    }
  }
  return figures
}

/** What a sale adds to the figures of its day. */
function addSale(figures: Figures, sale: Json, till: string | undefined): void {
  const total = Number(sale.total)
  const isCancelled = sale.status === 'cancelled'
  const ways = new Map<number, number>()
  for (const payment of sale.payments)
    ways.set(payment.payment_type_id, (ways.get(payment.payment_type_id) ?? 0) + taken(payment))
  const rest = [...ways.values()].reduce((sum, amount) => sum - amount, total)
  if (Math.abs(rest) > 0.001) ways.set(0, rest)
  for (const scope of ['total', ...(till ? [till] : [])])
    for (const [of, amount] of [
      [scope, total] as const,
      [`${scope}/formas`, total] as const,
      ...[...ways].map(([id, amount]) => [`${scope}/forma/${id}`, amount] as const),
    ]) {
      added(figures, `${of}.vendas`, 1)
      added(figures, `${of}.vendido`, amount)
      added(figures, `${of}.${isCancelled ? 'cancelado' : 'liquido'}`, amount)
    }
  if (isCancelled) return
  for (const scope of [`canal/${sale.origin}`, sellerOf(sale)]) {
    added(figures, `${scope}.concluidas`, 1)
    added(figures, `${scope}.liquido`, total)
  }
  if (till) added(figures, `${till}.concluidas`, 1)
  const shares = shareDiscount(
    sale.items.map((item: Json) => centsIn(item.total)),
    centsIn(sale.discount),
  )
  for (const [place, { catalog_item_id, quantity, total }] of sale.items.entries()) {
    added(figures, 'total.itens', unitsOf(quantity))
    if (catalog_item_id === null) continue
    added(figures, `item/${catalog_item_id}.quantidade`, Number(quantity))
    added(figures, `item/${catalog_item_id}.liquido`, (centsIn(total) - (shares[place] as number)) / 100)
  }
}

type Instants = (instant: string) => boolean

/** What acquirers keep of a payment of a sale in a period, in cents: its fee, less what came back with the money. */
function feeOf(payment: Json, sale: Json, returns: readonly Json[], within: Instants): number {
  const fee = centsIn(payment.acquirer_fee)
  const charged = centsIn(payment.net) + centsIn(payment.surcharge)
  const share = (back: number): number => (payment.acquirer_fee_refunded ? percentOfCents(fee, back, charged) : 0)
  let cents = within(sale.sold_at) ? fee : 0
  let back = 0
  for (const { refunds, returned_at } of returns) {
    const before = share(back)
    for (const { payment_type_id, amount } of refunds)
      if (payment_type_id === payment.payment_type_id) back += Math.round(Number(amount) * 100)
    if (within(returned_at)) cents += before - share(back)
  }
  return sale.status === 'cancelled' && within(sale.sold_at) ? cents + share(back) - share(charged) : cents
}

/** Rate of accounts that were received by card, in percent. */
const DEBIT = '1.37'

function feesOf({ sales, returns, receivables }: ShopRecords, within: Instants): number {
  const ofSales = sales.flatMap((sale) => {
    // Cancelled before its upload, it took no money.
    if (sale.offline_id !== null && sale.cancelled_at === sale.created_at) return []
    const back = returns
      .filter(({ sale_id }) => sale_id === sale.id)
      .sort((one, other) => Date.parse(one.returned_at) - Date.parse(other.returned_at))
    return sale.payments.map((payment: Json) =>
      payment.acquirer_fee === undefined ? 0 : feeOf(payment, sale, back, within),
    )
  })
  const ofAccounts = receivables
    .flatMap(({ payments }) => payments)
    .map(({ payment_method, received, paid_at, reversed_at }: Json) => {
      if (payment_method !== 'debit_card') return 0
      const fee = takePercent(centsIn(received), DEBIT)
      return (within(paid_at) ? fee : 0) - (reversed_at !== null && within(reversed_at) ? fee : 0)
    })
  return [...ofSales, ...ofAccounts].reduce((sum, cents) => sum + cents, 0) / 100
}

/** What the records of the API add up to. */
function fromRecords(records: ShopRecords, from: string, to: string): FiguresPlace {
  const within = (instant: string) => from <= dayOf(instant) && dayOf(instant) <= to
  const figures = fromReturns(
    records,
    records.returns.filter(({ returned_at }) => within(returned_at)),
  )
  for (const sale of records.sales) if (within(sale.sold_at)) addSale(figures, sale, records.tills.get(sale.id))
  figures['total.taxas'] = feesOf(records, within)
  const shows = ['total.vendas', 'total.vendido', 'total.cancelado', 'total.itens', 'total/']
  return { name: 'registros da API', shows: [...shows, 'item/', 'canal/', 'vendedor/'], figures }
}

/** All places of a day, or of a period of more days, which has no closing. */
export async function placesOf(shop: FiguresCompany, from: string, to = from): Promise<FiguresPlace[]> {
  const { user } = shop
  const all = [
    await summary(shop, from, to),
    await start(shop, from, to),
    ...(await lists(shop, from, to)),
    await file(shop, from, to),
  ]
  if (from !== to) return [...all, fromRecords(await recordsOf(shop), from, to)]
  const morning = from === addDays(shop.today(), -1) ? [await goodMorning(shop)] : []
  const today = from === shop.today() ? figuresIn((await user.get('/painel/caixas')).html) : {}
  return [
    ...all,
    fromRecords(await recordsOf(shop), from, to),
    await monthDay(shop, from),
    ...(await closing(shop, from)),
    ...morning,
    { name: 'caixas hoje', shows: [], figures: chosen(today, 'caixa/', 'gaveta/') },
  ]
}
