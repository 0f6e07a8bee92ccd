import { expect } from 'chai'
import { createNfeXml, type NfeXmlOptions } from '#demo/companies/demo-seed.ts'
import { plainText, uploadFile } from '../support/import-file.ts'
import { hiddenFields, panelUser, usePanelUser } from '../support/panel.ts'

const PATH = '/catalogo/entradas/nfe'
const CHECK = `/painel${PATH}/conferir`

const BOXES = {
  ...{ cProd: '2040', xProd: 'GUARANA CX C/12', cEANTrib: '7890000010498', uCom: 'CX', qCom: '10.0000' },
  ...{ uTrib: 'UN', qTrib: '120.0000', vProd: '600.00', vDesc: '6.00', vFrete: '3.00', vICMSST: '3.00' },
}
const NEW = { cProd: '77', xProd: 'BISCOITO 400G', qCom: '24', vProd: '96.00' }

/** What a browser sends of a form as it is shown. */
function shownFields(html: string, action: string): Record<string, string> {
  const [, form = ''] = html.split(`action="${action}"`)
  const content = form.split('</form>')[0] ?? ''
  const inputs = [...content.matchAll(/<input[^>]* name="([^"]+)"[^>]*>/g)].map(
    ([tag, name = '']) => [name, / value="([^"]*)"/.exec(tag)?.[1] ?? ''] as const,
  )
  const selects = [...content.matchAll(/<select[^>]* name="([^"]+)"[^>]*>.*?<\/select>/gs)].map(
    ([tag, name = '']) => [name, /<option(?: value="([^"]*)"| selected)+ selected/.exec(tag)?.[1] ?? ''] as const,
  )
  return { ...Object.fromEntries([...inputs, ...selects]), ...hiddenFields(html, action) }
}

