import { expect } from 'chai'
import { addDays, dateInZone } from '#domain/instant.ts'
import { loadInstallationId } from '#integrity/installation.ts'
import { toTrustedKeys } from '#public/receipt-page.tsx'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { loadVerification } from '../support/receipts.ts'
import { useCompany } from '../support/use-api.ts'

const { readGiven, verifyReceipt } = await loadVerification()

describe('panel: what a customer owes', () => {
  const { api, company } = useCompany()
  let owner: PanelUser
  let people = 0
  const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')

  before(async () => {
    owner = await panelUser(api, company)
  })

  const customer = async (): Promise<number> =>
    (await company.post('/customers', { name: `Maria Souza ${++people}`, phone: '11987654321' })).body.data.id
  const owe = async (customer_id: number, amount: string, days: number): Promise<number> => {
    const fields = { description: `Compra de ${amount}`, amount, due_date: addDays(today, days), customer_id }
    return (await company.post('/finance/receivables', fields)).body.data.id
  }
  const pay = async (id: number, received: string) => {
    const at = `/painel/contas-a-receber/${id}/liquidar`
    return owner.submit(at, { payment_method: 'pix', received, paid_at: '' })
  }

  it('leads the page, with the oldest overdue day, a button to receive and the payments [PANEL-1283]', async () => {
    const id = await customer()
    const account = await owe(id, '40.00', 5)
    const calm = textIn((await owner.get(`/painel/clientes/${id}`)).html)
    expect(calm).to.contain('Vencido R$ 0,00').and.not.to.contain('a mais antiga')
    await owe(id, '25.00', -3)
    await pay(account, '10,00')
    const { html } = await owner.get(`/painel/clientes/${id}`)
    const text = textIn(html)
    const [year, month, day] = addDays(today, -3).split('-')
    expect(text).to.contain(`a mais antiga: ${day}/${month}/${year}`)
    expect(html.indexOf('Fiado e contas em aberto')).to.be.below(html.indexOf('>Dados<'))
    expect(html).to.match(new RegExp(`class="button main" href="/painel/clientes/${id}/liquidar">Receber`))
    expect(text.split('Histórico').at(-1)).to.match(/R\$ 10,00/)
    const message = /href="(https:\/\/wa\.me\/5511987654321\?text=[^"]+)"/.exec(html)?.[1] ?? ''
    expect(decodeURIComponent(message)).to.match(/Olá, Maria! Há R\$.55,00 em aberto.*R\$.25,00 vencidos/)
  })

  it('is told by a statement whose balances end in what is open [PANEL-1284]', async () => {
    const id = await customer()
    const first = await owe(id, '40.00', 5)
    await pay(first, '15,00')
    await owe(id, '7.50', 9)
    const text = textIn((await owner.get(`/painel/clientes/${id}/caderneta`)).html)
    expect(text).to.contain('Em aberto R$ 32,50')
    const amounts = [...text.matchAll(/(-?R\$ ?-?[\d,]+|−R\$ [\d,]+) (R\$ [\d,]+)/g)].map(([, , balance]) => balance)
    expect(amounts).to.include.ordered.members(['R$ 32,50', 'R$ 25,00', 'R$ 40,00'])
  })

  it('keeps a reversed payment in the statement, without an amount [PANEL-1284]', async () => {
    const id = await customer()
    const account = await owe(id, '40.00', 5)
    await pay(account, '15,00')
    const [{ id: payment }] = (await company.get(`/finance/receivables/${account}`)).body.data.payments
    const at = `/painel/contas-a-receber/${account}/pagamentos/${payment}/estornar`
    await owner.submit(at, { reason: 'Cheque sem fundo' })
    const text = textIn((await owner.get(`/painel/clientes/${id}/caderneta`)).html)
    expect(text).to.match(/estornado .* R\$ 0,00 R\$ 40,00 .*R\$ 40,00 R\$ 40,00/)
  })

  it('opens for the customer by a link, without a name, each line with its proof [LINK-1285]', async () => {
    const id = await customer()
    const account = await owe(id, '40.00', 5)
    await pay(account, '15,00')
    const path = `/painel/clientes/${id}/caderneta`
    await owner.submit(path, {}, `${path}/link`)
    const url = new URL(/href="([^"]*\/l\/[\w-]+)"/.exec((await owner.get(path)).html)?.[1] ?? '')
    const html = await (await fetch(`${api.url}${url.pathname}`)).text()
    expect(textIn(html))
      .to.contain('Em aberto R$ 25,00')
      .and.not.to.match(/Maria|Souza/)
    const proofs = [...html.matchAll(/href="([^"]*\/prova\/\d+)"/g)].map(([, to]) => to as string)
    expect(proofs).to.have.length(2)
    const types: string[] = []
    for (const to of proofs) {
      const answer = await fetch(`${api.url}${to}`, { redirect: 'manual' })
      const trusted = toTrustedKeys(await loadInstallationId(api.core.pool), await api.core.proof.keys())
      const verdict = await verifyReceipt(await readGiven(answer.headers.get('location') ?? ''), trusted)
      expect(verdict.outcome).to.equal('proved')
      if (verdict.outcome === 'proved') types.push(verdict.receipt.event.type)
    }
    expect(types).to.deep.equal(['ReceivablePaymentReceived', 'ReceivableCreated'])
    expect((await fetch(`${api.url}${url.pathname}/prova/1`)).status).to.equal(404)
  })

  it('is not shown by the link of an erased customer [LINK-1285]', async () => {
    const id = await customer()
    const path = `/painel/clientes/${id}/caderneta`
    await owner.submit(path, {}, `${path}/link`)
    const url = new URL(/href="([^"]*\/l\/[\w-]+)"/.exec((await owner.get(path)).html)?.[1] ?? '')
    expect((await fetch(`${api.url}${url.pathname}`)).status).to.equal(200)
    const forgotten = await company.post(`/customers/${id}/forget`, { ground: 'holder_request' })
    expect(forgotten.status, forgotten.text).to.be.below(300)
    expect((await fetch(`${api.url}${url.pathname}`)).status).to.equal(404)
  })
})
