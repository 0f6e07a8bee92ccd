import { createStore } from '#commands/store-commands.ts'
import { addDays, startOfDay } from '#domain/instant.ts'
import { fromCents, fromThousandths, lineTotal, toCents, toThousandths } from '#domain/money.ts'
import type { Json, TestApi, TestCompany } from '../support/api.ts'
import type { DatabaseClock } from '../support/database-clock.ts'
import { type PanelUser, panelUser } from '../support/panel.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import type { Act, ActLine, ActWay } from './acts.ts'

export const ZONE = 'America/Sao_Paulo'
export const FIRST_DAY = '2026-03-10'
const MINUTE_MS = 60_000
/** Opening time of the shop. */
const OPENS_MS = 8 * 60 * MINUTE_MS

/** Price of a good that is in no catalog, in cents. */
const AD_HOC_CENTS = 777

type Side = Extract<Act, { do: 'account' }>['side']

interface Item {
  readonly id: number
  readonly name: string
  readonly cents: number
}

interface Sold {
  readonly id: number
  readonly isOfTill: boolean
}

export interface Refused {
  readonly offlineId: string
  readonly cents: number
  isOpen: boolean
}

/** A company with its days so far. */
export interface FiguresCompany {
  readonly api: TestApi
  readonly company: TestCompany
  readonly user: PanelUser
  readonly items: readonly Item[]
  readonly types: Readonly<Record<'cash' | 'pix' | 'card' | 'account', number>>
  readonly tills: readonly TestTill[]
  readonly refused: readonly Refused[]
  /** Names of the tills that took goods back, by return. */
  readonly returnTills: ReadonlyMap<number, string>
  /** Orders by id. */
  readonly orders: readonly number[]
  /** Customers and suppliers, deleted ones too. */
  readonly parties: Readonly<Record<Side, readonly number[]>>
  /** Present day of the company. */
  today(): string
  /** The day begins; sessions of the day before have ended. */
  begin(day: number): Promise<void>
  /** Whether the service accepted it. */
  perform(act: Act): Promise<boolean>
}

let stores = 0

