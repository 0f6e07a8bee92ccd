import { expect } from 'chai'
import { recordPayment } from '#commands/order-payment-command.ts'
import { createStore } from '#commands/store-commands.ts'
import { reconcile, reconcileSales } from '#queries/sales-sums.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { paymentTold, placedOrder } from '../support/orders.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

describe('reconciliation of sales', () => {
  it('subtracts cancelled sales and returns, beyond the precision of floats [PANEL-420]', () => {
    const of = (
      kind: 'completed' | 'cancelled' | 'returned',
      count: number,
      cents: string,
      way: string | null = null,
    ) => ({
      kind,
      way,
      count,
      cents,
    })
    expect(
      reconcile([
        of('completed', 2, '9007199254740993'),
        of('cancelled', 1, '1'),
        of('returned', 1, '9007199254740994'),
      ]),
    ).to.deep.equal({
      sold: { count: 3, amount: '90071992547409.94' },
      cancelled: { count: 1, amount: '0.01' },
      returned: { count: 1, amount: '90071992547409.94' },
      net: '-0.01',
    })
    const { ways, ...all } = reconcileSales(
      [of('completed', 1, '30'), of('completed', 1, '10', '1'), of('completed', 1, '20', '')],
      [{ id: 1, name: 'Pix', is_cash: false }],
    )
    expect(all.net).to.equal('0.30')
    expect(ways.map(({ key, name, net }) => [key, name, net])).to.deep.equal([
      ['', null, '0.20'],
      ['1', 'Pix', '0.10'],
    ])
  })

  describe('with returns', () => {
    const api = useApi(OWN_DATABASE)
    let clock: DatabaseClock

    before(async () => {
      clock = await openDatabaseClock(ownerUrlOf(api.databaseUrl))
    })
    after(() => clock.close())
    beforeEach(() => noon('2026-03-10'))

    const noon = (day: string) => clock.moveTo(`${day}T15:00:00.000Z`)

    /** A paid order, which is a sale. */
    async function soldOrder(company: TestCompany) {
      const alias = `loja-${company.id}`
      await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
      const order = await placedOrder(company, alias)
      const payment = await paymentTold(company, order, 'approved')
      const refund = async (day: string, refunded: string, provider_status = 'approved') => {
        await noon(day)
        const told = {
          provider_payment_id: payment,
          provider_status,
          status_detail: null,
          live_mode: false,
        }
        await company.run(recordPayment, { id: order, ...told, attempt_id: null, refunded })
      }
      return { order, refund }
    }

    it('counts a return on its own day by way of paying [PANEL-420] [PANEL-420]', async () => {
      const company = await api.company()
      const { order, refund } = await soldOrder(company)
      await refund('2026-03-11', '6.30')
      await refund('2026-03-12', '10.00')
      const user = await panelUser(api, company)
      const summary = async (from: string, to = from): Promise<Json> =>
        (await company.get(`/finance/summary?from=${from}&to=${to}`)).body.data.sales
      const sold = { count: 1, amount: '46.30' }
      const none = { count: 0, amount: '0.00' }
      expect(await summary('2026-03-10')).to.include({ gross: '46.30', net: '46.30' })
      expect(await summary('2026-03-11')).to.deep.include({
        count: 0,
        gross: '0.00',
        sold: none,
        cancelled: none,
        returned: { count: 1, amount: '6.30' },
        net: '-6.30',
      })
      expect(await summary('2026-03-10', '2026-03-12')).to.deep.include({
        count: 1,
        gross: '46.30',
        sold,
        cancelled: none,
        returned: { count: 2, amount: '10.00' },
        net: '36.30',
      })
      const text = async (path: string) => textIn((await user.get(path)).html)
      const days = 'de=2026-03-10&ate=2026-03-12'
      expect(await text(`/painel?periodo=intervalo&${days}`))
        .to.include('Loja online 1 R$ 46,30 R$ 10,00 R$ 36,30 Total 1 R$ 46,30 R$ 10,00 R$ 36,30')
        .and.include('Devolvido R$ 10,00 2 devoluções; líquido de R$ 36,30')
      expect(await text('/painel/caixas/fechamento?dia=2026-03-12')).to.include('Total 0 R$ 0,00 R$ 3,70 −R$ 3,70')
      const line = '1 venda, R$ 46,30 − 2 devoluções, R$ 10,00 = R$ 36,30'
      expect(await text('/painel/vendas?sold_from=2026-03-10&sold_to=2026-03-12')).to.include(line)
      expect(await text('/painel/vendas?status=completed')).to.include(line)
      expect(await text('/painel/vendas?origin=pdv')).to.include('0 vendas, R$ 0,00')
      expect(await text(`/painel/loja/pedidos/${order}`)).to.include('Líquido R$ 36,30')
      await refund('2026-03-12', '46.30', 'refunded')
      expect(await summary('2026-03-10', '2026-03-12')).to.deep.include({
        cancelled: sold,
        returned: none,
        net: '0.00',
      })
    })

    it('subtracts returned goods by way, item, seller and drawer on the day of the return [FIG-803]', async () => {
      const company = await api.company()
      const [cash, card] = [await company.paymentType('cash'), await company.paymentType('card')]
      const item = await company.post('/catalog/items', { name: 'Camisa', price: '10.00', stock: '9' })
      const catalog_item_id = item.body.data.id
      const sale = await company.post('/sales', {
        seller: { name: 'Ana' },
        items: [{ catalog_item_id, quantity: '3' }],
        discount: '3.00',
        payments: [{ payment_type_id: card, amount: '27.00' }],
      })
      await noon('2026-03-11')
      const body = {
        reason: 'Defeito',
        items: [{ line: 0, quantity: '2' }],
        refunds: [
          { payment_type_id: cash, amount: '8.00' },
          { payment_type_id: card, amount: '10.00' },
        ],
      }
      const path = `/sales/${sale.body.data.id}/returns`
      expect((await company.post(path, body, { 'idempotency-key': 'd' })).status).to.equal(201)
      const { sales } = (await company.get('/finance/summary?from=2026-03-11&to=2026-03-11')).body.data
      expect(sales).to.deep.include({ count: 0, gross: '0.00', returned: { count: 1, amount: '18.00' }, net: '-18.00' })
      const ana = { seller: { user_id: null, name: 'Ana' }, count: 0, gross: '0.00', returned: '18.00', net: '-18.00' }
      expect(sales.by_seller).to.deep.equal([ana])
      const user = await panelUser(api, company)
      const text = async (path: string) => textIn((await user.get(path)).html)
      const line = '1 venda, R$ 27,00 − 1 devolução, R$ 18,00 = R$ 9,00'
      expect(await text('/painel/vendas?sold_from=2026-03-10&sold_to=2026-03-11')).to.include(line)
      const days = 'sold_from=2026-03-11&sold_to=2026-03-11'
      for (const [type, amount] of [
        [cash, '8,00'],
        [card, '10,00'],
      ])
        expect(await text(`/painel/vendas?${days}&payment_type_id=${type}`)).to.include(
          `Nesta forma de pagamento: 0 vendas, R$ 0,00 − 1 devolução, R$ ${amount} = −R$ ${amount}`,
        )
      expect(await text(`/painel/vendas?${days}&item=${catalog_item_id}`)).to.include('Deste item: −2, −R$ 18,00')
      const start = await text('/painel?periodo=intervalo&de=2026-03-11&ate=2026-03-11')
      expect(start).to.include('Devolvido R$ 18,00 1 devolução; líquido de −R$ 18,00')
      expect(await text('/painel/caixas/fechamento?dia=2026-03-11')).to.include('Total 0 R$ 0,00 R$ 18,00 −R$ 18,00')
    })

    it('returns nothing of an order whose second payment was given back [PANEL-420]', async () => {
      const company = await api.company()
      const { order } = await soldOrder(company)
      const second = await paymentTold(company, order, 'approved')
      await paymentTold(company, order, 'refunded', second)
      const { sales } = (await company.get('/finance/summary?from=2026-03-01&to=2026-03-31')).body.data
      expect(sales).to.deep.include({ returned: { count: 0, amount: '0.00' }, net: '46.30' })
      const user = await panelUser(api, company)
      expect(textIn((await user.get(`/painel/loja/pedidos/${order}`)).html)).to.include('Líquido R$ 46,30')
    })
  })
})
