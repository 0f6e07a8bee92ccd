import { expect } from 'chai'
import { addDays } from '#domain/instant.ts'
import { acquirerCalendar, sumAcquirerFees } from '#queries/finance-summary.ts'
import { fullReader } from '#queries/reader.ts'
import { accessKeyOf } from '../support/access-key.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { fiscalDocument } from '../support/facts.ts'
import { openedEvents } from '../support/opened.ts'
import { useApi, useCompanyPerTest } from '../support/use-api.ts'
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

const DAY = { from: '2026-11-20T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z' }

describe('acquirers of sale payments', () => {
  const { api, company } = useCompanyPerTest()

  const type = async (fields: object): Promise<number> =>
    (await company.post('/sales/payment-types', fields)).body.data.id
  const sell = async (total: string, payments: readonly object[], sold_at = '2026-11-21T23:30:00-03:00') => {
    const items = [{ description: 'Bolo', quantity: '1', unit_price: total }]
    const reply = await company.post('/sales', { items, payments, sold_at })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data as Json
  }
  const paid = (payment_type_id: number, amount: string) => ({ payment_type_id, amount })

  it('payments keep their rate, half a cent rounded up, and settle after the local day [TYPE-5]', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const { payments } = await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    expect(payments[0]).to.include({ amount: '100.00', net: '100.00', acquirer_fee: '3.55', settles_on: '2026-12-21' })
    expect(payments[1], '0.005').to.include({ acquirer_fee: '0.01', settles_on: '2026-11-23' })
    const { payments: tiny } = await sell('0.49', [paid(debit, '0.49')])
    expect(tiny[0], '0.0049').to.include({ acquirer_fee: '0.00' })
  })

  it('keep it of the charged amount, surcharge included and change left out [TYPE-5]', async () => {
    const cash = await type({
      name: 'Vale com troco',
      kind: 'cash',
      fee_percentage: '5',
      acquirer_rate: '10',
      settles_in_days: null,
    })
    const { payments } = await sell('105.00', [paid(cash, '200.00')])
    expect(payments[0]).to.include({ surcharge: '5.00', net: '100.00', acquirer_fee: '10.50' })
    expect(payments[0]).not.to.have.property('settles_on')
  })

  it('are not named by payments of other types, nor changed in past sales [TYPE-5]', async () => {
    const pix = await type({ name: 'Pix', kind: 'pix' })
    const sale = await sell('10.00', [paid(pix, '10.00')])
    expect(Object.keys(sale.payments[0])).to.deep.equal(['payment_type_id', 'name', 'amount', 'surcharge', 'net'])
    await company.call('PATCH', `/sales/payment-types/${pix}`, { acquirer_rate: '1.00', settles_in_days: 0 })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
    const later = await sell('10.00', [paid(pix, '10.00')])
    expect(later.payments[0]).to.include({ acquirer_fee: '0.10', settles_on: '2026-11-23' })
  })

  const key = () => ({ 'Idempotency-Key': `volta-${++keys}` })
  let keys = 0
  /** Net of all forecasts, by payment type. */
  const forecast = async () => {
    const rows = await acquirerCalendar(fullReader(api.core.pool, company.id), { from: '2026-01-01', to: '2029-12-31' })
    return rows.map(({ day, gross_cents, fee_cents }) => [day, Number(gross_cents - fee_cents)])
  }
  const sum = async () => (await forecast()).reduce((cents, [, net]) => cents + Number(net), 0)
  const giveBack = async (sale: Json, payment_type_id: number, amount: string) => {
    const body = {
      reason: 'Defeito',
      items: [{ line: 0, quantity: String(Number(amount) / Number(sale.total)) }],
      refunds: [{ payment_type_id, amount }],
      returned_at: '2026-11-21T23:40:00-03:00',
    }
    const reply = await company.post(`/sales/${sale.id}/returns`, body, key())
    expect(reply.status, reply.text).to.equal(201)
  }

  it('owe less by what went back on the card, and no less by what went back in cash [PANEL-780]', async () => {
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const cash = await company.paymentType('cash')
    await giveBack(await sell('1000.00', [paid(debit, '1000.00')]), debit, '1000.00')
    expect(await forecast(), 'the fee is lost').to.deep.equal([['2026-11-23', -1000]])
    await giveBack(await sell('100.00', [paid(debit, '100.00')]), cash, '100.00')
    expect(await sum()).to.equal(-1000 + 9900)
    const cancelled = await sell('50.00', [paid(debit, '50.00')])
    await company.post(`/sales/${cancelled.id}/cancel`, { refunds: [{ payment_type_id: cash, amount: '50.00' }] })
    expect(await sum()).to.equal(-1000 + 9900 + 4950)
    const undone = await sell('50.00', [paid(debit, '50.00')])
    await company.post(`/sales/${undone.id}/cancel`, { refunds: [{ payment_type_id: debit, amount: '50.00' }] })
    expect(await sum()).to.equal(-1000 + 9900 + 4950 - 50)
  })

  it('pay instalment by instalment, and give their fee back if their terms say so [PANEL-780] [TYPE-780]', async () => {
    const terms = {
      acquirer_rate: '2.00',
      acquirer_rate_7_12: '4.00',
      acquirer_fee_refunded: true,
      settles_in_days: 30,
    }
    const credit = await type({ name: 'Crédito', kind: 'card', ...terms })
    const sale = await sell('1000.00', [{ ...paid(credit, '1000.00'), card: { installments: 12 } }])
    expect(sale.payments[0]).to.include({
      acquirer_fee: '40.00',
      settles_on: '2026-12-21',
      acquirer_fee_refunded: true,
    })
    expect(sale.payments[0].settlements).to.have.lengthOf(12)
    expect([(await forecast()).length, await sum()]).to.deep.equal([12, 96_000])
    await giveBack(sale, credit, '500.00')
    expect([(await forecast()).length, await sum()]).to.deep.equal([12, 48_000])
  })

  it('pay for accounts that were received by card, until the receipt is reversed [PANEL-780]', async () => {
    await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const account = { description: 'Fiado', amount: '100.00', due_date: '2026-11-30' }
    const { id } = (await company.post('/finance/receivables', account)).body.data
    const receipt = { amount: '60.00', payment_method: 'debit_card', paid_at: '2026-11-20T12:00:00-03:00' }
    const received = await company.post(`/finance/receivables/${id}/payments`, receipt, key())
    expect(received.status, received.text).to.equal(201)
    expect(await forecast()).to.deep.equal([['2026-11-23', 5940]])
    const cash = { amount: '10.00', payment_method: 'cash' }
    await company.post(`/finance/receivables/${id}/payments`, cash, key())
    expect(await sum()).to.equal(5940)
    const [payment] = received.body.data.payments
    const path = `/finance/receivables/${id}/payments/${payment.id}/reverse`
    expect((await company.post(path, { reason: 'Engano' }, key())).status).to.equal(200)
    expect(await forecast()).to.deep.equal([])
  })

  it('pay by day and payment type what completed sales have left after fees', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    await sell('0.50', [paid(debit, '0.50')])
    const { pool } = api.core
    const from = '2026-11-22'
    const calendar = await acquirerCalendar(fullReader(pool, company.id), { from, to: addDays(from, 29) })
    expect(calendar).to.deep.equal([
      { day: '2026-11-23', payment_type_id: debit, name: 'Débito', count: 2, gross_cents: 100n, fee_cents: 2n },
      { day: '2026-12-21', payment_type_id: credit, name: 'Crédito', count: 1, gross_cents: 10_000n, fee_cents: 355n },
    ])
    expect(
      await acquirerCalendar(fullReader(pool, company.id), { from: addDays(from, 2), to: addDays(from, 28) }),
    ).to.deep.equal([])
    expect(
      await sumAcquirerFees(fullReader(pool, company.id), { ...DAY, to: '2026-11-23T00:00:00.000Z' }),
    ).to.deep.equal({
      count: 2,
      fee_cents: 357n,
      known_fee_cents: 0n,
    })
  })
})

