import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { deactivateItem, ReplaceItemInput, replaceItem, updateItem } from '#commands/item-commands.ts'
import { replaceCustomer } from '#commands/person-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { deactivateUser } from '#commands/user-commands.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { readModel } from '#projections/index.ts'
import { getUser, listPaymentTypes, listUsers } from '#queries/company-queries.ts'
import {
  type CategoryFilters,
  getCategory,
  getItem,
  type ItemFilters,
  listCategories,
  listDeletedItems,
  listItems,
} from '#queries/item-queries.ts'
import { getCustomer, listCustomers, listDeletedCustomers, type PersonFilters } from '#queries/person-queries.ts'
import { fullReader, presentSource, Reader, WHOLE } from '#queries/reader.ts'
import { getSale, getSaleByExternalId, listSales, type SaleFilters } from '#queries/sale-queries.ts'
import { t } from '#queries/table-names.ts'
import { OWN_ROLLUPS, OWN_ROWS } from '#queries/tables.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { categoryCreated, customerCreated, itemCreated, paymentTypeCreated, saleCompleted } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { placedOrder } from '../support/orders.ts'
import { createTestUser, openTill, type TestTill, type TestUser } from '../support/till.ts'
import {
  dataOf,
  idsOf,
  OTHER_COMPANY_ID,
  openTwoCompanies,
  recordsOf,
  type TwoCompanies,
} from '../support/two-companies.ts'
import { useApi, useCompany } from '../support/use-api.ts'

const AWKWARD = 'Bebidas "frias" \\ 😀 "category_id":1,'

