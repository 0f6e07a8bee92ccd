import { expect } from 'chai'
import { createItem } from '#commands/item-commands.ts'
import { completeRefund, requestRefund } from '#commands/order-attempts.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { createStore } from '#commands/store-commands.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { fileRows } from '../../figures/parse.ts'
import type { Json } from '../../support/api.ts'
import { vault } from '../../support/master-key.ts'
import { paymentTold } from '../../support/orders.ts'
import { panelUser, textIn } from '../../support/panel.ts'
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