const TAXES = {
  origin: '0',
  cfop: '5102',
  icms_cst: null,
  csosn: '102',
  pis_cst: '49',
  cofins_cst: '49',
  cbenef: 'PR800000',
  ibs_cbs_cst: '000',
  ibs_cbs_class: '000001',
}
const NONE = Object.fromEntries(Object.keys(TAXES).map((field) => [field, null]))

describe('fiscal codes of items', () => {
  const { api, company, item, adHoc, pay, sold } = useSeller()

  const patch = (id: number, changes: object) => company.call('PATCH', `/catalog/items/${id}`, changes)

  it('are recorded by POST, changed by PATCH, replaced by PUT, and null otherwise', async () => {
    const made = await item({ ...TAXES, external_id: 'caf' })
    expect(made).to.deep.include(TAXES)
    expect((await company.get(`/catalog/items/${made.id}`)).body.data).to.deep.equal(made)
    expect((await company.get('/catalog/items')).body.data).to.deep.equal([made])
    expect((await patch(made.id, { cfop: '6.102', cbenef: null })).body.data).to.deep.include({
      ...TAXES,
      cfop: '6102',
      cbenef: null,
    })
    const put = await company.call('PUT', '/catalog/items/by-external/caf', {
      name: 'Café',
      price: '1.00',
      origin: '1',
    })
    expect(put.body.data).to.deep.include({ ...NONE, origin: '1' })
    expect(await item()).to.deep.include(NONE)
  })

  it('are kept by a deactivated item, and cleared by a PUT that revives it [ITEM-11]', async () => {
    const { id } = await item({ ...TAXES, external_id: 'caf' })
    await company.call('DELETE', `/catalog/items/${id}`)
    const back = await company.post(`/catalog/items/${id}/reactivate`)
    expect(back.body.data).to.deep.include(TAXES)
    await company.call('DELETE', `/catalog/items/${id}`)
    const put = await company.call('PUT', '/catalog/items/by-external/caf', { name: 'Café', price: '1.00' })
    expect(put.body.data).to.deep.include({ id, ...NONE })
  })

  it('that contradict each other are 422, also those that a PATCH leaves alone [ITEM-21]', async () => {
    const body = { name: 'Café', price: '1.00' }
    expectInvalid(await company.post('/catalog/items', { ...body, icms_cst: '00', csosn: '102' }), ['csosn'])
    expectInvalid(await company.post('/catalog/items', { ...body, ibs_cbs_cst: '000', ibs_cbs_class: '410004' }), [
      'ibs_cbs_class',
    ])
    const { id } = await item(TAXES)
    expectInvalid(await patch(id, { icms_cst: '00' }), ['csosn'])
    expectInvalid(await patch(id, { ibs_cbs_cst: '410' }), ['ibs_cbs_class'])
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.deep.include(TAXES)
    const changed = await patch(id, { icms_cst: '00', csosn: null, ibs_cbs_cst: '410', ibs_cbs_class: '410004' })
    expect(changed.body.data).to.deep.include({ icms_cst: '00', csosn: null, ibs_cbs_class: '410004' })
    const batch = { items: [{ ...body, external_id: 'x', icms_cst: '00', csosn: '102' }] }
    const { meta } = (await company.post('/catalog/items/batch', batch)).body
    expect(meta.errors[0].details.fields).to.have.all.keys('csosn')
  })

  it('are kept by sales as they were when sold; empty ones are absent [SALE-23]', async () => {
    const { icms_cst: _, ...codes } = TAXES
    const { id } = await item({ ...TAXES, ncm: '0901.21.00', gtin: '7891234567895' })
    const items = [{ catalog_item_id: id, quantity: '1', unit_price: '1.00' }, adHoc('1.00')]
    const sale = await sold({ items, payments: [pay('2.00')] })
    const [known, unknown] = sale.items
    expect(known).to.include({ ...codes, ncm: '09012100', gtin: '7891234567895' })
    expect(known).not.to.have.any.keys('icms_cst', 'cest')
    expect(unknown).not.to.have.any.keys('gtin', 'ncm', 'cest', ...Object.keys(TAXES))
    await patch(id, { csosn: '500', cfop: '5405' })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
  })

  it('are in the webhook message of the sale [SALE-23]', async () => {
    await company.post('/webhooks', { url: 'https://erp.example/eventos', events: ['sale.completed'] })
    const { id } = await item(TAXES)
    // The company's own key gets no messages about its own sales.
    const { key } = await company.newKey(['sales:write'])
    const body = { items: [{ catalog_item_id: id, quantity: '1' }], payments: [pay('18.90')], seller: { name: 'Ana' } }
    const reply = await company.call('POST', '/sales', body, { authorization: `Bearer ${key}` })
    expect(reply.status, reply.text).to.equal(201)
    const { rows } = await api.core.pool.query<{ body: string }>(
      "select body from ops.webhook_messages where company_id = $1 and event = 'sale.completed'",
      [company.id],
    )
    expect(rows).to.have.length(1)
    expect(JSON.parse(rows[0]?.body ?? '').data).to.deep.equal(reply.body.data)
    expect(reply.body.data.items[0]).to.include({ cfop: '5102', discount_share: '0.00' })
  })
})

