import { expect } from 'chai'
import { check } from '../support/browser/accessibility.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { itemPath } from './samples/catalog.ts'

const RECEIVABLES = '/contas-a-receber'

describeInBrowser('accounts and the catalog in a browser', () => {
  const panel = usePanel()

  const receivable = async (fields: object) => {
    const whole = { description: 'Fiado de setembro', amount: '150.00', due_date: '2020-10-05', ...fields }
    return (await panel.company.post('/finance/receivables', whole)).body.data.id as number
  }

  it('settles an overdue account', async () => {
    const id = await receivable({})
    const page = await panel.openAs(panel.clerk, `/painel${RECEIVABLES}`)
    await page.getByRole('link', { name: 'Fiado de setembro' }).click()
    await page.getByText('Vencida', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Receber', exact: true }).click()
    await page.getByRole('button', { name: 'Receber R$ 150,00' }).click()
    await page.getByText('Forma de pagamento: preencha este campo').waitFor()
    await check(page)
    await page.getByLabel('Forma de pagamento').selectOption({ label: 'Pix' })
    await page.getByRole('button', { name: 'Receber R$ 150,00' }).click()
    await page.getByText('Conta quitada.').waitFor()
    expect(await page.getByRole('link', { name: /Editar|Excluir|^Receber$/ }).count()).to.equal(0)
    await check(page)
    const { data } = (await panel.company.get(`/finance/receivables/${id}`)).body
    expect(data).to.include({ status: 'settled', payment_method: 'pix' })
  })

  it('settles without JavaScript [PANEL-15]', async () => {
    const id = await receivable({ description: 'Sem scripts' })
    const page = await panel.openAs(panel.clerk, `/painel${RECEIVABLES}/${id}/liquidar`, { javaScriptEnabled: false })
    await page.getByLabel('Forma de pagamento').selectOption({ label: 'Dinheiro' })
    await page.getByRole('button', { name: 'Receber R$ 150,00' }).click()
    await page.getByText('Conta quitada.').waitFor()
  })

  it('shows in the button what is ticked or typed, and then the receipt [PANEL-430]', async () => {
    const customer_id = (await panel.company.post('/customers', { name: 'Maria do Fiado' })).body.data.id as number
    await receivable({ description: 'Outubro', customer_id })
    await receivable({ description: 'Novembro', customer_id, due_date: '2020-11-05' })
    const page = await panel.openAs(panel.clerk, `/painel/clientes/${customer_id}`)
    await page.getByLabel('Marcar Novembro').check()
    await page.getByRole('button', { name: 'Receber R$ 150,00' }).click()
    await page.getByRole('button', { name: 'Receber R$ 150,00' }).waitFor()
    await page.getByLabel(/^Novembro/).uncheck()
    await page.getByLabel('Valor recebido (R$)').fill('160')
    await page.getByLabel('Forma de pagamento').selectOption({ label: 'Dinheiro' })
    await check(page)
    await page.getByRole('button', { name: 'Receber R$ 160,00' }).click()
    await page.getByRole('heading', { name: /^Recibo nº / }).waitFor()
    expect(await page.locator('.receipt').textContent())
      .to.include('Outubro')
      .and.include('140,00 em aberto')
    await check(page)
  })

  it('filters accounts while typing', async () => {
    await receivable({ description: 'Para depois', due_date: '2099-01-01' })
    await receivable({ description: 'Atrasada' })
    const page = await panel.openAs(panel.clerk, `/painel${RECEIVABLES}`)
    await page.getByText('Para depois').waitFor()
    await page.getByLabel('Situação').selectOption({ label: 'Vencidas' })
    await page.getByText('Para depois').waitFor({ state: 'detached' })
    await page.getByText('Atrasada').waitFor()
    expect(new URL(page.url()).searchParams.get('view')).to.equal('overdue')
  })

  it('records a stock receipt', async () => {
    const page = await panel.openAs(panel.clerk, `/painel${await itemPath(panel)}`)
    await page.getByText('Alterar estoque').first().click()
    await page.getByLabel('Quantidade').fill('1.000,5')
    await page.getByRole('button', { name: 'Alterar estoque' }).click()
    await page.getByText('Estoque alterado.').waitFor()
    expect(await page.getByText('1.040,5 UN').count()).to.be.greaterThan(0)
    await page.getByText('Alterar estoque').first().click()
    await page.locator('#campo-movement').selectOption({ label: 'Saída' })
    await page.getByLabel('Quantidade').fill('9.999')
    await page.getByRole('button', { name: 'Alterar estoque' }).click()
    await page.getByText('Estoque insuficiente').waitFor()
    await check(page)
  })
})