describe('queries on the catalog', () => {
  const database = useDatabase()
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
    await shop.record([
      categoryCreated({ id: 1, name: AWKWARD, external_id: 'beb' }),
      categoryCreated({ id: 2, name: 'Doces' }),
      itemCreated({ id: 1, name: 'Café Torrado', external_id: 'c', sku: 'CF', barcode: '789', category_id: 1 }),
      itemCreated({ id: 2, name: 'Chá', sku: 'cf', category_id: 2, stock: '5.000' }),
      itemCreated({ id: 3, name: 'Frete', type: 'service' }),
    ])
    await shop.record([categoryCreated({ id: 9 }), itemCreated({ id: 9, category_id: 9 })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const items = async (filters: ItemFilters) =>
    idsOf(await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))
  const categories = async (filters: CategoryFilters) =>
    idsOf(await listCategories(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))

  it('filters items by each field, and by all together', async () => {
    expect(await items({})).to.deep.equal([1, 2, 3])
    expect(await items({ name: 'CAFÉ' })).to.deep.equal([1])
    expect(await items({ type: 'service' })).to.deep.equal([3])
    expect(await items({ category_id: 2 })).to.deep.equal([2])
    expect(await items({ sku: 'CF' })).to.deep.equal([1])
    expect(await items({ barcode: '789' })).to.deep.equal([1])
    expect(await items({ external_id: 'c' })).to.deep.equal([1])
    const every = { name: 'torrado', type: 'product', category_id: 1, sku: 'CF', barcode: '789' } as const
    expect(await items({ ...every, external_id: 'c' })).to.deep.equal([1])
    expect(await items({ ...every, external_id: 'x' })).to.deep.equal([])
  })

  it('finds words of name, SKU, barcode and external id in any order', async () => {
    expect(await items({ q: 'torrado CAFE' })).to.deep.equal([1])
    expect(await items({ q: 'cf 789' })).to.deep.equal([1])
    expect(await items({ q: 'CF' })).to.deep.equal([1, 2])
    expect(await items({ q: 'cha 789' })).to.deep.equal([])
  })

  it('shows the name of the category with the same bytes in lists, GET and responses', async () => {
    const listed = await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    expect(recordsOf(listed).map((item) => item.category_name)).to.deep.equal([AWKWARD, 'Doces', null])
    const input = { external_id: 'z', name: AWKWARD, price: '1.00', category_id: 1, stock: '2' }
    const answer = await shop.run(replaceItem, ReplaceItemInput.parse(input))
    const { id } = answer.record as { id: number }
    const found = await getItem(fullReader(shop.core.pool, COMPANY_ID), id)
    expect(found).to.deep.equal({ record: answer.json, revision: answer.revision })
    const alone = await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 1, external_id: 'z' })
    expect(dataOf(alone)).to.equal(answer.json)
    await shop.run(deactivateItem, { id })
  })

  it('shows no cost in a list to a role without it, whose rows come as bytes [PANEL-201]', async () => {
    const input = { external_id: 'k', name: 'Com custo', price: '4.00', cost: '2.50', stock: '1' }
    const { record } = await shop.run(replaceItem, ReplaceItemInput.parse(input))
    const costs = async (reader: Reader) =>
      recordsOf(await listItems(reader, { limit: 1, external_id: 'k' })).map(({ cost }) => cost)
    const source = presentSource(shop.core.pool)
    expect(await costs(new Reader(COMPANY_ID, source, WHOLE))).to.deep.equal(['2.50'])
    expect(await costs(new Reader(COMPANY_ID, source, { ...WHOLE, hidesCosts: true }))).to.deep.equal([null])
    await shop.run(deactivateItem, { id: (record as { id: number }).id })
  })

  it('finds an item with a changed stock among the changed ones', async () => {
    const { synced_at } = (await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })) as {
      synced_at: string
    }
    await shop.run(updateItem, { id: 2, changes: { stock_adjustment: '-1' } })
    const changed = await listItems(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 50,
      updated_since: new Date(Date.parse(synced_at) + 1).toISOString(),
    })
    expect(recordsOf(changed).map(({ id, stock }) => ({ id, stock }))).to.deep.equal([{ id: 2, stock: '4.000' }])
  })

  it('lists deactivated items separately', async () => {
    const deleted = await listDeletedItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    const [record] = recordsOf(deleted)
    expect(record).to.include({ external_id: 'z' })
    expect(await getItem(fullReader(shop.core.pool, COMPANY_ID), Number(record?.id))).to.include({ record: null })
    expect(await items({ external_id: 'z' })).to.deep.equal([])
  })

  it('filters and gets categories', async () => {
    expect(await categories({})).to.deep.equal([1, 2])
    expect(await categories({ name: 'FRIAS' })).to.deep.equal([1])
    expect(await categories({ external_id: 'beb' })).to.deep.equal([1])
    const listed = await listCategories(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })
    const found = await getCategory(fullReader(shop.core.pool, COMPANY_ID), 1)
    expect(dataOf(listed)).to.equal(found.record)
  })

  it('isolates companies', async () => {
    expect(await items({ category_id: 9 })).to.deep.equal([])
    expect(await getItem(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(await getCategory(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(idsOf(await listItems(fullReader(shop.core.pool, OTHER_COMPANY_ID), { limit: 50 }))).to.deep.equal([9])
  })

  it('shows an item without its deleted category, with the same bytes in lists, GET and responses [ITEM-8]', async () => {
    const category = categoryCreated({ id: 3, name: 'Sazonal' })
    await shop.record([category, event('CategoryDeleted', { id: 3 })])
    await shop.record([itemCreated({ id: 8, name: AWKWARD, category_id: 3 })])
    const answer = await shop.run(updateItem, { id: 8, changes: { price: '3.00' } })
    expect(answer.record).to.include({ category_id: null, category_name: null, name: AWKWARD })
    const found = await getItem(fullReader(shop.core.pool, COMPANY_ID), 8)
    expect(found.record).to.equal(answer.json)
    expect(await items({ category_id: 3 })).to.deep.equal([])
    await shop.record([event('CategoryRevived', { id: 3, external_id: null, name: 'De volta' })])
    expect(JSON.parse((await getItem(fullReader(shop.core.pool, COMPANY_ID), 8)).record ?? '')).to.include({
      category_id: 3,
      category_name: 'De volta',
    })
    expect(await items({ category_id: 3 })).to.deep.equal([8])
    await shop.run(deactivateItem, { id: 8 })
  })
})

describe('queries on customers', () => {
  const database = useDatabase()
  let shop: TwoCompanies

  before(async () => {
    shop = await openTwoCompanies(database.url)
    const details = { external_id: 'a', document: '52998224725' }
    await shop.record([
      customerCreated({ id: 1, name: 'José da Silva', ...details }),
      customerCreated({ id: 2, name: '100% Bom_Preço', external_id: 'b' }),
      customerCreated({ id: 3, name: 'Maria', external_id: 'c' }),
      event('CustomerDeleted', { id: 3 }),
    ])
    await shop.record([customerCreated({ id: 4, name: 'José de Outra' })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const list = async (filters: PersonFilters) =>
    idsOf(await listCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))

  it('lists live customers of the company', async () => {
    expect(await list({})).to.deep.equal([1, 2])
  })

  it('finds a substring of a name, ignoring case, accents and spacing [LIST-7]', async () => {
    expect(await list({ name: 'JOSÉ' })).to.deep.equal([1])
    expect(await list({ name: ' da  SILVA ' })).to.deep.equal([1])
    expect(await list({ name: 'jose' })).to.deep.equal([1])
    expect(await list({ name: 'silva jose' })).to.deep.equal([])
    expect(await list({ name: 'maria' })).to.deep.equal([])
  })

  it('takes a name literally', async () => {
    expect(await list({ name: '%' })).to.deep.equal([2])
    expect(await list({ name: 'm_p' })).to.deep.equal([2])
    expect(await list({ name: 'j_sé' })).to.deep.equal([])
    expect(await list({ name: '\\' })).to.deep.equal([])
  })

  it('finds words of names and external id in any order', async () => {
    expect(await list({ q: 'SILVA jose' })).to.deep.equal([1])
    expect(await list({ q: '  sil   A ' })).to.deep.equal([1])
    expect(await list({ q: 'josé b' })).to.deep.equal([])
    expect(await list({ q: 'preco 100% b' })).to.deep.equal([2])
    expect(await list({ q: '_' })).to.deep.equal([2])
    expect(await list({ q: 'maria' })).to.deep.equal([])
    expect(await list({ q: 'outra' })).to.deep.equal([])
  })

  it('finds by document and external id, all filters together', async () => {
    expect(await list({ document: '52998224725' })).to.deep.equal([1])
    expect(await list({ external_id: 'b' })).to.deep.equal([2])
    expect(await list({ external_id: 'c' })).to.deep.equal([])
    expect(await list({ name: 'josé', external_id: 'a', document: '52998224725' })).to.deep.equal([1])
    expect(await list({ name: 'josé', external_id: 'b' })).to.deep.equal([])
  })

  it('gets one customer with the bytes of the list', async () => {
    const page = await listCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })
    const found = await getCustomer(fullReader(shop.core.pool, COMPANY_ID), 1)
    expect(page).to.include({ revision: found.revision })
    expect(dataOf(page)).to.equal(found.record)
  })

  it('does not get missing or deleted customers, or those of another company', async () => {
    for (const id of [3, 4, 99, Number.MAX_SAFE_INTEGER]) {
      const found = await getCustomer(fullReader(shop.core.pool, COMPANY_ID), id)
      expect(found).to.deep.equal({ record: null, revision: 4 })
    }
  })

  it('responds to a command with the bytes of the list', async () => {
    const other = await openAnswer(shop)
    expect(await getCustomer(fullReader(shop.core.pool, COMPANY_ID), other.id)).to.include({ record: other.json })
  })

  it('lists deleted ones separately', async () => {
    const page = await listDeletedCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    const [record] = recordsOf(page)
    expect(recordsOf(page)).to.have.length(1)
    expect(record).to.have.all.keys('id', 'external_id', 'deleted_at')
    expect(record).to.include({ id: 3, external_id: 'c' })
    expect(record?.deleted_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/)
  })

  it('finds a phone with or without country code, and both with a document', async () => {
    await shop.record([
      customerCreated({ id: 5, name: 'Com telefone', phone: '5511987654321' }),
      customerCreated({ id: 6, name: 'E documento', phone: '11987654321', document: '52998224725' }),
    ])
    expect(await list({ phone: '11987654321' })).to.deep.equal([5, 6])
    expect(await list({ phone: '5511987654321', document: '52998224725' })).to.deep.equal([6])
    expect(await list({ phone: '87654321' })).to.deep.equal([])
    expect(await list({ find: '98765-4321' })).to.deep.equal([5, 6])
    expect(await list({ find: 'telefone com' })).to.deep.equal([5])
    await shop.record([event('CustomerDeleted', { id: 5 }), event('CustomerDeleted', { id: 6 })])
    expect(await list({ phone: '11987654321' })).to.deep.equal([])
  })
})

async function openAnswer(shop: TwoCompanies): Promise<{ id: number; json: string }> {
  const name = 'Zé "aspas" \\ \n\u2028 😀'
  const { json, record } = await shop.run(replaceCustomer, { external_id: 'z', name, person_type: 'PF' })
  return { id: (record as { id: number }).id, json }
}

const TIMEZONE = 'America/Sao_Paulo'
const customer = { id: 4, external_id: null, name: 'Ana' }

describe('queries on sales', () => {
  const database = useDatabase()
  let shop: TwoCompanies
  before(async () => {
    shop = await openTwoCompanies(database.url)
    await shop.record([
      paymentTypeCreated({ id: 2, name: 'Crediário', kind: 'credit_account' }),
      paymentTypeCreated({ id: 1 }),
      customerCreated({ id: 4 }),
      // Last millisecond of 9 March, first of 10 March, and last of 10 March in São Paulo.
      saleCompleted({ id: 1, external_id: 'a', customer, sold_at: '2026-03-10T02:59:59.999Z' }),
      saleCompleted({ id: 2, sold_at: '2026-03-10T03:00:00.000Z' }),
      saleCompleted({ id: 3, external_id: 'c', sold_at: '2026-03-11T02:59:59.999Z' }),
      event('SaleCancelled', { id: 3, reason: 'erro', restock: [] }),
    ])
    await shop.record([saleCompleted({ id: 9, external_id: 'z' })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const list = async (filters: SaleFilters) =>
    idsOf(await listSales(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, timezone: TIMEZONE, ...filters }))

  it('filters by status, customer, origin and external id', async () => {
    expect(await list({})).to.deep.equal([1, 2, 3])
    expect(await list({ status: 'cancelled' })).to.deep.equal([3])
    expect(await list({ status: 'completed' })).to.deep.equal([1, 2])
    expect(await list({ customer_id: 4 })).to.deep.equal([1])
    expect(await list({ origin: 'api' })).to.deep.equal([1, 2, 3])
    expect(await list({ origin: 'pdv' })).to.deep.equal([])
    expect(await list({ external_id: 'c' })).to.deep.equal([3])
    expect(await list({ external_id: 'z' })).to.deep.equal([])
  })

  it('filters by days in the company’s zone, both ends included', async () => {
    expect(await list({ sold_from: '2026-03-10', sold_to: '2026-03-10' })).to.deep.equal([2, 3])
    expect(await list({ sold_to: '2026-03-09' })).to.deep.equal([1])
    expect(await list({ sold_from: '2026-03-11' })).to.deep.equal([])
    expect(await list({ sold_from: '2026-03-10', sold_to: '2026-03-09' })).to.deep.equal([])
    const manaus = await listSales(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 50,
      timezone: 'America/Manaus',
      sold_from: '2026-03-10',
    })
    expect(idsOf(manaus)).to.deep.equal([3])
  })

  it('pages through a filtered list', async () => {
    const query = { limit: 1, timezone: TIMEZONE, sold_from: '2026-03-09', status: 'completed' } as const
    const first = (await listSales(fullReader(shop.core.pool, COMPANY_ID), query)) as { next: string }
    const second = await listSales(fullReader(shop.core.pool, COMPANY_ID), { ...query, cursor: first.next })
    expect([idsOf(first), idsOf(second)]).to.deep.equal([[1], [2]])
    expect(second).to.include({ has_more: false, next: null })
  })

  it('gets a sale by id and by external id, cancelled ones included', async () => {
    const listed = await listSales(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 1,
      timezone: TIMEZONE,
      status: 'cancelled',
    })
    const byId = await getSale(fullReader(shop.core.pool, COMPANY_ID), 3)
    const byExternalId = await getSaleByExternalId(fullReader(shop.core.pool, COMPANY_ID), 'c')
    expect(listed).to.include({ revision: byId.revision })
    expect(dataOf(listed)).to.equal(byId.record)
    expect(byExternalId).to.deep.equal(byId)
  })

  it('does not get sales of another company', async () => {
    expect(await getSale(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(await getSaleByExternalId(fullReader(shop.core.pool, COMPANY_ID), 'z')).to.include({ record: null })
  })

  it('responds to a cancellation with the bytes of a later read', async () => {
    const { json } = await shop.run(cancelSale, { id: 2 })
    expect(await getSale(fullReader(shop.core.pool, COMPANY_ID), 2)).to.include({ record: json })
  })

  it('lists all payment types by id, refused ones with their reason', async () => {
    const { data } = await listPaymentTypes(fullReader(shop.core.pool, COMPANY_ID))
    const types = JSON.parse(`[${data}]`)
    expect(types.map(({ id, accepts_api }: Record<string, unknown>) => [id, accepts_api])).to.deep.equal([
      [1, true],
      [2, false],
    ])
    const none = await listPaymentTypes(fullReader(shop.core.pool, OTHER_COMPANY_ID))
    expect(none).to.deep.equal({ data: '', revision: 1 })
  })
})

/** Columns of rows that are of a sale, of takings or of accounts received. */
const OF_SALES = ['sale_id', 'return_id', 'sale_offline_id', 'cash_session_id', 'session_id', 'receipt', 'document']
/** Without sales or takings, hidden by another permission, or found by a whole code. */
const OF_OTHERS = ['customers', 'suppliers', 'payable_payments', 'card_refunds', 'vouchers']

const [DAY_MS, HOUR_MS] = [86_400_000, 3_600_000]

describe('rows of own sales', () => {
  const { api, company } = useCompany()
  const now = Date.now()
  const [today, yesterday] = [now, now - 1.5 * DAY_MS].map((at) => new Date(at).toISOString()) as [string, string]
  let counter: Counter
  let own: TestTill
  let other: TestTill
  let credit: number
  let customer: number

  const sent = async (till: TestTill, path: string, body: object): Promise<void> => {
    const reply = await till.post(path, body)
    expect(reply.body.summary.error_count, reply.text).to.equal(0)
  }
  /** A cash session with a sale of two units. */
  async function work(till: TestTill, name: string, at: string): Promise<void> {
    const movement = (kind: string) => ({ offline_id: `${name} ${kind}`, session_id: name, kind, amount: 50, at })
    await sent(till, '/sync/cash', { movements: [movement('opened'), movement('out')] })
    const items = [{ product_id: counter.product, quantity: 2, price: 10, total: 20 }]
    const payments = [{ payment_type_id: counter.cash, amount: 20, status: 'completed' }]
    const paid = { items, payments, total: 20, amount_received: 20, created_at: at }
    const [result] = (await upload(till, [counter.sale(name, { ...paid, cash_session_id: name })])).results
    expect(result.status).to.equal('created')
  }
  const giveBack = (till: TestTill, offline_id: string, sale_offline_id: string, at: string) =>
    sent(till, '/sync/returns', {
      returns: [
        {
          ...{ offline_id, sale_offline_id, reason: 'Troca', returned_at: at, customer_id: customer },
          items: [{ line: 0, quantity: 1 }],
          refunds: [{ payment_type_id: credit, amount: 10 }],
        },
      ],
    })

  before(async () => {
    counter = await openCounter(company)
    credit = await company.paymentType('exchange_credit')
    customer = (await company.post('/customers', { name: 'Eva' })).body.data.id
    // Owners give back what others sold.
    own = await openTill(api.url, company, await createTestUser(company, 'owner'))
    other = await openTill(api.url, company, await createTestUser(company, 'owner'))
    await work(own, 'own', today)
    await work(own, 'own of yesterday', yesterday)
    await work(other, 'other', today)
    await giveBack(own, 'own back', 'own', today)
    await giveBack(other, 'own back at another till', 'own', today)
    await giveBack(own, 'given back by own', 'other', today)
    await giveBack(other, 'other back', 'other', today)
    await giveBack(own, 'back of yesterday', 'own of yesterday', yesterday)
    await giveBack(own, 'awaited', 'unknown', today)
  })

  /** Rows that a statement finds among those that the user of a till sees on a day. */
  async function shown(text: string, { daysLater = 0, till = own } = {}): Promise<Json[]> {
    const from = now + daysLater * DAY_MS
    const ownSales = {
      userId: till.user.id,
      from: new Date(from - 12 * HOUR_MS).toISOString(),
      to: new Date(from + HOUR_MS).toISOString(),
    }
    const reader = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, ownSales })
    const named = `select t.name from (${text}) t(name, company_id) where t.company_id = $1 order by 1`
    return (await reader.query({ text: named })).rows.map(({ name }) => name)
  }
  const BACK = ['given back by own', 'own back', 'own back at another till']

  it('are the returns of own sales, and those that the user gave back [ROLE-105]', async () => {
    expect(await shown(`select offline_id, company_id from ${t.returns}`)).to.deep.equal(BACK)
    const ofSales = `select r.offline_id, s.company_id from ${t.sale_returns} s
      join ${t.returns} r on r.company_id = s.company_id and r.id = s.return_id`
    expect(await shown(ofSales)).to.deep.equal(BACK)
    expect(await shown(`select offline_id, company_id from ${t.offline_returns}`)).to.deep.equal([
      'awaited',
      'given back by own',
      'own back',
    ])
    expect(await shown(`select sale_offline_id, company_id from ${t.awaited_returns}`)).to.deep.equal([])
  })

  it('are the stock movements of own sales and returns; those of others are hidden [ROLE-105]', async () => {
    const moved = `select kind || quantity, company_id from ${t.stock_movements} where kind in ('sale', 'return')`
    expect(await shown(moved)).to.deep.equal([...Array(3).fill('return1.000'), 'sale-2.000'])
    expect(await shown(moved, { daysLater: 2 })).to.deep.equal([])
  })

  it('are the movements of orders that are shown, which are no returns with the same number [ROLE-105]', async () => {
    const { pool } = api.core
    const returned = await pool.query('select id, offline_id from read.returns where company_id = $1', [company.id])
    const numberOf = (name: string) => Number(returned.rows.find(({ offline_id }) => offline_id === name).id)
    const other = numberOf('other back')
    const moved = `select record, company_id from ${t.stock_movements} where record like 'order/%'`
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    let placed = 0
    while (placed < other) placed = await placedOrder(company, alias)
    await pool.query(
      `insert into read.stock_movements select (m).* from (
         select json_populate_record(m, json_build_object('id', -o.id, 'record', 'order/' || o.id)) as m
         from read.stock_movements m join read.orders o on o.company_id = m.company_id
         where m.company_id = $1 and m.record = 'return/' || $2) made`,
      [company.id, other],
    )
    const all = Array.from({ length: placed }, (_, n) => `order/${n + 1}`)
    expect(await shown(moved)).to.deep.equal(all.sort())
    await pool.query(`update read.orders set status = 'cancelled' where company_id = $1`, [company.id])
    expect(await shown(moved, { daysLater: 2 })).to.deep.equal([])
  })

  it('are the store credit of own sales; balances are of all [ROLE-105]', async () => {
    expect(await shown(`select balance::int, company_id from ${t.customer_credits}`)).to.deep.equal([50])
    expect(await shown(`select balance::int, company_id from ${t.credit_movements}`)).to.deep.equal([10, 20])
  })

  it('are the own cash sessions of today and those that are open, with their movements [ROLE-105]', async () => {
    expect(await shown(`select session_id, company_id from ${t.cash_sessions}`)).to.deep.equal([
      'own',
      'own of yesterday',
    ])
    expect(await shown(`select offline_id, company_id from ${t.cash_movements}`)).to.deep.equal([
      'own of yesterday opened',
      'own of yesterday out',
      'own opened',
      'own out',
    ])
    await api.core.pool.query('update read.cash_sessions set closed_at = opened_at where company_id = $1', [company.id])
    expect(await shown(`select session_id, company_id from ${t.cash_sessions}`)).to.deep.equal(['own'])
    expect(await shown(`select user_id::int, company_id from ${t.cash_drawers}`)).to.deep.equal([own.user.id])
    expect(await shown(`select session_id, company_id from ${t.cash_sessions}`, { till: other })).to.deep.equal([
      'other',
    ])
  })

  it('are the payments of receivables that are shown: pending or changed today [ROLE-105]', async () => {
    const pay = async (amount: string) => {
      const account = { description: 'Fiado', amount: '30.00', due_date: today.slice(0, 10) }
      const { id } = (await company.post('/finance/receivables', account)).body.data
      const path = `/finance/receivables/${id}/payments`
      const reply = await company.post(path, { amount, payment_method: 'pix' }, { 'idempotency-key': `paga ${amount}` })
      expect(reply.status, reply.text).to.be.below(300)
    }
    await pay('30.00')
    await pay('7.00')
    const payments = `select received_cents::int, company_id from ${t.receivable_payments}`
    expect(await shown(payments)).to.deep.equal([700, 3_000])
    expect(await shown(payments, { daysLater: 2 })).to.deep.equal([700])
  })

  it('are limited in every table that has rows of sales, takings or accounts received [ROLE-105]', () => {
    const tables = readModel.projections.flatMap((each) => each.tables)
    const named = tables.filter(({ columns }) => OF_SALES.some((column) => Object.hasOwn(columns, column)))
    const limited = [...Object.keys(OWN_ROWS), ...Object.keys(OWN_ROLLUPS), ...OF_OTHERS]
    expect(named.map(({ name }) => name).filter((name) => !limited.includes(name))).to.deep.equal([])
  })
})

describe('users', () => {
  const api = useApi()
  let company: TestCompany
  let stranger: TestCompany
  let owner: TestUser
  let clerk: TestUser

  before(async () => {
    company = await api.company({ timezone: 'America/Manaus' })
    stranger = await api.company()
    owner = await createTestUser(company, 'owner')
    await createTestUser(stranger)
    clerk = await createTestUser(company)
    await company.run(deactivateUser, { id: clerk.id })
  })

  async function list(limit: number, cursor?: string) {
    const page = await listUsers(fullReader(api.core.pool, company.id), {
      limit,
      ...(cursor !== undefined && { cursor }),
    })
    if (isRefusal(page)) throw new Error(page.refused)
    return { ...page, users: JSON.parse(`[${dataOf(page)}]`) }
  }

  it('lists by id, inactive ones included, without other companies', async () => {
    const { users, has_more } = await list(10)
    expect(has_more).to.equal(false)
    expect(users.map(({ created_at: _, updated_at: __, ...user }: Record<string, unknown>) => user)).to.deep.equal([
      {
        id: owner.id,
        name: owner.name,
        email: owner.email,
        role: 'owner',
        status: 'active',
        forgotten_at: null,
        access_until: null,
        personal_data: true,
      },
      {
        id: clerk.id,
        name: clerk.name,
        email: clerk.email,
        role: 'clerk',
        status: 'inactive',
        forgotten_at: null,
        access_until: null,
        personal_data: true,
      },
    ])
    for (const { created_at, updated_at } of users) {
      for (const time of [created_at, updated_at]) expect(time).to.match(/T\d\d:\d\d:\d\d\.\d{3}-04:00$/)
    }
    expect(users[0].updated_at).to.equal(users[0].created_at)
    expect(users[1].updated_at > users[1].created_at).to.equal(true)
  })

  it('are listed in pages', async () => {
    const first = await list(1)
    const second = await list(1, first.next ?? '')
    expect([first.has_more, second.has_more]).to.deep.equal([true, false])
    expect([...first.users, ...second.users]).to.deep.equal((await list(10)).users)
  })

  it('are returned by id as in the list, to their own company only', async () => {
    const { users } = await list(10)
    const found = await getUser(fullReader(api.core.pool, company.id), clerk.id)
    expect(JSON.parse(found.record ?? '')).to.deep.equal(users[1])
    expect(await getUser(fullReader(api.core.pool, stranger.id), clerk.id)).to.have.property('record', null)
    expect(await getUser(fullReader(api.core.pool, company.id), 999_999)).to.have.property('record', null)
  })
})
