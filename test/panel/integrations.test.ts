import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { switchOffWebhook } from '#commands/webhook-commands.ts'
import { stepReplay } from '#webhooks/replays.ts'
import { FOREIGN_IDS } from '../support/api.ts'
import { hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const HOME = '/painel/integracoes'
const URL = 'http://127.0.0.1:9/eventos'

describe('panel: integrations', () => {
  const { api, company, user: owner } = usePanelUser()

  const secretIn = (html: string) => /data-copy="([^"]+)"/.exec(html)?.[1] ?? null
  const shown = async (path: string) => {
    const { status, html } = await owner.get(path)
    expect(status, html).to.equal(200)
    return textIn(html)
  }

  describe('keys', () => {
    const create = (fields: Record<string, string | string[]>) =>
      owner.submit(`${HOME}/chaves/nova`, { name: 'ERP', ...fields }, `${HOME}/chaves`)

    it('are shown once, and valid at once [KEY-3]', async () => {
      const { status, html, headers } = await create({ scopes: ['customers:read', 'sales:read'] })
      expect(status).to.equal(200)
      expect(headers.get('cache-control')).to.equal('no-store')
      const key = secretIn(html)
      const me = await fetch(`${api.url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } })
      expect(((await me.json()) as { data: { key: object } }).data.key).to.deep.include({
        name: 'ERP',
        scopes: ['customers:read', 'sales:read'],
      })
      const page = await owner.get(HOME)
      expect(page.html).to.include(key?.slice(0, 12)).and.not.to.include(key)
    })

    it('are created once for a repeated form, and not shown again', async () => {
      const form = hiddenFields((await owner.get(`${HOME}/chaves/nova`)).html, `${HOME}/chaves`)
      const fields = { ...form, name: 'ERP', scopes: 'sales:read' }
      const first = await owner.post(`${HOME}/chaves`, fields)
      const again = await owner.post(`${HOME}/chaves`, fields)
      expect(secretIn(first.html)).to.match(/^tb_live_/)
      expect(secretIn(again.html)).to.equal(null)
      expect(textIn(again.html)).to.include('aparece uma única vez')
      expect([...(await owner.get(HOME)).html.matchAll(/chaves\/\d+"/g)]).to.have.length(2)
    })

    it('require a name, a scope, and an expiry in the future', async () => {
      const { status, html } = await create({ name: '' })
      expect(status).to.equal(422)
      expect(problemsIn(html).join()).to.include('Nome').and.to.include('Permissões da chave')
      const late = await create({ scopes: 'sales:read', expires_at: '2020-01-01T10:00' })
      expect(late.status).to.equal(422)
      expect(problemsIn(late.html).join()).to.include('Vale até')
      expect(late.html).to.include('value="sales:read" checked')
    })

    it('are limited to five [KEY-4]', async () => {
      for (let n = 0; n < 4; n++) expect((await create({ scopes: 'sales:read' })).status).to.equal(200)
      const { status, html } = await create({ scopes: 'sales:read' })
      expect(status).to.equal(409)
      expect(problemsIn(html)).to.deep.equal(['A empresa já tem cinco chaves de API ativas.'])
    })

    it('are revoked after confirmation, and refused from the next request on', async () => {
      const key = secretIn((await create({ scopes: 'sales:read' })).html)
      const { html } = await owner.get(HOME)
      const id = Math.max(...[...html.matchAll(/chaves\/(\d+)"/g)].map(([, one]) => Number(one)))
      expect((await owner.submit(`${HOME}/chaves/${id}/revogar`, {})).to).to.equal(`${HOME}?feito=revogada`)
      const call = await fetch(`${api.url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } })
      expect(call.status).to.equal(401)
      expect(await shown(`${HOME}/chaves/${id}`)).to.include('Revogada')
    })
  })

  describe('webhooks', () => {
    const register = (fields: Record<string, string | string[]> = {}) =>
      owner.submit(`${HOME}/webhooks/novo`, { url: URL, events: '*', ...fields }, `${HOME}/webhooks`)
    const registered = async (): Promise<string> =>
      /href="([^"]*webhooks\/\d+)"/.exec((await register()).html)?.[1] ?? ''

    it('are registered with a secret that is shown once [HOOK-1]', async () => {
      const { status, html } = await register({ events: ['sale.completed', 'customer.created'], description: 'ERP' })
      expect(status).to.equal(200)
      expect(secretIn(html)).to.match(/^whsec_/)
      const [webhook] = (await company.get('/webhooks')).body.data
      expect(webhook).to.deep.include({ url: URL, events: ['customer.created', 'sale.completed'], description: 'ERP' })
      const page = await owner.get(`${HOME}/webhooks/${webhook.id}`)
      expect(textIn(page.html)).to.include('Cliente criado · Venda concluída').and.to.include('Ativo')
      expect(page.html).not.to.include(secretIn(html))
    })

    it('are refused with errors at the fields', async () => {
      for (const [fields, field] of [
        [{ url: 'ftp://x' }, 'Endereço (URL)'],
        [{ url: '' }, 'Endereço (URL)'],
        [{ events: [] }, 'Eventos'],
      ] as const) {
        const { status, html } = await register(fields as Record<string, string>)
        expect(status, field).to.equal(422)
        expect(problemsIn(html).join(), field).to.include(field)
      }
      expect((await company.get('/webhooks')).body.data).to.deep.equal([])
    })

    it('subscribe to all events, or to the basic ones and chosen ones, without those included', async () => {
      const form = await owner.get(`${HOME}/webhooks/novo`)
      expect(form.html).to.match(/data-within="\* basic"[^>]*><input[^>]*value="sale.completed"/)
      expect(form.html).to.match(/data-within="\*"[^>]*><input[^>]*value="order.paid"/)
      expect(form.html).to.match(/data-within="\*"[^>]*><input[^>]*value="basic"/)
      const { status } = await register({ events: ['basic', 'sale.completed', 'order.paid'] })
      expect(status).to.equal(200)
      const [webhook] = (await company.get('/webhooks')).body.data
      expect(webhook.events).to.have.members(['basic', 'order.paid'])
      await owner.submit(`${HOME}/webhooks/${webhook.id}/editar`, {
        url: URL,
        events: ['*', 'basic', 'sale.completed'],
      })
      expect((await company.get(`/webhooks/${webhook.id}`)).body.data.events).to.deep.equal(['*'])
      await api.core.pool.query(
        `insert into webhook_health (company_id, webhook_id, failing_since, outage_since) values ($1, $2, now(), now())`,
        [company.id, webhook.id],
      )
      expect((await owner.get(HOME)).html, 'red in the list').to.match(/badge bad[^>]*>Com falhas/)
      expect(await shown(`${HOME}/webhooks/${webhook.id}`)).to.include('Nenhuma entrega é aceita desde')
      await company.call('DELETE', `/webhooks/${webhook.id}`)
    })

    it('are changed, disabled and enabled, and deleted', async () => {
      const path = await registered()
      const id = Number(path.split('/').at(-1))
      const webhook = async () => (await company.get(`/webhooks/${id}`)).body.data
      await owner.submit(`${path}/editar`, { url: `${URL}/novo`, events: 'sale.completed', description: '' })
      expect(await webhook()).to.deep.include({ url: `${URL}/novo`, events: ['sale.completed'] })
      await owner.submit(path, {}, `${path}/desligar`)
      expect((await webhook()).status).to.equal('disabled')
      expect(await shown(path))
        .to.include('Desligado')
        .and.not.to.include('Enviar teste')
      await owner.submit(path, {}, `${path}/ligar`)
      expect((await webhook()).status).to.equal('active')
      const form = hiddenFields((await owner.get(`${path}/excluir`)).html, `${path}/excluir`)
      for (const press of ['first', 'second'])
        expect((await owner.post(`${path}/excluir`, form)).to, press).to.equal(`${HOME}?feito=excluido`)
      expect((await owner.get(path)).status).to.equal(404)
    })

    it('endpoints pause when their key is revoked, and can be transferred [HOOK-53, HOOK-54]', async () => {
      const path = await registered()
      expect(await shown(path)).to.include('Vinculado a A empresa')
      const key = await company.newKey(['catalog:read', 'customers:read', 'sales:read', 'finance:read'])
      const handed = await owner.submit(`${path}/passar`, { api_key_id: String(key.id) })
      expect(handed.to).to.equal(`${path}?feito=webhook-passado`)
      await company.run(revokeApiKey, { id: key.id })
      expect(await shown(path))
        .to.include('Pausado')
        .and.to.include('A chave do webhook foi revogada')
        .and.not.to.include('Enviar teste')
      await owner.submit(`${path}/passar`, { api_key_id: '' })
      expect(await shown(path)).to.include('Ativo')
      const other = await company.newKey(['webhooks:manage'])
      await owner.submit(`${path}/editar`, { url: URL, events: 'sale.completed' })
      const refused = await owner.submit(`${path}/passar`, { api_key_id: String(other.id) })
      expect(problemsIn(refused.html).join()).to.include('a chave não tem o escopo sales:read')
    })

    it('get a new secret, shown once, with an overlap', async () => {
      const path = await registered()
      const { html } = await owner.submit(`${path}/trocar-segredo`, { overlap_hours: '2' })
      expect(secretIn(html)).to.match(/^whsec_/)
      for (const overlap_hours of ['169', '1,5', 'x']) {
        const refused = await owner.submit(`${path}/trocar-segredo`, { overlap_hours })
        expect(refused.status, overlap_hours).to.equal(422)
      }
    })

    it('show deliveries with request and response; redelivery, test and replay run once per form', async () => {
      const path = await registered()
      await company.post('/customers', { name: 'Maria <b>' })
      const list = await owner.get(path)
      const delivery = /href="([^"]*entregas\/[^"]+)"/.exec(list.html)?.[1] ?? ''
      expect(textIn(list.html)).to.include('Cliente criado').and.to.include('Pendente')
      expect(await shown(delivery))
        .to.include(`POST ${URL}`)
        .and.to.include('"name": "Maria <b>"')

      const form = hiddenFields((await owner.get(delivery)).html, `${delivery}/reenviar`)
      const sent = await Promise.all([1, 2, 3].map(() => owner.post(`${delivery}/reenviar`, form)))
      for (const { to } of sent) expect(to).to.equal(`${delivery}?feito=enviada`)

      const test = await owner.submit(path, {}, `${path}/testar`)
      expect(test.to).to.match(/entregas\/[0-9a-f-]+\?feito=teste-enviado$/)
      expect(await shown(test.to ?? '')).to.include('Entrega de teste do Tillbook')

      expect((await owner.submit(`${path}/reenviar`, { after: '' })).to).to.equal(`${path}?feito=reenvio`)
      expect(await shown(path)).to.match(/Último reenvio Situação Em andamento Entregas criadas 0/)
      expect(textIn((await owner.submit(`${path}/reenviar`, { after: '' })).html)).to.include('está em andamento')
      while ((await stepReplay({ pool: api.core.pool, core: api.core, newId: uuidv7 })) !== null);
      expect(await shown(path)).to.match(/Último reenvio Situação Terminado Entregas criadas 1/)
      expect((await owner.submit(`${path}/reenviar`, { after: 'x' })).status).to.equal(422)
      const deliveries = (await company.get(`${path.replace(HOME, '')}/deliveries`)).body.data
      expect(deliveries.map(({ event, replay }: { event: string; replay: boolean }) => [event, replay])).to.deep.equal([
        ['customer.created', true],
        ['webhook.test', false],
        ['customer.created', false],
      ])
      expect(await shown(`${path}?event=webhook.test`)).not.to.include('reenvio)')
      expect((await owner.get(`${path}?status=nada&cursor=quebrado`)).status).to.equal(200)
    })

    it('refuse tests and redeliveries while disabled', async () => {
      const path = await registered()
      const { _csrf = '', _key = '' } = hiddenFields((await owner.get(path)).html, `${path}/testar`)
      await owner.submit(path, {}, `${path}/desligar`)
      const { status, html } = await owner.post(`${path}/testar`, { _csrf, _key })
      expect(status).to.equal(409)
      expect(textIn(html)).to.include('está desligado')
    })

    it('respond alike for webhooks of another company and missing ones', async () => {
      const other = await api.company({ idsFrom: FOREIGN_IDS })
      const { id } = (await other.post('/webhooks', { url: URL, events: ['basic'] })).body.data
      const mine = await registered()
      for (const path of ['', '/editar', '/excluir', '/trocar-segredo', '/reenviar'])
        expect((await owner.get(`${HOME}/webhooks/${id}${path}`)).status, path).to.equal(404)
      for (const delivery of ['x', '01a1ff3b-072b-72de-a0db-ab14c82137af'])
        expect((await owner.get(`${mine}/entregas/${delivery}`)).status, delivery).to.equal(404)
    })
  })

  it('shows today’s quota usage, a link to the API contract, and a missing add-on', async () => {
    await company.get('/customers')
    expect(await shown(HOME))
      .to.match(/Chamadas hoje 1 de 1\.000\.000/)
      .and.not.to.include('adicional de API:')
    const basic = await api.company({ plan: 'basic' })
    const user = await panelUser(api, basic)
    expect(textIn((await user.get(HOME)).html)).to.include('não tem o adicional de API')
    expect((await user.get(HOME)).html).to.include('href="/docs"')
  })

  it('reports webhooks that were disabled automatically', async () => {
    const { id } = (await company.post('/webhooks', { url: URL, events: ['basic'] })).body.data
    await company.run(switchOffWebhook, { id, reason: 'gone' })
    expect(await shown(HOME)).to.include(`o webhook ${URL} foi desligado porque respondeu que não existe mais`)
  })

  it('lists API requests, with error and request body of refused ones [KIT-50, KIT-51]', async () => {
    await company.get('/sales?q=Ana')
    const refused = await company.post('/customers', { name: 'Ana', person_type: 'XX' })
    const id = refused.headers.get('x-request-id')
    const list = await shown(`${HOME}/chamadas`)
    expect(list).to.include('POST /customers').and.include('422 validation_failed').and.include('GET /sales?q=(retido)')
    const filtered = await shown(`${HOME}/chamadas?method=POST&status=4xx&path=/customers`)
    expect(filtered).to.include('POST /customers').and.not.include('GET /sales')
    expect(await shown(`${HOME}/chamadas?since=2999-01-01T00:00`)).to.include('Nenhuma chamada.')
    const { html } = await owner.get(`${HOME}/chamadas/${id}`)
    expect(textIn(html)).to.include('"person_type": "XX"').and.include('"name": "(retido)"').and.not.include('Ana')
    const other = await api.company({ idsFrom: FOREIGN_IDS })
    const theirs = (await other.post('/customers', {})).headers.get('x-request-id')
    await other.get('/requests')
    for (const path of [theirs, 'x']) expect((await owner.get(`${HOME}/chamadas/${path}`)).status).to.equal(404)
  })

  it('refuses users who are not owners', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const { id } = (await company.post('/webhooks', { url: URL, events: ['basic'] })).body.data
    for (const path of ['', '/chaves/nova', '/chaves/1', `/webhooks/${id}`, '/webhooks/novo', `/webhooks/${id}/editar`])
      expect((await clerk.get(HOME + path)).status, path).to.equal(403)
    const { _csrf = '', _key = '' } = hiddenFields((await clerk.get('/painel/clientes/novo')).html, '/painel/clientes')
    const attempts: [string, Record<string, string>][] = [
      ['/chaves', { name: 'x', scopes: 'sales:read' }],
      ['/webhooks', { url: URL, events: '*' }],
      [`/webhooks/${id}/testar`, {}],
      [`/webhooks/${id}/trocar-segredo`, { overlap_hours: '0' }],
      [`/webhooks/${id}/excluir`, {}],
    ]
    for (const [path, fields] of attempts)
      expect((await clerk.post(HOME + path, { _csrf, _key, ...fields })).status, path).to.equal(403)
    expect((await company.get('/webhooks')).body.data).to.have.length(1)
  })
})
