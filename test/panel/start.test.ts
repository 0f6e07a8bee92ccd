import { expect } from 'chai'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { createStore } from '#commands/store-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import { dateInZone } from '#domain/instant.ts'
import { FirstStepsCard } from '#panel/pages/first-steps-pages.tsx'
import { Todo } from '#panel/pages/needs-you.tsx'
import { deleteImport, readImport, storeImport } from '#privacy/stored-imports.ts'
import { offlineSaleOf, upload } from '../support/offline-sales.ts'
import { alarmedOrder } from '../support/orders.ts'
import { textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'
import { until } from '../support/wait.ts'

describe('panel: start page', () => {
  const { api, company, user } = usePanelUser('owner')
  let cash: number

  beforeEach(async () => {
    cash = await company.paymentType('cash')
  })

  const shown = async () => textIn((await user.get('/painel')).html)
  const sale = async (amount: string) => {
    const items = [{ description: 'Café', quantity: '1', unit_price: amount }]
    const reply = await company.post('/sales', { items, payments: [{ payment_type_id: cash, amount }] })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id as number
  }

  it('shows an empty state for a new company', async () => {
    expect(await shown())
      .to.include('Vendas de hoje R$ 0,00')
      .and.to.include('Nenhuma venda no período.')
      .and.to.include('Nenhum produto em falta.')
  })

  it('states that a restored database is read-only, and that a copy is a copy [OPS-80] [OPS-86]', async () => {
    const { installationCheck } = api.core
    const own = { ...installationCheck }
    try {
      Object.assign(installationCheck, { inconsistency: () => 'behind' })
      expect(await shown()).to.include('Nada pode ser gravado agora.')
      const refused = await company.post('/customers', { name: 'Ana' })
      expect(refused.status).to.equal(503)
      expect(refused.body.error.details).to.deep.equal({ reason: 'restore_unconfirmed' })
      expect((await company.get('/customers')).status).to.equal(200)
      Object.assign(installationCheck, { inconsistency: () => null, isCopy: () => true })
      expect(await shown()).to.include('Isto é uma cópia, para testes.')
    } finally {
      Object.assign(installationCheck, own)
    }
    expect(await shown()).not.to.include('cópia')
  })

  it('counts a day of sales that cost nothing [PANEL-420]', async () => {
    const gift = [{ description: 'Brinde', quantity: '1', unit_price: '0.00' }]
    const reply = await company.post('/sales', { items: gift, payments: [] })
    expect(reply.status, reply.text).to.equal(201)
    expect(await shown()).to.match(/Hora Vendas Total Antes \d+h 1 R\$ 0,00/)
  })

  it('totals the day: sales, cancelled ones, open and overdue accounts', async () => {
    await sale('10.00')
    await sale('20.50')
    await company.post(`/sales/${await sale('99.00')}/cancel`, { reason: 'engano' })
    const account = { description: 'Aluguel', amount: '1234.56' }
    await company.post('/finance/payables', { ...account, due_date: '2020-01-01' })
    await company.post('/finance/receivables', { ...account, due_date: '2099-01-01' })
    expect(await shown())
      .to.match(/Vendas de hoje R\$ 30,50 Sem vendas n[ao] \S+ passad[ao] \(\d\d\/\d\d\) até esta hora para comparar/)
      .and.to.match(
        /Número de vendas 2 Ticket médio R\$ 15,25 Itens 2 1,0 por venda Margem — Nenhuma venda com todos os custos conhecidos/,
      )
      .and.to.include('Canceladas R$ 99,00 1 venda')
      .and.to.include('Precisa de você 1 conta vencida a pagar · R$ 1.234,56')
      .and.to.include('A receber R$ 1.234,56 1 conta em aberto')
      .and.to.include('A pagar R$ 1.234,56 1 conta em aberto, vencidas: 1 (R$ 1.234,56)')
    const { html } = await user.get('/painel')
    expect(html).to.match(/href="\/painel\/vendas\?sold_from=[-\d]{10}&amp;sold_to=[-\d]{10}&amp;status=completed"/)
  })

  it('names what falls due, ends within two weeks or is unfinished [PANEL-1303]', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    const day = (days: number) => dateInZone(inDays(days), 'America/Sao_Paulo')
    const account = { description: 'Aluguel', amount: '10.00' }
    for (const days of [0, 1, 2]) await company.post('/finance/payables', { ...account, due_date: day(days) })
    await company.post('/finance/receivables', { ...account, due_date: day(1) })
    const { id } = await company.newKey(['catalog:read'], inDays(13))
    await company.newKey(['catalog:read'], inDays(15))
    await storeImport(api.core, { companyId: company.id, userId: user.id }, 'items', Buffer.from('Nome;Preço'))
    const { html } = await user.get('/painel')
    expect(textIn(html))
      .to.include('2 contas a pagar vencem até amanhã · R$ 20,00')
      .and.to.include('1 conta a receber vence até amanhã · R$ 10,00')
      .and.to.include('1 importação por terminar: Catálogo')
    expect(html.match(/chave de API/g)).to.have.length(1)
    expect(html).to.include(`/painel/integracoes/chaves/${id}"`).and.to.include('/painel/catalogo/importar/conferir')
  })

  it('drops each task with what ends it [PANEL-1303]', async () => {
    const tomorrow = dateInZone(new Date(Date.now() + 86_400_000).toISOString(), 'America/Sao_Paulo')
    const account = { description: 'Aluguel', amount: '10.00', due_date: tomorrow }
    const accounts = ['payables', 'receivables'].map((side) => `/finance/${side}`)
    const ids = await Promise.all(accounts.map(async (path) => (await company.post(path, account)).body.data.id))
    const key = await company.newKey(['catalog:read'], new Date(Date.now() + 86_400_000).toISOString())
    const owner = { companyId: company.id, userId: user.id }
    await storeImport(api.core, owner, 'items', Buffer.from('Nome;Preço'))
    await upload(await openTill(api.url, company), [offlineSaleOf({ total: 99 })])
    const tasks = ['conta a pagar', 'conta a receber', 'chave de API', 'importação por terminar', 'venda recusada']
    for (const words of tasks) expect(await shown()).to.include(words)
    for (const [at, path] of accounts.entries()) {
      const paid = { payment_method: 'pix', paid_at: new Date().toISOString() }
      const reply = await company.post(`${path}/${ids[at]}/settle`, paid, { 'idempotency-key': `paga-${at}` })
      expect(reply.status, reply.text).to.equal(200)
    }
    await company.run(revokeApiKey, { id: key.id })
    const file = await readImport(api.core, owner, 'items')
    await deleteImport(api.core.pool, owner, { uploadedAt: file?.uploadedAt ?? '' })
    const [, refused = ''] =
      /href="(\/painel\/caixas\/recusadas\/\d+)"/.exec((await user.get('/painel/caixas/recusadas')).html) ?? []
    expect((await user.submit(refused, { note: 'engano' }, `${refused}/resolver`)).status).to.equal(303)
    expect(await shown()).not.to.include('Precisa de você')
  })

  it('does not miss stock of a variant that has had none yet [PANEL-1304]', async () => {
    const create = async (fields: object) =>
      (await company.post('/catalog/items', { price: '9.00', ...fields })).body.data.id as number
    const parent_id = await create({ name: 'Camiseta', stock: '1' })
    const variant = await create({ name: 'Camiseta P', stock: '0', parent_id, variant: { size: 'P' } })
    expect(await shown()).not.to.include('Precisa de você')
    expect((await company.get('/stock/low')).body.data).to.deep.equal([])
    for (const quantity of ['1', '-1'])
      await company.call('PATCH', `/catalog/items/${variant}`, { stock_adjustment: quantity })
    expect(await shown()).to.include('1 produto sem estoque')
    expect((await company.get('/catalog/items?low_stock=true')).body.data).to.have.length(1)
  })

  it('charts a period by hour or day, and reports invalid periods [PANEL-120] [PANEL-123]', async () => {
    await sale('10.00')
    const { html } = await user.get('/painel?periodo=30')
    expect([...html.matchAll(/<rect class="column"/g)]).to.have.length(30)
    expect(html).to.match(
      /<a href="\/painel\/vendas\?[^"]*status=completed" aria-label="\d\d\/\d\d: R\$\u00A010,00, 1 venda/,
    )
    expect(html).to.match(
      /role="group" aria-label="Vendas dos últimos 30 dias por dia. A maior barra é \d\d\/\d\d, com R\$\u00A010,00\."/,
    )
    expect(textIn(html)).to.match(/Dia Vendas Total Antes \d\d\/\d\d 1 R\$ 10,00 R\$ 0,00/)
    const wrong = await user.get('/painel?periodo=intervalo&de=2026-02-03&ate=2026-02-01')
    expect(wrong.status).to.equal(422)
    expect(textIn(wrong.html))
      .to.include('não pode ser antes de 03/02/2026, o primeiro dia')
      .and.to.include('Vendas de hoje')
    const past = (await user.get('/painel?em=3')).html
    expect(textIn(past)).to.include('mostra sempre os dados atuais').and.to.include('Vendas de hoje')
    expect(past).to.include('href="/painel/vendas?em=3"')
  })

  it('refuses ranges at the ends of the calendar and too long ones without failing [PANEL-301]', async () => {
    for (const range of [
      'de=9999-12-01&ate=9999-12-31',
      'de=9998-01-01&ate=9999-12-31',
      'de=1900-01-01&ate=9998-12-31',
    ]) {
      const { status, html } = await user.get(`/painel?periodo=intervalo&${range}`)
      expect(status, range).to.equal(422)
      expect(textIn(html), range)
        .to.match(/deve ser um dia dos anos 1902 a 9998/)
        .and.to.include('Vendas de hoje')
    }
    const long = await user.get('/painel?periodo=intervalo&de=2020-01-01&ate=2026-01-01')
    expect([long.status, textIn(long.html).includes('o período pode ter até 366 dias')]).to.deep.equal([422, true])
  })

  it('lists products that are out of stock or low', async () => {
    await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '0' })
    await company.post('/catalog/items', { name: 'Chá', price: '1.00', stock: '2.5', min_stock: '3', unit: 'kg' })
    await company.post('/catalog/items', { name: 'Arroz', price: '1.00', stock: '80' })
    expect(await shown())
      .to.include('Sem estoque: 1 Acabando: 2')
      .and.to.include('Café 0')
      .and.to.include('Chá 2,5 kg')
      .and.not.to.include('Arroz 80')
  })

  it('shows refused till sales and orders paid twice, and their counts in the menu of every page', async () => {
    expect(await shown())
      .not.to.include('recusadas')
      .and.not.to.include('com alerta')
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    await alarmedOrder(company, alias)
    await upload(await openTill(api.url, company), [offlineSaleOf({ total: 99 })])
    expect(await shown())
      .to.include('Caixas 1 envio recusado')
      .and.to.include('Loja online 1 pedido a entregar ou com alerta')
      .and.to.include('1 venda recusada para resolver')
      .and.to.include('1 pedido com alerta não lido')
  })

  describe('live stream', () => {
    const listen = (path: string) =>
      fetch(api.url + path, { headers: { cookie: user.cookie(), accept: 'text/event-stream' }, redirect: 'manual' })

    /** Text received from a stream so far. */
    function readInto(response: Response): { text: string; cancel(): Promise<void> } {
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const heard = { text: '', cancel: () => reader.cancel() }
      const read = async () => {
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return
          heard.text += Buffer.from(value).toString()
        }
      }
      void read().catch(() => {})
      return heard
    }

    it('notifies open pages of new events of their company only [PANEL-17]', async () => {
      const [, path, since] = /data-live="([^"]+)" data-since="(\d+)"/.exec((await user.get('/painel')).html) ?? []
      const response = await listen(`${path}?desde=${since}`)
      expect(response.headers.get('content-type')).to.match(/^text\/event-stream/)
      const heard = readInto(response)
      const other = await api.company()
      await other.post('/customers', { name: 'De outra' })
      expect(heard.text).not.to.include('mudou')
      await company.post('/customers', { name: 'Maria' })
      const revision = (await company.get('/me')).headers.get('x-ledger-revision')
      await until(() => heard.text.includes(`event: mudou\ndata: ${revision}\n\n`))
      await heard.cancel()
    })

    it('notifies at once of events since the page was rendered [PANEL-17]', async () => {
      await company.post('/customers', { name: 'Maria' })
      const heard = readInto(await listen('/painel/ao-vivo?desde=0'))
      await until(() => heard.text.includes('event: mudou'))
      await heard.cancel()
    })

    it('requires a login', async () => {
      const response = await fetch(`${api.url}/painel/ao-vivo?desde=0`, { redirect: 'manual' })
      expect(response.status).to.equal(303)
      await response.body?.cancel()
    })
  })
})