describe('fiscal fields of customers', () => {
  const { company } = useSeller()

  it('are recorded, changed and cleared', async () => {
    const fields = { state_registration: '110.042.490.114', ie_indicator: '1' }
    const made = await company.post('/customers', { name: 'Padaria', external_id: 'p', ...fields })
    expect(made.body.data).to.include({ state_registration: '110042490114', ie_indicator: '1' })
    const { id } = made.body.data
    const changed = await company.call('PATCH', `/customers/${id}`, { ie_indicator: '2', state_registration: 'isento' })
    expect(changed.body.data).to.include({ state_registration: 'ISENTO', ie_indicator: '2' })
    const put = await company.call('PUT', '/customers/by-external/p', { name: 'Padaria' })
    expect(put.body.data).to.include({ state_registration: null, ie_indicator: null })
    await company.call('DELETE', `/customers/${id}`)
    const back = await company.call('PUT', '/customers/by-external/p', { name: 'Padaria', ie_indicator: '9' })
    expect(back.body.data).to.include({ state_registration: null, ie_indicator: '9' })
  })

  it('of a wrong shape are 422; suppliers have none', async () => {
    const wrong = { state_registration: 'x', ie_indicator: '3' }
    expectInvalid(await company.post('/customers', { name: 'Padaria', ...wrong }), Object.keys(wrong))
    expectInvalid(await company.post('/suppliers', { name: 'Moinho', ie_indicator: '1' }), [], ['ie_indicator'])
  })
})

