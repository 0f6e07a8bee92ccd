import { expect } from 'chai'
import { createItem } from '#commands/item-commands.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { formatDay } from '#domain/person-values.ts'
import { streamName } from '#ledger/command.ts'
import { type ProviderPayment, ProviderRefused, ProviderUnavailable } from '#payments/provider-port.ts'
import { card, useCashier } from '../api/cashier.ts'
import { PUBLIC_URL } from '../support/api.ts'
import { ownerUrlOf } from '../support/database.ts'
import { type DatabaseClock, openDatabaseClock } from '../support/database-clock.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { browser, hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

describe('panel: payments and refunds of an order', () => {
  const { api, company, provider, alias, place, pay, show, tell } = useCashier()
  let owner: PanelUser
  beforeEach(async () => {
    owner = await panelUser(api, company)
    provider.status = 'approved'
    provider.refundCalls.length = 0
  })

  const pathOf = (id: number) => `/painel/loja/pedidos/${id}`

  async function shown(id: number, user = owner): Promise<string> {
    const { status, html } = await user.get(pathOf(id))
    expect(status, html).to.equal(200)
    return textIn(html)
  }

  async function paid(): Promise<number> {
    const { id } = await place()
    expect((await pay(id, undefined, { ...card, installments: 3 })).status).to.equal(201)
    return id
  }

  /** Paid order over two of five items in stock. */
  async function paidGoods(): Promise<{ id: number; item: number }> {
    const goods = { type: 'product', name: 'Cesta', price: '10.00', stock: '5' } as const
    const { id: item } = await company.run(createItem, goods)
    const items = [{ catalog_item_id: item, quantity: '2' }]
    const order = { store_alias: alias(), customer: { name: 'Ana' }, items }
    const { id } = (await company.post('/orders', order)).body.data
    await pay(id)
    return { id, item }
  }

  /** Order with a second approved payment. */
  async function paidTwice(): Promise<number> {
    const id = await paid()
    const second = { ...(provider.payments[0] as ProviderPayment), id: 'second', attemptId: null }
    provider.payments.push(second)
    await tell(id, second)
    return id
  }

  describe('refund', () => {
    it('returns a part or the rest, with optional restocking, once for repeated forms [ORDER-12]', async () => {
      const { id, item } = await paidGoods()
      const path = `${pathOf(id)}/devolver`
      expect((await owner.get(pathOf(id))).html).to.include(`href="${path}"`)
      const form = hiddenFields((await owner.get(path)).html, path)
      const part = { ...form, amount: '5,00', [`restock.${item}`]: '1' }
      const sent = await Promise.all([owner.post(path, part), owner.post(path, part)])
      for (const { to } of sent) expect(to).to.equal(`${pathOf(id)}?feito=devolvido`)
      expect(await shown(id))
        .to.include('Estorno parcial')
        .and.to.include('de volta ao estoque: 1 × Cesta')
      expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('4.000')
      expect(textIn((await owner.get(path)).html))
        .to.include('estornar tudo (R$ 15,00)')
        .and.to.include('Até 1.')
      expect((await owner.submit(path, { amount: '', [`restock.${item}`]: '0' })).to).to.include('feito=devolvido')
      expect(provider.payments[0]?.refundedCents).to.equal(2000)
      expect(await show(id)).to.include({ status: 'refunded', refunded_total: '20.00' })
      expect((await owner.post(path, part)).to).to.include('feito=devolvido')
      expect((await owner.get(pathOf(id))).html).not.to.include(path)
      expect(problemsIn((await owner.get(path)).html)).to.deep.equal(['O pedido não tem pagamento a estornar.'])
    })

    it('is refused with errors at the fields, and shows the message of the provider above them [PANEL-12]', async () => {
      const { id, item } = await paidGoods()
      const path = `${pathOf(id)}/devolver`
      const wrong = async (fields: Record<string, string>) => {
        const { status, html } = await owner.submit(path, fields)
        expect(status).to.equal(422)
        return problemsIn(html)
      }
      expect(await wrong({ amount: '20,01' })).to.deep.include(
        'Valor: deve ser no máximo 20.00, o que ainda não foi estornado',
      )
      expect(await wrong({ amount: 'x' })).to.deep.include('Valor: informe um valor válido, por exemplo 1.234,50')
      expect(await wrong({ [`restock.${item}`]: '2,5' })).to.deep.include('Cesta: deve somar no máximo 2.000')
      provider.twistRefund(() => {
        throw new ProviderRefused([{ code: '2063', description: 'no balance' }])
      })
      expect(await wrong({})).to.deep.equal(['O provedor recusou o estorno e nada foi estornado: no balance (2063).'])
      expect(await shown(id)).to.include('Recusado O provedor recusou: 2063: no balance')
      expect(await show(id)).to.include({ refunded_total: '0.00' })
    })

    it('is recorded as pending without a provider response, and completed by a retry [PAY-3]', async () => {
      const id = await paid()
      const path = `${pathOf(id)}/devolver`
      provider.twistRefund((give) => {
        give()
        provider.readFailure = new ProviderUnavailable('unreachable')
        throw new ProviderUnavailable('the answer was lost')
      })
      const form = { ...hiddenFields((await owner.get(path)).html, path), amount: '10,00' }
      expect((await owner.post(path, form)).to).to.equal(`${pathOf(id)}?feito=devolucao-pendente`)
      provider.readFailure = null
      expect(await shown(id)).to.include('Aguardando o provedor')
      const again = `${pathOf(id)}/pedir-devolucao`
      const repetition = hiddenFields((await owner.get(pathOf(id))).html, again)
      expect((await owner.post(again, repetition)).to).to.equal(`${pathOf(id)}?feito=devolvido`)
      expect((await owner.post(again, repetition)).to).to.equal(`${pathOf(id)}?feito=sem-alteracao`)
      expect((await owner.get(pathOf(id))).html).not.to.include(again)
      expect((await owner.post(path, form)).to).to.include('feito=devolvido')
      expect(await show(id)).to.include({ refunded_total: '10.00' })
      expect(provider.payments[0]?.refundedCents).to.equal(1000)
    })

    it('asks which of two payments to refund, and is limited to owners', async () => {
      const id = await paidTwice()
      const path = `${pathOf(id)}/devolver`
      expect((await owner.submit(path, { provider_payment_id: '' })).status).to.equal(422)
      expect((await owner.submit(path, { provider_payment_id: 'second' })).to).to.include('feito=devolvido')
      expect((await show(id)).payments.map(({ status }: ProviderPayment) => status)).to.deep.equal(['paid', 'refunded'])
      const clerk = await panelUser(api, company, 'clerk')
      const { html } = await clerk.get(pathOf(id))
      expect(html).not.to.include(path).and.not.to.include('alarme-visto')
      expect((await clerk.get(path)).status).to.equal(403)
    })
  })

  it('shows the payment history with method, instalments and dispute', async () => {
    const { id } = await place()
    provider.status = 'pending'
    await pay(id, undefined, { method: 'pix', payer: card.payer })
    provider.status = 'approved'
    await pay(id, undefined, { ...card, installments: 3 })
    const [, payment] = provider.payments as ProviderPayment[]
    await tell(id, { ...(payment as ProviderPayment), status: 'in_mediation' })
    const text = await shown(id)
    expect(text).to.match(/Pix R\$ 71,52 Aguardando pagamento Aguardando o pagamento\. · prazo: \d\d\/\d\d\/\d{4}/)
    expect(text).to.include(
      `Cartão visa em 3× R$ 71,52 Pago O comprador abriu uma reclamação. Detalhes técnicos no provedor: ${payment?.id}`,
    )
    expect(text).to.match(/Contestação do comprador R\$ 71,52 Contestação aberta/)
    expect(text).to.match(/Contestação Contestação aberta desde \d\d\/\d\d\/\d{4}/)
    expect(textIn((await owner.get('/painel/loja')).html)).to.include('Pago A preparar Contestação aberta')
  })

  it('shows an alarm until an owner acknowledges it', async () => {
    const id = await paidTwice()
    const isTold = async () => [
      (await shown(id)).includes('Alerta de'),
      textIn((await owner.get('/painel/loja?alarm=open')).html).includes('Alerta'),
      (await owner.get('/painel/')).html.includes('/painel/loja?alarm=open'),
    ]
    expect(await isTold()).to.deep.equal([true, true, true])
    expect((await owner.get('/painel/loja?alarm=open')).html).to.include(pathOf(id))
    const action = `${pathOf(id)}/alarme-visto`
    const form = hiddenFields((await owner.get(pathOf(id))).html, action)
    for (let n = 0; n < 2; n++) expect((await owner.post(action, form)).to).to.equal(`${pathOf(id)}?feito=alarme-visto`)
    expect((await owner.post(action, { ...form, pagamento: 'outro' })).status).to.equal(409)
    expect((await owner.get('/painel/loja?alarm=open')).html).not.to.include(pathOf(id))
    expect((await isTold()).filter(Boolean)).to.deep.equal([true])
    expect(await shown(id)).to.match(/Alerta — Lido .* lido por Pessoa \d+ em/)
    const seen = Number((await company.get('/me')).headers.get('x-ledger-revision'))
    expect(textIn((await owner.get(`${pathOf(id)}?em=${seen}`)).html)).to.match(/lido por Pessoa \d+ em/)
    const before = await owner.get(`${pathOf(id)}?em=${seen - 1}`)
    expect(before.html).to.include('Alerta de').and.not.to.include(action)
    expect((await owner.get(`/painel/loja?alarm=open&em=${seen - 1}`)).html).to.include(pathOf(id))
    expect((await owner.get(`/painel/loja?alarm=open&em=${seen}`)).html).not.to.include(pathOf(id))
  })

  it('shows its sale, whose page leads back to it instead of cancelling [ORDER-44]', async () => {
    const { id, item } = await paidGoods()
    const { sale_id } = await show(id)
    expect((await owner.get(pathOf(id))).html).to.include(`href="/painel/vendas/${sale_id}"`)
    const { html } = await owner.get(`/painel/vendas/${sale_id}`)
    expect(textIn(html)).to.include('Origem Loja online').and.to.include('Cancelar no pedido')
    expect(html)
      .to.include(`href="${pathOf(id)}"`)
      .and.not.to.include(`/vendas/${sale_id}/cancelar`)
    const refused = textIn((await owner.get(`/painel/vendas/${sale_id}/cancelar`)).html)
    expect(refused).to.include(`Esta venda é do pedido ${id} da loja online`)
    await owner.submit(`${pathOf(id)}/devolver`, { amount: '', [`restock.${item}`]: '1' })
    expect(textIn((await owner.get(`/painel/vendas/${sale_id}`)).html)).to.include(`Pedido ${id} devolvido`)
    const movements = await owner.get(`/painel/catalogo/${item}`)
    expect(textIn(movements.html)).to.include(`Devolução do pedido ${id}`).and.to.include(`Venda ${sale_id}`)
  })

  it('shows on its sale what was given back and what the stock lacked [ORDER-43, ORDER-45]', async () => {
    const { id, item } = await paidGoods()
    const items = [{ catalog_item_id: item, quantity: '4' }]
    const second = { store_alias: alias(), customer: { name: 'Ana' }, items }
    const short = (await company.post('/orders', second)).body.data.id
    await pay(short)
    expect(await shown(short)).to.include('O estoque não bastava para o pedido pago')
    const lacking = textIn((await owner.get(`/painel/vendas/${(await show(short)).sale_id}`)).html)
    expect(lacking).to.include('Estoque insuficiente Cesta: vendidos 4, havia 3')
    await owner.submit(`${pathOf(id)}/devolver`, { amount: '5,00', [`restock.${item}`]: '0' })
    const sale = textIn((await owner.get(`/painel/vendas/${(await show(id)).sale_id}`)).html)
    expect(sale).to.include('Devolvido R$ 5,00')
  })

  it('is in the sales file with its channel and number [ORDER-42]', async () => {
    const { id } = await paidGoods()
    const { html: text } = await owner.get('/painel/vendas.csv?origin=system')
    expect(text)
      .to.include('Loja online')
      .and.to.match(new RegExp(`;${id};`))
  })

  it('marks a paid order as delivered, and undoes it', async () => {
    const id = await paid()
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const clerk = await panelUser(api, company, 'clerk')
    const action = `${pathOf(id)}/entregar`
    expect((await clerk.submit(pathOf(id), {}, action)).to).to.equal(`${pathOf(id)}?feito=pedido-entregue`)
    expect(await shown(id)).to.include('Entregue em')
    expect((await owner.get(pathOf(id))).html).not.to.include(action)
    const then = await owner.get(`${pathOf(id)}?em=${revision}`)
    expect(then.html).not.to.include(action).and.not.to.include('/devolver')
    expect(textIn(then.html)).not.to.include('Entregue em')
    const undo = `${pathOf(id)}/desfazer-entrega`
    expect((await clerk.submit(pathOf(id), {}, undo)).to).to.equal(`${pathOf(id)}?feito=entrega-desfeita`)
    expect(await shown(id)).not.to.include('Entregue em')
    expect((await owner.get(pathOf(id))).html).not.to.include(undo)
  })
})

