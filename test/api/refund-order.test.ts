import { expect } from 'chai'
import { createItem } from '#commands/item-commands.ts'
import { completeRefund, requestRefund } from '#commands/order-attempts.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { createStore } from '#commands/store-commands.ts'
import {
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { fileRows } from '../figures/parse.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { vault } from '../support/master-key.ts'
import { paymentTold, placedOrder } from '../support/orders.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { useCashier } from './cashier.ts'

describe('sale of a paid order', () => {
  const { api, company, provider, alias, pay, show, tell } = useCashier()
  beforeEach(() => {
    provider.status = 'approved'
    provider.refundStatus = 'completed'
    provider.refundCalls.length = 0
    provider.readFailure = null
  })

  const makeItem = () =>
    company.run(createItem, { type: 'product', name: 'Cesta', price: '50.00', cost: '20.00', stock: '5' })

  /** Two of the item, and an ad-hoc one: 105.00 with the delivery. */
  async function placeGoods(item: number): Promise<number> {
    const items = [
      { catalog_item_id: item, quantity: '2' },
      { description: 'Laço', quantity: '1', unit_price: '2.00' },
    ]
    const order = { store_alias: alias(), customer: { name: 'Ana' }, items, delivery_fee: '3.00' }
    return (await company.post('/orders', order)).body.data.id
  }

  const stockOf = async (item: number) => (await company.get(`/catalog/items/${item}`)).body.data.stock
  const salesOf = async (id: number): Promise<Json[]> =>
    (await company.get('/sales?origin=system&limit=100')).body.data.filter(({ order_id }: Json) => order_id === id)
  const saleOf = async (id: number): Promise<Json> =>
    (await company.get(`/sales/${(await show(id)).sale_id}`)).body.data
  const refund = (id: number, key: string, body: object = {}) =>
    company.post(`/orders/${id}/refunds`, body, { 'idempotency-key': key })
  const sweep = () => {
    const { pool, writer } = api.core
    const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
    return sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
  }
  const returns = async (): Promise<Json[]> =>
    (
      await api.core.pool.query(
        'select sale_id, order_id, provider_payment_id, cents from sale_returns where company_id = $1 and items is null order by revision',
        [company.id],
      )
    ).rows

  it('shows each other’s id, is listed under origin system, and counts in the summary [ORDER-42]', async () => {
    const { id: item } = await makeItem()
    const id = await placeGoods(item)
    await pay(id)
    const order = await show(id)
    const [sale] = await salesOf(id)
    expect(sale).to.deep.include({ id: order.sale_id, order_id: id, origin: 'system', total: '105.00' })
    expect(order.goods_out).to.deep.equal([{ catalog_item_id: item, quantity: '2.000' }])
    expect(await stockOf(item)).to.equal('3.000')
    const { data: types } = (await company.get('/sales/payment-types')).body
    expect(types).to.have.length(1)
    expect(types[0]).to.include({ kind: 'online', accepts_api: false })
    expect(sale?.payments).to.deep.equal([
      { payment_type_id: types[0].id, name: 'Loja online', amount: '105.00', surcharge: '0.00', net: '105.00' },
    ])
    const day = order.released_at.slice(0, 10)
    const summary = (await company.get(`/finance/summary?from=${day}&to=${day}`)).body.data
    expect(summary.sales).to.deep.include({ count: 1, gross: '105.00' })
  })

  it('is made once by notifications, sweeps and requests at the same time [ORDER-42]', async () => {
    const { id: item } = await makeItem()
    const id = await placeGoods(item)
    provider.status = 'pending'
    await pay(id, 'k')
    const payment = { ...(provider.payments[0] as ProviderPayment), status: 'approved' }
    provider.payments[0] = payment
    await Promise.all([
      ...Array.from({ length: 6 }, () => tell(id, payment)),
      sweep(),
      pay(id, 'k'),
      sweep(),
      pay(id, 'other'),
    ])
    await sweep()
    expect(await show(id)).to.include({ status: 'paid' })
    expect(await salesOf(id)).to.have.length(1)
    expect(await stockOf(item)).to.equal('3.000')
  })

  it('follows a full refund with its goods, once, and the order names it still [ORDER-44, ORDER-46]', async () => {
    const { id: item } = await makeItem()
    const id = await placeGoods(item)
    await pay(id)
    const restock = [{ catalog_item_id: item, quantity: '1' }]
    await Promise.all([refund(id, 'k', { restock }), refund(id, 'k', { restock }), sweep()])
    await sweep()
    expect(await saleOf(id)).to.include({ status: 'cancelled', cancel_reason: `Pedido ${id} devolvido` })
    expect(await stockOf(item)).to.equal('4.000')
    expect((await show(id)).goods_out).to.deep.equal([{ catalog_item_id: item, quantity: '1.000' }])
    expect(await returns()).to.deep.equal([])
  })

  it('counts a partial refund at its time, as the provider gave it back [ORDER-45]', async () => {
    const { id: item } = await makeItem()
    const id = await placeGoods(item)
    await pay(id)
    await refund(id, 'k1', { amount: '30.00' })
    await refund(id, 'k2', { amount: '0.50' })
    await sweep()
    const sale = await saleOf(id)
    expect(sale).to.include({ status: 'completed', refunded_total: '30.50', total: '105.00' })
    const of = { sale_id: sale.id, order_id: id, provider_payment_id: provider.payments[0]?.id }
    expect(await returns()).to.deep.equal([
      { ...of, cents: 3000 },
      { ...of, cents: 50 },
    ])
    const list = (await company.get('/sales?updated_since=2000-01-01T00:00:00Z')).body.data
    expect(list.find(({ id: each }: Json) => each === sale.id)).to.deep.equal(sale)
  })

  it('shows goods that came back in every figure: sale, file, start page, sums of the item [RETURN-785]', async () => {
    const own = await api.company()
    const { id: item } = await own.run(createItem, {
      ...{ type: 'product', name: 'Cesta', price: '50.00', cost: '20.00', stock: '5' },
    })
    const store_alias = `volta-${own.id}`
    await own.run(createStore, { alias: store_alias, commission_percentage: '5', sandbox: true })
    const { id } = await own.run(placeOrder, {
      ...{ store_alias, customer: { name: 'Ana' }, items: [{ catalog_item_id: item, quantity: '2' }] },
    })
    const payment = await paymentTold(own, id, 'approved')
    const refund = { id, refund_id: '00000000-0000-4000-8000-000000000001' }
    const restock = [{ catalog_item_id: item, quantity: '1' }]
    const key = { idempotency_key: 'k', caller: null }
    await own.run(requestRefund, { ...refund, ...key, amount: '50.00', restock })
    await own.run(completeRefund, { ...refund, provider_refund_id: 'd1' })
    const told = { provider_payment_id: payment, provider_status: 'approved', status_detail: null, live_mode: false }
    await own.run(recordPayment, { id, ...told, attempt_id: null, refunded: '50.00' })
    const { sale_id } = (await own.get(`/orders/${id}`)).body.data
    const sale = (await own.get(`/sales/${sale_id}`)).body.data
    expect(sale).to.include({ status: 'completed', refunded_total: '50.00', returned_total: '0.00' })
    expect(sale.items[0]).to.include({ quantity: '2.000', returned: '1.000' })
    const user = await panelUser(api, own)
    const text = async (path: string) => textIn((await user.get(path)).html)
    expect(await text('/painel'))
      .to.match(/Cesta 1 (UN )?R\$ 50,00/)
      .and.include('R$ 30,00')
    expect(await text(`/painel/vendas?item=${item}`)).to.match(/Deste item: 1( UN)?, R\$ 50,00/)
    const [row] = fileRows((await user.get('/painel/vendas/itens.csv')).html)
    expect(row).to.include({ 'Quantidade devolvida': '1,000' })
    expect(await text('/painel/devolucoes')).not.to.include('R$ 0,00')
  })
})

describe('refund of an order', () => {
  const { api, company, provider, alias, place, pay, show, tell } = useCashier()
  beforeEach(() => {
    provider.refundCalls.length = 0
    provider.readFailure = null
  })

  async function paid(): Promise<number> {
    const { id } = await place()
    provider.status = 'approved'
    expect((await pay(id)).body.data.status).to.equal('paid')
    return id
  }
  const refund = (id: number, key: string | null, body: object = {}) =>
    company.post(`/orders/${id}/refunds`, body, key === null ? {} : { 'idempotency-key': key })
  const lost = (give: () => ProviderRefund): never => {
    give()
    provider.readFailure = new ProviderUnavailable('unreachable')
    throw new ProviderUnavailable('response lost')
  }

  it('refunds a part, then the rest, and responds 201 with the order [ORDER-11]', async () => {
    const id = await paid()
    const part = await refund(id, 'a', { amount: '20.00' })
    expect(part.status, part.text).to.equal(201)
    expect(part.body.data).to.deep.include({ status: 'paid', refunded_total: '20.00', partially_refunded: true })
    expect(part.body.data.commission).to.include({ amount: '2.38', refunded: '0.66', reversed_at: null })
    expect(part.body.data.refunds[0]).to.include({ amount: '20.00', status: 'completed' })
    const rest = await refund(id, 'b')
    expect(rest.body.data).to.deep.include({ status: 'refunded', refunded_total: '71.52', partially_refunded: false })
    expect(rest.body.data.commission).to.include({ refunded: '2.38' })
    expect(provider.refundCalls.map(({ amountCents }) => amountCents)).to.deep.equal([2000, 5152])
    expectProblem(await refund(id, 'c'), 409, 'order_not_paid')
    expect((await refund(id, 'a', { amount: '20.00' })).text).to.equal(part.text)
  })

  it('refunds once if the response is lost, and for equal concurrent calls [PAY-3]', async () => {
    const id = await paid()
    provider.twistRefund(lost)
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 503, 'unavailable')
    provider.readFailure = null
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    const replies = await Promise.all(Array.from({ length: 12 }, () => refund(id, 'k', { amount: '10.00' })))
    expect(replies.map(({ status }) => status)).to.deep.equal(Array(12).fill(201))
    expect(provider.payments[0]?.refundedCents).to.equal(1000)
    expect(await show(id)).to.include({ refunded_total: '10.00' })
  })

  it('is completed by the sweep without a retry [PAY-3]', async () => {
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderUnavailable('provider unreachable')
    })
    expectProblem(await refund(id, 'k'), 503, 'unavailable')
    const { pool, writer } = api.core
    const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
    const order = await show(id)
    expect(order).to.include({ status: 'refunded', refunded_total: '71.52' })
    expect(order.refunds[0]).to.include({ status: 'completed' })
    expect((await refund(id, 'k')).status).to.equal(201)
    expect(provider.payments[0]?.refundedCents).to.equal(7152)
  })

  it('responds 422 refund_refused with the causes, and accepts the same key again [PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderRefused([{ code: '2063', description: 'no balance' }])
    })
    expect(expectProblem(await refund(id, 'k'), 422, 'refund_refused')).to.deep.equal({
      causes: [{ code: '2063', description: 'no balance' }],
    })
    expect((await show(id)).refunds[0]).to.include({ status: 'refused', refusal: '2063: no balance' })
    expect((await refund(id, 'k')).status).to.equal(201)
  })

  it('leaves a possible refund open if the credentials are wrong afterwards [PAY-51]', async () => {
    const id = await paid()
    provider.twistRefund(lost)
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 503, 'unavailable')
    provider.readFailure = null
    provider.readFailure = new ProviderMisconfigured('401')
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 500, 'provider_configuration_invalid')
    const { pool, writer } = api.core
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log: () => {} }, new AbortController().signal)
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    provider.readFailure = null
    expect((await refund(id, 'k', { amount: '10.00' })).status).to.equal(201)
    expect(provider.payments[0]?.refundedCents).to.equal(1000)
  })

  it('reserves nothing if the store has no credentials, or wrong ones at first [PAY-53, PAY-51]', async () => {
    const store = `${alias()}-nova`
    await company.run(createStore, { alias: store, commission_percentage: '1', sandbox: true })
    const poor = await placedOrder(company, store)
    await paymentTold(company, poor, 'approved')
    expectProblem(await refund(poor, 'k'), 500, 'provider_configuration_invalid')
    expect((await show(poor)).refunds).to.deep.equal([])
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderMisconfigured('401')
    })
    expectProblem(await refund(id, 'other'), 500, 'provider_configuration_invalid')
    expect((await show(id)).refunds[0]).to.include({ status: 'refused' })
  })

  it('never exceeds the payment for twelve equal concurrent calls with different keys [ORDER-11, PAY-3]', async () => {
    const id = await paid()
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => refund(id, `k${n}`, { amount: '7.00' })))
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([...Array(10).fill(201), 422, 422])
    expect(provider.payments[0]?.refundedCents).to.equal(7000)
    expect(await show(id)).to.deep.include({ refunded_total: '70.00', status: 'paid' })
    expect((await show(id)).commission).to.include({ amount: '2.38', refunded: '2.33' })
  })

  it('a refund without a key, or beyond the rest, does not reach the provider [PAY-3, PAY-27]', async () => {
    const id = await paid()
    expectInvalid(await refund(id, null), ['Idempotency-Key'])
    expectInvalid(await refund(id, 'k', { amount: '71.53' }), ['amount'])
    expectInvalid(await refund(id, 'k', { amount: '0.00' }), ['amount'])
    expectProblem(await refund(9_000_001, 'k'), 404, 'not_found')
    expect(provider.refundCalls).to.deep.equal([])
  })

  it('refunds a named payment of an order that was paid twice [ORDER-6, ORDER-11]', async () => {
    const id = await paid()
    const [first] = provider.payments as [ProviderPayment]
    const second = { ...first, id: 'second', attemptId: null }
    provider.payments.push(second)
    await tell(id, second)
    const { data } = (await refund(id, 'k', { provider_payment_id: 'second' })).body
    expect(data).to.deep.include({ status: 'paid', refunded_total: '71.52', partially_refunded: false })
    expect(data.payments.map(({ status }: { status: string }) => status)).to.deep.equal(['paid', 'refunded'])
  })
})