const documentOf = (number: string) => ({ ...fiscalDocument, number, access_key: accessKeyOf({ number }) })

describe('fiscal document of a sale', () => {
  const { company, adHoc, pay, sold } = useSeller()
  const put = (id: number, body: object = fiscalDocument) => company.call('PUT', `/sales/${id}/fiscal-document`, body)
  const sale = async () => (await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })).id

  it('is replaced as a whole, shown with the sale, and records nothing when repeated [REC-3]', async () => {
    const id = await sale()
    const first = await put(id, { ...fiscalDocument, xml_sha256: 'A'.repeat(64), xml_url: 'https://xml.example/1' })
    expect(first.status, first.text).to.equal(200)
    expect(first.body.data.fiscal_document).to.deep.equal({
      ...fiscalDocument,
      authorized_at: '2026-03-10T11:00:01.000-03:00',
      xml_sha256: 'a'.repeat(64),
      xml_url: 'https://xml.example/1',
      issued_at: '2026-03-10T11:00:01.000-03:00',
    })
    expect((await company.get(`/sales/${id}`)).text).to.equal(first.text)
    const cleared = await put(id)
    expect(cleared.body.data.fiscal_document).to.include({ xml_sha256: null, xml_url: null })
    const again = await put(id)
    expect(again.text).to.equal(cleared.text)
    expect(again.headers.get('x-ledger-revision')).to.equal(cleared.headers.get('x-ledger-revision'))
  })

  it('filters sales as missing or present', async () => {
    const [missing, authorized, contingency, freed, cancelled] = [
      await sale(),
      await sale(),
      await sale(),
      await sale(),
      await sale(),
    ]
    await put(authorized)
    await put(contingency, { ...documentOf('2'), status: 'contingency', protocol: null, authorized_at: null })
    await put(freed, { ...documentOf('3'), status: 'cancelled' })
    await company.post(`/sales/${cancelled}/cancel`, {})
    const found = async (query: string) => idsIn(await company.get(`/sales?${query}`))
    expect(await found('fiscal=missing')).to.deep.equal([missing, freed])
    expect(await found('fiscal=present')).to.deep.equal([authorized, contingency])
    expect(await found('fiscal=missing&status=cancelled')).to.deep.equal([])
    expect(await found('fiscal=missing&limit=1&updated_since=2020-01-01T00:00:00Z')).to.deep.equal([missing])
    expectInvalid(await company.get('/sales?fiscal=none'), ['fiscal'])
  })
})

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
  const cancel = (id: number, sent?: unknown) => company.post(`/sales/${id}/cancel`, sent)
  const get = async (path: string): Promise<Json> => (await company.get(path)).body.data
  const stock = async () => (await get(`/catalog/items/${item}`)).stock

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
