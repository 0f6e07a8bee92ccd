import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createNfeXml } from '#demo/companies/demo-seed.ts'
import { SCOPES } from '#domain/rights.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useCompany } from '../support/use-api.ts'

const { accessKey } = createNfeXml({ buyer: '11222333000181', lines: [], number: 55 })
const DAY_MS = 86_400_000

/** All pages of a list. */
async function listed(company: TestCompany, path: string): Promise<Json[]> {
  const found: Json[] = []
  for (let cursor = ''; ; ) {
    const { body } = await company.get(`${path}${path.includes('?') ? '&' : '?'}limit=1${cursor}`)
    found.push(...body.data)
    if (!body.meta.has_more) return found
    cursor = `&cursor=${encodeURIComponent(body.meta.next_cursor)}`
  }
}

describe('API: goods receipts and price changes', () => {
  const { api, company } = useCompany()

  const create = async (fields: object = {}): Promise<Json> =>
    (await company.post('/catalog/items', { name: uuidv7(), price: '18.90', stock: '5', cost: '9.00', ...fields })).body
      .data
  const receive = async (fields: object = {}) => {
    const item = await create()
    const lines = [{ catalog_item_id: item.id, quantity: '1', factor: '12', cost: '100.05', code: 'A', unit: 'CX' }]
    return { item, reply: await company.post('/stock/receipts', { bills: [], lines, ...fields }) }
  }
  const read = async (path: string): Promise<Json> => (await company.get(path)).body.data

  it('receives goods by hand, lists them by change, and undoes them once [STOCK-1332]', async () => {
    const since = (await company.get('/stock/receipts')).body.meta.synced_at
    const { item, reply } = await receive({
      ...{ access_key: accessKey, reference: 'NF 1' },
      bills: [{ due_date: '2027-01-10', amount: '100.05' }],
    })
    const made = reply.body.data
    expect(reply.status, reply.text).to.equal(201)
    expect(reply.headers.get('location')).to.match(/\/stock\/receipts\/\d+$/)
    expect(made.lines[0]).to.include({ quantity: '12.000', unit_cost: '8.34', moves_stock: true, factor: '12.000' })
    expect(made.costs).to.deep.equal([{ catalog_item_id: item.id, former_cost: '9.00', cost: '8.34' }])
    expect(await read(`/stock/receipts/${made.id}`)).to.deep.equal(made)
    expect(await read(`/catalog/items/${item.id}`)).to.include({ stock: '17.000', cost: '8.34' })
    const again = await company.post('/stock/receipts', {
      access_key: accessKey,
      bills: [],
      lines: made.lines.map(lineOf),
    })
    expect(again.body.error).to.deep.include({
      code: 'duplicate_resource',
      details: { field: 'access_key', conflicting_id: made.id },
    })
    await receive()
    const { lines: _, costs: __, left: ___, ...head } = made
    expect((await listed(company, `/stock/receipts?updated_since=${since}`))[0]).to.deep.equal(head)
    const undone = await Promise.all([1, 2].map(() => company.post(`/stock/receipts/${made.id}/undo`)))
    expect(undone.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(undone[0]?.body.data.undone_at).to.be.a('string')
    expect(await read(`/catalog/items/${item.id}`)).to.include({ stock: '5.000', cost: '9.00' })
    expect((await company.get(`/finance/payables/${made.payable_ids[0]}`)).status).to.equal(404)
    expect((await listed(company, `/stock/receipts?updated_since=${since}`)).at(-1)).to.include({ id: made.id })
    const third = await company.post('/stock/receipts', {
      access_key: accessKey,
      bills: [],
      lines: made.lines.map(lineOf),
    })
    expect(third.status).to.equal(201)
  })

  const lineOf = ({ catalog_item_id }: Json) => ({ catalog_item_id, quantity: '1', cost: '1.00' })

  it('needs the scope of accounts beside that of the catalog [STOCK-1332]', async () => {
    const { item, reply } = await receive()
    const { key } = await company.newKey(SCOPES.filter((scope) => !scope.startsWith('finance:')))
    const asKey = { authorization: `Bearer ${key}` }
    const { id } = reply.body.data
    for (const [method, path, scope] of [
      ['GET', '/stock/receipts', 'finance:read'],
      ['GET', `/stock/receipts/${id}`, 'finance:read'],
      ['POST', '/stock/receipts', 'finance:write'],
      ['POST', `/stock/receipts/${id}/undo`, 'finance:write'],
    ] as const) {
      const body = method === 'POST' ? { bills: [], lines: [lineOf({ catalog_item_id: item.id })] } : undefined
      const refused = await company.call(method, path, body, asKey)
      expect(refused.body.error, path).to.deep.include({
        code: 'insufficient_scope',
        details: { missing_scope: scope },
      })
    }
  })

  it('refuses what a form refuses, a payload with its fields, and changes nothing', async () => {
    const { id } = await create()
    const line = { catalog_item_id: id, quantity: '1', cost: '1.00' }
    for (const [fields, named] of [
      [{ lines: [{ ...line, catalog_item_id: 9_999 }] }, 'lines[0].catalog_item_id'],
      [{ lines: [{ ...line, new_item: 0 }] }, 'lines[0].new_item'],
      [{ lines: [{ ...line, quantity: '0' }] }, 'lines[0].quantity'],
      [{ lines: [] }, 'lines'],
      [{ lines: [line], bills: [{ due_date: '2027-02-30', amount: '1.00' }] }, 'bills[0].due_date'],
      [{ lines: [line], supplier_id: 9_999 }, 'supplier'],
      [{ lines: [line], access_key: '1'.repeat(44) }, 'access_key'],
    ] as const) {
      const { status, body } = await company.post('/stock/receipts', { bills: [], ...fields })
      expect(status, named).to.equal(422)
      const { fields: told, unknown_fields } = body.error.details
      expect([...Object.keys(told), ...unknown_fields]).to.include(named)
    }
    expect(await read(`/catalog/items/${id}`)).to.include({ stock: '5.000', cost: '9.00' })
  })

  it('changes prices by a rule, shows them before, and gives them back [ITEM-1333]', async () => {
    const [coffee, tea] = [await create(), await create({ price: '10.00' })]
    const body = { rule: { kind: 'percent', amount: 500, ending: 90 }, catalog_item_ids: [coffee.id, tea.id] }
    const tried = await company.post('/catalog/price-changes', body, { 'dry-run': 'true' })
    expect(tried.status).to.equal(200)
    expect(tried.text).to.include('"after":"19.90"').and.to.include('"after":"10.90"')
    expect(await read(`/catalog/items/${coffee.id}`)).to.include({ price: '18.90' })
    const made = (await company.post('/catalog/price-changes', body)).body.data
    expect(made).to.deep.include({
      status: 'applied',
      prices: [
        { catalog_item_id: coffee.id, before: '18.90', after: '19.90' },
        { catalog_item_id: tea.id, before: '10.00', after: '10.90' },
      ],
    })
    expect(await read(`/catalog/items/${coffee.id}`)).to.include({ price: '19.90' })
    await company.call('PATCH', `/catalog/items/${tea.id}`, { price: '12.00' })
    const undone = (await company.post(`/catalog/price-changes/${made.id}/undo`)).body.data
    expect(undone).to.deep.include({ status: 'undone', left_undone: [tea.id] })
    expect(await read(`/catalog/items/${coffee.id}`)).to.include({ price: '18.90' })
    const { prices: _, ...heads } = undone
    expect(await listed(company, '/catalog/price-changes')).to.deep.include({ ...heads, items: 2 })
  })

  it('schedules prices and cancels them, and names what has none by the rule [ITEM-1333]', async () => {
    const coffee = await create()
    const starts_at = new Date(Date.now() + DAY_MS).toISOString()
    const rule = { kind: 'cost', amount: 14_000, ending: null }
    const change = { rule, catalog_item_ids: [coffee.id], starts_at }
    const made = (await company.post('/catalog/price-changes', change)).body.data
    expect(made).to.include({ status: 'scheduled' })
    expect(made.prices).to.deep.equal([{ catalog_item_id: coffee.id, before: '18.90', after: '12.60' }])
    const path = `/catalog/price-changes/${made.id}`
    expect((await company.post(`${path}/undo`)).status).to.equal(422)
    for (const _ of [1, 2]) expect((await company.post(`${path}/cancel`)).body.data).to.include({ status: 'cancelled' })
    const dear = await create({ cost: null })
    for (const [fields, named] of [
      [{ catalog_item_ids: [coffee.id, dear.id] }, 'items[1].catalog_item_id'],
      [{ catalog_item_ids: [9_999] }, 'items[0].catalog_item_id'],
      [{ catalog_item_ids: [coffee.id, coffee.id] }, 'items'],
      [{ rule: { kind: 'percent', amount: 0, ending: null } }, 'rule.amount'],
      [{ rule: { kind: 'percent', amount: 1, ending: 90 } }, 'items'],
      [{ starts_at: '2020-01-01T00:00:00Z' }, 'starts_at'],
    ] as const) {
      const { status, body } = await company.post('/catalog/price-changes', { ...change, ...fields })
      expect([status, Object.keys(body.error.details.fields)], named).to.deep.equal([422, [named]])
    }
  })

  it('keeps companies apart', async () => {
    const { reply } = await receive()
    const other = await api.company({ idsFrom: 500 })
    const { id } = reply.body.data
    expect((await other.get(`/stock/receipts/${id}`)).status).to.equal(404)
    expect((await other.post(`/stock/receipts/${id}/undo`)).status).to.equal(404)
    expect((await other.post('/catalog/price-changes/1/undo')).status).to.equal(404)
  })
})
