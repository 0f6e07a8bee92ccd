import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

describe('cancellation of a sale', () => {
  const api = useApi()
  let company: TestCompany
  let cash: number
  let item: number

  beforeEach(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
    item = (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '10', external_id: 'caf' }))
      .body.data.id
  })

  const body = () => ({
    items: [
      { catalog_item_id: item, quantity: '3' },
      { catalog_item_id: item, quantity: '0.5' },
      { description: 'Bolo', quantity: '1', unit_price: '5.00' },
    ],
    payments: [{ payment_type_id: cash, amount: '40.00' }],
  })
  const sell = async (): Promise<Json> => (await company.post('/sales', body())).body.data
  const counterSale = (): Promise<Json> => company.run(registerSale, SaleInput.parse(body()), 'pdv')
  const cancel = (id: number, sent?: unknown) => company.post(`/sales/${id}/cancel`, sent)
  const get = async (path: string): Promise<Json> => (await company.get(path)).body.data
  const stock = async () => (await get(`/catalog/items/${item}`)).stock
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  it('responds 200 with the cancelled sale, keeps its other fields, and returns the stock [SALE-16]', async () => {
    const sale = await sell()
    expect(await stock()).to.equal('6.500')
    const before = await get(`/catalog/items/${item}`)
    const reply = await cancel(sale.id, { reason: 'Cliente desistiu' })
    expect(reply.status).to.equal(200)
    const { status, cancelled_at, cancel_reason, updated_at, ...rest } = reply.body.data
    expect(sale).to.deep.include(rest)
    expect({ status, cancel_reason }).to.deep.equal({ status: 'cancelled', cancel_reason: 'Cliente desistiu' })
    expect(cancelled_at).to.match(LOCAL_TIME)
    expect(updated_at).to.equal(cancelled_at)
    expect((await company.get(`/sales/${sale.id}`)).text).to.equal(reply.text)
    const after = await get(`/catalog/items/${item}`)
    expect(after).to.include({ stock: '10.000', updated_at: before.updated_at, stock_updated_at: cancelled_at })
  })

  it('accepts an optional reason of up to 500 characters', async () => {
    for (const sent of [undefined, {}, { reason: null }, { reason: '' }]) {
      const reply = await cancel((await sell()).id, sent)
      expect(reply.status).to.equal(200)
      expect(reply.body.data.cancel_reason).to.equal(null)
      await company.call('PATCH', `/catalog/items/${item}`, { stock: '10' })
    }
    const { id } = await sell()
    for (const reason of ['  ', 'x'.repeat(501), 5, []]) expectInvalid(await cancel(id, { reason }), ['reason'])
    expectInvalid(await cancel(id, { reasons: 'x' }), [], ['reasons'])
    expect((await cancel(id, { reason: 'ç'.repeat(500) })).status).to.equal(200)
  })

  it('cancelling a cancelled sale responds 200 and returns no stock again [SALE-17]', async () => {
    const { id } = await sell()
    const first = await cancel(id, { reason: 'primeira' })
    const before = await revision()
    const again = await cancel(id, { reason: 'segunda' })
    expect(again.status).to.equal(200)
    expect(again.text).to.equal(first.text)
    expect(await stock()).to.equal('10.000')
    expect(await revision()).to.equal(before)
  })

  it('of a missing sale responds 404', async () => {
    expectProblem(await cancel(999_999, {}), 404, 'not_found')
  })

  it('of a counter sale responds 409 managed_by_pdv, while reading it is allowed [SALE-18]', async () => {
    const sale = await counterSale()
    expect(expectProblem(await cancel(sale.id, { reason: 'x' }), 409, 'managed_by_pdv')).to.equal(undefined)
    expect(await get(`/sales/${sale.id}`)).to.deep.equal(sale)
    expect(sale).to.include({ origin: 'pdv', status: 'completed' })
    expect(await stock()).to.equal('6.500')
  })

  it('of a counter sale is allowed to the counter [SALE-18]', async () => {
    const sale = await counterSale()
    await company.run(cancelSale, { id: sale.id, reason: 'no balcão' }, 'pdv')
    expect(await get(`/sales/${sale.id}`)).to.include({ status: 'cancelled', cancel_reason: 'no balcão' })
  })

  it('cancelling a sale with an authorized document responds 409 fiscal_document_issued [SALE-19]', async () => {
    const sale = await sell()
    await company.run(recordFiscalDocument, { id: sale.id, number: 'NFC-e 123', status: 'authorized' })
    const before = (await company.get(`/sales/${sale.id}`)).text
    expect(expectProblem(await cancel(sale.id, {}), 409, 'fiscal_document_issued')).to.equal(undefined)
    expect((await company.get(`/sales/${sale.id}`)).text).to.equal(before)
    const { fiscal_document } = await get(`/sales/${sale.id}`)
    expect(fiscal_document).to.include({ status: 'authorized', number: 'NFC-e 123' })
    expect(fiscal_document.issued_at).to.match(LOCAL_TIME)
    expect(await stock()).to.equal('6.500')
  })

  it('returns stock to a deactivated item, but not to an untracked one [SALE-16]', async () => {
    const [a, b] = [await sell(), await sell()]
    await company.call('DELETE', `/catalog/items/${item}`)
    expect((await cancel(a.id)).status).to.equal(200)
    const revived = await company.call('PUT', '/catalog/items/by-external/caf', { name: 'Café', price: '10.00' })
    expect(revived.body.data.stock).to.equal('6.500')
    await company.call('PATCH', `/catalog/items/${item}`, { stock: null })
    expect((await cancel(b.id)).status).to.equal(200)
    expect(await stock()).to.equal(null)
  })

  it('returns nothing for items sold before they were tracked [SALE-16]', async () => {
    await company.call('PATCH', `/catalog/items/${item}`, { stock: null })
    const { id } = await sell()
    await company.call('PATCH', `/catalog/items/${item}`, { stock: '1' })
    expect((await cancel(id)).status).to.equal(200)
    expect(await stock()).to.equal('1.000')
  })

  it('is found by updated_since, as a change of the sale and of the item', async () => {
    const { id } = await sell()
    const { synced_at } = (await company.get('/sales')).body.meta
    await sell()
    const { body } = await company.get('/sales')
    await cancel(id)
    const since = encodeURIComponent(body.meta.synced_at)
    expect(idsIn(await company.get(`/sales?updated_since=${since}`)).at(-1)).to.equal(id)
    expect(idsIn(await company.get(`/catalog/items?updated_since=${since}`))).to.deep.equal([item])
    expect(Date.parse(body.meta.synced_at)).to.be.at.least(Date.parse(synced_at))
  })
})