/** Opens a shop at the beginning of its first day. The clock is the shop's alone. */
export async function openFiguresCompany(api: TestApi, clock: DatabaseClock): Promise<FiguresCompany> {
  let day = FIRST_DAY
  let minutes = 0
  const now = (): string => new Date(Date.parse(startOfDay(day, ZONE)) + OPENS_MS + minutes * MINUTE_MS).toISOString()
  await clock.moveTo(now())
  const company = await api.company()
  const create = async (name: string, cents: number, unit: string): Promise<Item> => {
    const item = { name, price: fromCents(cents), cost: '1.00', unit, stock: '5000' }
    return { id: (await company.post('/catalog/items', item)).body.data.id, name, cents }
  }
  const items = [
    await create('Café', 1_890, 'UN'),
    await create('Queijo', 4_999, 'KG'),
    await create('Pão', 85, 'UN'),
    await create('Leite', 549, 'UN'),
  ]
  const types = {
    cash: await company.paymentType('cash'),
    pix: await company.paymentType('pix'),
    card: await company.paymentType('card', '3.55'),
    account: await company.paymentType('credit_account'),
  }
  const patch = (path: string, changes: object) => company.call('PATCH', path, changes)
  await patch(`/sales/payment-types/${types.card}`, { acquirer_rate: '3.15', settles_in_days: 30 })
  await patch(`/sales/payment-types/${types.pix}`, {
    ...{ acquirer_rate: '0.99', acquirer_fee_refunded: true, settles_in_days: 1 },
  })
  // Accounts are received by it.
  const debit = { name: 'Débito', kind: 'card', acquirer_rate: '1.37', settles_in_days: 1 }
  await company.post('/sales/payment-types', debit)
  const createParty = async (path: string, name: string): Promise<number> =>
    (await company.post(path, { name })).body.data.id
  const parties = {
    receivables: [await createParty('/customers', 'Bia'), await createParty('/customers', 'Caio')],
    payables: [await createParty('/suppliers', 'Moinho'), await createParty('/suppliers', 'Usina')],
  }
  const user = await panelUser(api, company)
  // Their users see all sales: a return of another's is no return, but a refused one.
  const openAny = async () => openTill(api.url, company, await createTestUser(company, 'owner'))
  const tills = [await openAny(), await openAny()]
  const alias = `figuras-${++stores}`
  await company.run(createStore, { alias, commission_percentage: '5', sandbox: true, access_token: 'TEST-token' })
  const sales: Sold[] = []
  const refused: Refused[] = []
  const returnTills = new Map<number, string>()
  const orders: number[] = []
  let keys = 0

  let session: string | null = null

  /** Page of the drawer that is open in the panel. */
  let page: string | null = null

  async function panelDrawer({ step, cents }: Extract<Act, { do: 'panel-drawer' }>): Promise<boolean> {
    if ((page === null) !== (step === 'opened')) return false
    const amount = fromCents(cents).replace('.', ',')
    const form = { opened: 'abrir', in: 'suprimento', out: 'sangria', closed: 'fechar' }[step]
    const path = `${page ?? '/painel/caixas/sessoes'}/${form}`
    const reply = await user.submit(path, step === 'closed' ? { other: amount } : { amount })
    if (reply.status !== 303) throw new Error(`drawer: ${form} answered ${reply.status}`)
    page = step === 'closed' ? null : String(reply.to).replace(/\?.*/, '')
    return true
  }

  async function drawer({ step, cents }: Extract<Act, { do: 'drawer' }>): Promise<boolean> {
    if ((session === null) !== (step === 'opened')) return false
    session ??= `gaveta-${++keys}`
    const moved = step === 'closed' ? { counted: { cash: cents / 100 } } : { amount: cents / 100 }
    const movement = { offline_id: `movimento-${++keys}`, session_id: session, kind: step, at: now(), ...moved }
    const { body } = await (tills[1] as TestTill).post('/sync/cash', { movements: [movement] })
    if (step === 'closed') session = null
    return body.results[0].status === 'created'
  }

  const soldAt = (daysAgo: number): string => new Date(Date.parse(now()) - daysAgo * 24 * 60 * MINUTE_MS).toISOString()
  const among = <T>(all: readonly T[], place: number): T | undefined => all[place % Math.max(all.length, 1)]
  const ofLine = ({ item, quantity }: ActLine) => {
    const known = item === null ? undefined : items[item]
    const cents = known?.cents ?? AD_HOC_CENTS
    return { known, cents, quantity: fromThousandths(quantity), total: lineTotal(quantity, cents) }
  }
  const apiLines = (lines: readonly ActLine[]) =>
    lines.map(ofLine).map(({ known, cents, quantity }) => ({
      ...(known ? { catalog_item_id: known.id } : { description: 'Bolo', unit_price: fromCents(cents) }),
      quantity,
    }))
  const paidBy = (way: ActWay, cents: number): [number, number][] => {
    if (way !== 'mixed') return [[types[way], cents]]
    const cash = Math.ceil(cents / 2)
    return cents > cash
      ? [
          [types.card, cents - cash],
          [types.cash, cash],
        ]
      : [[types.cash, cents]]
  }
  const tendered = (way: ActWay, cents: number, change: number): [number, number][] =>
    paidBy(way, cents).map(([type, amount]) => [type, type === types.cash ? amount + change : amount])
  const note = (reply: { status: number; body: Json }, isOfTill: boolean): boolean => {
    if (reply.status !== 201) return false
    sales.push({ id: reply.body.data.id, isOfTill })
    return true
  }

  async function sell({ lines, way, change, fee, daysAgo }: Extract<Act, { do: 'sell' }>): Promise<boolean> {
    const total = lines.map(ofLine).reduce((sum, one) => sum + one.total, fee)
    const payments = tendered(way, total, change).map(([payment_type_id, cents]) => ({
      payment_type_id,
      amount: fromCents(cents),
    }))
    const body = { items: apiLines(lines), payments, delivery_fee: fromCents(fee), sold_at: soldAt(daysAgo) }
    return note(await company.post('/sales', body), false)
  }

  async function upload(act: Extract<Act, { do: 'upload' }>): Promise<boolean> {
    const known = act.lines.map(ofLine).filter((line) => line.known)
    if (known.length === 0) return false
    const sent = known.map(({ known, cents, quantity, total }) => ({
      product_id: known?.id,
      quantity: Number(quantity),
      price: cents / 100,
      total: Math.max(total - act.lineDiscount, 0) / 100,
    }))
    const sum = sent.reduce((cents, { total }) => cents + Math.round(total * 100), 0)
    const total = Math.max(sum - act.discount, 0)
    const hasCash = act.way === 'cash' || act.way === 'mixed'
    const change = hasCash ? act.change : 0
    const payments = tendered(act.way, total, act.isWithChange ? change : 0).map(([payment_type_id, cents]) => ({
      payment_type_id,
      amount: cents / 100,
      status: payment_type_id === types.account ? 'pending' : 'completed',
    }))
    return send(act.till, {
      offline_id: `venda-${++keys}`,
      status: act.isCancelled ? 'cancelled' : 'completed',
      created_at: soldAt(act.daysAgo),
      items: sent,
      payments,
      total: total / 100,
      ...(act.till === 1 && session !== null && { cash_session_id: session }),
      ...(hasCash && {
        amount_received: (cashOf(payments) + (act.isWithChange ? 0 : change)) / 100,
        change: change / 100,
      }),
    })
  }

  const cashOf = (payments: readonly { payment_type_id: number; amount: number }[]): number =>
    payments
      .filter(({ payment_type_id }) => payment_type_id === types.cash)
      .reduce((sum, { amount }) => sum + Math.round(amount * 100), 0)

  async function send(till: number, sale: object): Promise<boolean> {
    const reply = await (among(tills, till) as TestTill).post('/sync/sales', { sales: [sale] })
    const [result] = reply.body.results
    if (result.status !== 'created') return false
    sales.push({ id: result.sale_id, isOfTill: true })
    return true
  }

  async function refuse({ till, cents, daysAgo }: Extract<Act, { do: 'refuse' }>): Promise<boolean> {
    const offlineId = `recusada-${++keys}`
    const price = (items[0] as Item).cents / 100
    await send(till, {
      offline_id: offlineId,
      status: 'completed',
      created_at: soldAt(daysAgo),
      items: [{ product_id: items[0]?.id, quantity: 1, price, total: price }],
      payments: [{ payment_type_id: types.cash, amount: price, status: 'completed' }],
      total: (cents + 100_000) / 100,
    })
    refused.push({ offlineId, cents: cents + 100_000, isOpen: true })
    return true
  }

  /** Records it as it is, or marks it as resolved. */
  async function settle(place: number, how: 'registrar' | 'resolver'): Promise<boolean> {
    const one = among(
      refused.filter(({ isOpen }) => isOpen),
      place,
    )
    if (!one) return false
    const { rows } = await company.core.pool.query(
      'select id from refused_sales where company_id = $1 and offline_id = $2',
      [company.id, one.offlineId],
    )
    const page = `/painel/caixas/recusadas/${rows[0].id}`
    const form = how === 'registrar' ? [`${page}/registrar`, { reason: 'foi assim' }] : [page, { note: 'engano' }]
    const reply = await user.submit(form[0] as string, form[1] as Record<string, string>, `${page}/${how}`)
    if (reply.status !== 303) throw new Error(`refused sale: ${how} answered ${reply.status}`)
    one.isOpen = false
    const found = await company.core.pool.query(
      'select sale_id from offline_sales where company_id = $1 and offline_id = $2',
      [company.id, one.offlineId],
    )
    if (found.rows[0]) sales.push({ id: found.rows[0].sale_id, isOfTill: true })
    return true
  }

  async function cancel(place: number): Promise<boolean> {
    const sale = among(sales, place)
    if (!sale) return false
    if (!sale.isOfTill) return (await company.post(`/sales/${sale.id}/cancel`, {})).status === 200
    const path = `/painel/vendas/${sale.id}/cancelar`
    if (!(await user.get(path)).html.includes(`action="${path}"`)) return false
    return (await user.submit(path, { reason: 'engano' })).status === 303
  }

  /** What is due for goods is asked from the service: it refuses a return without refunds. */
  async function takeBack(act: Extract<Act, { do: 'return' }>): Promise<boolean> {
    const sold = among(sales, act.sale)
    if (!sold) return false
    const sale: Json = (await company.get(`/sales/${sold.id}`)).body.data
    const line = act.line % sale.items.length
    const left = toThousandths(sale.items[line].quantity) - toThousandths(sale.items[line].returned)
    if (left < 2) return false
    const thousandths = act.isHalf ? Math.floor(left / 2) : left
    const restock = act.restocks
    const items = [{ line, quantity: fromThousandths(thousandths), restock }]
    const post = (refunds: object[]) =>
      company.post(
        `/sales/${sale.id}/returns`,
        { reason: 'troca', items, refunds },
        { 'idempotency-key': `volta-${++keys}` },
      )
    const asked = await post([])
    if (asked.status !== 422) return asked.status === 201
    const { due, on_credit = '0.00' } = asked.body.error.details
    const rest = toCents(due) - toCents(on_credit)
    const way = sale.payments[0]?.payment_type_id
    const refunds = [
      { payment_type_id: types.account, amount: on_credit },
      {
        payment_type_id: act.inCash || way === undefined || way === types.account ? types.cash : way,
        amount: fromCents(rest),
      },
    ].filter(({ amount }) => amount !== '0.00')
    const till = act.till === null ? undefined : among(tills, act.till)
    if (!till) {
      const reply = await post(refunds)
      if (reply.status !== 201) throw new Error(`return: ${reply.text}`)
      return true
    }
    const sent = {
      ...{ offline_id: `volta-${++keys}`, sale_id: sale.id, reason: 'troca', returned_at: now() },
      items: [{ line, quantity: thousandths / 1_000, restock }],
      refunds: refunds.map(({ payment_type_id, amount }) => ({ payment_type_id, amount: Number(amount) })),
    }
    const [result] = (await till.post('/sync/returns', { returns: [sent] })).body.results
    if (result.status !== 'created') throw new Error(`return: ${JSON.stringify(result)}`)
    returnTills.set(result.return_id, till.user.name)
    return true
  }

  async function order({ lines, isPaid }: Extract<Act, { do: 'order' }>): Promise<boolean> {
    const customer = { name: 'Ana', email: 'ana@example.com' }
    const placed = await company.post('/orders', { store_alias: alias, customer, items: apiLines(lines) })
    if (placed.status !== 201) return false
    const { id } = placed.body.data
    orders.push(id)
    return !isPaid || payOrder(id)
  }

  async function payOrder(id: number): Promise<boolean> {
    const body = { method: 'card', brand: 'visa', token: 'card-token-1', payer: { email: 'ana@example.com' } }
    const paid = await company.post(`/orders/${id}/payments`, body, { 'idempotency-key': `pagamento-${++keys}` })
    if (paid.status !== 201) throw new Error(`payment: ${paid.text}`)
    return true
  }

  async function refund({ order, cents, restocks }: Extract<Act, { do: 'refund' }>): Promise<boolean> {
    const id = among(orders, order)
    if (id === undefined) return false
    const shown = (await company.get(`/orders/${id}`)).body.data
    const goods = shown.items.filter((item: Json) => item.catalog_item_id !== null).slice(0, 1)
    const restock = goods.map(({ catalog_item_id, quantity }: Json) => ({ catalog_item_id, quantity }))
    const body = {
      ...(cents !== null && { amount: fromCents(cents) }),
      ...(restocks && restock.length > 0 && { restock }),
    }
    const headers = { 'idempotency-key': `estorno-${++keys}` }
    return (await company.post(`/orders/${id}/refunds`, body, headers)).status === 201
  }

  async function account({ side, party, cents, due }: Extract<Act, { do: 'account' }>): Promise<boolean> {
    const of = party === null ? {} : { [side === 'receivables' ? 'customer_id' : 'supplier_id']: parties[side][party] }
    const fields = { description: 'Conta', amount: fromCents(cents), due_date: addDays(day, due), ...of }
    return (await company.post(`/finance/${side}`, fields)).status === 201
  }

  const accountAt = async (side: Side, place: number): Promise<Json | undefined> =>
    among((await company.get(`/finance/${side}?limit=200`)).body.data as Json[], place)

  async function pay({ side, account, method, isHalf }: Extract<Act, { do: 'pay' }>): Promise<boolean> {
    const found = await accountAt(side, account)
    const open = found === undefined ? 0 : toCents(found.open_amount)
    const cents = isHalf ? Math.floor(open / 2) : open
    if (cents === 0) return false
    const body = { amount: fromCents(cents), payment_method: method, paid_at: now() }
    const headers = { 'idempotency-key': `pagamento-${++keys}` }
    // Accounts of sales are the till's.
    return (await company.post(`/finance/${side}/${found?.id}/payments`, body, headers)).status === 201
  }

  async function charge({ account, isPaid }: Extract<Act, { do: 'charge' }>): Promise<boolean> {
    const found = await accountAt('receivables', account)
    if (found?.status !== 'pending') return false
    const path = `/painel/contas-a-receber/${found.id}/cobrar`
    const { status, to } = await user.submit(path, found.customer_id === null ? { name: 'Ana' } : {})
    if (status !== 303) throw new Error(`charge answered ${status}`)
    const id = Number(/pedidos\/(\d+)/.exec(String(to))?.[1])
    orders.push(id)
    return !isPaid || payOrder(id)
  }

  async function unpay(place: number): Promise<boolean> {
    const found = await accountAt('receivables', place)
    const standing = found?.payments.find(({ kind, reversed_at }: Json) => kind === 'payment' && reversed_at === null)
    if (!found || !standing) return false
    const path = `/finance/receivables/${found.id}/payments/${standing.id}/reverse`
    return (await company.post(path, { reason: 'engano' }, { 'idempotency-key': `desfaz-${++keys}` })).status === 200
  }

  async function drop({ side, party }: Extract<Act, { do: 'delete' }>): Promise<boolean> {
    const path = side === 'receivables' ? '/customers' : '/suppliers'
    return (await company.call('DELETE', `${path}/${parties[side][party]}?force=true`)).status === 204
  }

  async function undo(place: number): Promise<boolean> {
    const returns = (await company.get('/returns?limit=200')).body.data as Json[]
    const standing = among(
      returns.filter(({ reversed_at }) => reversed_at === null),
      place,
    )
    return (
      standing !== undefined &&
      (await company.post(`/returns/${standing.id}/reverse`, { reason: 'engano' })).status === 200
    )
  }

  async function midnight(count: number): Promise<boolean> {
    const next = startOfDay(addDays(day, 1), ZONE)
    await clock.moveTo(new Date(Date.parse(next) - 30).toISOString())
    const cash = { payment_type_id: types.cash, amount: fromCents((items[2] as Item).cents) }
    const body = { items: [{ catalog_item_id: items[2]?.id, quantity: '1' }], payments: [cash] }
    const pages = user.get('/painel')
    const replies = await Promise.all(Array.from({ length: count }, () => company.post('/sales', body)))
    await pages
    for (const reply of replies) note(reply, false)
    day = addDays(day, 1)
    minutes = 0
    await clock.moveTo(now())
    await user.logIn()
    return true
  }

  async function act(what: Act): Promise<boolean> {
    switch (what.do) {
      case 'sell':
        return sell(what)
      case 'upload':
        return upload(what)
      case 'drawer':
        return drawer(what)
      case 'panel-drawer':
        return panelDrawer(what)
      case 'charge':
        return charge(what)
      case 'cancel':
        return cancel(what.sale)
      case 'return':
        return takeBack(what)
      case 'refuse':
        return refuse(what)
      case 'record':
        return settle(what.refused, 'registrar')
      case 'resolve':
        return settle(what.refused, 'resolver')
      case 'order':
        return order(what)
      case 'refund':
        return refund(what)
      case 'account':
        return account(what)
      case 'pay':
        return pay(what)
      case 'unpay':
        return unpay(what.account)
      case 'delete':
        return drop(what)
      case 'undo':
        return undo(what.back)
      case 'midnight':
        return midnight(what.sales)
    }
  }

  return {
    api,
    company,
    user,
    items,
    types,
    tills,
    refused,
    returnTills,
    orders,
    parties,
    today: () => day,
    async begin(number) {
      const first = addDays(FIRST_DAY, number)
      // A midnight may have begun it.
      if (first > day) [day, minutes] = [first, 0]
      await clock.moveTo(now())
      await user.logIn()
    },
    async perform(what) {
      minutes += 7
      await clock.moveTo(now())
      return act(what)
    },
  }
}

/** Cents of an amount as the API shows it. */
export const centsIn = (amount: string): number => toCents(amount)
