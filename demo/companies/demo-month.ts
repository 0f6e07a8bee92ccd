import { randomBytes } from 'node:crypto'
import { hashPassword } from '#access/passwords.ts'
import {
  CashMovementInput,
  type CashMovementUpload,
  closeCashSession,
  recordCashMovement,
} from '#commands/cash-commands.ts'
import { updateItem } from '#commands/item-commands.ts'
import type { OfflineSale } from '#commands/offline-sale-input.ts'
import { type OrderInput, placeOrder } from '#commands/order-commands.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { replacePayable } from '#commands/receivables-payables.ts'
import { type OfflineReturn, OfflineReturnInput, recordOfflineReturn } from '#commands/record-offline-return.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { createUser } from '#commands/user-commands.ts'
import { addDays, addMilliseconds, dateInZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { type Command, type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { asUser, runAsSystem, runList } from '#ledger/write/run.ts'
import { groupBy } from '#lib/collections.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { Core } from '#service/core.ts'
import { type DemoCompany, type DemoRecords, monthOfSales } from './demo-companies.ts'

const MINUTE_MS = 60_000
const FLOAT = 150
/** Brought away at the end of a shift with more cash than this. */
const MOST_CENTS = 30_000
const TAKEN = 200

/** Miscounts of some sessions, in reais, by their day. */
const MISCOUNTS: Readonly<Record<string, number>> = { '04': -2, '11': 0.5, '19': -5, '28': -12.5 }

/**
 * Movements of the sessions of a month's sales and returns, in the order of the till's clock. A session that ends after `now` (UTC)
 * is still open.
 */
function cashOfMonth(
  sales: readonly OfflineSale[],
  returns: readonly OfflineReturn[],
  cash: number,
  now: string,
): CashMovementUpload[] {
  const sessions = [...groupBy(sales, ({ cash_session_id }) => cash_session_id ?? '')]
  return sessions.flatMap(([session_id, ofSession]) => {
    const times = ofSession.map(({ created_at }) => created_at).sort()
    const [first, last] = [times[0] as string, times.at(-1) as string]
    const sums = sumsOf(
      ofSession,
      returns.filter((each) => each.cash_session_id === session_id),
    )
    const cents = sums.get(cash) ?? 0
    const taken = cents > MOST_CENTS ? TAKEN : 0
    const inDrawer = FLOAT + cents / 100 - taken + (MISCOUNTS[session_id.slice(-2)] ?? 0)
    const others = [...sums].filter(([type]) => type !== cash).map(([type, sum]) => [type, sum / 100] as const)
    const counted = { cash: Math.round(inDrawer * 100) / 100, ...Object.fromEntries(others) }
    const movement = (kind: string, at: string, fields: object) => ({
      ...{ offline_id: `${session_id}-${kind}`, session_id, kind, at, amount: null },
      ...fields,
    })
    const at = (instant: string, minutes: number) => addMilliseconds(instant, minutes * MINUTE_MS)
    const movements = [
      movement('opened', at(first, -10), { amount: FLOAT }),
      ...(taken > 0 ? [movement('out', at(last, 5), { amount: taken, reason: 'Sangria' })] : []),
      movement('closed', at(last, 15), { counted }),
    ]
    return movements.filter((each) => each.at <= now).map((each) => CashMovementInput.parse(each))
  })
}

/** Cents by payment type less returns, without change and cancelled sales. */
function sumsOf(sales: readonly OfflineSale[], returns: readonly OfflineReturn[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { status, total, payments } of sales) {
    const type = payments[0]?.payment_type_id
    if (status === 'completed' && type !== undefined) sums.set(type, (sums.get(type) ?? 0) + toCents(total))
  }
  for (const { payment_type_id: type, amount } of returns.flatMap(({ refunds }) => refunds))
    sums.set(type, (sums.get(type) ?? 0) - toCents(amount))
  return sums
}

/** Place in its shift of a sale that comes back in part, on one day of so many. */
const [PLACE, ONE_DAY_OF] = [3, 4]
/** Soon enough for the session of the sale. */
const AFTER_MS = 5 * 60_000

const REASONS = ['Embalagem aberta', 'Produto vencido', 'Levou por engano'] as const

/** Returns of a month's sales until `now` (UTC): the first line of some, given back as it was paid. */
function returnsOfMonth(sales: readonly OfflineSale[], onAccount: number, now: string): OfflineReturn[] {
  return sales.flatMap(({ offline_id, status, created_at, cash_session_id, items: [item], payments: [payment] }) => {
    const returned_at = addMilliseconds(created_at, AFTER_MS)
    const [day, place] = offline_id.split('-').slice(-2).map(Number) as [number, number]
    if (place !== PLACE || day % ONE_DAY_OF !== 0 || status === 'cancelled' || !item || !payment || returned_at > now)
      return []
    if (payment.payment_type_id === onAccount) return []
    return OfflineReturnInput.parse({
      ...{ offline_id: `${offline_id}-volta`, sale_offline_id: offline_id, returned_at, cash_session_id },
      reason: REASONS[(day / ONE_DAY_OF) % REASONS.length],
      items: [{ line: 0, quantity: Number(item.quantity) }],
      refunds: [{ payment_type_id: payment.payment_type_id, amount: Number(item.total) }],
    })
  })
}

const CLERKS = [
  { name: 'Bruno Lacerda', email: 'bruno@mercearia-boa-vista.example' },
  { name: 'Carla Dias', email: 'carla@mercearia-boa-vista.example' },
] as const

/** Stock before a month's sales: more than it sells of any item. */
const DELIVERED = '5000'
/** Low stock after them, by external id. */
const SHORT: Readonly<Record<string, string>> = { 'feijao-1kg': '3', 'sabao-1kg': '0' }

/** A company that lives: one that was emptied, or lost its payment types, gets nothing more. */
const isOpen = ({ items, customers, types }: DemoRecords): boolean =>
  items.length > 0 && customers.length > 0 && Object.values(types).every((id) => id !== undefined)

/**
 * Lets a demonstration company have sold until now: a month of sales of two tills, clerks, accounts and orders at the
 * first start, and what its tills sold since at later ones. Each part is created only if missing.
 */
export async function fillMonth(core: Core, companyId: number, { demo, store, now }: MonthOfCompany): Promise<void> {
  const state = await stateOf(core, companyId)
  const records = await recordsOf(core, companyId)
  if (!state || !isOpen(records)) return
  const known = new Set(state.known)
  const isNew = (at: string, { offline_id }: { readonly offline_id: string }) =>
    !known.has(offline_id) && (state.sold_until === null || at > state.sold_until)
  const isNewSale = (sale: OfflineSale) => isNew(sale.created_at, sale)
  const clerks = await ensureClerks(core, companyId)
  const today = dateInZone(now, state.timezone)
  const shifts = monthOfSales(records, now, state.timezone)
  // Goods come in before further days.
  const isDelivered = state.last_day !== today && shifts.flat().some(isNewSale)
  if (isDelivered) await count(core, companyId, records, demo, () => DELIVERED)
  for (const [place, sales] of shifts.entries()) {
    const clerk = clerks[place] as number
    const returns = returnsOfMonth(sales, records.types.account, now)
    const movements = cashOfMonth(sales, returns, records.types.cash, now)
    const fresh = returnsOfMonth(
      // Other items or prices make other sales: none comes back that is not recorded as it is here.
      sales.filter(({ created_at }) => state.sold_until === null || created_at > state.sold_until),
      records.types.account,
      now,
    )
    await record(core, companyId, clerk, [
      sales
        .filter(isNewSale)
        .map((sale) => invoke(recordOfflineSale, { ...sale, sellerId: clerk, isHistory: true as const })),
      fresh
        .filter((each) => isNew(each.returned_at, each))
        .map((each) => invoke(recordOfflineReturn, { ...each, userId: clerk, isHistory: true as const })),
      ...requestsOf(movements.filter((each) => isNew(each.at, each))),
    ])
  }
  if (isDelivered) await count(core, companyId, records, demo, ({ external_id, stock }) => SHORT[external_id] ?? stock)
  await core.pool.query('update ops.demo_companies set sold_until = $2 where company_id = $1', [companyId, now])
  if (state.has_orders) return
  await oweSuppliers(core, companyId, today)
  if (store !== null) await takeOrders(core, companyId, store)
}

interface MonthOfCompany {
  readonly demo: DemoCompany
  /** Alias of its online store, if it has one. */
  readonly store: string | null
  /** Instant, in UTC. */
  readonly now: string
}

interface DemoState {
  readonly timezone: string
  /** Day of the latest sale of its tills; null before the first. */
  readonly last_day: string | null
  /** Identifiers of what its tills have uploaded. */
  readonly known: readonly string[]
  readonly has_orders: boolean
  /** Until when all of it was recorded (UTC); null before the first month. */
  readonly sold_until: string | null
}

/** Undefined if the company does not exist. */
async function stateOf({ pool }: Core, companyId: number): Promise<DemoState | undefined> {
  const { rows } = await pool.query<DemoState>(
    `select c.timezone,
       (select to_char(max(s.sold_at) at time zone c.timezone, 'YYYY-MM-DD') from offline_sales o
        join sales s on s.company_id = o.company_id and s.id = o.sale_id
        where o.company_id = $1 and o.offline_id like 'demo-%') as last_day,
       array(select offline_id from offline_sales where company_id = $1
             union all select offline_id from offline_returns where company_id = $1
             union all select offline_id from cash_movements where company_id = $1) as known,
       exists (select from orders where company_id = $1) as has_orders,
       (select to_char(d.sold_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from ops.demo_companies d
        where d.company_id = $1) as sold_until
     from companies c where c.company_id = $1`,
    [companyId],
  )
  return rows[0]
}

/** The rent, soon due, and a supplier's invoice that is overdue. */
async function oweSuppliers(core: Core, companyId: number, today: string): Promise<void> {
  await accepted(core, companyId, replacePayable, {
    external_id: 'demo-aluguel',
    description: 'Aluguel da loja',
    amount: '2400.00',
    due_date: addDays(today, 5),
  })
  await accepted(core, companyId, replacePayable, {
    external_id: 'demo-distribuidora',
    description: 'Distribuidora Serra Azul, nota 4.512',
    amount: '786.40',
    due_date: addDays(today, -3),
  })
}

/** A paid order, whose items left the stock, and one that waits for its payment. */
async function takeOrders(core: Core, companyId: number, store_alias: string): Promise<void> {
  const paid = await runAsSystem<OrderObject, OrderInput>(core.writer, companyId, placeOrder, {
    store_alias,
    customer: { name: 'Renato Farias', email: 'renato@correio.example', document: '34567891228' },
    items: [
      { catalog_item_external_id: 'acucar-1kg', quantity: '2' },
      { catalog_item_external_id: 'leite-1l', quantity: '6' },
      { catalog_item_external_id: 'pao-de-queijo', quantity: '10' },
    ],
    delivery_fee: '7.00',
  })
  if (isRefusal(paid)) throw new Error(`demo: order refused: ${JSON.stringify(paid)}`)
  await accepted(core, companyId, recordPayment, {
    id: paid.id,
    attempt_id: null,
    provider_payment_id: 'demo-1',
    provider_status: 'approved',
    status_detail: 'accredited',
    live_mode: false,
  })
  await accepted(core, companyId, placeOrder, {
    store_alias,
    customer: { name: 'Paula Menezes', email: 'paula@correio.example', document: '52998224725' },
    items: [{ description: 'Cesta de café da manhã', quantity: '1', unit_price: '46.30' }],
  })
}

async function accepted<I>({ writer }: Core, companyId: number, command: Command<I>, input: I): Promise<void> {
  const answer = await runAsSystem<object>(writer, companyId, command, input)
  if (isRefusal(answer)) throw new Error(`demo: data refused: ${JSON.stringify(answer)}`)
}

/** Sets the stock of the items that are counted. */
async function count(
  core: Core,
  companyId: number,
  { items }: DemoRecords,
  demo: DemoCompany,
  stockOf: (item: DemoCompany['items'][number]) => string | null | undefined,
): Promise<void> {
  const ids = new Map(items.map(({ id, external_id }) => [external_id, id]))
  await Promise.all(
    demo.items.map(async (item) => {
      const [id, stock] = [ids.get(item.external_id), item.stock == null ? null : stockOf(item)]
      if (id !== undefined && stock != null) await accepted(core, companyId, updateItem, { id, changes: { stock } })
    }),
  )
}

/** Their passwords are random and discarded; the owner can set new ones. */
async function ensureClerks(core: Core, companyId: number): Promise<number[]> {
  const known = async () => {
    const { rows } = await core.pool.query<{ id: number; email: string }>(
      'select id, email from users where company_id = $1 and email = any($2) order by email',
      [companyId, CLERKS.map(({ email }) => email)],
    )
    return rows
  }
  const emails = new Set((await known()).map(({ email }) => email))
  const missing = CLERKS.filter(({ email }) => !emails.has(email))
  if (missing.length > 0) {
    const password_hash = await hashPassword(randomBytes(32).toString('base64url'))
    for (const clerk of missing) await accepted(core, companyId, createUser, { ...clerk, role: 'clerk', password_hash })
  }
  return (await known()).map(({ id }) => id)
}

async function recordsOf({ pool }: Core, companyId: number): Promise<DemoRecords> {
  const [items, customers, types] = await Promise.all([
    pool.query<DemoRecords['items'][number]>(
      `select id, external_id, doc ->> 'price' as price, doc ->> 'unit' as unit from catalog_items
       where company_id = $1 and type = 'product' and deleted_at is null order by id`,
      [companyId],
    ),
    pool.query<{ id: number }>('select id from customers where company_id = $1 and deleted_at is null order by id', [
      companyId,
    ]),
    pool.query<{ id: number; kind: string }>(
      `select id, doc ->> 'kind' as kind from payment_types where company_id = $1 order by id`,
      [companyId],
    ),
  ])
  const [debit, credit] = types.rows.filter(({ kind }) => kind === 'card').map(({ id }) => id)
  const ofKind = (wanted: string) => types.rows.find(({ kind }) => kind === wanted)?.id as number
  return {
    items: items.rows,
    customers: customers.rows.map(({ id }) => id),
    types: {
      cash: ofKind('cash'),
      debit: debit as number,
      credit: credit as number,
      pix: ofKind('pix'),
      account: ofKind('credit_account'),
    },
  }
}

/** A closing is a request by itself. */
function requestsOf(movements: readonly CashMovementUpload[]): Invocation[][] {
  const [closings, others] = [true, false].map((isClosing) =>
    movements.filter(({ kind }) => (kind === 'closed') === isClosing),
  ) as [CashMovementUpload[], CashMovementUpload[]]
  return [
    others.map((movement) => invoke(recordCashMovement, { ...movement, isHistory: true as const })),
    ...closings.map((closing) => [invoke(closeCashSession, { ...closing, isHistory: true as const })]),
  ]
}

/** Uploads of a clerk. All sales are one transaction: a crash leaves all or none. */
async function record(
  { writer }: Core,
  companyId: number,
  userId: number,
  requests: readonly (readonly Invocation[])[],
): Promise<void> {
  const acting = { ...asUser({ companyId, userId }, 'pdv', ''), requestId: null }
  for (const invocations of requests) {
    if (invocations.length === 0) continue
    const results = await runList(writer, acting, invocations)
    const refused = isRefusal(results) ? results : results.find(isRefusal)
    if (refused) throw new Error(`demo: upload refused: ${JSON.stringify(refused)}`)
  }
}