describe('refund in process at the provider', () => {
  const { api, company, provider, alias, place, pay, show, tell } = useCashier()
  beforeEach(() => {
    provider.status = 'approved'
    provider.refundStatus = 'pending'
    provider.refundCalls.length = 0
    provider.readFailure = null
  })

  async function paid(): Promise<number> {
    const { id } = await place('100.00')
    expect((await pay(id)).body.data.status).to.equal('paid')
    return id
  }

  /** Two of an item of which five are in stock, paid with 100.00. */
  async function paidGoods(): Promise<{ id: number; item: number }> {
    const { id: item } = await company.run(createItem, { type: 'product', name: 'Cesta', price: '50.00', stock: '5' })
    const items = [{ catalog_item_id: item, quantity: '2' }]
    const order = { store_alias: alias(), customer: { name: 'Ana' }, items }
    const { id } = (await company.post('/orders', order)).body.data
    await pay(id)
    return { id, item }
  }

  const refund = (id: number, key: string, body: object = { amount: '30.00' }) =>
    company.post(`/orders/${id}/refunds`, body, { 'idempotency-key': key })
  const stockOf = async (item: number) => (await company.get(`/catalog/items/${item}`)).body.data.stock
  const payment = () => provider.payments[0] as ProviderPayment
  const listed = () => payment().refunds ?? []
  /** Refunds at the provider that gave or may give money back, in cents. */
  const taken = () => listed().reduce((sum, each) => (each.status === 'refused' ? sum : sum + each.amountCents), 0)
  /** Decides the first refund, which goes to the end of the list. */
  const decide = (status: ProviderRefund['status']) =>
    provider.listRefund(payment().id, { ...(listed()[0] as ProviderRefund), status })

  async function sweep(): Promise<void> {
    const { pool, writer } = api.core
    const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
  }

  /** The provider takes the refund, and answers as if it had refused it. */
  const refusedButTaken = (give: () => ProviderRefund): never => {
    give()
    throw new ProviderRefused([{ code: '400', description: 'bad_request' }])
  }
  const refusing = (): never => {
    throw new ProviderRefused([{ code: '2063', description: 'no balance' }])
  }

  it('is 201 with a pending refund, which the sweep completes; its key gives the stored answer [PAY-27]', async () => {
    const id = await paid()
    const made = await refund(id, 'k')
    expect(made.status, made.text).to.equal(201)
    expect(made.body.data.refunds[0]).to.include({ status: 'pending', amount: '30.00', completed_at: null })
    expect(made.body.data).to.include({ refunded_total: '0.00', partially_refunded: false })
    expectInvalid(await refund(id, 'more', { amount: '70.01' }), ['amount'])
    decide('completed')
    await sweep()
    expect(await show(id)).to.include({ refunded_total: '30.00', partially_refunded: true })
    expect((await show(id)).refunds[0]).to.include({ status: 'completed' })
    expect((await refund(id, 'k')).text).to.equal(made.text)
    expect(provider.refundCalls).to.have.length(1)
  })

  it('is pending if the provider answers 400 and lists it in process, and is not requested again [PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund(refusedButTaken)
    const made = await refund(id, 'k')
    expect(made.status, made.text).to.equal(201)
    expect(made.body.data.refunds[0]).to.include({ status: 'pending', provider_refund_id: listed()[0]?.id })
    expectInvalid(await refund(id, 'more', { amount: '100.00' }), ['amount'])
    await sweep()
    expect(provider.refundCalls).to.have.length(1)
    decide('completed')
    await tell(id, payment())
    expect(await show(id)).to.include({ refunded_total: '30.00', status: 'paid' })
  })

  it('returns goods of a refund answered 400 only when it is done [PAY-27, ORDER-12]', async () => {
    const { id, item } = await paidGoods()
    provider.twistRefund(refusedButTaken)
    const made = await refund(id, 'k', { restock: [{ catalog_item_id: item, quantity: '2' }] })
    expect(made.status, made.text).to.equal(201)
    expect(await stockOf(item)).to.equal('3.000')
    decide('completed')
    await sweep()
    expect(await show(id)).to.include({ status: 'refunded', refunded_total: '100.00' })
    expect(await stockOf(item)).to.equal('5.000')
    await sweep()
    expect(await stockOf(item)).to.equal('5.000')
  })

  it('is found after a time-out without a second request [PAY-3, PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund((give) => {
      give()
      throw new ProviderUnavailable('timed out')
    })
    expect((await refund(id, 'k')).body.data.refunds[0]).to.include({ status: 'pending' })
    provider.twistRefund((give) => {
      give()
      provider.readFailure = new ProviderUnavailable('unreachable')
      throw new ProviderUnavailable('timed out')
    })
    expectProblem(await refund(id, 'l'), 503, 'unavailable')
    provider.readFailure = null
    await sweep()
    expect(provider.refundCalls).to.have.length(2)
    expect((await show(id)).refunds.map((each: { status: string }) => each.status)).to.deep.equal([
      'pending',
      'pending',
    ])
    expect(taken()).to.equal(6_000)
  })

  it('is not taken for one that the provider’s own site made before with the same amount [PAY-27]', async () => {
    const id = await paid()
    provider.listRefund(payment().id, { id: 'own-site', amountCents: 3_000, status: 'completed' })
    provider.twistRefund(refusing)
    expectProblem(await refund(id, 'k'), 422, 'refund_refused')
    expect(await show(id)).to.include({ refunded_total: '30.00' })
    expect((await show(id)).refunds[0]).to.include({ status: 'refused' })
    expectInvalid(await refund(id, 'more', { amount: '70.01' }), ['amount'])
  })

  it('says nothing while the refunds of the payment cannot be read [PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund((give) => {
      provider.readFailure = new ProviderUnavailable('unreachable')
      return refusedButTaken(give)
    })
    expectProblem(await refund(id, 'k'), 503, 'unavailable')
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    provider.readFailure = null
    expect((await refund(id, 'k')).status).to.equal(201)
    expect(provider.refundCalls).to.have.length(1)
  })

  it('refuses a new request for money that turns out to have gone back already [PAY-28]', async () => {
    const id = await paid()
    provider.twistRefund(refusing)
    await refund(id, 'k')
    provider.listRefund(payment().id, { id: 'late', amountCents: 3_000, status: 'pending' })
    const { causes } = expectProblem(await refund(id, 'other'), 422, 'refund_refused')
    expect(causes).to.have.nested.property('[0].code', 'refund_found')
    expect(provider.refundCalls).to.have.length(1)
    const order = await show(id)
    expect(order.refunds.map((each: { status: string }) => each.status)).to.deep.equal(['pending', 'refused'])
    expect(order.alarms[0]).to.include({ code: 'refund_after_refusal' })
    expect((await company.post(`/orders/${id}/alarms/${payment().id}/acknowledge`, {})).status).to.equal(200)
    // A person has seen it: the same key may now ask.
    expect((await refund(id, 'other')).status).to.equal(201)
    expect(taken()).to.equal(6_000)
  })

  it('asks a repeated key of a refused refund for nothing if its money went back after all [PAY-28]', async () => {
    const id = await paid()
    provider.twistRefund(refusing)
    await refund(id, 'k')
    provider.listRefund(payment().id, { id: 'late', amountCents: 3_000, status: 'pending' })
    expect((await refund(id, 'k')).body.data.refunds[0]).to.include({ status: 'pending', provider_refund_id: 'late' })
    expect(provider.refundCalls).to.have.length(1)
  })

  it('concurrent requests answered 400 never refund more than was paid [PAY-27, ORDER-11]', async () => {
    const id = await paid()
    for (let n = 0; n < 12; n += 1) provider.twistRefund(refusedButTaken)
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => refund(id, `k${n}`)))
    expect(taken()).to.equal(9_000)
    expect(replies.filter(({ status }) => status === 422)).to.have.length(9)
    // Three fit; further ones are refused, or told to wait for one under way.
    for (const { status } of replies) expect(status).to.be.oneOf([201, 422, 503])
    for (let n = 0; n < 3; n += 1) decide('completed')
    for (let n = 0; n < 3; n += 1) await Promise.all([0, 1, 2].map((k) => refund(id, `k${k}`)))
    expect(taken()).to.be.at.most(10_000)
    // Keys that were answered with 201 repeat their answer, without a look at the provider.
    await sweep()
    expect(await show(id)).to.include({ refunded_total: '90.00' })
  })
})