describe('panel: delivery of an order', () => {
  const { api, company, provider, alias, pay } = useCashier()
  const address = { street: 'Rua da Aurora', number: '77', district: 'Boa Vista', city: 'Recife', state: 'PE' }
  const pathOf = (id: number) => `/painel/loja/pedidos/${id}`

  async function paidDelivery(delivery: object): Promise<{ id: number; payment_url: string }> {
    provider.status = 'approved'
    const customer = { name: 'Bia', phone: '(81) 98765-4321' }
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '50.00' }]
    const order = (await company.post('/orders', { store_alias: alias(), customer, items, delivery })).body.data
    expect((await pay(order.id)).status).to.equal(201)
    return order
  }

  it('goes out, is delivered and undone; list, menu and start page count it [ORDER-1251, ORDER-1252]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const due_at = '2020-01-01T12:00:00Z'
    const { id } = await paidDelivery({ method: 'delivery', due_at, address })
    const here = pathOf(id)
    const shown = async (path: string) => textIn((await clerk.get(path)).html)
    expect(await shown(here))
      .to.include('Rua da Aurora, 77 · Boa Vista · Recife/PE')
      .and.to.include('(81) 98765-4321')
    expect(await shown('/painel/'))
      .to.include('1 pedido pago com entrega atrasada')
      .and.to.include('1 pedido pago a entregar')
      .and.to.include('1 pedido a entregar ou com alerta')
    expect(await shown('/painel/loja?status=paid&delivery_state=open')).to.include('A preparar')
    expect((await clerk.submit(here, {}, `${here}/saida`)).to).to.equal(`${here}?feito=pedido-saiu`)
    expect(await shown('/painel/loja?delivery_state=out_for_delivery')).to.include('Bia')
    expect(await shown('/painel/loja?delivery_state=ready_for_pickup')).not.to.include('Bia')
    expect((await clerk.submit(here, {}, `${here}/entregar`)).to).to.equal(`${here}?feito=pedido-entregue`)
    expect(await shown('/painel/'))
      .not.to.include('pedido pago')
      .and.not.to.include('pedido a entregar')
    expect((await clerk.submit(here, {}, `${here}/desfazer-entrega`)).to).to.include('entrega-desfeita')
    expect(await shown(here)).to.include('A preparar')
    const auditor = await panelUser(api, company, 'auditor')
    expect((await auditor.get(here)).html)
      .not.to.include('Rua da Aurora')
      .and.not.to.include('98765')
    expect((await auditor.get(here)).html).not.to.include(`${here}/saida`)
    expect((await auditor.post(`${here}/saida`, {})).status).to.equal(403)
  })

  it('tells the buyer district and city, never street or phone [ORDER-1253]', async () => {
    const { id, payment_url } = await paidDelivery({ method: 'delivery', due_at: '2026-11-21T15:00:00Z', address })
    await company.post(`/orders/${id}/dispatch`, {})
    const { html } = await browser(api.url).get(new URL(payment_url).pathname)
    expect(textIn(html))
      .to.include('Boa Vista, Recife')
      .and.to.include('21/11/2026 12:00')
      .and.to.include('Saiu para entrega')
    expect(html).not.to.include('Aurora').and.not.to.include('98765').and.not.to.include('Bia')
  })

  it('is sealed in the ledger, and gone with the person [ORDER-1254]', async () => {
    const { id } = await paidDelivery({ method: 'delivery', address })
    const stored = async () => {
      const { rows } = await api.core.pool.query('select envelope::text as text from ledger.events where stream = $1', [
        streamName(company.id),
      ])
      return rows.map(({ text }) => text).join()
    }
    expect(await stored())
      .not.to.include('Aurora')
      .and.not.to.include('81987654321')
    const forgotten = await company.post(`/orders/${id}/forget`, { ground: 'holder_request' })
    expect(forgotten.body.data.delivery).to.deep.equal({ method: 'delivery', due_at: null, address: null })
    expect(forgotten.body.data.customer.phone).to.equal(null)
  })
})

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

