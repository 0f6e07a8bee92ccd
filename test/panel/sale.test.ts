import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { settleReceivable } from '#commands/receivables-payables.ts'
import { adjustRole } from '#commands/role-commands.ts'
import { updateUser } from '#commands/user-commands.ts'
import { ROLE_PRESETS } from '#domain/rights.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { accessKeyOf } from '../support/access-key.ts'
import type { Json } from '../support/api.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'
import { useCompany } from '../support/use-api.ts'

describe('panel: a sale', () => {
  const { company, user } = usePanelUser('manager')
  let counter: Counter

  beforeEach(async () => {
    counter = await openCounter(company)
  })

  const saleNow = async (id: number): Promise<Json> => (await company.get(`/sales/${id}`)).body.data
  const page = async (path: string): Promise<string> => textIn((await user.get(`/painel/vendas${path}`)).html)
  const cancel = (id: number, reason = 'Engano') => user.submit(`/painel/vendas/${id}/cancelar`, { reason })
  const authorize = (id: number, number: string) => user.submit(`/painel/vendas/${id}/documento-fiscal`, { number })

  describe('the page', () => {
    it('shows units beside quantities, and counts units in lists, files and on the start page', async () => {
      const create = async (name: string, unit: string) =>
        (await company.post('/catalog/items', { name, price: '10.00', unit, stock: '99' })).body.data.id as number
      const [bread, cheese] = [await create('Pão', 'UN'), await create('Queijo', 'KG')]
      const items = [
        { catalog_item_id: bread, quantity: '12' },
        { catalog_item_id: cheese, quantity: '0.924' },
        { description: 'Bolo', quantity: '2', unit_price: '10.00' },
      ]
      const payments = [{ payment_type_id: counter.cash, amount: '149.24' }]
      const sale = (await company.post('/sales', { items, payments })).body.data
      expect(await page(`/${sale.id}`))
        .to.include('Pão 12 UN R$ 10,00')
        .and.include('Queijo 0,924 KG R$ 10,00')
      expect(await page(`/${sale.id}/cancelar`)).to.include('Pão 12 UN R$ 120,00')
      expect(await page(`/${sale.id}/devolver`)).to.include('Até 0,924 KG, que valem R$ 9,24.')
      const [heads = '', row = ''] = (await user.get('/painel/vendas.csv')).html.split('\r\n')
      expect(row.split(';')[heads.split(';').indexOf('Itens')]).to.equal('15')
      const start = textIn((await user.get('/painel')).html)
      expect(start).to.include('Itens 15 15,0 por venda').and.include('Pão 12 UN R$ 120,00')
      expect(start).to.include('Queijo 0,924 KG R$ 9,24')
      await counter.sell()
      expect(await page(`?item=${cheese}`)).to.include('1 venda, R$ 149,24 Deste item: 0,924 KG, R$ 9,24')
    })

    it('links the other sale with the same payment, of the API and of a till', async () => {
      const pix = await company.paymentType('pix')
      const paidBy = (amount: unknown) => ({
        payments: [{ payment_type_id: pix, amount, status: 'completed', end_to_end_id: 'E1' }],
      })
      const payments = [{ payment_type_id: pix, amount: '20.00', end_to_end_id: 'E1' }]
      const { id: first } = await counter.sell({ payments })
      const { id: second } = await counter.sell({ payments })
      const { id: third } = await counter.record(counter.sale('a', paidBy(10)))
      const link = `<a href="/painel/vendas/${first}">Venda ${first}</a>`
      for (const id of [second, third]) {
        const { html } = await user.get(`/painel/vendas/${id}`)
        expect(html.split(link), String(id)).to.have.length(2)
      }
      expect(await page(`/${second}`)).to.include(`Pagamento já usado Venda ${first}`)
      expect(await page(`/${third}`)).to.include(`O pagamento E1 já está em outra venda: Venda ${first}`)
      expect((await user.get(`/painel/vendas/${first}`)).html).not.to.include('já usado')
    })

    it('shows items, payments, totals, customer, fiscal document and history', async () => {
      const customer = (await company.post('/customers', { name: 'Maria', external_id: 'm' })).body.data
      const card = await company.paymentType('card', '2.50')
      const sale = await counter.sell({
        external_id: 'pedido-1',
        customer_external_id: 'm',
        delivery_fee: '5.00',
        items: [
          { catalog_item_id: counter.product, quantity: '1.5' },
          { description: 'Bolo', quantity: '1', unit_price: '1234.50' },
        ],
        payments: [
          { payment_type_id: card, amount: '1000.00' },
          { payment_type_id: counter.cash, amount: '260.00' },
        ],
      })
      await authorize(sale.id, 'NFC-e 77')
      const { html } = await user.get(`/painel/vendas/${sale.id}`)
      const shown = textIn(html)
      for (const text of [
        'Café 100 1,5 R$ 10,00 R$ 15,00',
        'Bolo 1 R$ 1.234,50 R$ 1.234,50',
        'Subtotal R$ 1.249,50 Entrega R$ 5,00 Total R$ 1.254,50',
        'card R$ 1.000,00 R$ 24,39 R$ 975,61',
        'cash R$ 260,00 R$ 0,00 R$ 254,50',
        'Troco R$ 5,50',
        'Código externo pedido-1',
        'Documento fiscal Situação Autorizado Número NFC-e 77',
        'Venda de R$ 1.254,50',
        'Documento fiscal nº NFC-e 77: autorizado',
      ])
        expect(shown).to.include(text)
      expect(html).to.include(`href="/painel/clientes/${customer.id}"`)
      await company.call('DELETE', `/customers/${customer.id}`)
      const later = (await user.get(`/painel/vendas/${sale.id}`)).html
      expect(later).not.to.include('/painel/clientes/')
      expect(textIn(later)).to.include('Cliente Maria')
    })

    it('shows receivables of the sale, and the till upload with its warnings', async () => {
      const sale = await counter.record(
        counter.sale('caixa-7', {
          items: [{ product_id: counter.product, quantity: 120, price: 11, total: 1320 }],
          total: 1320,
          amount_received: 1320,
          payments: [{ payment_type_id: counter.account, amount: 1320, status: 'pending' }],
        }),
      )
      const [receivable] = (await company.get('/finance/receivables')).body.data
      const { html } = await user.get(`/painel/vendas/${sale.id}`)
      expect(html).to.include(`href="/painel/contas-a-receber/${receivable.id}"`)
      const shown = textIn(html)
      for (const text of [
        'Identificação no caixa caixa-7',
        'O estoque ficou negativo (−20): Café 100.',
        'Vendido por R$ 11,00, mas o preço do catálogo era R$ 10,00: Café 100.',
        'R$ 1.320,00 Pendente',
      ])
        expect(shown).to.include(text)
      await cancel(sale.id)
      const after = (await user.get(`/painel/vendas/${sale.id}`)).html
      expect(textIn(after)).to.include('R$ 1.320,00 Excluída')
      expect(after).not.to.include('/painel/contas-a-receber/')
    })

    it('shows an earlier revision without actions', async () => {
      const sale = await counter.record(counter.onAccount('a'))
      const revision = (await company.get('/me')).headers.get('x-ledger-revision')
      await cancel(sale.id, 'engano')
      const then = (await user.get(`/painel/vendas/${sale.id}?em=${revision}`)).html
      const [machine = '', record = ''] = then.split('</form></section>').slice(-2)
      expect(textIn(machine)).to.include('Depois »').and.to.include('engano')
      expect(textIn(record)).to.include('Concluída').and.to.include('R$ 10,00 Pendente').and.not.to.include('engano')
      expect(then).not.to.include('/cancelar').and.not.to.include('/documento-fiscal')
    })
  })

  describe('cancellation', () => {
    it('cancels a counter sale, which the API refuses, after showing it and with a reason, once [PANEL-22]', async () => {
      const sale = await counter.record(counter.onAccount('a'))
      expect((await company.post(`/sales/${sale.id}/cancel`)).status).to.equal(409)
      const path = `/painel/vendas/${sale.id}/cancelar`
      const { html } = await user.get(path)
      for (const text of ['voltam ao estoque', 'O que será cancelado', 'R$']) expect(textIn(html)).to.include(text)
      const without = await user.post(path, { ...hiddenFields(html, path), reason: ' ' })
      expect(problemsIn(without.html)).to.include('Motivo: preencha este campo')
      expect(without.html).to.match(/<textarea[^>]*name="reason"[^>]*aria-invalid="true"/)
      const form = { ...hiddenFields(html, path), reason: ' Cliente desistiu ' }
      const sent = await Promise.all(Array.from({ length: 5 }, () => user.post(path, form)))
      expect(new Set(sent.map(({ status, to }) => `${status} ${to}`))).to.deep.equal(
        new Set([`303 /painel/vendas/${sale.id}?feito=cancelada`]),
      )
      expect(await saleNow(sale.id)).to.deep.include({ status: 'cancelled', cancel_reason: 'Cliente desistiu' })
      expect(await counter.stock()).to.equal('100.000')
      const events = (await company.get(`/sales/${sale.id}/history`)).body.data
      const cancelled = events.filter(({ type }: Json) => type === 'SaleCancelled')
      expect(cancelled).to.have.length(1)
      expect(cancelled[0]).to.deep.include({ origin: 'panel', actor: `user/${user.id}` })
      expect(await page(`/${sale.id}?feito=cancelada`)).to.match(/Venda cancelada\..*Cancelada.*Cliente desistiu/)
    })

    it('asks how the money goes back, by default as it was paid, and shows it with the sale', async () => {
      const card = await company.paymentType('card', '2.50')
      const payments = [
        { payment_type_id: card, amount: '12.00' },
        { payment_type_id: counter.cash, amount: '10.00' },
      ]
      const [first, second] = [await counter.sell({ payments }), await counter.sell({ payments })]
      const { html } = await user.get(`/painel/vendas/${first.id}/cancelar`)
      expect(textIn(html))
        .to.include('Devolver R$ 12,00 em card, como foi pago')
        .and.include('Devolver R$ 8,00 em cash, como foi pago')
        .and.include('faça o estorno de cartão ou Pix na maquininha ou no banco')
      await cancel(first.id)
      expect(await page(`/${first.id}`))
        .to.include('Dinheiro devolvido R$ 12,00 em card, R$ 8,00 em cash')
        .and.include('R$ 12,00 devolvidos em card; R$ 8,00 devolvidos em cash: Engano')
      const inCash = { reason: 'Engano', [`refunds.${card}`]: String(counter.cash) }
      await user.submit(`/painel/vendas/${second.id}/cancelar`, inCash)
      const refunds = [{ payment_type_id: counter.cash, name: 'cash', amount: '20.00' }]
      expect(await saleNow(second.id)).to.deep.include({ cancel_refunds: refunds })
    })

    it('is refused at once for a cancelled sale and one with a fiscal document [PANEL-22]', async () => {
      const cancelled = await counter.sell()
      await cancel(cancelled.id)
      const documented = await counter.sell()
      await authorize(documented.id, '1')
      expect(problemsIn((await user.get(`/painel/vendas/${cancelled.id}/cancelar`)).html)).to.deep.equal([
        'A venda já está cancelada.',
      ])
      expect(problemsIn((await user.get(`/painel/vendas/${documented.id}/cancelar`)).html)).to.deep.equal([
        'A venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.',
      ])
      for (const { id } of [cancelled, documented])
        expect((await user.get(`/painel/vendas/${id}`)).html).not.to.include('/cancelar"')
    })

    it('is refused if a document was authorized or a payment received during confirmation [PANEL-22]', async () => {
      const documented = await counter.record(counter.sale('a'))
      const received = await counter.record(counter.onAccount('b'))
      const [receivable] = (await company.get('/finance/receivables')).body.data
      const forms = await Promise.all(
        [documented, received].map(async ({ id }) => {
          const path = `/painel/vendas/${id}/cancelar`
          return { path, fields: { ...hiddenFields((await user.get(path)).html, path), reason: 'Engano' } }
        }),
      )
      await company.run(recordFiscalDocument, { id: documented.id, number: '1', status: 'authorized' })
      await company.run(settleReceivable, { id: receivable.id, payment_method: 'cash' })
      const answers = await Promise.all(forms.map(({ path, fields }) => user.post(path, fields)))
      expect(answers.map(({ status }) => status)).to.deep.equal([409, 409])
      expect(answers.flatMap(({ html }) => problemsIn(html))).to.deep.equal([
        'A venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.',
        'Uma conta desta venda já foi recebida e o cancelamento não desfaz o recebimento. A venda continua concluída.',
      ])
      for (const { id } of [documented, received]) expect((await saleNow(id)).status).to.equal('completed')
    })

    it('accepts a reason of up to 500 characters, and shows a longer one again', async () => {
      const { id } = await counter.sell()
      const { status, html } = await cancel(id, 'x'.repeat(501))
      expect(status).to.equal(422)
      expect(problemsIn(html)).to.deep.equal([
        'Confira os campos indicados.',
        'Motivo: deve ter no máximo 500 caracteres',
      ])
      expect(html).to.include('x'.repeat(501))
      expect((await saleNow(id)).status).to.equal('completed')
    })
  })

  describe('customer', () => {
    it('is given to a sale on credit without one, and to its account, once', async () => {
      const bia = (await company.post('/customers', { name: 'Bia' })).body.data
      const sale = await counter.record(counter.onAccount('a'))
      const path = `/painel/vendas/${sale.id}/cliente`
      expect((await user.get(`/painel/vendas/${sale.id}`)).html).to.include(`href="${path}"`)
      const unknown = await user.submit(path, { customer_id: 'Beatriz' })
      expect(problemsIn(unknown.html).join()).to.include('não encontrado')
      expect((await user.submit(path, { customer_id: 'Bia' })).to).to.equal(
        `/painel/vendas/${sale.id}?feito=cliente-da-venda`,
      )
      expect((await saleNow(sale.id)).customer).to.include({ id: bia.id, name: 'Bia' })
      const [receivable] = (await company.get('/finance/receivables')).body.data
      expect(receivable).to.include({ customer_id: bia.id, customer_name: 'Bia' })
      expect(await page(`/${sale.id}`)).to.include('Cliente da venda informado: Bia')
      expect(problemsIn((await user.get(path)).html)).to.deep.equal(['Esta venda já tem cliente.'])
      const paid = await counter.sell()
      expect((await user.get(`/painel/vendas/${paid.id}`)).html).not.to.include('/cliente"')
      expect(problemsIn((await user.get(`/painel/vendas/${paid.id}/cliente`)).html)).to.deep.equal([
        'Só uma venda a prazo recebe o cliente depois.',
      ])
    })
  })

  describe('fiscal document', () => {
    it('is recorded with its number, once, and not replaced while it is authorized [PANEL-22]', async () => {
      const { id } = await counter.sell()
      const path = `/painel/vendas/${id}/documento-fiscal`
      const fields = { ...hiddenFields((await user.get(path)).html, path), number: ' NFC-e 1 ' }
      for (const { to } of [await user.post(path, fields), await user.post(path, fields)])
        expect(to).to.equal(`/painel/vendas/${id}?feito=documento-fiscal`)
      expect((await saleNow(id)).fiscal_document).to.deep.include({ status: 'authorized', number: 'NFC-e 1' })
      expect(await page(`/${id}`)).to.include('só pode ser cancelada depois que ele for cancelado')
      const other = await authorize(id, '2')
      expect(other.status).to.equal(409)
      expect(problemsIn(other.html)).to.deep.equal([
        'A venda já tem outro documento fiscal, que primeiro precisa ser cancelado.',
      ])
      expect((await saleNow(id)).fiscal_document.number).to.equal('NFC-e 1')
    })

    it('names the sale or return that has it already, with a link [FISCAL-6]', async () => {
      const [{ id: holder }, { id }] = [await counter.sell(), await counter.sell()]
      const key = { model: '65', series: '1', number: '77', access_key: accessKeyOf({ number: '77' }) }
      const path = (sale: number) => `/painel/vendas/${sale}/documento-fiscal`
      expect((await user.submit(path(holder), key)).status).to.equal(303)
      const { status, html } = await user.submit(path(id), key)
      expect(status).to.equal(409)
      expect(textIn(html)).to.match(new RegExp(`Este documento fiscal já está na venda ${holder} ?[.]`))
      expect(html).to.include(`<a href="/painel/vendas/${holder}">venda ${holder}</a>`)
    })

    it('records, prefills and cancels a document, which allows cancelling the sale [FISCAL-4, PANEL-22]', async () => {
      const { id } = await counter.sell()
      const path = `/painel/vendas/${id}/documento-fiscal`
      const typed = {
        number: '1234',
        series: '1',
        model: '65',
        status: 'authorized',
        access_key: '3526 0111 2223 3300 0181 6500 1000 0012 3410 0001 2345',
        protocol: '135260000012345',
        authorized_at: '2026-03-10T11:00',
        xml_sha256: '',
        xml_url: 'https://xml.example/1',
      }
      const wrong = await user.submit(path, { ...typed, access_key: typed.access_key.replace(/5$/, '7') })
      expect(problemsIn(wrong.html)).to.include(
        'Chave de acesso: deve ser uma chave de acesso de 44 caracteres com dígito verificador correto',
      )
      expect((await user.submit(path, typed)).status).to.equal(303)
      expect(await page(`/${id}`)).to.include('Chave de acesso 35260111222333000181650010000012341000012345')
      const { html } = await user.get(path)
      for (const value of ['value="35260111222333000181650010000012341000012345"', 'value="2026-03-10T11:00"'])
        expect(html).to.include(value)
      expect((await user.submit(path, { ...typed, status: 'cancelled' })).status).to.equal(303)
      expect((await cancel(id)).status).to.equal(303)
    })

    it('requires a number, and a sale that is not cancelled [PANEL-22]', async () => {
      const { id } = await counter.sell()
      const path = `/painel/vendas/${id}/documento-fiscal`
      const fields = { ...hiddenFields((await user.get(path)).html, path), number: '7' }
      const empty = await authorize(id, '  ')
      expect(empty.status).to.equal(422)
      expect(problemsIn(empty.html)).to.include('Número do documento: preencha este campo')
      await cancel(id)
      const late = await user.post(path, fields)
      expect(late.status).to.equal(422)
      for (const html of [late.html, (await user.get(path)).html])
        expect(problemsIn(html)).to.deep.equal(['Uma venda cancelada não recebe documento fiscal.'])
      expect((await saleNow(id)).fiscal_document).to.equal(null)
    })
  })

  describe('the receipt', () => {
    const sold = () =>
      counter.sell({
        delivery_fee: '5.00',
        items: [{ catalog_item_id: counter.product, quantity: '1.5' }],
        payments: [{ payment_type_id: counter.cash, amount: '30.00' }],
      })

    it('shows shop, lines with unit price, sums that are not zero, payments and change [PANEL-371]', async () => {
      await company.run(updateCompany, { address: 'Rua da Aurora, 100, Recife/PE', phone: '8133334444' })
      const sale = await sold()
      const shown = await page(`/${sale.id}/recibo`)
      for (const text of [
        'Rua da Aurora, 100, Recife/PE (81) 3333-4444',
        'Café 100 1,5 × R$ 10,00 R$ 15,00',
        'Subtotal R$ 15,00 Entrega R$ 5,00 Total R$ 20,00',
        'cash R$ 30,00 Troco R$ 10,00',
        'Não é documento fiscal',
      ])
        expect(shown).to.include(text)
      expect(shown).not.to.include('Desconto')
    })

    it('shows no fee of the shop [PANEL-371]', async () => {
      const card = await company.paymentType('card', '2.50')
      const sale = await counter.sell({
        payments: [{ payment_type_id: card, amount: '1.50' }],
        items: [{ description: 'Bala', quantity: '1', unit_price: '1.50' }],
      })
      expect(await page(`/${sale.id}/recibo`)).not.to.match(/Taxa|Líquido|Acréscimo/)
    })

    it('allows the image of the logo, and of no other site [PANEL-371]', async () => {
      const sale = await sold()
      const policy = async () =>
        (await user.get(`/painel/vendas/${sale.id}/recibo`)).headers.get('content-security-policy') ?? ''
      expect(await policy()).to.include("img-src 'self' data:")
      await company.run(updateCompany, { logo_url: 'https://loja.example/logo.png?x=1' })
      expect(await policy()).to.include("img-src 'self' https://loja.example data:")
      expect((await user.get(`/painel/vendas/${sale.id}/recibo`)).html).to.include(
        'src="https://loja.example/logo.png?x=1"',
      )
    })

    it('links to the page that verifies it, and shows no hash in words [PANEL-371]', async () => {
      const sale = await sold()
      const { html } = await user.get(`/painel/vendas/${sale.id}/recibo`)
      expect(html).to.match(/href="[^"]*\/conferir\?loja=[^#"]+#[^"]+">Conferir no registro/)
      expect(textIn(html)).not.to.match(/[0-9a-f]{64}/)
    })
  })
})

/** Amounts that no other record has: of an own sale of today, and of sales that a clerk does not see. */
const OWN = '431.17'
const OF_OTHER = '877.31'
const OF_OWN_YESTERDAY = '653.29'
const shown = (amount: string) => amount.replace('.', ',')

describe('panel: own sales of today', () => {
  const { api, company } = useCompany()
  let clerk: PanelUser
  let manager: PanelUser
  let counter: Counter
  let customer: number
  let own: number
  let others: number[]

  before(async () => {
    clerk = await panelUser(api, company, 'clerk')
    manager = await panelUser(api, company, 'manager')
    counter = await openCounter(company)
    customer = (await company.post('/customers', { name: 'Maria' })).body.data.id
    const sell = async (amount: string, user_id: number, fields = {}) =>
      (
        await counter.sell({
          customer_id: customer,
          seller: { user_id },
          items: [{ catalog_item_id: counter.product, quantity: '1', unit_price: amount }],
          payments: [{ payment_type_id: counter.cash, amount }],
          ...fields,
        })
      ).id as number
    own = await sell(OWN, clerk.id)
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    others = [await sell(OF_OTHER, manager.id), await sell(OF_OWN_YESTERDAY, clerk.id, { sold_at: yesterday })]
  })

  const page = async (user: PanelUser, path: string) => textIn((await user.get(`/painel${path}`)).html)
  const hidden = [OF_OTHER, OF_OWN_YESTERDAY].map(shown)

  it('are all that a clerk sees, on every page, in the past too [ROLE-105]', async () => {
    const ids: Readonly<Record<string, number>> = {
      '/clientes': customer,
      '/catalogo': counter.product,
      '/vendas': own,
    }
    const { rows } = await api.core.pool.query('select revision from ops.ledgers where company_id = $1', [company.id])
    const [{ revision }] = rows
    const pages = PANEL_ROUTES.filter((route) => 'show' in route || 'table' in route)
    for (const route of pages) {
      const [section = ''] = /^\/\w+/.exec(route.path) ?? []
      if (route.path.includes(':') && !(section in ids)) continue
      const path = route.path.replace(':id', String(ids[section]))
      const isPast = 'asOf' in route && route.asOf
      for (const query of ['', ...(path === '/' ? ['?periodo=30dias'] : []), ...(isPast ? [`?em=${revision}`] : [])]) {
        const { html, status } = await clerk.get(`/painel${path}${query}`)
        expect(status, path + query).to.be.below(500)
        for (const amount of hidden) expect(html.includes(amount), `${amount} on ${path}${query}`).to.equal(false)
        for (const id of others) expect(html, path + query).not.to.include(`/vendas/${id}"`)
      }
    }
  })

  it('are in the list, on the start page and in the closing, and their sums are of them only [ROLE-105]', async () => {
    for (const path of ['', '/vendas', '/caixas/fechamento', `/vendas/${own}`, `/clientes/${customer}`])
      expect(await page(clerk, path), path).to.include(shown(OWN))
    expect(await page(clerk, '')).to.match(/Vendas de hoje R\$ 431,17 .*Número de vendas 1 /)
    expect(await page(manager, '')).to.include('1.308,48')
  })

  it('are the only ones with a page, a receipt, its file, a form and a search result [ROLE-105]', async () => {
    for (const id of others) {
      for (const path of ['', '/recibo', '/recibo/arquivo', '/cancelar', '/documento-fiscal'])
        expect((await clerk.get(`/painel/vendas/${id}${path}`)).status, path).to.equal(404)
      expect(await page(clerk, `/busca?q=${id}`)).not.to.include(`Venda ${id}`)
      expect((await manager.get(`/painel/vendas/${id}`)).status).to.equal(200)
    }
    for (const path of ['', '/recibo', '/recibo/arquivo'])
      expect((await clerk.get(`/painel/vendas/${own}${path}`)).status, path).to.equal(200)
  })

  it('own sales do not mix with sums that need all sales [ROLE-105]', async () => {
    const fields = { name: 'Azeite', price: '9.00', stock: '1', min_stock: '5' }
    const item = (await company.post('/catalog/items', fields)).body.data.id
    for (const path of ['/catalogo/reposicao', `/catalogo/${item}`]) {
      expect(await page(manager, path), path).to.include('Vendido em 30 dias')
      expect(await page(clerk, path), path)
        .to.include('Azeite')
        .and.not.include('Vendido em 30 dias')
    }
    const till = await openTill(api.url, company)
    const movement = (kind: string, amount: number | null, more = {}) => ({
      ...{ offline_id: kind, session_id: 'gaveta-1', kind, amount, at: new Date().toISOString() },
      ...more,
    })
    await till.post('/sync/cash', {
      movements: [movement('opened', 90), movement('closed', null, { counted: { cash: 10 } })],
    })
    expect(await page(manager, '')).to.match(/Gaveta de Operador, .*, com diferença de/)
    expect(await page(clerk, '')).not.to.include('com diferença')
    expect(await page(manager, '/caixas')).to.include('Gavetas abertas agora')
    expect(await page(clerk, '/caixas')).not.to.include('Gavetas abertas agora')
    expect((await clerk.get('/painel/caixas/fechamento')).html).not.to.include('/caixas/sessoes')
  })

  it('have an inventory without the expected stock, which sales of others change [ROLE-105]', async () => {
    const path = '/catalogo/inventarios'
    const { to } = await clerk.submit(`/painel${path}/novo`, { name: 'Prateleira' }, `/painel${path}`)
    const inventory = String(to).replace('/painel', '').replace(/\?.*/, '')
    expect(
      (await clerk.submit(`/painel${inventory}`, { lines: 'nada 1', mode: 'add' }, `/painel${inventory}/lista`)).status,
    ).to.equal(422)
    expect(await page(clerk, inventory))
      .to.include('Nada contado ainda')
      .and.not.include('Esperado')
  })

  it('own sales are joined by all once the role has the permission [ROLE-110]', async () => {
    const { granted } = ROLE_PRESETS.clerk
    const adjust = (permissions: typeof granted) =>
      company.run(adjustRole, {
        role: 'clerk',
        permissions: [...permissions],
        return_limit: '100.00',
        discount_limit: '100.00',
      })
    await adjust([...granted, 'see_all_sales', 'export'])
    expect(await page(clerk, '/vendas?linhas=200'))
      .to.include(shown(OF_OTHER))
      .and.include(shown(OF_OWN_YESTERDAY))
    expect((await clerk.get('/painel/vendas.csv')).status).to.equal(200)
    await adjust(granted)
    expect(await page(clerk, '/vendas')).not.to.include(shown(OF_OTHER))
    expect((await clerk.get('/painel/vendas.csv')).status).to.equal(403)
  })

  it('are no limit for a user who gets another role [ROLE-105]', async () => {
    await company.run(updateUser, { id: clerk.id, role: 'manager' })
    expect(await page(clerk, '/vendas')).to.include(shown(OF_OTHER))
    await company.run(updateUser, { id: clerk.id, role: 'clerk' })
  })
})
