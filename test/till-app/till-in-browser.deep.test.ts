import { expect } from 'chai'
import type { Json } from '../support/api.ts'
import { check } from '../support/browser/accessibility.ts'
import { describeInBrowser } from '../support/browser.ts'
import { enter, pay, salesOf, sell, settle, take, useTillApp } from '../support/till-app.ts'

/** Failures of the network are what these tests make. */
const LOST = { mayDo: /ERR_|Failed to fetch|console: / }

describeInBrowser('a till in a browser', () => {
  const till = useTillApp()

  before('a product in the catalogue', async () => {
    const item = { name: 'Café torrado', price: '18.90', barcode: '7891000100103', stock: '1000' }
    expect((await till.company.post('/catalog/items', item)).status).to.equal(201)
  })

  const known = async () => new Set((await salesOf(till)).map(({ id }) => id))
  const madeSince = async (before: Set<number>) => (await salesOf(till)).filter(({ id }) => !before.has(id))

  it('sells with change, found without accents, and sends the sale [TILL-1113]', async () => {
    const before = await known()
    const page = await till.open()
    await take(page, '2*cafe')
    await pay(page, 'cash', '50')
    await page.getByRole('row', { name: 'Troco R$ 12,20' }).waitFor()
    await page.getByText('Sem valor fiscal').waitFor()
    await page.getByRole('img', { name: 'Código da venda' }).waitFor()
    await settle(page)
    expect((await madeSince(before)).map(({ total }) => total)).to.deep.equal(['37.80'])
  })

  it('takes a scan wherever the focus is, and leaves the field as it was [TILL-1113]', async () => {
    const page = await till.open()
    await take(page, 'cafe')
    await page.getByRole('button', { name: 'Receber' }).click()
    await page.getByRole('button', { name: 'cash', exact: true }).click()
    await page.getByLabel('Valor recebido').focus()
    // Keys of a scanner follow each other; waiting for each would make it a person on a busy machine.
    await Promise.all([...'7891000100103', 'Enter'].map((key) => page.keyboard.press(key)))
    await page.getByRole('heading', { name: 'Total R$ 37,80' }).waitFor()
    expect(await page.getByLabel('Valor recebido').inputValue()).to.equal('18,90')
  })

  it('sells without a connection, closed and opened again, and sends later [TILL-1113]', async () => {
    const before = await known()
    const page = await till.open(LOST)
    await page.evaluate('navigator.serviceWorker.ready.then(() => {})')
    await page.reload()
    await settle(page)
    await page.context().setOffline(true)
    await sell(page, 'cafe')
    await page.reload()
    await sell(page, 'cafe')
    await page.getByText(/2 a enviar/).waitFor()
    expect(await madeSince(before)).to.deep.equal([])
    await page.context().setOffline(false)
    await settle(page)
    expect(await madeSince(before)).to.have.lengthOf(2)
  })

  it('refuses to sign out with unsent sales, and offers to send or save them [TILL-1117]', async () => {
    const page = await till.open(LOST)
    await page.context().setOffline(true)
    await sell(page, 'cafe')
    await page.getByRole('button', { name: 'Sair' }).click()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Salvar em arquivo' }).click()
    expect((await saved).suggestedFilename()).to.match(/^caixa-.*\.json$/)
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Enviar agora' }).click()
    await page.getByRole('heading', { name: 'Entrar no caixa' }).waitFor()
  })

  it('sells in one tab only [TILL-1116]', async () => {
    const page = await till.open()
    const other = await page.context().newPage()
    await other.goto('/caixa')
    await other.getByRole('heading', { name: 'O caixa está aberto em outra aba' }).waitFor()
    await page.close()
    await other.getByLabel('Buscar').waitFor()
  })

  it('does not finish a sale that it cannot write, and says why [TILL-1116]', async () => {
    const before = await known()
    const page = await till.open()
    await take(page, 'cafe')
    await page.getByRole('button', { name: 'Receber' }).click()
    await page.getByRole('button', { name: 'cash', exact: true }).click()
    await page.evaluate(FULL)
    await page.getByRole('button', { name: 'Finalizar' }).click()
    await page.getByText(/Não foi possível gravar neste aparelho/).waitFor()
    expect(await page.getByRole('button', { name: 'Nova venda' }).count()).to.equal(0)
    expect(await madeSince(before)).to.deep.equal([])
  })

  it('keeps its queue under an ended login and asks for the password [TILL-1117]', async () => {
    const before = await known()
    const page = await till.open(LOST)
    await page.route('**/api/sync/**', (route) => route.fulfill({ status: 401, json: { success: false, message: '' } }))
    await sell(page, 'cafe')
    await page.getByRole('button', { name: 'Informar a senha' }).waitFor()
    await page.unroute('**/api/sync/**')
    await page.getByRole('button', { name: 'Informar a senha' }).click()
    await page.getByLabel('E-mail').fill(till.owner.email)
    await page.getByLabel('Senha').fill(till.owner.password)
    await page.getByRole('button', { name: 'Entrar', exact: true }).click()
    await page.getByLabel('Buscar').waitFor()
    await settle(page)
    expect(await madeSince(before)).to.have.lengthOf(1)
  })

  it('sends a product and a customer that were made here before their sale [TILL-1181]', async () => {
    const page = await till.open(LOST)
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Novo produto' }).click()
    await page.getByLabel('Nome').fill('Doce caseiro')
    await page.getByLabel('Preço').fill('7,50')
    await page.getByLabel('Código de barras').fill('7891234567895')
    await page.getByRole('button', { name: 'Salvar' }).click()
    await page.getByRole('button', { name: 'Cliente' }).click()
    await page.getByLabel('Nome do cliente').fill('Zélia Nova')
    await page.getByRole('button', { name: 'Cadastrar cliente' }).click()
    await pay(page)
    await page.context().setOffline(false)
    await settle(page)
    const sales = (await till.company.get('/sales?limit=100')).body.data
    const [item] = (await till.company.get('/catalog/items?barcode=7891234567895')).body.data
    const sale = sales.find(({ items }: Json) => items[0].catalog_item_id === item.id)
    expect(sale?.customer.name).to.equal('Zélia Nova')
  })

  it('gives a walk-in a voucher, which pays a later sale up to its balance [TILL-1182]', async () => {
    const page = await till.open()
    await sell(page, '2*cafe')
    await page.getByRole('button', { name: 'Vendas' }).click()
    await page
      .getByRole('button', { name: /^Devolver ou trocar/ })
      .first()
      .click()
    await page.getByLabel(/restam/).fill('1')
    await page.getByRole('button', { name: 'Devolver em exchange_credit' }).click()
    await page.getByText('Vale-troca de R$ 18,90').waitFor()
    const code = (await page.getByText(/^[2-9A-HJ-NP-Z]{10}$/).textContent()) ?? ''
    await settle(page)
    await page.getByRole('button', { name: 'Nova venda' }).click()
    await take(page, '2*cafe')
    await page.getByRole('button', { name: 'Receber' }).click()
    await page.getByRole('button', { name: 'exchange_credit' }).click()
    await page.getByLabel('Código do vale').fill(code)
    await page.getByRole('button', { name: 'Finalizar' }).click()
    await page.getByText('Este vale tem R$ 18,90.').waitFor()
    await page.getByLabel('Valor em exchange_credit').fill('18,90')
    await page.getByRole('button', { name: 'Receber' }).click()
    await page.getByRole('button', { name: 'cash', exact: true }).click()
    await page.getByRole('button', { name: 'Finalizar' }).click()
    await page.getByRole('button', { name: 'Nova venda' }).waitFor()
    await settle(page)
    expect((await salesOf(till)).map(({ total }) => total)).to.include('37.80')
  })

  it('cancels a sale that was sent, once it is confirmed', async () => {
    const before = await known()
    const page = await till.open()
    await take(page, 'cafe')
    await pay(page)
    await settle(page)
    await page.getByRole('button', { name: 'Cancelar venda' }).click()
    await page.getByRole('button', { name: 'Sim, cancelar venda' }).click()
    await page.getByText(/Venda \d+ cancelada/).waitFor()
    await settle(page)
    expect((await madeSince(before)).map(({ status }) => status)).to.deep.equal(['cancelled'])
  })

  it('is accessible, narrow and wide, on each of its screens', async () => {
    const context = await till.context()
    const page = await context.newPage()
    await page.goto('/caixa')
    await page.getByLabel('E-mail').waitFor()
    await check(page)
    await enter(page, till.owner)
    await take(page, 'cafe')
    await check(page)
    await page.getByRole('button', { name: 'Receber' }).click()
    await check(page)
    await page.getByRole('button', { name: 'cash', exact: true }).click()
    await page.getByRole('button', { name: 'Finalizar' }).click()
    await page.getByRole('button', { name: 'Nova venda' }).waitFor()
    await check(page)
    for (const [button, heading] of SCREENS) {
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      await check(page)
    }
  })
})

const SCREENS = [
  ['Vendas', 'Vendas deste caixa'],
  ['Gaveta', 'Gaveta'],
  ['Aparelho', 'Este aparelho'],
] as const

/** Neither copy takes any more writes, as on a full disk. */
const FULL = `(() => {
  IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError') }
  Worker.prototype.postMessage = function (order) {
    setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data: { id: order.id, error: 'QuotaExceededError' } })))
  }
})()`
