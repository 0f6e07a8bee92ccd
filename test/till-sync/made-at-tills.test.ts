import { expect } from 'chai'
import { adjustRole } from '#commands/role-commands.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('products and customers made at tills', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const send = async (list: 'items' | 'customers', elements: readonly unknown[], from = till): Promise<Json[]> => {
    const reply = await from.post(`/sync/${list}`, { [list]: elements })
    expect(reply.status, reply.text).to.equal(200)
    return reply.body.results
  }
  const catalog = async (): Promise<Json[]> => (await company.get('/catalog/items?limit=100')).body.data
  const customers = async (): Promise<Json[]> => (await company.get('/customers?limit=100')).body.data
  const cake = { offline_id: 'p1', name: 'Bolo', price: 12.5, barcode: '7891000100103', unit: 'UN', sku: 'B-1' }
  const maria = { offline_id: 'c1', name: 'Maria Souza', document: '529.982.247-25' }
  /** A sale of 10.00 that names its product and customer by identifiers of the till. */
  const ofDraft = (id: string, offline_item_id: string, fields: object = {}) =>
    counter.sale(id, { items: [{ offline_item_id, name: 'Bolo', quantity: 1, price: 10, total: 10 }], ...fields })

  it('makes one item for its offline_id: twice, at once and after a lost answer [UP-1160]', async () => {
    const other = await openTill(api.url, company)
    const answers = await Promise.all([till, other, till].map((from) => send('items', [cake, cake], from)))
    const [first] = answers.flat().map(({ item_id }) => item_id)
    expect(new Set(answers.flat().map(({ item_id }) => item_id))).to.deep.equal(new Set([first]))
    expect(answers.flat().filter(({ status }) => status === 'created')).to.have.length(1)
    const made = (await catalog()).filter(({ name }) => name === 'Bolo')
    expect(made).to.have.length(1)
    expect(made[0]).to.deep.include({ id: first, price: '12.50', barcode: '7891000100103', unit: 'UN', sku: 'B-1' })
    await company.call('PATCH', `/catalog/items/${first}`, { name: 'Bolo de milho' })
    expect(await send('items', [cake])).to.deep.equal([{ offline_id: 'p1', status: 'duplicate', item_id: first }])
    const { data } = (await till.get('/sync/products')).body
    expect(data.find(({ id }: Json) => id === first)).to.deep.include({ sku: 'B-1', unit: 'UN' })
    expect(data.find(({ id }: Json) => id === counter.product)).to.deep.include({ sku: '', unit: '' })
  })

  it('refuses a wrong element, and another item under a known offline_id, alone [UP-1160]', async () => {
    const results = await send('items', [
      cake,
      { ...cake, price: 13 },
      { ...cake, offline_id: 'p2', price: -1 },
      { ...cake, offline_id: 'p3', name: 'a'.repeat(121), barcode: '' },
      'x',
      { offline_id: 'p4', name: 'Pão', price: 1, barcode: '', unit: null, color: 'azul' },
    ])
    expect(results.map(({ status, code }) => code ?? status)).to.deep.equal([
      ...['created', 'duplicate_resource', 'validation_failed', 'validation_failed', 'validation_failed', 'created'],
    ])
    expect(results.map(({ item_id }) => item_id !== null)).to.deep.equal([true, false, false, false, false, true])
    expect(Object.keys(results[2]?.errors)).to.deep.equal(['price'])
    expectFailure(await till.post('/sync/items', { items: Array(1_001).fill(cake) }), 422)
    expectFailure(await till.post('/sync/customers', {}), 422)
  })

  it('takes an item with the same barcode for the item itself [UP-1161]', async () => {
    const known = (
      await company.post('/catalog/items', { name: 'Bolo', price: '10.00', barcode: '7891000100103', stock: '5' })
    ).body.data
    const [first, second] = await send('items', [cake, { ...cake, offline_id: 'p2', barcode: '07891000100103' }])
    expect(first).to.deep.include({ status: 'duplicate', item_id: known.id })
    expect(first?.warnings.map(({ code }: Json) => code)).to.deep.equal(['barcode_in_use'])
    expect(second).to.deep.include({ status: 'duplicate', item_id: known.id })
    await upload(till, [ofDraft('a', 'p1')])
    expect((await company.get(`/catalog/items/${known.id}`)).body.data.stock).to.equal('4.000')
  })

  it('needs the rights for items and for customers [UP-1160, UP-1162]', async () => {
    await company.run(adjustRole, { role: 'clerk', permissions: ['sell'], return_limit: null, discount_limit: null })
    for (const [list, element] of [
      ['items', cake],
      ['customers', maria],
    ] as const) {
      const [result] = await send(list, [element])
      expect(result).to.deep.include({ status: 'error', code: 'permission_required' })
    }
  })

  it('makes one customer for its offline_id, tells namesakes apart and knows documents again [UP-1162]', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => send('customers', [maria])))
    expect(answers.flat().filter(({ status }) => status === 'created')).to.have.length(1)
    const [{ customer_id: id }] = answers[0] as [Json]
    const results = await send('customers', [
      { ...maria, offline_id: 'c2' },
      { offline_id: 'c3', name: 'Maria Souza', document: '' },
      { offline_id: 'c4', name: 'maria souza', document: null },
      { offline_id: 'c5', name: 'Ana', document: '123' },
    ])
    expect(results.map(({ status }) => status)).to.deep.equal(['duplicate', 'created', 'created', 'error'])
    expect(results[0]).to.deep.include({ customer_id: id })
    expect((await customers()).map(({ name }) => name)).to.have.members([
      'Maria Souza',
      'Maria Souza (2)',
      'maria souza (3)',
    ])
  })

  it('records sales by the identifiers of tills [UP-1163]', async () => {
    const [item] = await send('items', [cake])
    const [customer] = await send('customers', [maria])
    const sale = ofDraft('a', 'p1', {
      offline_customer_id: 'c1',
      payments: [{ payment_type_id: counter.account, amount: 10, status: 'pending' }],
    })
    const [first, again] = (await upload(till, [sale, sale])).results
    expect([first.status, again.status]).to.deep.equal(['created', 'duplicate'])
    const { data } = (await company.get(`/sales/${first.sale_id}`)).body
    expect(data.customer).to.deep.include({ id: customer?.customer_id, name: 'Maria Souza' })
    expect(data.items[0]).to.deep.include({ catalog_item_id: item?.item_id, description: 'Bolo' })
    const [owed] = (await company.get('/finance/receivables')).body.data
    expect(owed).to.deep.include({ customer_id: customer?.customer_id, amount: '10.00' })
    const [cancelled] = (await upload(till, [{ ...sale, status: 'cancelled', payments: [] }])).results
    expect(cancelled.status).to.equal('cancelled')
  })

  it('records what it does not know by its name, with a warning [UP-1163]', async () => {
    const sale = ofDraft('a', 'later', { offline_customer_id: 'nobody', created_at: new Date().toISOString() })
    const [first] = (await upload(till, [sale])).results
    expect(first.status).to.equal('created')
    expect(first.warnings.map(({ code }: Json) => code)).to.have.members(['customer_unknown', 'product_unknown'])
    const { data } = (await company.get(`/sales/${first.sale_id}`)).body
    expect(data).to.deep.include({ customer: null })
    expect(data.items[0]).to.deep.include({ catalog_item_id: null, description: 'Bolo' })
    await send('items', [{ ...cake, offline_id: 'later' }])
    const [again] = (await upload(till, [sale])).results
    expect(again).to.deep.include({ status: 'duplicate', sale_id: first.sale_id })
    const [cancelled] = (await upload(till, [{ ...sale, status: 'cancelled', payments: [] }])).results
    expect(cancelled.status, JSON.stringify(cancelled)).to.equal('cancelled')
    const [neither] = (await upload(till, [counter.sale('b', { items: [{ quantity: 1, price: 10, total: 10 }] })]))
      .results
    expect(neither).to.deep.include({ status: 'error', code: 'validation_failed' })
  })

  it('erases a customer from refused sales that name the identifier of the till [PRIV-35]', async () => {
    const [customer] = await send('customers', [maria])
    const refused = { ...ofDraft('r', 'p1', { offline_customer_id: 'c1' }), total: 11, nome: 'Maria Souza' }
    expect((await upload(till, [refused])).results[0].status).to.equal('error')
    const kept = async () =>
      (await api.core.pool.query('select payload from refused_sales where company_id = $1', [company.id])).rows
    expect(JSON.stringify(await kept())).to.include('Maria')
    const { status } = await company.post(`/customers/${customer?.customer_id}/forget`, { ground: 'holder_request' })
    expect(status).to.equal(200)
    await upload(till, [{ ...refused, amount_received: 12 }])
    expect((await kept()).map(({ payload }) => JSON.parse(payload).nome ?? null)).to.deep.equal([null, null])
    expect(JSON.stringify(await kept())).to.include('c1')
  })

  it('gives store credit to a customer of a till [UP-1163]', async () => {
    const credit = await company.paymentType('exchange_credit')
    const [customer] = await send('customers', [maria])
    await upload(till, [counter.sale('a')])
    const goods = { offline_id: 'r1', sale_offline_id: 'a', reason: 'Troca', returned_at: new Date().toISOString() }
    const refunds = [{ payment_type_id: credit, amount: 10 }]
    const sent = { ...goods, offline_customer_id: 'c1', items: [{ line: 0, quantity: 1 }], refunds }
    const reply = await till.post('/sync/returns', { returns: [sent] })
    expect(reply.body.results[0], reply.text).to.deep.include({ status: 'created' })
    const shown = await company.get(`/customers/${customer?.customer_id}/credit`)
    expect(shown.body.data.balance, shown.text).to.equal('10.00')
  })
})
