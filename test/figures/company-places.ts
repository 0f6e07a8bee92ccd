import { addDays } from '#domain/instant.ts'
import type { Json } from '../support/api.ts'
import { FIRST_DAY, type FiguresCompany } from './figures-company.ts'
import { figuresIn, fileRows } from './parse.ts'
import type { Figures, FiguresPlace } from './places.ts'

/** Days before the first one on which something is sold. */
const REACH = 2

/** Figures without a period: refused sales, orders, stock and open accounts. */
export async function companyPlaces(shop: FiguresCompany): Promise<FiguresPlace[]> {
  const start = figuresIn((await shop.user.get('/painel')).html)
  return [
    ...(await refusedPlaces(shop, start)),
    ...(await orderPlaces(shop)),
    ...(await stockPlaces(shop, start)),
    ...(await accountPlaces(shop, start, 'receivables')),
    ...(await accountPlaces(shop, start, 'payables')),
    ...(await acquirerPlaces(shop, start)),
    ...(await morningPlaces(shop, start)),
    ...(await monthPlaces(shop)),
  ]
}

const sumOf = (figures: Figures, pattern: RegExp): number =>
  Object.entries(figures).reduce((sum, [name, value]) => (pattern.test(name) ? sum + value : sum), 0)

/** The menu counts refused returns and movements too. */
function refusedSalesOfMenu(start: Figures): number | undefined {
  const count = start['menu/tills.pendentes']
  const others = (start['total.devolucoes_recusadas'] ?? 0) + (start['total.movimentos_recusados'] ?? 0)
  return count === undefined ? undefined : count - others
}

async function refusedPlaces({ user, refused }: FiguresCompany, start: Figures): Promise<FiguresPlace[]> {
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
    place('menu', refusedSalesOfMenu(start)),
    place('lista de recusadas', listed['total.recusadas']),
    place('caixas hoje', sumOf(tills, /^caixa\/.*\.recusadas$/)),
  ]
}

const number = (text: string): number => Number(text.replace(',', '.'))

