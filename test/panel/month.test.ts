import { expect } from 'chai'
import { moveTestClock, updateCompany } from '#commands/company-commands.ts'
import { deactivateUser } from '#commands/user-commands.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { readWorkbook } from '#panel/import/workbook.ts'
import { figuresIn, fileRows } from '../figures/parse.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'
import { entriesIn } from '../support/zip.ts'

describe('panel: the month for the accountant', () => {
  const { api, company } = useCompany()
  const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')
  const month = today.slice(0, 7)
  const path = `/painel/fechamento-do-mes/${month}`
  let owner: PanelUser
  let counter: Counter
  let saleId: number
  let paid: number

  before(async () => {
    owner = await panelUser(api, company)
    counter = await openCounter(company)
    const { body } = await company.post('/customers', { name: 'Maria das Dores' })
    const sale = await counter.sell({ customer_id: body.data.id })
    saleId = sale.id
    const cancelled = await counter.sell()
    await company.post(`/sales/${cancelled.id}/cancel`, { reason: 'Desistência' })
    const account = { description: 'Mesa 4', amount: '40.00', due_date: today, customer_id: body.data.id }
    paid = (await company.post('/finance/receivables', account)).body.data.id
    await owner.submit(`/painel/contas-a-receber/${paid}/liquidar`, {
      payment_method: 'pix',
      received: '15',
      paid_at: '',
    })
    const bill = (await company.post('/finance/payables', { description: 'Aluguel', amount: '70.00', due_date: today }))
      .body
    await company.post(`/finance/payables/${bill.data.id}/payments`, { amount: '20.00' }, { 'idempotency-key': 'rent' })
    await owner.submit('/painel/caixas/sessoes/abrir', { amount: '10,00' })
    const item = { name: 'Café moído', price: '9.00', cost: '4.50', stock: '3' }
    expect((await company.post('/catalog/items', item)).status).to.equal(201)
  })

  const share = async (): Promise<string> => {
    await owner.submit(path, {}, `${path}/link`)
    const url = /href="([^"]*\/l\/[\w-]+)"/.exec((await owner.get(path)).html)?.[1] ?? ''
    return `${api.url}${new URL(url).pathname}`
  }
  const read = async (url: string) => (await fetch(url)).text()
  /** A workbook shows `13,50` as `13,5`. */
  const comparable = (cell = ''): string =>
    cell.replace(/^(-?\d+),(\d*?)0*$/, (_, whole, rest) => (rest ? `${whole},${rest}` : whole))
  const rowsIn = (files: ReadonlyMap<string, Buffer>, table: string) => fileRows(String(files.get(`${table}.csv`)))
  const filesOf = async (user: PanelUser, of: string) => {
    const answer = await fetch(`${api.url}${of}/arquivo`, { headers: { cookie: user.cookie() } })
    expect(answer.status).to.equal(200)
    return entriesIn(Buffer.from(await answer.arrayBuffer()))
  }

  it('has the figures of summary, lists and days, and what is open [FIG-1286]', async () => {
    const { html } = await owner.get(path)
    const figures = figuresIn(html)
    const { data } = (await company.get(`/finance/summary?from=${month}-01&to=${today}`)).body
    expect(figures).to.include({
      'total.vendas': data.sales.sold.count,
      'total.vendido': Number(data.sales.sold.amount),
      'total.cancelado': Number(data.sales.cancelled.amount),
      'total.liquido': Number(data.sales.net),
      [`dia/${today}.liquido`]: Number(data.sales.net),
      [`mes/${month}.contas-recebidas`]: 15,
      [`mes/${month}.valor-do-estoque`]: 13.5,
      [`mes/${month}.sem-nota`]: 1,
    })
    const list = await owner.get(`/painel/vendas?sold_from=${month}-01&sold_to=${today}`)
    expect(figuresIn(list.html)['total.liquido']).to.equal(figures['total.liquido'])
    const money = textIn((await owner.get(`${path}/recebimentos`)).html)
    expect(money).to.match(/Mesa 4 .* R\$ 15,00/)
    expect(html).to.contain('fiscal=missing')
  })

  it('is the last one that is over, unless another one is asked for that has begun', async () => {
    expect((await owner.get('/painel/fechamento-do-mes')).html).not.to.contain(', mês em andamento')
    expect((await owner.get(`/painel/fechamento-do-mes?mes=${month}`)).html).to.contain(', mês em andamento')
    for (const wrong of ['2999-01', '2026-13', 'x'])
      expect((await owner.get(`/painel/fechamento-do-mes/${wrong}`)).status, wrong).to.equal(404)
  })

  it('is a ZIP of files whose sums are those of the page [FIG-1286]', async () => {
    const files = await filesOf(owner, path)
    expect([...files.keys()]).to.include.members(['resumo.csv', 'dias.csv', 'vendas.csv', 'recebimentos.csv'])
    const sold = rowsIn(files, 'vendas')
    expect(sold.map(({ Situação }) => Situação).sort()).to.deep.equal(['Cancelada', 'Concluída'])
    const sums = new Map(
      rowsIn(files, 'resumo').map(({ Figura, Valor = '' }) => [Figura, Number(Valor.replace(',', '.'))]),
    )
    const tables = [...files.keys()].filter((name) => name.endsWith('.csv')).map((name) => name.slice(0, -4))
    for (const table of tables) {
      const file = files.get(`${table}.xlsx`) ?? Buffer.alloc(0)
      const book = await readWorkbook(file, { rows: 100, columns: 20, cellLength: 100 }, async () => {})
      const [heads = [], ...rows] = typeof book === 'string' ? [[book]] : book.rows.map(({ cells }) => cells)
      const shown = rows.map((cells) => heads.map((head, at) => [head, comparable(cells[at])]))
      const csv = rowsIn(files, table).map((row) => Object.entries(row).map(([head, cell]) => [head, comparable(cell)]))
      expect(shown, table).to.deep.equal(csv)
    }
    const figures = figuresIn((await owner.get(path)).html)
    expect([sums.get('Vendido'), sums.get('Líquido')]).to.deep.equal([
      figures['total.vendido'],
      figures['total.liquido'],
    ])
  })

  it('opens for the accountant by a link: read only, without names, each figure with its list [LINK-1287]', async () => {
    const logo_url = 'https://logo.example/a.png'
    await company.run(updateCompany, { logo_url })
    const url = await share()
    const html = await read(url)
    expect(html).to.include(`<img src="${logo_url}"`)
    const shown = figuresIn((await owner.get(path)).html)
    expect(shown).to.include({ [`mes/${month}.contas-pagas`]: 20, [`mes/${month}.a-pagar-do-mes`]: 50 })
    expect(figuresIn(html)).to.deep.equal(shown)
    for (const [list, text] of [
      ['pagamentos', /Aluguel .* R\$ 20,00/],
      ['a-pagar', /Aluguel .* R\$ 50,00/],
      ['a-receber', /Mesa 4 .* R\$ 25,00/],
      ['gavetas', /R\$ 10,00 .*Sem contagem/],
    ] as const)
      expect(textIn(await read(`${url}/${list}`)), list).to.match(text)
    expect(textIn(html)).not.to.contain('Maria')
    expect(html).not.to.match(/<form|href="\/painel\/(?!assets)/)
    const lists = [...html.matchAll(/href="(\/l\/[^"]+)"/g)].map(([, to]) => (to as string).replaceAll('&amp;', '&'))
    expect(lists.length).to.be.above(4)
    for (const to of lists) expect((await fetch(`${api.url}${to}`)).status, to).to.equal(200)
    const sales = await read(`${url}/vendas?fiscal=missing`)
    expect(sales).to.contain(`/prova/${saleId}"`).and.not.to.contain('Maria')
    const proof = await fetch(`${url}/prova/${saleId}`, { redirect: 'manual' })
    expect(proof.headers.get('location')).to.match(/\/conferir\?loja=[^#]+#\d+$/)
    for (const wrong of ['clientes', 'prova/99999', 'vendas/1'])
      expect((await fetch(`${url}/${wrong}`)).status, wrong).to.equal(404)
  })

  it('ends with the rights of who made the link [LINK-1287]', async () => {
    const other = await panelUser(api, company)
    await other.submit(path, {}, `${path}/link`)
    const href = /href="([^"]*\/l\/[\w-]+)"/.exec((await other.get(path)).html)?.[1] ?? ''
    const url = `${api.url}${new URL(href).pathname}`
    expect((await fetch(url)).status).to.equal(200)
    await company.run(deactivateUser, { id: other.id })
    expect((await fetch(url)).status).to.equal(404)
  })

  it('values the stock of a month that is over at its end, at the costs of then [FIG-1286]', async () => {
    const shop = await api.company({ test: true })
    const user = await panelUser(api, shop)
    const add = async (name: string, cost: string | null, stock: string): Promise<number> =>
      (await shop.post('/catalog/items', { name, price: '9.00', cost, stock })).body.data.id
    const tea = await add('Chá', '2.50', '4')
    const jam = await add('Geleia', null, '1')
    const gone = await add('Biscoito', '3.00', '2')
    await shop.run(moveTestClock, { advance_days: 31 })
    const change = (id: number, fields: object) => shop.call('PATCH', `/catalog/items/${id}`, fields)
    await change(tea, { cost: '9.00' })
    await change(jam, { cost: '5.00' })
    await shop.post(
      '/stock/movements',
      { catalog_item_id: tea, kind: 'purchase', quantity: '6' },
      { 'idempotency-key': 'x' },
    )
    await shop.call('DELETE', `/catalog/items/${gone}`)
    const over = `/painel/fechamento-do-mes/${month}`
    const figures = async (path: string) => {
      const all = figuresIn((await user.get(path)).html)
      const of = `mes/${path.slice(-7)}`
      return [all[`${of}.valor-do-estoque`], all[`${of}.sem-custo`]]
    }
    expect(await figures(over)).to.deep.equal([16, 1])
    const now = addDays(today, 31).slice(0, 7)
    expect(await figures(`/painel/fechamento-do-mes/${now}`)).to.deep.equal([95, undefined])
    const before = addDays(`${month}-01`, -1).slice(0, 7)
    expect(await figures(`/painel/fechamento-do-mes/${before}`)).to.deep.equal([0, undefined])
    const name = /Estoque no fim de \d\d\/\d\d\/\d{4}, ao custo daquele dia/
    expect(textIn((await user.get(over)).html)).to.match(name)
    const sums = rowsIn(await filesOf(user, over), 'resumo')
    expect(sums.find(({ Figura = '' }) => name.test(Figura))?.Valor).to.equal('16,00')
    await user.submit(over, {}, `${over}/link`)
    const href = /href="([^"]*\/l\/[\w-]+)"/.exec((await user.get(over)).html)?.[1] ?? ''
    const shared = figuresIn(await read(`${api.url}${new URL(href).pathname}`))
    expect(shared[`mes/${month}.valor-do-estoque`]).to.equal(16)
  })

  it('is for roles that see sales, costs and payables', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    for (const to of [path, `${path}/arquivo`]) expect((await clerk.get(to)).status, to).to.equal(403)
    const accountant = await panelUser(api, company, 'accountant')
    expect((await accountant.get(path)).status).to.equal(200)
    expect((await accountant.get(path)).html).not.to.contain('Criar link')
  })
})
