import { expect } from 'chai'
import { type ReceiptSale, receiptCodes, writeReceipt } from '#domain/receipt-code.ts'
import type { Json } from '../support/api.ts'
import { type ChainedTill, chainTill, hashOfElement } from '../support/chained-till.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { openTill, type TestTill } from '../support/till.ts'

describe('panel: tills of a company', () => {
  const { api, company, user } = usePanelUser()
  let till: TestTill
  let counter: Counter
  let chain: ChainedTill
  const created_at = new Date().toISOString()

  beforeEach(async () => {
    till = await openTill(api.url, company)
    counter = await openCounter(company)
    chain = await chainTill(till)
  })

  const sale = (id: string, fields: object = {}) => chain.next(counter.sale(id, { created_at, ...fields }))
  const listed = async (): Promise<Json> => (await company.get('/tills')).body.data[0]
  const pageText = async (path = '/painel/caixas') => textIn((await user.get(path)).html)
  const salesOf = async (): Promise<Json[]> => (await company.get('/sales')).body.data

  /** The code on the receipt of an element, as a till prints it. */
  async function printed(element: Json, fields: Partial<ReceiptSale> = {}): Promise<string[]> {
    const cents = (amount: number) => Math.round(amount * 100)
    const signed = writeReceipt({
      till_id: chain.id,
      number: element.till.number,
      hash: hashOfElement(element),
      created_at: Date.parse(element.created_at),
      offline_id: element.offline_id,
      user_id: till.user.id,
      cash_session_id: '',
      customer: '',
      total: cents(element.total),
      amount_received: cents(element.amount_received),
      change: cents(element.change),
      items: element.items.map((item: Json) => ({
        ...{ product_id: item.product_id, quantity: item.quantity * 1000, name: 'Café' },
        ...{ price: cents(item.price), total: cents(item.total) },
      })),
      payments: element.payments.map((payment: Json) => ({
        ...{ payment_type_id: payment.payment_type_id, amount: cents(payment.amount), isPending: false, voucher: '' },
      })),
      ...fields,
    })
    return receiptCodes(signed, await chain.sign(signed))
  }

  const recover = (code: string, who = user) => who.submit('/painel/caixas/recuperar', { code })

  it('shows what is missing in words, on the start page too [TILL-1144]', async () => {
    const elements = []
    for (let n = 1; n <= 9; n++) elements.push(await sale(`s${n}`))
    await upload(till, [elements[1], elements[3], elements[7]])
    await till.call('GET', '/sync/status', undefined, { till: `${chain.id}/9` })
    const expected = [
      'Caixa 1: a venda 2 chegou, a 1 não',
      'Caixa 1: as vendas 2 e 4 chegaram, a 3 não',
      'Caixa 1: as vendas 4 e 8 chegaram, as 5 a 7 não',
      'Caixa 1: a venda 8 chegou, a 9 não',
    ]
    for (const path of ['/painel/caixas', '/painel'])
      for (const words of expected) expect(await pageText(path)).to.include(words)
    await upload(till, elements)
    for (const path of ['/painel/caixas', '/painel']) expect(await pageText(path)).not.to.include('não')
  })

  it('takes a number off with a reason that stays in the ledger, not for clerks [TILL-1143]', async () => {
    const elements = [await sale('a'), await sale('b'), await sale('c')]
    await upload(till, [elements[0], elements[2]])
    const path = `/painel/caixas/aparelhos/${chain.id}/perdidas/2/2`
    const clerk = await panelUser(api, company, 'clerk')
    expect((await clerk.get(path)).status).to.equal(403)
    expect((await clerk.post(path, { reason: 'x' })).status).to.equal(403)
    expect((await user.submit(path, { reason: '' })).status).to.equal(422)
    expect((await listed()).missing).to.deep.equal([[2, 2]])
    expect((await user.submit(path, { reason: 'Aparelho queimado' })).to).to.match(/caixas/)
    expect((await listed()).missing).to.deep.equal([])
    const [given] = (await company.get('/events?types=TillElementsGivenUp')).body.data
    expect(given.data).to.deep.equal({ id: 1, from: 2, to: 2, reason: 'Aparelho queimado' })
    const late = await upload(till, [elements[1]])
    expect(late.results[0].status).to.equal('created')
  })

  it('takes a sale in from paper once for ever, and the original is a duplicate [TILL-1145]', async () => {
    const elements = [await sale('a'), await sale('b'), await sale('c')]
    await upload(till, [elements[0], elements[2]])
    const [code = ''] = await printed(elements[1])
    const first = await recover(code)
    expect(first.to, textIn(first.html)).to.match(/\/vendas\/\d+/)
    expect((await listed()).missing).to.deep.equal([])
    const [taken] = (await salesOf()).filter(({ total }) => total === '10.00')
    expect(taken?.seller.user_id).to.equal(till.user.id)
    await recover(code)
    expect(await salesOf()).to.have.length(3)
    const again = await upload(till, elements)
    expect(again.results.map(({ status }: Json) => status)).to.deep.equal(Array(3).fill('duplicate'))
    expect(again.results[1].warnings.map(({ code: each }: Json) => each)).to.deep.equal(['recorded_from_receipt'])
    const cancelled = await upload(till, [
      await chain.next({ ...counter.sale('b', { created_at }), status: 'cancelled' }),
    ])
    expect(cancelled.results[0].status).to.equal('cancelled')
  })

  it('takes in a sale of an unknown product by its printed name [TILL-1145]', async () => {
    const element = await sale('a')
    const items = [{ product_id: 0, quantity: 1000, price: 1000, total: 1000, name: 'Broa de milho' }]
    const [code = ''] = await printed(element, { items })
    await recover(code)
    const [{ id }] = (await salesOf()) as [Json]
    const [line] = (await company.get(`/sales/${id}`)).body.data.items
    expect(line).to.include({ description: 'Broa de milho', catalog_item_id: null, total: '10.00' })
    expect(await counter.stock()).to.equal('100.000')
  })

  it('reads a large receipt in several codes, and asks for the others [TILL-1146]', async () => {
    const items = Array.from({ length: 60 }, () => ({ product_id: counter.product, quantity: 1, price: 10, total: 10 }))
    const payments = [{ payment_type_id: counter.cash, amount: 600, status: 'completed' }]
    const element = await sale('a', { items, payments, total: 600, amount_received: 600 })
    const codes = await printed(element)
    expect(codes.length).to.be.above(1)
    for (const code of codes) expect(code.length).to.be.at.most(1_000)
    const partly = await recover(codes[1] ?? '')
    expect(partly.status).to.equal(422)
    expect(textIn(partly.html)).to.match(/outro.? código/)
    expect((await recover(codes.toReversed().join(''))).to).to.match(/\/vendas\/\d+/)
  })

  it('refuses codes of others, changed ones and what is none [TILL-1145]', async () => {
    const element = await sale('a')
    const [code = ''] = await printed(element)
    const middle = Math.floor(code.length / 2)
    const changed = code.slice(0, middle) + (code[middle] === 'A' ? 'B' : 'A') + code.slice(middle + 1)
    const [foreign = ''] = await printed(element, { till_id: 77 })
    for (const each of [changed, foreign, code.slice(0, -4), 'T1.1.1.AAAA', 'x', 'T1.2.1.AAAA', ' '])
      expect((await recover(each)).status, each).to.equal(422)
    expect(await salesOf()).to.have.length(0)
    const accountant = await panelUser(api, company, 'accountant')
    expect((await accountant.get('/painel/caixas/recuperar')).status).to.equal(403)
  })

  it('ends a till at once, and its tokens with it; only owners do [TILL-1132, TILL-1133]', async () => {
    const first = await sale('a')
    await till.call('GET', '/sync/status', undefined, { till: `${chain.id}/2` })
    const path = `/painel/caixas/aparelhos/${chain.id}/encerrar`
    const manager = await panelUser(api, company, 'manager')
    expect((await manager.get(path)).status).to.equal(403)
    await user.submit(path, {})
    expect((await till.get('/sync/status')).status).to.equal(401)
    expect((await listed()).missing).to.deep.equal([[1, 2]])
    const other = await openTill(api.url, company)
    const { results } = await upload(other, [first])
    expect(results[0].status).to.equal('created')
    expect(results[0].warnings.map(({ code }: Json) => code)).to.deep.equal(['till_signature'])
    expect((await listed()).missing).to.deep.equal([[2, 2]])
  })

  it('leads to the till, and shows a QR code for another device [TILL-1147]', async () => {
    const { html } = await user.get('/painel/caixas/abrir')
    expect(html).to.include('href="/caixa"').and.to.include('<svg')
    expect(await pageText()).to.include('Abrir um caixa')
  })
})
