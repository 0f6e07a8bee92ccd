import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { openedEvents } from '../../support/opened.ts'
import { useSeller } from './seller.ts'

const CARD = {
  brand: 'mastercard',
  nsu: '004711',
  authorization: 'R07242',
  installments: 2,
  acquirer_cnpj: '01027058000191',
  integrated: true,
}
const END_TO_END = 'E00038166201907261559y6j6mt9l0pi'

describe('sales: card and Pix data', () => {
  const { api, company, adHoc, pay, types, sell, sold } = useSeller()

  it('are shown with the payments that have them, and absent otherwise', async () => {
    const pix = await company.paymentType('pix')
    const payments = [
      { ...pay('6.00', types.card), card: CARD },
      { ...pay('3.00', pix), end_to_end_id: END_TO_END },
      pay('1.00'),
    ]
    const sale = await sold({ items: [adHoc('10.00')], payments })
    const [card, instant, cash] = sale.payments
    expect(card.card).to.deep.equal(CARD)
    expect(card).not.to.have.property('end_to_end_id')
    expect(instant).to.include({ end_to_end_id: END_TO_END }).and.not.have.property('card')
    expect(cash).to.have.all.keys('payment_type_id', 'name', 'amount', 'surcharge', 'net')
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
  })

  it('are null where a card was sent without them', async () => {
    const payments = [{ ...pay('10.00', types.card), card: { brand: 'elo' } }]
    const none = { nsu: null, authorization: null, installments: null, acquirer_cnpj: null, integrated: null }
    const sale = await sold({ items: [adHoc('10.00')], payments })
    expect(sale.payments[0].card).to.deep.equal({ brand: 'elo', ...none })
  })

  it('are refused on cash, and sell nothing', async () => {
    const items = [adHoc('10.00')]
    expectInvalid(await sell({ items, payments: [{ ...pay('10.00'), card: CARD }] }), ['payments[0].card'])
    const payments = [pay('4.00', types.card), { ...pay('6.00'), end_to_end_id: END_TO_END }]
    expectInvalid(await sell({ items, payments }), ['payments[1].end_to_end_id'])
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it('are in the event of the sale only if they were sent', async () => {
    await sold({ items: [adHoc('10.00')], payments: [pay('10.00', types.card)] })
    const event = (await openedEvents(api.core, company.id)).find(({ type }) => type === 'SaleCompleted')
    expect(JSON.stringify(event?.data)).not.to.match(/"(card|end_to_end_id|discount|seller|cfop)":/)
  })

  it('of another sale are a warning in answer and sale, and 422 with ?strict=true [SALE-785, SALE-786]', async () => {
    const body = {
      items: [adHoc('10.00')],
      payments: [{ ...pay('10.00', types.card), end_to_end_id: END_TO_END }],
    }
    const first = await sell(body)
    expect([first.body.data.warnings, first.body.meta]).to.deep.equal([[], undefined])
    const sale_id = first.body.data.id
    const field = 'payments[0].end_to_end_id'
    const used = { code: 'payment_already_used', sale_id }
    const second = await sell(body)
    expect(second.body.data.warnings).to.deep.equal([used])
    expect(second.body.meta.warnings).to.deep.equal([{ ...used, field, message: `já está na venda ${sale_id}` }])
    expect((await company.get(`/sales/${second.body.data.id}`)).body.data.warnings).to.deep.equal([used])
    const strict = await company.post('/sales?strict=true', body)
    expectProblem(strict, 422, 'payment_already_used')
    expect(strict.body.error.details).to.deep.equal({ field, sale_id })
    expect((await company.get('/sales')).body.data).to.have.length(2)
    expect((await company.post('/sales?strict=maybe', body)).status).to.equal(422)
    const other = await company.post('/sales?strict=true', { ...body, payments: [pay('10.00')] })
    expect(other.status).to.equal(201)
  })
})