async function orderPlaces({ company, user, orders }: FiguresCompany): Promise<FiguresPlace[]> {
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

async function stockPlaces({ company, user, items }: FiguresCompany, start: Figures): Promise<FiguresPlace[]> {
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

const SIDES = {
  receivables: {
    all: 'receber',
    party: 'cliente',
    key: 'customer_id',
    path: '/contas-a-receber',
    parties: '/clientes',
  },
  payables: {
    all: 'pagar',
    party: 'fornecedor',
    key: 'supplier_id',
    path: '/contas-a-pagar',
    parties: '/fornecedores',
  },
} as const

const rounded = (amount: number): number => Math.round(amount * 100) / 100

/** Open accounts of a side as the API shows them: all, and by party. */
function fromAccounts(accounts: readonly Json[], { all, party, key }: (typeof SIDES)[keyof typeof SIDES]): Figures {
  const figures: Figures = {}
  for (const account of accounts)
    for (const holder of [all, `${party}/${account[key] ?? 'nenhum'}`])
      for (const name of ['em-aberto', ...(account.is_overdue ? ['vencido'] : [])])
        figures[`${holder}.${name}`] = rounded((figures[`${holder}.${name}`] ?? 0) + number(account.open_amount))
  return figures
}

async function accountPlaces(
  { company, user, parties }: FiguresCompany,
  start: Figures,
  side: keyof typeof SIDES,
): Promise<FiguresPlace[]> {
  const of = SIDES[side]
  const marked = async (path: string) => figuresIn((await user.get(`/painel${path}`)).html)
  const summed = (await company.get('/finance/summary?from=2025-01-01&to=2027-12-31')).body.data[side]
  const listedAs = async (status: string) =>
    (await company.get(`/finance/${side}?status=${status}&limit=200`)).body.data
  const [accounts, late] = [await listedAs('pending'), await listedAs('overdue')]
  const listed = await marked(of.path)
  const overdue = await marked(`${of.path}?view=overdue`)
  const debtors = await marked(`${of.path}/em-aberto`)
  const pages: Figures = {}
  for (const id of parties[side]) Object.assign(pages, await marked(`${of.parties}/${id}`))
  const people = await marked(of.parties)
  const filed = fileRows((await user.get(`/painel${of.path}.csv`)).html)
  const place = (name: string, open: number | undefined, late: number | undefined): FiguresPlace => ({
    name: `${of.all}: ${name}`,
    shows: [`${of.all}.`],
    figures: {
      ...(open !== undefined && { [`${of.all}.em-aberto`]: open }),
      ...(late !== undefined && { [`${of.all}.vencido`]: late }),
    },
  })
  const isParty = new RegExp(`^${of.party}/`)
  const ofParties = (name: string) => new RegExp(`^${of.party}/.*\\.${name}$`)
  const inFile = (rows: readonly Readonly<Record<string, string>>[]): number =>
    rounded(rows.reduce((sum, row) => sum + number(row['Em aberto'] ?? '0'), 0))
  const only = (figures: Figures): Figures =>
    Object.fromEntries(Object.entries(figures).filter(([name]) => isParty.test(name)))
  return [
    {
      name: `${of.all}: GET /finance/summary`,
      shows: [],
      figures: {
        [`${of.all}.em-aberto`]: number(summed.pending.amount),
        [`${of.all}.vencido`]: number(summed.overdue.amount),
      },
    },
    place('início', start[`${of.all}.em-aberto`], start[`${of.all}.vencido`]),
    place('lista', listed['lista.em-aberto'], overdue['lista.em-aberto']),
    place('arquivo', inFile(filed), inFile(filed.filter(({ Situação }) => Situação === 'Vencida'))),
    place('por cadastro', debtors[`${of.all}.em-aberto`], debtors[`${of.all}.vencido`]),
    place('por cadastro, somado', rounded(sumOf(debtors, ofParties('em-aberto'))), debtors[`${of.all}.vencido`]),
    {
      name: `contas em aberto da API: ${side}`,
      shows: [`${of.all}.`, `${of.party}/`],
      figures: fromAccounts(accounts, of),
    },
    {
      name: `vencidas da API: ${side}`,
      shows: [],
      figures: { [`${of.all}.vencido`]: fromAccounts(late, of)[`${of.all}.em-aberto`] ?? 0 },
    },
    { name: `por cadastro: ${side}`, shows: [], figures: only(debtors) },
    { name: `páginas dos cadastros: ${side}`, shows: [], figures: only(pages) },
    { name: `lista de cadastros: ${side}`, shows: [], figures: only(people) },
    {
      name: `soma dos cadastros: ${side}`,
      shows: [],
      figures: { [`lista.${side}`]: people['lista.em-aberto'] ?? 0 },
    },
    {
      name: `lista de cadastros, somada: ${side}`,
      shows: [],
      figures: { [`lista.${side}`]: rounded(sumOf(people, ofParties('em-aberto'))) },
    },
  ]
}

/** What the start page says at opening, where it says it. */
async function morningPlaces({ company, user }: FiguresCompany, start: Figures): Promise<FiguresPlace[]> {
  const said = Object.entries(start).filter(([name]) => /\.quebra$|^operadoras\/hoje\./.test(name))
  const sessions = (await company.get('/cash-sessions?limit=200')).body.data as Json[]
  const lacking = sessions.map(({ id, difference }) => [`gaveta/${id}.quebra`, Math.abs(number(difference ?? '0'))])
  const due = figuresIn((await user.get('/painel/contas-a-receber/operadoras')).html)
  const today = 'operadoras/hoje.a-receber'
  return [
    { name: 'bom dia', shows: [], figures: Object.fromEntries(said) },
    { name: 'bom dia: GET /cash-sessions', shows: [], figures: Object.fromEntries(lacking) },
    { name: 'bom dia: a receber das operadoras', shows: [], figures: { [today]: due[today] ?? 0 } },
  ]
}

const inCents = (amount: string | number): number => Math.round(Number(amount) * 100)

/** Sums of the accounts of a side in a month, as their records have them. */
function monthOfAccounts(accounts: readonly Json[], month: string, [paid, due]: readonly [string, string]): Figures {
  const sums = { [paid]: 0, [due]: 0 }
  for (const { status, due_date, open_amount, payments } of accounts) {
    if (status === 'pending' && due_date.startsWith(month)) sums[due] = (sums[due] ?? 0) + inCents(open_amount)
    for (const { kind, paid_at, received, reversed_at } of payments) {
      if (kind !== 'payment') continue
      if (paid_at.startsWith(month)) sums[paid] = (sums[paid] ?? 0) + inCents(received)
      if (reversed_at?.startsWith(month)) sums[paid] = (sums[paid] ?? 0) - inCents(received)
    }
  }
  return Object.fromEntries(Object.entries(sums).map(([name, cents]) => [`mes.${name}`, cents / 100]))
}

/** The month for the accountant: its page, the sum of its days, the API and the accounts. */
async function monthPlaces({ company, user, today }: FiguresCompany): Promise<FiguresPlace[]> {
  const month = today().slice(0, 7)
  const page = figuresIn((await user.get(`/painel/fechamento-do-mes/${month}`)).html)
  const { sales, receivables, payables } = (
    await company.get(`/finance/summary?from=${month}-01&to=${addDays(`${month}-01`, 30)}`)
  ).body.data
  const listed = async (side: string) => (await company.get(`/finance/${side}?limit=200`)).body.data as Json[]
  const [received, paid] = [
    ['contas-recebidas', 'a-receber-do-mes'],
    ['contas-pagas', 'a-pagar-do-mes'],
  ] as const
  const names = [...received, ...paid]
  return [
    {
      name: 'fechamento do mês',
      shows: [],
      figures: {
        ...Object.fromEntries(names.map((name) => [`mes.${name}`, page[`mes/${month}.${name}`] ?? 0])),
        'mes.liquido': page['total.liquido'] ?? 0,
      },
    },
    {
      name: 'fechamento do mês: soma dos dias',
      shows: [],
      figures: { 'mes.liquido': rounded(sumOf(page, /^dia\/.*\.liquido$/)) },
    },
    {
      name: 'mês: GET /finance/summary',
      shows: [],
      figures: {
        'mes.liquido': number(sales.net),
        'mes.contas-recebidas': number(receivables.settled.amount),
        'mes.contas-pagas': number(payables.settled.amount),
        'mes.a-receber-do-mes': number(receivables.pending.amount),
        'mes.a-pagar-do-mes': number(payables.pending.amount),
      },
    },
    {
      name: 'mês: contas da API',
      shows: [],
      figures: {
        ...monthOfAccounts(await listed('receivables'), month, received),
        ...monthOfAccounts(await listed('payables'), month, paid),
      },
    },
  ]
}

/** All fees of all days, as the start page keeps them and as the acquirers do: all types of the shop have days. */
async function acquirerPlaces({ user, today }: FiguresCompany, start: Figures): Promise<FiguresPlace[]> {
  const marked = async (path: string) => figuresIn((await user.get(`/painel${path}`)).html)
  const days = `de=${addDays(FIRST_DAY, -REACH)}&ate=${addDays(today(), 1)}`
  const taken = await marked(`?periodo=intervalo&${days}`)
  const paid = await marked(`/contas-a-receber/operadoras?de=${addDays(FIRST_DAY, -REACH)}&ate=${addDays(today(), 99)}`)
  const coming = await marked('/contas-a-receber/operadoras')
  const place = (name: string, fees: number | undefined, net: number | undefined): FiguresPlace => ({
    name,
    shows: ['operadoras.'],
    figures: {
      ...(fees !== undefined && { 'operadoras.taxas': fees }),
      ...(net !== undefined && { 'operadoras.a-receber': net }),
    },
  })
  return [
    place('início: todos os dias', taken['total.taxas'], start['operadoras.a-receber']),
    place('a receber das operadoras', paid['operadoras.taxas'], coming['operadoras.a-receber']),
  ]
}
