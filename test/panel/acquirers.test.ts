import { expect } from 'chai'
import { addDays, dateInZone } from '#domain/instant.ts'
import { formatDay } from '#domain/person-values.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

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
