import { expect } from 'chai'
import { forgetPerson } from '#commands/forget-person.ts'
import { updateUser } from '#commands/user-commands.ts'
import { isSealed } from '#crypto/vault.ts'
import { streamOf } from '#ledger/command.ts'
import { exportPersonData } from '#privacy/data-export.ts'
import { presentSource, Reader, WHOLE } from '#queries/reader.ts'
import { getSale } from '#queries/sale-queries.ts'
import { t } from '#queries/table-names.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { createTestUser } from '../../support/till.ts'
import { useSeller } from './seller.ts'

const SUMMARY = '/finance/summary'

describe('sales: seller', () => {
  const { api, company, adHoc, pay, sell, sold } = useSeller()

  const soldBy = (seller: object | null, amount = '10.00') =>
    sold({ items: [adHoc(amount)], payments: [pay(amount)], ...(seller && { seller }) })

  const bySeller = async (): Promise<Json[]> => (await company.get(SUMMARY)).body.data.sales.by_seller

  it('is a user of the company, with the name as of the sale [SALE-25]', async () => {
    const { id, name } = await createTestUser(company)
    const sale = await soldBy({ user_id: id })
    expect(sale.seller).to.deep.equal({ user_id: id, name })
    await company.run(updateUser, { id, name: 'Outro nome' })
    expect((await company.get(`/sales/${sale.id}`)).body.data.seller).to.deep.equal({ user_id: id, name })
  })

  it('is a name, or null [SALE-25]', async () => {
    expect((await soldBy({ name: 'Ana' })).seller).to.deep.equal({ user_id: null, name: 'Ana' })
    expect((await soldBy({ name: 'Bia', user_id: null })).seller).to.deep.equal({ user_id: null, name: 'Bia' })
    expect((await soldBy(null)).seller).to.equal(null)
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], seller: null }
    expect((await sold(body)).seller).to.equal(null)
  })

  it('is 422 with both, with none, and of another company [SALE-25]', async () => {
    const { id } = await createTestUser(company)
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')] }
    for (const seller of [{}, { user_id: id, name: 'Ana' }, { user_id: null, name: null }, { name: '' }])
      expectInvalid(await sell({ ...body, seller }), ['seller'])
    expectInvalid(await sell({ ...body, seller: { user_id: id + 1 } }), ['seller.user_id'])
    expectInvalid(await sell({ ...body, seller: { name: ' ' } }), ['seller.name'])
    expectInvalid(await sell({ ...body, seller: { name: 'Ana', email: 'a@loja.example' } }), [], ['seller.email'])
    const stranger = await createTestUser(await api.company())
    if (stranger.id !== id) expectInvalid(await sell({ ...body, seller: { user_id: stranger.id } }), ['seller.user_id'])
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it('is sealed as a user, and forgotten with the user in sales, events and new sales [SALE-25] [PRIV-62]', async () => {
    const { id, name } = await createTestUser(company)
    const sale = await soldBy({ user_id: id })
    const named = await soldBy({ name: 'Ana' })
    const stored: Json[] = []
    for await (const event of api.core.store.read(streamOf(company.id), 0))
      if (event.type === 'SaleCompleted') stored.push(event.data)
    expect(isSealed(stored[0]?.seller.name)).to.equal(true)
    // A name without a user has no record whose erasure could ask for it.
    expect(stored[1]?.seller).to.deep.equal({ user_id: null, name: 'Ana' })
    expect(JSON.stringify(stored)).not.to.include(name)
    const person = { kind: 'user', id, ground: 'holder_request', retention_years: 5 } as const
    await company.run(forgetPerson, person)
    expect((await company.get(`/sales/${sale.id}`)).body.data.seller).to.deep.equal({ user_id: id, name: null })
    expect((await company.get(`/sales/${named.id}`)).body.data.seller).to.deep.equal({ user_id: null, name: 'Ana' })
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], seller: { user_id: id } }
    expectProblem(await sell(body), 409, 'person_forgotten')
    expect(await bySeller()).to.deep.include({
      seller: { user_id: id, name: null },
      count: 1,
      gross: '10.00',
      returned: '0.00',
      net: '10.00',
    })
  })

  it('is masked for auditors, a name without a user too [PRIV-62]', async () => {
    const { id } = await createTestUser(company)
    const masked = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, hidesPersons: true })
    for (const seller of [{ user_id: id }, { name: 'Ana' }]) {
      const sale = await soldBy(seller)
      const { record } = (await getSale(masked, sale.id)) as unknown as { record: string }
      expect(JSON.parse(String(record)).seller.name).to.equal('(retido)')
    }
    const { rows } = await masked.query({ text: `select seller_name from ${t.sales} where company_id = $1` })
    expect(rows).to.deep.equal([{ seller_name: null }, { seller_name: null }])
  })

  it('a seller’s export has the sales without buyers’ names, and the reverse [PRIV-50]', async () => {
    const { id, name } = await createTestUser(company)
    const customer = (await company.post('/customers', { name: 'Maria da Silva' })).body.data
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], customer_id: customer.id, seller: { user_id: id } }
    await sold(body)
    const exported = async (kind: 'user' | 'customer', of: number): Promise<string> => {
      let text = ''
      const now = '2026-11-22T12:00:00.000Z'
      for await (const part of (await exportPersonData(api.core, company.id, { kind, id: of }, now)) ?? [])
        text += JSON.stringify(part)
      return text
    }
    const ofUser = await exported('user', id)
    expect(ofUser).to.include('"type":"SaleCompleted"').and.include(name).and.not.include('Maria da Silva')
    const ofCustomer = await exported('customer', customer.id)
    expect(ofCustomer).to.include('"type":"SaleCompleted"').and.include('Maria da Silva').and.not.include(name)
  })

  it('sums up in the summary: completed sales, highest gross first', async () => {
    const { id } = await createTestUser(company)
    await soldBy({ user_id: id }, '7.00')
    await soldBy({ user_id: id }, '5.00')
    await soldBy({ name: 'Ana' }, '20.00')
    await soldBy({ name: 'Bia' }, '3.00')
    await soldBy(null, '2.50')
    const cancelled = await soldBy({ name: 'Ana' }, '90.00')
    await company.post(`/sales/${cancelled.id}/cancel`, {})
    await company.run(updateUser, { id, name: 'Nome de agora' })
    const { sales } = (await company.get(SUMMARY)).body.data
    expect(sales.by_seller).to.deep.equal([
      { seller: { user_id: null, name: 'Ana' }, count: 1, gross: '20.00', returned: '0.00', net: '20.00' },
      { seller: { user_id: id, name: 'Nome de agora' }, count: 2, gross: '12.00', returned: '0.00', net: '12.00' },
      { seller: { user_id: null, name: 'Bia' }, count: 1, gross: '3.00', returned: '0.00', net: '3.00' },
      { seller: null, count: 1, gross: '2.50', returned: '0.00', net: '2.50' },
    ])
    expect(sales).to.include({ count: 5, gross: '37.50' })
    const before = await company.get(`${SUMMARY}?from=2020-01-01&to=2020-01-31`)
    expect(before.body.data.sales.by_seller).to.deep.equal([])
  })
})