const NO_SUM = { count: 0, amount: '0.00' }
const NONE = { pending: NO_SUM, overdue: NO_SUM, due_soon: NO_SUM }
const NOTHING = {
  timezone: 'America/Sao_Paulo',
  refused: 0,
  refusedReturns: 0,
  refusedMovements: 0,
  gaps: [],
  cash: [],
  others: [],
  today: '2026-03-11',
  alarmed: 0,
  to_deliver: 0,
  late: 0,
  differing: 0,
  failing: [],
  unpayable: [],
  receivables: NONE,
  payables: NONE,
  stock: { out: 0, low: 0, items: [] },
}

describe('panel: to-do list of the start page', () => {
  it('is empty, or links each task to its page', () => {
    expect(renderToString(h(Todo, NOTHING))).to.equal('')
    const html = renderToString(
      h(Todo, {
        ...NOTHING,
        differing: 2,
        refused: 1,
        refusedReturns: 2,
        refusedMovements: 1,
        gaps: [],
        cash: [{ id: 4, name: 'Gaveta de Bruno, 10/03, manhã', difference: '-12.50' }],
        alarmed: 1,
        to_deliver: 3,
        late: 1,
        failing: [{ webhook_id: 7, url: 'https://loja.example/gancho', outage_since: '2026-03-10T12:00:00.000Z' }],
        receivables: { ...NONE, overdue: { count: 1, amount: '5.00' } },
        payables: { ...NONE, overdue: { count: 2, amount: '7.00' }, due_soon: { count: 1, amount: '3.00' } },
        others: [{ to: '/loja/lojas/1', tone: 'warn', count: 1, words: 'conexão' }],
        stock: { ...NOTHING.stock, out: 4, low: 3 },
      }),
    )
    const tasks = [...html.matchAll(/<a href="([^"]+)">(.*?)<\/a>/g)].map(([, to, words = '']) => [
      to,
      textIn(words).trim(),
    ])
    expect(tasks).to.deep.equal([
      ['/painel/auditoria', '2 registros não conferem na auditoria'],
      ['/painel/caixas', '1 venda recusada para resolver'],
      ['/painel/caixas', '2 devoluções recusadas para resolver'],
      ['/painel/caixas', '1 movimento recusado para resolver'],
      ['/painel/caixas/sessoes/4', '1 Gaveta de Bruno, 10/03, manhã, com diferença de −R$ 12,50 para explicar'],
      ['/painel/loja?alarm=open', '1 pedido com alerta não lido'],
      ['/painel/loja?status=paid&amp;delivery_state=open', '1 pedido pago com entrega atrasada'],
      ['/painel/loja?status=paid&amp;delivery_state=open', '3 pedidos pagos a entregar'],
      ['/painel/integracoes/webhooks/7', '1 webhook com falhas desde 10/03/2026 09:00: https://loja.example/gancho'],
      ['/painel/loja/lojas/1', '1 conexão'],
      ['/painel/contas-a-pagar?view=overdue', '2 contas vencidas a pagar · R$ 7,00'],
      [
        '/painel/contas-a-pagar?due_from=2026-03-11&amp;due_to=2026-03-12',
        '1 conta a pagar vence até amanhã · R$ 3,00',
      ],
      ['/painel/contas-a-receber?view=overdue', '1 conta vencida a receber · R$ 5,00'],
      ['/painel/catalogo/reposicao', '3 produtos acabando'],
      ['/painel/catalogo?out_of_stock=on', '4 produtos sem estoque'],
    ])
  })

  it('shows the five most urgent tasks, and folds the others', () => {
    const others = Array.from({ length: 7 }, (_, at) => ({ to: '/', tone: 'warn' as const, count: 1, words: `t${at}` }))
    const html = renderToString(h(Todo, { ...NOTHING, others }))
    const [shown = '', folded = ''] = html.split('<details>')
    expect(textIn(shown)).to.include('t4').and.not.to.include('t5')
    expect(textIn(folded)).to.include('Mais 2').and.to.include('t6')
  })

  it('guides a new company to its first sale, and disappears after it', () => {
    const steps = { has_business: false, has_data: true, has_item: false, has_store: false, has_sale: false }
    const html = renderToString(h(FirstStepsCard, { steps }))
    expect(textIn(html)).to.include('Primeiros passos 1 de 5').and.to.include('Completar os dados da loja (feito)')
    expect([...html.matchAll(/href="([^"]+)"/g)].map(([, to]) => to)).to.include.members([
      '/painel/primeiros-passos/negocio',
      '/painel/catalogo/novo',
      '/caixa',
      '/painel/loja/lojas/nova',
    ])
    expect(renderToString(h(FirstStepsCard, { steps: { ...steps, has_sale: true } }))).to.equal('')
  })
})
