import { expect } from 'chai'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { useCashier } from '../api/pay-order/cashier.ts'
import { PUBLIC_URL } from '../support/api.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { browser, panelUser, textIn } from '../support/panel.ts'

const PIX = { qr_code: '000201', qr_code_base64: null, ticket_url: null }

describe('panel: state of an order', () => {
  const { api, company, provider, place, pay, tell } = useCashier()
  let clock: DatabaseClock

  before(async () => {
    clock = await openDatabaseClock(ownerUrlOf(api.databaseUrl))
  })
  after(() => clock.close())

  it('reads the same for shop and buyer when a Pix expires, before and after the provider ends it', async () => {
    const { id, payment_url } = await place()
    provider.twist((charge) => Object.assign(charge(), { details: { pix: PIX } }))
    expect((await pay(id, undefined, { method: 'pix', payer: { email: 'ana@example.com' } })).status).to.equal(201)
    const shop = async () => {
      const owner = await panelUser(api, company)
      const [page, list] = [await owner.get(`/painel/loja/pedidos/${id}`), await owner.get('/painel/loja')]
      const [, row = ''] = (await owner.get('/painel/loja/pedidos.csv')).html.split('\r\n')
      return [textIn(page.html), textIn(list.html), row] as const
    }
    const buyer = async () => textIn((await browser(api.url).get(payment_url.slice(PUBLIC_URL.length))).html)
    for (const text of await shop()) expect(text).to.include('Aguardando pagamento').and.not.include('encerrado')
    expect(await buyer()).not.to.include('encerrado')

    await clock.moveTo(new Date(Date.now() + 2 * 86_400_000).toISOString())
    for (const text of [...(await shop()), await buyer()]) expect(text).to.include('Prazo para pagar encerrado')
    const payment = provider.payments[0] as ProviderPayment
    await tell(id, { ...payment, status: 'cancelled', statusDetail: 'expired' })
    for (const text of [...(await shop()), await buyer()]) expect(text).to.include('Prazo para pagar encerrado')
  })

  it('reads the same for shop and buyer when a card was not approved', async () => {
    const { id, payment_url } = await place()
    provider.status = 'rejected'
    await pay(id)
    const owner = await panelUser(api, company)
    const shop = textIn((await owner.get(`/painel/loja/pedidos/${id}`)).html)
    const buyer = textIn((await browser(api.url).get(payment_url.slice(PUBLIC_URL.length))).html)
    for (const text of [shop, buyer]) expect(text).to.include('Pagamento não aprovado')
  })
})
