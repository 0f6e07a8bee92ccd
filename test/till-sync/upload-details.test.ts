import { expect } from 'chai'
import { fingerprintOf, OfflineSaleInput } from '#commands/sales/offline-sale-input.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, offlineSaleOf, openCounter, upload } from '../support/offline-sales.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const CARD = {
  brand: 'visa',
  nsu: '004711',
  authorization: 'R07242',
  installments: 1,
  acquirer_cnpj: '01027058000191',
  integrated: false,
}

describe('details of uploaded sales', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const shown = async (id: number): Promise<Json> => (await company.get(`/sales/${id}`)).body.data
  const paidBy = (type: number, details: object) => ({
    payments: [{ payment_type_id: type, amount: 10, status: 'completed', ...details }],
  })

  it('show the user of the till as the seller [UP-36]', async () => {
    const { results } = await upload(till, [counter.sale('a'), counter.sale('b', { status: 'cancelled' })])
    for (const { sale_id } of results)
      expect((await shown(sale_id)).seller).to.deep.equal({ user_id: till.user.id, name: till.user.name })
    const { sales } = (await company.get('/finance/summary?from=2026-03-01&to=2026-03-31')).body.data
    const seller = { user_id: till.user.id, name: till.user.name }
    expect(sales.by_seller).to.deep.equal([{ seller, count: 1, gross: '10.00', returned: '0.00', net: '10.00' }])
  })

  it('keep the fiscal codes of the catalog [UP-36]', async () => {
    await company.call('PATCH', `/catalog/items/${counter.product}`, { ncm: '09012100', cfop: '5102', csosn: '102' })
    const { results } = await upload(till, [counter.sale('a', { discount: 1 })])
    const [line] = (await shown(results[0].sale_id)).items
    expect(line).to.include({ ncm: '09012100', cfop: '5102', csosn: '102', discount_share: '0.00' })
  })

  it('show the share of each item in the discount of the sale [SALE-30]', async () => {
    const items = [1, 2].map(() => ({ product_id: counter.product, quantity: 1, price: 10, total: 10 }))
    const paid = [{ payment_type_id: counter.cash, amount: 19.99, status: 'completed' }]
    const sale = counter.sale('a', { items, total: 19.99, amount_received: 19.99, change: 0, payments: paid })
    const { results } = await upload(till, [sale])
    const { discount, items: lines } = await shown(results[0].sale_id)
    expect(discount).to.equal('0.01')
    expect(lines.map((line: Json) => line.discount_share)).to.deep.equal(['0.01', '0.00'])
  })

  it('show card and Pix data of the payments [UP-35]', async () => {
    const card = await company.paymentType('card')
    const pix = await company.paymentType('pix')
    const end_to_end_id = 'E00038166201907261559y6j6mt9l0pi'
    const sales = [
      counter.sale('a', paidBy(card, { card: { ...CARD, holder: 'ignored' } })),
      counter.sale('b', paidBy(pix, { end_to_end_id })),
    ]
    const { results } = await upload(till, sales)
    const [first, second] = await Promise.all(results.map(({ sale_id }: Json) => shown(sale_id)))
    expect(first?.payments[0].card).to.deep.equal(CARD)
    expect(second?.payments[0]).to.include({ end_to_end_id })
  })

  it('are refused if they are malformed, or of a payment in cash [UP-35]', async () => {
    const card = await company.paymentType('card')
    const { results } = await upload(till, [
      counter.sale('a', paidBy(card, { card: { brand: 'diners' } })),
      counter.sale('b', paidBy(counter.cash, { card: CARD })),
      counter.sale('c', paidBy(counter.cash, { end_to_end_id: 'E1' })),
    ])
    expect(results.map(({ code }: Json) => code)).to.deep.equal(Array(3).fill('validation_failed'))
    expect(results.map(({ errors }: Json) => Object.keys(errors))).to.deep.equal([
      ['payments[0].card.brand'],
      ['payments[0].card'],
      ['payments[0].end_to_end_id'],
    ])
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it('do not make another sale of a repeated upload [UP-35] [UP-5]', () => {
    const plain = OfflineSaleInput.parse(offlineSaleOf())
    const detailed = OfflineSaleInput.parse(offlineSaleOf(paidBy(1, { card: CARD, end_to_end_id: 'E1' })))
    expect(fingerprintOf(detailed)).to.equal(fingerprintOf(plain))
  })
})