describe('panel: acquirers', () => {
  const { api, company, user } = usePanelUser('owner')
  const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')
  const page = async (path: string): Promise<string> => textIn((await user.get(`/painel${path}`)).html)

  /** A sale of now with a known cost, paid by card. */
  async function sell(amount: string): Promise<void> {
    const fields = { name: 'Crédito Visa', kind: 'card', acquirer_rate: '3.55', settles_in_days: 2 }
    const card = (await company.post('/sales/payment-types', fields)).body.data
    const item = (await company.post('/catalog/items', { name: 'Bolo', price: amount, cost: '40.00' })).body.data
    const reply = await company.post('/sales', {
      items: [{ catalog_item_id: item.id, quantity: '1' }],
      payments: [{ payment_type_id: card.id, amount }],
    })
    expect(reply.status, reply.text).to.equal(201)
  }

  it('shows what they pay on which day, and in a chosen period', async () => {
    expect(await page('/contas-a-receber/operadoras')).to.include('Nada a receber das operadoras nestes dias')
    await sell('100.00')
    const day = addDays(today, 2)
    const shown = await page('/contas-a-receber/operadoras')
    expect(shown).to.include('Hoje R$ 0,00 Em 7 dias R$ 96,45')
    expect(shown).to.include('R$ 100,00 menos R$ 3,55 de taxas')
    expect(shown).to.include(`${formatDay(day)} Crédito Visa 1 R$ 100,00 R$ 3,55 R$ 96,45`)
    expect(await page(`/contas-a-receber/operadoras?de=${addDays(day, 1)}`)).to.include('Nada a receber')
    expect(await page(`/contas-a-receber/operadoras?de=${day}&ate=${day}`)).to.include('R$ 96,45')
    expect(await page('/contas-a-receber/operadoras?de=x&ate=2020-01-01')).to.include('R$ 96,45')
    expect((await user.get('/painel/contas-a-receber')).html).to.include('href="/painel/contas-a-receber/operadoras"')
  })

  it('takes their rate off the takings and the margin of the start page', async () => {
    expect(await page('/')).not.to.include('Depois das operadoras')
    await sell('100.00')
    const shown = await page('/')
    expect(shown).to.include('Taxas das operadoras R$ 3,55 Líquido depois das taxas R$ 96,45')
    expect(shown).to.include('Margem depois das taxas R$ 56,45 A receber das operadoras R$ 96,45 em 31 dias')
  })

  it('counts the fee of a cancelled sale that they pay, on the start page and in the closing [FIG-910]', async () => {
    const cash = await company.paymentType('cash')
    await sell('100.00')
    const [sale] = (await company.get('/sales')).body.data
    await company.post(`/sales/${sale.id}/cancel`, { refunds: [{ payment_type_id: cash, amount: '100.00' }] })
    expect(await page('/')).to.include('Taxas das operadoras R$ 3,55 Líquido depois das taxas −R$ 3,55')
    const closing = await page('/caixas/fechamento')
    expect(closing).to.include('Crédito Visa R$ 100,00 R$ 3,55 R$ 96,45').and.to.include('Taxas das operadoras R$ 3,55')
  })

  it('shows on the closing what they keep of the sales of tills', async () => {
    const counter = await openCounter(company)
    const till = await openTill(api.url, company)
    const fields = { name: 'Débito Elo', kind: 'card', acquirer_rate: '1.99', settles_in_days: 1 }
    const payment_type_id = (await company.post('/sales/payment-types', fields)).body.data.id
    const payments = [{ payment_type_id, amount: 10, status: 'completed' }]
    await upload(till, [
      counter.sale('a', { created_at: new Date().toISOString(), payments, amount_received: 0, change: 0 }),
    ])
    const shown = await page('/caixas/fechamento')
    expect(shown).to.include('Débito Elo R$ 10,00 R$ 0,20 R$ 9,80')
    expect(shown).to.include('Taxas das operadoras R$ 0,20 Líquido depois das taxas R$ 9,80')
  })

  it('takes their terms in the form of a payment type, and calls the surcharge by its name [PANEL-28]', async () => {
    const PATH = '/painel/configuracoes/formas-de-pagamento'
    const card = { name: 'Cartão', kind: 'card', fee_percentage: '2,5', due_days: '30' }
    await user.submit(`${PATH}/nova`, { ...card, acquirer_rate: '3,55', settles_in_days: '14' })
    const types = async () => (await company.get('/sales/payment-types')).body.data
    const [created] = await types()
    expect(created).to.include({ fee_percentage: '2.50', acquirer_rate: '3.55', settles_in_days: 14 })
    expect(await page('/configuracoes'))
      .to.include('Acréscimo embutido')
      .and.to.include('3,55%')
      .and.to.include('14 dias')
    await user.submit(`${PATH}/${created.id}`, { ...card, acquirer_rate: '', settles_in_days: '' })
    expect((await types())[0]).to.include({ acquirer_rate: null, settles_in_days: null })
  })
})
