import { randomBytes } from 'node:crypto'
import { hashPassword } from '#access/passwords.ts'
import type { CashMovementUpload } from '#commands/cash/movement-input.ts'
import { closeCashSession, recordCashMovement } from '#commands/cash/record-movement.ts'
import { replaceItem } from '#commands/catalog/items.ts'
import { type OrderInput, placeOrder } from '#commands/orders/place-order.ts'
import { recordPayment } from '#commands/orders/record-payment.ts'
import { recordOfflineReturn } from '#commands/sales/record-offline-return.ts'
import { recordOfflineSale } from '#commands/sales/record-offline-sale.ts'
import { createUser } from '#commands/users.ts'
import { type Command, type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { asUser, runAsSystem, runList } from '#ledger/write/run.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { Core } from '#service/core.ts'
import { cashOfMonth } from './cash.ts'
import type { DemoCompany } from './companies.ts'
import { monthOfSales, type Shelf } from './month.ts'
import { returnsOfMonth } from './returns.ts'

const CLERKS = [
  { name: 'Bruno Lacerda', email: 'bruno@mercearia-boa-vista.example' },
  { name: 'Carla Dias', email: 'carla@mercearia-boa-vista.example' },
] as const

/** Initial stock: more than a month sells of any item. */
const DELIVERED = '5000'
/** Low stock at the end, by external id. */
const SHORT: Readonly<Record<string, string>> = { 'feijao-1kg': '3', 'sabao-1kg': '0' }

/** Creates a month of sales of a demonstration company, its clerks, and orders of its store, unless they exist. */
export async function fillMonth(core: Core, companyId: number, demo: DemoCompany, store: string | null): Promise<void> {
  const { rows } = await core.pool.query<{ done: boolean; now: string; timezone: string }>(
    `select exists (select from offline_sales where company_id = $1 and offline_id like 'demo-%') as done, now() as now, timezone
     from companies where company_id = $1`,
    [companyId],
  )
  const [found] = rows
  if (!found || found.done) return
  const clerks = await ensureClerks(core, companyId)
  const stock = (of: (item: DemoCompany['items'][number]) => string | null | undefined) =>
    Promise.all(
      demo.items.flatMap(({ category = '', ...item }) =>
        item.stock == null ? [] : [count(core, companyId, category, { ...item, stock: of(item) ?? item.stock })],
      ),
    )
  await stock(() => DELIVERED)
  const shelf = await shelfOf(core, companyId)
  const shifts = monthOfSales(shelf, found.now, found.timezone)
  for (const [place, sales] of shifts.entries()) {
    const clerk = clerks[place] as number
    const now = new Date(found.now).toISOString()
    const returns = returnsOfMonth(sales, shelf.types.account, now)
    await record(core, companyId, clerk, [
      sales.map((sale) => invoke(recordOfflineSale, sale)),
      returns.map((each) => invoke(recordOfflineReturn, each)),
      ...requestsOf(cashOfMonth(sales, returns, shelf.types.cash, now)),
    ])
  }
  await stock(({ external_id }) => SHORT[external_id])
  if (store !== null) await takeOrders(core, companyId, store)
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

async function count(
  core: Core,
  companyId: number,
  category: string,
  item: Omit<DemoCompany['items'][number], 'category'>,
) {
  const { rows } = await core.pool.query<{ id: number }>(
    'select id from categories where company_id = $1 and external_id = $2',
    [companyId, category],
  )
  await accepted(core, companyId, replaceItem, { ...item, category_id: rows[0]?.id ?? null })
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

async function shelfOf({ pool }: Core, companyId: number): Promise<Shelf> {
  const [items, customers, types] = await Promise.all([
    pool.query<Shelf['items'][number]>(
      `select id, doc ->> 'price' as price, doc ->> 'unit' as unit from catalog_items
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
    others.map((movement) => invoke(recordCashMovement, movement)),
    ...closings.map((closing) => [invoke(closeCashSession, closing)]),
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
