import { expect } from 'chai'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { openTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('vouchers in the panel', () => {
  const api = useApi()
  let company: TestCompany
  let user: PanelUser
  let counter: Counter
  let credit = 0

  before(async () => {
    company = await api.company()
    user = await panelUser(api, company)
    counter = await openCounter(company)
    credit = await company.paymentType('exchange_credit')
  })

  const page = async (path: string, of = user) => textIn((await of.get(`/painel${path}`)).html)
  const returned = async (fields: object = {}): Promise<Json> => {
    const { id } = await counter.sell()
    const [item] = (await company.get(`/sales/${id}`)).body.data.items
    const refunds = [{ payment_type_id: credit, amount: item.total }]
    const body = { reason: 'Troca', items: [{ line: 0, quantity: item.quantity }], refunds, ...fields }
    const reply = await company.post(`/sales/${id}/returns`, body, { 'idempotency-key': String(Math.random()) })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  it('are given by a return, found, printed, and used at a till [CREDIT-1341] [PANEL-1343]', async () => {
    const { id } = await counter.sell()
    const back = `/painel/vendas/${id}/devolver`
    const chosen = { q0: '1', reason: 'Não serviu', payment_type_id: String(credit) }
    expect((await user.submit(back, chosen)).status).to.equal(422)
    const done = await user.submit(back, { ...chosen, voucher: 'on' })
    const [, code = ''] = /^\/painel\/vales\/consulta\?codigo=([2-9A-HJ-NP-Z]{10})&/.exec(done.to ?? '') ?? []
    expect(code, `${done.status} ${done.to}`).not.to.equal('')
    const shown = await page(`/vales/consulta?codigo=${code.toLowerCase()}`)
    expect(shown)
      .to.match(/Situação A usar ?, vale até \d\d\/\d\d\/\d{4}/)
      .and.match(/Resta R\$ \d+,\d\d/)
    expect(await page(`/vales/consulta/imprimir?codigo=${code}`))
      .to.include('Vale-troca de R$ 10,00')
      .and.include(code)
      .and.include('Válido até')
    const payments = [{ payment_type_id: credit, amount: 10, status: 'completed', voucher: code }]
    const till = await openTill(api.url, company)
    const [sale] = (await upload(till, [counter.sale('v1', { created_at: new Date().toISOString(), payments })]))
      .results
    expect(sale.warnings ?? []).to.deep.equal([])
    const used = await page(`/vales/consulta?codigo=${code}`)
    expect(used).to.include('Situação Usado').and.include(`Venda ${sale.sale_id}`).and.not.include('Imprimir o vale')
    expect((await user.get(`/painel/vales/consulta/imprimir?codigo=${code}`)).status).to.equal(404)
    const { voucher } = (await company.get(`/sales/${sale.sale_id}`)).body.data.payments[0]
    expect(voucher).to.equal(code)
  })

  it('are listed with state, what is left and their return, searched, and in a file [PANEL-1343]', async () => {
    const given = await returned({ voucher: true })
    const [refund] = given.refunds
    expect(refund.voucher).to.match(/^[2-9A-HJ-NP-Z]{10}$/)
    expect(given.credit_customer_id).to.equal(null)
    const other = (await returned({ voucher: true })).refunds[0].voucher
    const listed = await page('/vales')
    expect(listed).to.include(refund.voucher).and.include(other)
    const found = await page(`/vales?q=${refund.voucher.slice(2).toLowerCase()}&state=open`)
    expect(found)
      .to.match(/1 vale, resta R\$ 20,00 /)
      .and.include(refund.voucher)
      .and.not.include(other)
    expect(await page('/vales?state=expired')).to.not.include(refund.voucher)
    const file = (await user.get(`/painel/vales.csv?q=${refund.voucher}`)).html
    expect(file).to.match(new RegExp(`${refund.voucher}[;,]"?A usar"?[;,]${given.id}[;,]`))
    expect(await page(`/devolucoes/${given.id}`)).to.include(refund.voucher)
  })

  it('are checked by clerks who have the paper, one by its whole code [PANEL-1343]', async () => {
    const { voucher } = (await returned({ voucher: true })).refunds[0]
    const clerk = await panelUser(api, company, 'clerk')
    expect((await clerk.get('/painel/vales')).status).to.equal(403)
    expect((await clerk.get('/painel/vales.csv')).status).to.equal(403)
    const shown = await page(`/vales/consulta?codigo=${voucher}`, clerk)
    expect(await page(`/busca?q=${voucher.toLowerCase()}`, clerk)).to.include(`Vale-troca ${voucher} resta`)
    expect(shown)
      .to.include('Situação A usar')
      .and.not.match(/Devolução \d/)
    expect(await page(`/vales/consulta?codigo=${voucher.slice(0, 9)}`, clerk)).to.include('Nenhum vale-troca')
  })

  it('are valid for the days of the settings [CREDIT-1340]', async () => {
    const form = '/painel/configuracoes/empresa'
    const fields = { name: 'Loja', timezone: 'America/Sao_Paulo' }
    expect((await user.submit(form, { ...fields, voucher_days: '0' })).status).to.equal(422)
    expect((await user.submit(form, { ...fields, voucher_days: '1' })).status).to.equal(303)
    const { voucher_until } = (await returned({ voucher: true })).refunds[0]
    const tomorrow = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo' })
    expect(voucher_until).to.equal(tomorrow.format(new Date(Date.now() + 86_400_000)))
    expect((await user.submit(form, { ...fields, voucher_days: '' })).status).to.equal(303)
    expect((await returned({ voucher: true })).refunds[0].voucher_until > voucher_until).to.equal(true)
  })
})
