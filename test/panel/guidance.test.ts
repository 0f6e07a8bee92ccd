import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { createItem, updateItem } from '#commands/item-commands.ts'
import { createReceivable } from '#commands/receivables-payables.ts'
import { projectFile } from '#http/assets.ts'
import { dateInput, momentInput } from '#panel/forms/input-kinds.ts'
import type { TestCompany } from '../support/api.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn } from '../support/panel.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

describe('panel: guidance', () => {
  const api = useApi()
  let company: TestCompany
  let owner: PanelUser

  before(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
  })

  describe('of a form in two tabs', () => {
    async function openTwice(): Promise<{ path: string; form: Record<string, string>; id: number }> {
      const { id } = await company.run(createItem, {
        type: 'product',
        name: `Café ${++items}`,
        price: '10.00',
        unit: 'UN',
      })
      const path = `/painel/catalogo/${id}/editar`
      const form = hiddenFields((await owner.get(path)).html, path)
      return { path, form, id }
    }
    let items = 0
    const shownIn = (form: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(JSON.parse(form._antes ?? '{}') as Record<string, string[]>).map(([name, [value = '']]) => [
          name,
          value,
        ]),
      )

    it('shows what changed meanwhile, and saves when it is sent again [PANEL-502]', async () => {
      const { path, form, id } = await openTwice()
      await company.run(updateItem, { id, changes: { price: '12.00' } })
      const typed = { ...shownIn(form), price: '15,00' }
      const stale = await owner.post(path, { ...form, ...typed })
      expect(stale.status).to.equal(409)
      expect(problemsIn(stale.html).join()).to.include('mudou enquanto').and.include('mudou para 12,00')
      expect(stale.html).to.include('value="15,00"')
      const again = await owner.post(path, { ...hiddenFields(stale.html, path), ...typed })
      expect(again.status).to.equal(303)
      expect((await company.get(`/catalog/items/${id}`)).body.data.price).to.equal('15.00')
    })

    it('saves at once if another field has changed, or the same value was typed [PANEL-11] [PANEL-502]', async () => {
      const { path, form, id } = await openTwice()
      await company.run(updateItem, { id, changes: { price: '12.00' } })
      const named = { ...shownIn(form), name: 'Outro nome' }
      expect((await owner.post(path, { ...form, ...named })).status).to.equal(303)
      expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ name: 'Outro nome', price: '12.00' })
      const { _key = '' } = hiddenFields((await owner.get(path)).html, path)
      expect((await owner.post(path, { ...form, ...shownIn(form), _key, price: '12,00' })).status).to.equal(303)
    })
  })

  it('explains a moment in the future, and one before the first event, on a page of its own [PANEL-503]', async () => {
    for (const path of ['/painel/clientes', '/painel/catalogo.csv']) {
      const future = await owner.get(`${path}?em=2999-01-01T10:00`)
      expect([future.status, textIn(future.html)]).to.satisfy(
        ([status, text]: [number, string]) => status === 422 && text.includes('ainda não chegou'),
      )
      const past = await owner.get(`${path}?em=1999-01-01T10:00`)
      expect(past.status).to.equal(422)
      expect(textIn(past.html)).to.match(/começa em \d\d\/\d\d\/\d{4} \d\d:\d\d/)
    }
  })

  it('puts the focus on the first wrong field, and on no other', async () => {
    const page = '/painel/configuracoes/usuarios/novo'
    const { html } = await owner.submit(page, { name: 'Bia', role: 'clerk', email: 'bia' })
    const focused = [...html.matchAll(/<input[^>]*autofocus[^>]*>/g)].map(([tag]) => /name="(\w+)"/.exec(tag)?.[1])
    expect(focused).to.deep.equal(['email'])
    expect((await owner.get(page)).html).not.to.include('autofocus')
  })

  it('ignores the fields of auditors with another role, and hides them by the stylesheet [PANEL-508]', async () => {
    const page = '/painel/configuracoes/usuarios/novo'
    const email = 'clara@loja.example'
    const typed = { name: 'Clara', role: 'clerk', email, access_until: '2099-12-31', personal_data: 'on' }
    expect((await owner.submit(page, typed)).status).to.equal(200)
    const { rows } = await api.core.pool.query('select doc from read.users where company_id = $1 and email = $2', [
      company.id,
      email,
    ])
    expect(rows[0].doc).to.include({ role: 'clerk', access_until: null })
    expect((await owner.get(page)).html.match(/data-of="auditor"/g)).to.have.length(2)
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/:not\(:has\(#campo-role option\[value="auditor"\]:checked\)\) \[data-of="auditor"\]/)
  })

  it('answers a browser at an unknown address with a page, and a program with JSON [PANEL-509]', async () => {
    const get = (path: string, accept: string) => fetch(api.url + path, { headers: { accept } })
    const page = await get('/nada', 'text/html,application/xhtml+xml,*/*;q=0.8')
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([404, 'text/html; charset=utf-8'])
    expect(textIn(await page.text())).to.include('Ir para o início')
    for (const accept of ['*/*', 'application/json']) {
      const answer = await get('/nada', accept)
      expect([answer.status, (await answer.json()).error.code]).to.deep.equal([404, 'not_found'])
    }
    const api404 = await get('/api/v1/nada', 'text/html')
    expect(api404.headers.get('content-type')).to.include('json')
  })

  it('names the panel as the origin of accounts that were created there', async () => {
    const account = { description: 'Aluguel da sala', amount: '50.00', due_date: '2099-01-10' }
    const { id } = await company.run(createReceivable, account, 'panel')
    const made = (await company.post('/finance/receivables', account)).body.data
    const originOf = async (which: number) =>
      /Origem (\S+)/.exec(textIn((await owner.get(`/painel/contas-a-receber/${which}`)).html))?.[1]
    expect([await originOf(id), await originOf(made.id)]).to.deep.equal(['Painel', 'API'])
  })

  it('shows a webhook in red from its first failure until a delivery is accepted', async () => {
    const { id } = (await company.post('/webhooks', { url: 'https://example.com/x', events: ['*'] })).body.data
    const badge = async () =>
      /<span(?: class="badge (\w+)")?>(Ativo|Com falhas)/
        .exec((await owner.get(`/painel/integracoes/webhooks/${id}`)).html)
        ?.slice(1)
    const health = (failing: string) =>
      company.core.pool.query(
        `insert into ops.webhook_health as h (company_id, webhook_id, failing_since) values ($1, $2, ${failing})
         on conflict (company_id, webhook_id) do update set failing_since = excluded.failing_since`,
        [company.id, id],
      )
    await health(`clock_timestamp()`)
    expect(await badge()).to.deep.equal(['bad', 'Com falhas'])
    await health('null')
    expect(await badge()).to.deep.equal([undefined, 'Ativo'])
  })

  it('reads dates as people type them, and names that form [PANEL-507]', () => {
    expect(dateInput.read('21/11/2026', 'UTC')).to.equal('2026-11-21')
    expect(dateInput.read('2026-11-21', 'UTC')).to.equal('2026-11-21')
    expect(dateInput.problem?.('31/02/2026')).to.equal('informe uma data como 21/11/2026')
    expect(dateInput.problem?.('28/02/2026')).to.equal(null)
    expect(momentInput.read('21/11/2026 08:17', 'America/Sao_Paulo')).to.equal('2026-11-21T11:17:00.000Z')
    for (const right of ['21/11/2026 08:17', '2026-11-21T08:17', '2026-11-21T11:17:00Z'])
      expect(momentInput.problem?.(right), right).to.equal(null)
    expect(momentInput.problem?.('amanhã')).to.include('21/11/2026 08:17')
  })

  it('names customers in lists on phones, and breaks no number', async () => {
    const customer = (await company.post('/customers', { name: 'Zilda Prates' })).body.data
    const account = { description: 'Fiado', amount: '9.00', due_date: '2099-01-10', customer_id: customer.id }
    await company.post('/finance/receivables', account)
    const { html } = await owner.get('/painel/contas-a-receber')
    const cell = /<td([^>]*)>[^<]*(?:<a[^>]*>)?Zilda Prates/.exec(html)
    expect(cell?.[1]).to.equal('')
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/\.list \.number \{\s+flex: none;[^}]*white-space: nowrap;/)
  })

  it('keeps long ids whole in the page, with the beginning visible', async () => {
    const id = (await company.get('/customers/999999')).headers.get('x-request-id') ?? ''
    const style = readFileSync(projectFile('src/panel/static/panel.css'), 'utf8')
    expect(style).to.match(/\.short \{[^}]*max-width: 10ch;[^}]*user-select: all;/)
    const page = `/painel/integracoes/chamadas/${id}`
    await until(async () => (await owner.get(page)).status === 200)
    const { html } = await owner.get(page)
    expect(html).to.include(`<code class="short" title="${id}">${id}</code>`)
  })
})