describe('panel: goods receipts', () => {
  const { api, company, user } = usePanelUser('owner')
  let notes = 0

  const noteOf = (fields: Partial<NfeXmlOptions>) =>
    createNfeXml({ buyer: '11222333000181', lines: [BOXES, NEW], number: ++notes, ...fields })
  const send = (fields: Partial<NfeXmlOptions>) => uploadFile({ api, user }, PATH, noteOf(fields).xml)
  /** Sends the check form as it is shown, with some fields changed. */
  const confirm = async (fields: Record<string, string> = {}, one: Pick<typeof user, 'get' | 'post'> = user) =>
    one.post(CHECK, { ...shownFields((await one.get(CHECK)).html, CHECK), ...fields })
  const guarana = async () =>
    (
      await company.post('/catalog/items', {
        name: 'Guaraná 2 L',
        price: '8.99',
        unit: 'UN',
        barcode: '7890000010498',
        stock: '3',
      })
    ).body.data
  const items = async () => (await company.get('/catalog/items')).body.data as Record<string, unknown>[]

  it('shows what a note brings, and receives it with one act [STOCK-1270]', async () => {
    const { id } = await guarana()
    expect(
      await send({
        bills: [
          ['2026-02-10', '300.00'],
          ['2026-03-10', '396.00'],
        ],
      }),
    ).to.include({ status: 303, to: CHECK })
    const check = plainText((await user.get(CHECK)).html)
    for (const text of [
      'Atacado São Jorge & Filhos Ltda (será cadastrado)',
      '1 · GUARANA CX C/12 (código 2040): 10 CX por R$ 600,00',
      'Entram 120 UN a R$ 5,00 cada.',
      '1 de 2 10/02/2026 R$ 300,00',
    ])
      expect(check).to.include(text)
    const unpriced = await confirm()
    expect([unpriced.status, plainText(unpriced.html)].join(' ')).to.match(
      /^422 .*Preço de venda \(R\$\): preencha este campo/,
    )
    const tried = await confirm({ 'preco-1': '5,99', _ver: '1' })
    expect(plainText(tried.html)).to.include('Nada foi gravado ainda')
    expect(await items()).to.have.length(1)
    const done = await confirm({ 'preco-1': '5,99' })
    expect(done.to, plainText(done.html)).to.match(/^\/painel\/catalogo\/entradas\/1\?/)
    const [known, made] = await items()
    expect(known).to.include({ id, stock: '123.000', cost: '5.00' })
    expect(made).to.include({ name: 'BISCOITO 400G', stock: '24.000', cost: '4.00', price: '5.99', unit: 'UN' })
    const bills = (await company.get('/finance/payables')).body.data
    expect(
      bills.map(({ amount, due_date, supplier_name }: Record<string, unknown>) => [amount, due_date, supplier_name]),
    ).to.deep.equal([
      ['300.00', '2026-02-10', 'Atacado São Jorge & Filhos Ltda'],
      ['396.00', '2026-03-10', 'Atacado São Jorge & Filhos Ltda'],
    ])
    const movement = (await company.get(`/stock/movements?catalog_item_id=${id}`)).body.data.at(-1)
    expect(movement).to.include({ kind: 'purchase', quantity: '120.000', unit_cost: '5.00', record: 'goods_receipt/1' })
    const page = plainText((await user.get('/painel/catalogo/entradas/1')).html)
    for (const text of ['Guaraná 2 L', '1 CX = 12', '10/02/2026 R$ 300,00', 'NF-e 1, série 1'])
      expect(page).to.include(text)
    expect(plainText((await user.get('/painel/catalogo/entradas')).html)).to.include('Entrada 1: NF-e 1, série 1')
  })

  it('remembers items and units of a supplier, also without a GTIN [STOCK-1274]', async () => {
    const { id } = await guarana()
    const plain = { cProd: 'X9', xProd: 'REFRIGERANTE FARDO', uCom: 'FD', qCom: '2', vProd: '60.00' }
    await send({ lines: [plain] })
    const first = { 'acao-0': 'item', 'produto-0': 'Guaraná 2 L', 'fator-0': '6' }
    expect((await confirm(first)).status).to.equal(303)
    await send({ lines: [plain, { ...plain, vProd: '66.00' }] })
    const check = plainText((await user.get(CHECK)).html)
    expect(check).to.include('1, 2 · REFRIGERANTE FARDO (código X9): 4 FD por R$ 126,00')
    expect(check).to.include('Entram 24 UN a R$ 5,25 cada.')
    expect((await confirm()).status).to.equal(303)
    expect(await items()).to.deep.include.members([(await company.get(`/catalog/items/${id}`)).body.data])
    expect((await items())[0]).to.include({ stock: '39.000', cost: '5.25' })
    expect((await company.get('/suppliers')).body.data).to.have.length(1)
    expect((await company.get('/finance/payables')).body.data).to.deep.equal([])
  })

  it('receives a note once, also from two browsers at a time [STOCK-1271]', async () => {
    await guarana()
    const { xml, accessKey } = noteOf({ lines: [BOXES] })
    const other = await panelUser(api, company, 'manager')
    await Promise.all([user, other].map((one) => uploadFile({ api, user: one }, PATH, xml)))
    const replies = await Promise.all([user, other].map((one) => confirm({}, one)))
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([303, 409])
    const late = plainText((await user.get(CHECK)).html)
    expect(late).to.include('Esta NF-e já entrou: é a entrada 1.')
    expect((await items())[0]).to.include({ stock: '123.000' })
    expect((await user.get('/painel/catalogo/entradas.csv')).html).to.include(accessKey)
  })

  it('answers a form that is sent twice once', async () => {
    await guarana()
    await send({ lines: [BOXES] })
    const fields = shownFields((await user.get(CHECK)).html, CHECK)
    const replies = await Promise.all([user.post(CHECK, fields), user.post(CHECK, fields)])
    expect(replies.map(({ to }) => to)).to.deep.equal(Array(2).fill('/painel/catalogo/entradas/1?feito=entrada'))
    expect((await items())[0]).to.include({ stock: '123.000' })
  })

  it('refuses a wrong file, and one for another note than the form shows', async () => {
    const wrong = await send({ buyer: '12345678000195' })
    expect([wrong.status, plainText(wrong.html)].join(' ')).to.match(
      /^422 .*12\.345\.678\/0001-95, e não para esta empresa/,
    )
    await send({})
    const before = shownFields((await user.get(CHECK)).html, CHECK)
    await send({})
    const stale = await user.post(CHECK, { ...before, 'acao-0': 'skip', 'acao-1': 'skip' })
    expect(plainText(stale.html)).to.include('Outra nota foi enviada depois')
  })

  it('takes a note of 990 lines', async () => {
    const lines = Array.from({ length: 990 }, (_, at) => ({ ...NEW, cProd: `P${at}` }))
    expect((await send({ lines })).status).to.equal(303)
    const skipped = Object.fromEntries(lines.flatMap((_, at) => (at === 0 ? [] : [[`acao-${at}`, 'skip']])))
    const priced = Object.fromEntries(lines.map((_, at) => [`preco-${at}`, '5,99']))
    expect((await confirm({ ...priced, ...skipped })).status).to.equal(303)
    expect(await items()).to.have.length(1)
  })

  it('is for those who move stock and edit payables', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    for (const path of [PATH, '/catalogo/entradas', '/catalogo/entradas/novo'])
      expect((await clerk.get(`/painel${path}`)).status, path).to.equal(403)
    const { id } = await guarana()
    await send({ lines: [BOXES] })
    expect((await confirm()).status).to.equal(303)
    const item = (await clerk.get(`/painel/catalogo/${id}`)).html
    expect(item).to.include('Entrada nº 1').and.not.include('/catalogo/entradas/1')
    const accountant = await panelUser(api, company, 'accountant')
    expect((await accountant.get('/painel/catalogo/entradas')).status).to.equal(200)
    expect((await accountant.get(`/painel${PATH}`)).status).to.equal(403)
  })

  it('shows a conversion by ten as it is', async () => {
    await guarana()
    await send({ lines: [{ ...BOXES, qCom: '12.0000' }] })
    expect(shownFields((await user.get(CHECK)).html, CHECK)).to.include({ 'fator-0': '10' })
  })

  it('undoes a receipt, and takes the same note again with another conversion [STOCK-1330]', async () => {
    const { id } = await guarana()
    const { xml } = noteOf({ lines: [BOXES], bills: [['2026-02-10', '600.00']] })
    const upload = () => uploadFile({ api, user }, PATH, xml)
    await upload()
    expect((await confirm({ 'fator-0': '1' })).status).to.equal(303)
    const page = '/painel/catalogo/entradas/1'
    expect((await user.get(page)).html).to.include(`${page}/desfazer`)
    const forms = await Promise.all([1, 2].map(async () => (await user.get(`${page}/desfazer`)).html))
    const undo = (html: string) => user.post(`${page}/desfazer`, hiddenFields(html, `${page}/desfazer`))
    const replies = await Promise.all(forms.map(undo))
    expect(replies.map(({ to }) => to)).to.deep.equal(Array(2).fill(`${page}?feito=entrada-desfeita`))
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '3.000', cost: null })
    expect((await company.get('/finance/payables')).body.data).to.deep.equal([])
    expect(plainText((await user.get(page)).html)).to.include('Entrada desfeita em')
    const movements = plainText((await user.get(`/painel/catalogo/${id}`)).html)
    expect(movements).to.include('Entrada desfeita nº 1')
    await upload()
    expect((await confirm({ 'fator-0': '12' })).to).to.match(/entradas\/2\?/)
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '123.000', cost: '5.00' })
    const [bill] = (await company.get('/finance/payables')).body.data
    await company.post(`/finance/payables/${bill.id}/payments`, { amount: '1.00' }, { 'idempotency-key': 'once' })
    const paid = await user.submit('/painel/catalogo/entradas/2/desfazer', {})
    expect([paid.status, plainText(paid.html)].join(' ')).to.match(
      new RegExp(`^409 .*estorne antes de desfazer: conta ${bill.id}`),
    )
  })

  it('leaves a cost that a later purchase gave again, and names what is short [STOCK-1330]', async () => {
    const { id } = await guarana()
    const typed = { 'lines.0.item': 'Guaraná 2 L', 'lines.0.quantity': '2', 'lines.0.unit_cost': '4' }
    for (const _ of [1, 2]) await user.submit('/painel/catalogo/entradas/novo', typed, '/painel/catalogo/entradas')
    const undo = '/painel/catalogo/entradas/1/desfazer'
    await company.post('/stock/movements', { catalog_item_id: id, kind: 'loss', quantity: '6' })
    const short = await user.submit(undo, {})
    expect([short.status, plainText(short.html)].join(' ')).to.match(/^422 .*Guaraná 2 L \(entraram 2 UN, há 1 UN\)/)
    await company.post('/stock/movements', { catalog_item_id: id, kind: 'count', quantity: '7' })
    expect((await user.submit(undo, {})).status).to.equal(303)
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '5.000', cost: '4.00' })
    expect(plainText((await user.get('/painel/catalogo/entradas/1')).html)).to.include(
      'O custo ficou como está, porque mudou depois ou o produto foi desativado: Guaraná 2 L.',
    )
    expect((await user.submit('/painel/catalogo/entradas/2/desfazer', {})).status).to.equal(303)
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '3.000' })
  })

  it('receives goods by hand, with instalments [STOCK-1270]', async () => {
    const { id } = await guarana()
    await company.post('/suppliers', { name: 'Horta' })
    const form = '/painel/catalogo/entradas/novo'
    const action = '/painel/catalogo/entradas'
    const typed = { 'lines.0.item': 'Guaraná 2 L', 'lines.0.quantity': '1,5', 'lines.0.unit_cost': '3,33' }
    const partial = await user.submit(form, { 'lines.1.item': 'Guaraná 2 L' }, action)
    expect(partial.status).to.equal(422)
    expect(plainText(partial.html)).to.include('Quantidade 2: preencha este campo')
    const bills = { 'bills.count': '2', 'bills.first_due_date': '2026-01-31' }
    const tried = await user.submit(form, { supplier_id: 'Horta', ...typed, ...bills, _ver: '1' }, action)
    expect(plainText(tried.html)).to.include('Nada foi gravado ainda')
    const done = await user.submit(form, { supplier_id: 'Horta', ...typed, ...bills }, action)
    expect(done.to, plainText(done.html)).to.equal('/painel/catalogo/entradas/1?feito=entrada')
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '4.500', cost: '3.33' })
    const due = (await company.get('/finance/payables')).body.data
    expect(due.map(({ amount, due_date }: Record<string, unknown>) => [amount, due_date])).to.deep.equal([
      ['2.50', '2026-01-31'],
      ['2.50', '2026-02-28'],
    ])
  })
})
