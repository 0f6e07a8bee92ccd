import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { v7 as uuidv7 } from 'uuid'
import { startWebhooks } from '#webhooks/webhook-loops.ts'
import { check } from '../support/browser/accessibility.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { vault } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { moveToYesterday } from '../support/yesterday.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const DAY_MS = 86_400_000

describeInBrowser('owner in a browser', () => {
  const panel = usePanel()
  let cash: number

  before(async () => {
    cash = await panel.company.paymentType('cash')
  })

  const sell = async (key: string, amount = '10.00'): Promise<number> => {
    const items = [{ description: 'Café coado', quantity: '1', unit_price: amount }]
    const response = await fetch(`${panel.api.url}/api/v1/sales`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ items, payments: [{ payment_type_id: cash, amount }] }),
    })
    expect(response.status, await response.clone().text()).to.equal(201)
    return ((await response.json()) as { data: { id: number } }).data.id
  }
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  const follow = (page: Page, name: string | RegExp) => page.getByRole('link', { name, exact: true }).first().click()

  it('logs in, creates an API key and uses it at once; the sale appears on the open page', async () => {
    const page = await panel.open('/painel')
    await page.getByLabel('E-mail').fill(panel.owner.email)
    await page.getByLabel('Senha').fill(panel.owner.password)
    await press(page, 'Entrar')
    await page.getByRole('heading', { name: 'Início' }).waitFor()

    await follow(page, 'Integrações')
    await follow(page, 'Nova chave')
    await page.getByLabel('Nome').fill('Loja virtual')
    await page.getByLabel('Vendas: registrar e cancelar').check()
    await press(page, 'Criar chave')
    const key = (await page.locator('#segredo').textContent()) ?? ''
    await check(page)

    await follow(page, 'Início')
    await page.getByText('Nenhuma venda no período.').first().waitFor()
    await sell(key, '12.50')
    await page.getByText('R$ 12,50').first().waitFor()

    await follow(page, 'Integrações')
    await follow(page, 'Loja virtual')
    await page.getByText('Vendas: registrar e cancelar').waitFor()
  })

  it('sees a month in one chart', async () => {
    const { company } = panel
    for (const name of ['Café torrado 500 g', 'Filtro de papel'])
      await company.post('/catalog/items', { name, price: '18.90', stock: name === 'Filtro de papel' ? '3' : '0' })
    await company.post('/finance/receivables', { description: 'Encomenda', amount: '482.00', due_date: '2099-01-10' })
    await company.post('/finance/payables', { description: 'Aluguel', amount: '1800.00', due_date: '2020-01-10' })
    for (let day = 0; day < 30; day++) {
      const amount = `${40 + ((day * 37) % 90)}.90`
      const sold_at = new Date(Date.now() - day * DAY_MS).toISOString()
      const items = [{ description: 'Cesta', quantity: '1', unit_price: amount }]
      await company.post('/sales', { sold_at, items, payments: [{ payment_type_id: cash, amount }] })
    }
    const page = await panel.openAs(panel.owner, '/painel')
    await page.getByText('Vencidas: 1').waitFor()
    await check(page)
  })

  it('ticks the permissions that one requires, and takes it back with one of them [ROLE-111]', async () => {
    const page = await panel.openAs(panel.owner, '/painel/configuracoes/perfis/clerk')
    const ticked = () =>
      page
        .locator('input[name=permissions]:checked')
        .evaluateAll((all) => all.map((each) => each.getAttribute('value')))
    const box = (permission: string) => page.locator(`input[value=${permission}]`)
    const before = await ticked()
    const required = ['see_all_sales', 'see_costs', 'see_payables', 'export', 'see_company']
    expect(before).not.to.include.members(required)
    await box('manage_integrations').check()
    expect(await ticked()).to.have.members([...new Set([...before, ...required, 'manage_integrations'])])
    await check(page)
    await box('see_costs').uncheck()
    expect(await box('manage_integrations').isChecked()).to.equal(false)
    await box('manage_integrations').check()
    await press(page, 'Salvar')
    await page.getByRole('heading', { name: 'Perfis de acesso' }).waitFor()
    await page.goto(page.url().replace(/perfis.*/, 'perfis/clerk'))
    expect(await ticked()).to.include.members([...required, 'manage_integrations'])
  })

  it('copies a secret with its copy button', async () => {
    const page = await panel.openAs(panel.owner, '/painel/integracoes/chaves/nova', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.getByLabel('Nome').fill('Copiada')
    await page.getByLabel('Vendas: ler').check()
    await press(page, 'Criar chave')
    await press(page, 'Copiar')
    await page.getByRole('button', { name: 'Copiado' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(await page.locator('#segredo').textContent())
  })

  it('cancels a sale', async () => {
    const id = await sell(panel.company.key)
    const page = await panel.openAs(panel.owner, `/painel/vendas/${id}`)
    await page.getByText('Mais ações').click()
    await follow(page, /^Cancelar/)
    await page.getByLabel('Motivo').fill('O cliente desistiu')
    await press(page, 'Cancelar venda')
    await page.getByText('O cliente desistiu').first().waitFor()
    expect((await panel.company.get(`/sales/${id}`)).body.data.status).to.equal('cancelled')
  })

  it('opens a customer as of yesterday', async () => {
    const { id } = (await panel.company.post('/customers', { name: 'Maria de Ontem' })).body.data
    await moveToYesterday(panel.api.core.pool, panel.company.id)
    await panel.company.call('PATCH', `/customers/${id}`, { name: 'Maria de Hoje' })
    const page = await panel.openAs(panel.owner, `/painel/clientes/${id}`)
    await page.getByRole('heading', { name: 'Maria de Hoje', level: 1 }).waitFor()
    // One minute after the creation: the field has no seconds.
    const then = new Date(Date.now() - DAY_MS + 60_000)
    const local = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'America/Sao_Paulo',
      dateStyle: 'short',
      timeStyle: 'short',
    })
    await page.getByText('Como era em…').click()
    await page.getByLabel('Data e hora').fill(local.format(then).replace(' ', 'T'))
    await press(page, 'Ver')
    await page.getByRole('heading', { name: 'Maria de Ontem', level: 1 }).waitFor()
    await page.getByText('Como era em').first().waitFor()
    await check(page)
    await follow(page, 'Voltar ao presente')
    await page.getByRole('heading', { name: 'Maria de Hoje', level: 1 }).waitFor()
  })

  it('verifies the ledger with one click', async () => {
    const page = await panel.openAs(panel.owner, '/painel/auditoria')
    await press(page, 'Verificar integridade')
    await page.getByText('Registro de auditoria íntegro').waitFor()
    await check(page)
  })

  describe('with a webhook', () => {
    let receiver: Receiver
    let webhooks: ReturnType<typeof startWebhooks>

    before(async () => {
      receiver = await startReceiver()
      webhooks = startWebhooks({
        databaseUrl: panel.databaseUrl,
        vault,
        switchOff: () => Promise.reject(new Error('nothing is to be switched off')),
        retrySeconds: [60],
        switchOffHours: 24,
        allowPrivate: true,
        clock: Date.now,
        random: () => 0,
        newId: uuidv7,
        log: (message, error) => console.error(message, error),
      })
    })
    after(async () => {
      await webhooks.stop()
      await receiver.close()
    })

    it('repeats a delivery', async () => {
      const page = await panel.openAs(panel.owner, '/painel/integracoes/webhooks/novo')
      await page.getByLabel('Endereço (URL)').fill(receiver.url)
      await press(page, 'Cadastrar')
      await follow(page, 'Ir para o webhook')
      await page.locator('#entregas').waitFor()
      await panel.company.post('/customers', { name: 'João da Entrega' })
      await until(() => receiver.received.length === 1)
      // The result of the delivery is stored shortly after the response.
      await until(async () => {
        const { rows } = await panel.api.core.pool.query(
          `select 1 from webhook_deliveries where company_id = $1 and status = 'delivered'`,
          [panel.company.id],
        )
        return rows.length === 1
      })
      await page.reload()
      await page.locator('#entregas tbody').getByText('Entregue').waitFor()
      await page.locator('#entregas tbody a').first().click()
      await page.getByText('João da Entrega').waitFor()
      await press(page, 'Reenviar')
      await page.getByText('Reenvio agendado.').waitFor()
      await until(() => receiver.received.length === 2)
      const [first, again] = receiver.received.map(({ headers }) => headers['x-service-delivery'])
      expect(again).to.equal(first)
      await check(page)
    })
  })
})
