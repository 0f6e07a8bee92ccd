import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { updateCompany } from '#commands/company-commands.ts'
import { revokeApiKey, switchOffWebhook } from '#commands/webhook-commands.ts'
import type { CompanyObject } from '#projections/companies.ts'
import { getConfig } from '#queries/company-queries.ts'
import { getRow } from '#queries/event-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { stepReplay } from '#webhooks/replays.ts'
import { FOREIGN_IDS } from '../support/api.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const HOME = '/painel/configuracoes'
/** The smallest lossless WebP. */
const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64')

describe('panel: settings', () => {
  const { api, company, user: owner } = usePanelUser()

  const shown = async (path: string, user = owner) => {
    const { status, html } = await user.get(path)
    expect(status, html).to.equal(200)
    return textIn(html)
  }

  describe('company', () => {
    const fields = { name: 'Mercearia Nova', timezone: 'America/Manaus', brand_color: '' }
    const taxes = { state_registration: '110.042.490.114', tax_regime: 'simples_nacional' }

    it('changes its data and the time zone of its days [PANEL-28]', async () => {
      expect((await owner.submit(`${HOME}/empresa`, fields)).to).to.equal(`${HOME}?feito=alterado`)
      expect(await shown(HOME))
        .to.include('Mercearia Nova')
        .and.to.include('Fuso horário Manaus')
      expect((await company.get('/me')).body.data.company.name).to.equal('Mercearia Nova')
    })

    it('keeps the CNPJ and plan set by the operator, regardless of the form [PANEL-28] [OPS-29]', async () => {
      const said = async () =>
        (await getRow(fullReader(company.core.pool, company.id), 'company', company.id)) as CompanyObject
      const before = await said()
      const { html } = await owner.get(`${HOME}/empresa`)
      expect(textIn(html)).to.include(`CNPJ ${before.cnpj}`)
      expect(html).not.to.match(/name="(cnpj|plan|test)"/)
      const more = { cnpj: '12.ABC.345/01DE-35', plan: 'basic', test: 'true' }
      expect((await owner.submit(`${HOME}/empresa`, { ...fields, ...more })).to).to.equal(`${HOME}?feito=alterado`)
      const { name: _, timezone: __, ...after } = await said()
      expect(before).to.include(after)
    })

    it('accepts a tax regime, or none [PANEL-28]', async () => {
      const said = async () => {
        const { state_registration, tax_regime } = (await company.get('/me')).body.data.company
        return [state_registration, tax_regime]
      }
      await owner.submit(`${HOME}/empresa`, { ...fields, ...taxes })
      expect(await said()).to.deep.equal(['110042490114', 'simples_nacional'])
      expect(await shown(HOME))
        .to.include('110042490114')
        .and.to.include('Simples Nacional')
      await owner.submit(`${HOME}/empresa`, { ...fields, state_registration: '', tax_regime: '' })
      expect(await said()).to.deep.equal([null, null])
    })

    it('gives tills the key for Pix and its city [SYNC-1165]', async () => {
      await owner.submit(`${HOME}/empresa`, { ...fields, pix_key: '(11) 98765-4321', pix_city: 'São Paulo' })
      expect(await shown(HOME))
        .to.include('+5511987654321')
        .and.to.include('São Paulo')
      const config = JSON.parse(await getConfig(fullReader(company.core.pool, company.id), owner.id, ''))
      expect(config.company).to.deep.include({ pix_key: '+5511987654321', pix_city: 'São Paulo' })
      await owner.submit(`${HOME}/empresa`, { ...fields, pix_key: '', pix_city: '' })
      const none = JSON.parse(await getConfig(fullReader(company.core.pool, company.id), owner.id, ''))
      expect(none.company).to.deep.include({ pix_key: '', pix_city: '' })
    })

    it('is unchanged if a field is invalid', async () => {
      for (const [wrong, label] of [
        [{ name: '' }, 'Nome'],
        [{ timezone: 'Lua/Cheia' }, 'Fuso horário'],
        [{ state_registration: 'IE 1' }, 'Inscrição estadual'],
        [{ brand_color: 'azul' }, 'Cor da loja'],
        [{ pix_key: '529.982.247-24' }, 'Chave Pix'],
      ] as const) {
        const { status, html } = await owner.submit(`${HOME}/empresa`, { ...fields, ...wrong })
        expect(status, label).to.equal(422)
        expect(problemsIn(html).join(), label).to.include(label)
      }
      expect((await company.get('/me')).body.data.company.name).not.to.equal('Mercearia Nova')
    })

    it('shows the address of its logo, but never loads it', async () => {
      await company.run(updateCompany, { logo_url: 'https://logo.example/a.png' })
      const { html } = await owner.get(HOME)
      expect(html).to.include('https://logo.example/a.png').and.not.to.include('<img')
    })

    it('takes a logo and a colour, serves both by their content, and applies them [PANEL-610] [PANEL-611]', async () => {
      const upload = async (bytes: Buffer) => {
        const form = new FormData()
        const { html } = await owner.get(HOME)
        for (const [name, value] of Object.entries(hiddenFields(html, `${HOME}/logotipo`))) form.set(name, value)
        form.set('file', new Blob([new Uint8Array(bytes)]), 'logo.webp')
        const body = new Response(form)
        return fetch(`${api.url}${HOME}/logotipo`, {
          method: 'POST',
          redirect: 'manual',
          headers: {
            cookie: owner.cookie() ?? '',
            origin: api.url,
            'content-type': body.headers.get('content-type') ?? '',
          },
          body: Buffer.from(await body.arrayBuffer()),
        })
      }
      const refused = await upload(Buffer.from('GIF89a, que não é WebP'))
      expect([refused.status, textIn(await refused.text())].join(' '))
        .to.include('422')
        .and.include('O logotipo deve ser uma imagem WebP.')
      const photo = await upload(Buffer.from([0xff, 0xd8, 0xff, 0xe0]))
      expect(textIn(await photo.text())).to.include('o arquivo é JPG, e não foi convertido')
      expect((await upload(WEBP)).status).to.equal(303)
      await owner.submit(`${HOME}/empresa`, { ...fields, brand_color: '#0B5FA5' })
      const { logo_url, brand_color } = (await company.get('/me')).body.data.company
      expect(brand_color).to.equal('#0b5fa5')

      const { html } = await owner.get('/painel')
      expect(html).to.include(`<img class="logo" src="${logo_url}"`)
      const style = /href="(\/painel\/assets\/[0-9a-f]{12}\/marca-0b5fa5\.css)"/.exec(html)?.[1] ?? ''
      for (const [path, type] of [
        [logo_url, 'image/webp'],
        [style, 'text/css; charset=utf-8'],
        ['/favicon.ico', 'image/x-icon'],
        ['/favicon.svg', 'image/svg+xml'],
      ]) {
        const reply = await fetch(api.url + path)
        expect([reply.status, reply.headers.get('content-type')], path).to.deep.equal([200, type])
        expect(reply.headers.get('cache-control'), path).to.match(/^public, max-age=/)
      }
      expect(await (await fetch(api.url + style)).text()).to.include('--brand:#0b5fa5;--on-brand:#ffffff')
      const unknown = await fetch(api.url + style.replace('0b5fa5', '0b5fa6'))
      expect(unknown.headers.get('cache-control') ?? '').not.to.include('immutable')

      await owner.submit(HOME, {}, `${HOME}/logotipo/excluir`)
      expect((await fetch(api.url + logo_url)).status).to.equal(404)
      expect((await company.get('/me')).body.data.company.logo_url).to.equal(null)
    })
  })

  it('preselects the role clerk for invitations, and tells surcharge and rate of the acquirer apart', async () => {
    expect((await owner.get(`${HOME}/usuarios/novo`)).html).to.match(/<option value="clerk" selected[^>]*>/)
    const { html } = await owner.get(`${HOME}/formas-de-pagamento/nova`)
    expect(html).to.include('Acréscimo embutido (%)').and.to.include('Taxa da operadora (%)')
  })

  it('shows one main action for a user, and dangerous actions separately', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const { html } = await owner.get(`${HOME}/usuarios/${clerk.id}`)
    expect([...html.matchAll(/class="button main"[^>]*>([^<]+)/g)].map(([, label]) => label)).to.deep.equal(['Editar'])
    const [, apart = ''] = html.split('class="dangers')
    for (const label of ['Desativar', 'Excluir dados pessoais']) expect(apart).to.include(label)
  })

  describe('payment types', () => {
    const PATH = `${HOME}/formas-de-pagamento`
    const card = { name: 'Cartão', kind: 'card', fee_percentage: '2,5', due_days: '30' }

    it('are created and changed from Brazilian notation [PANEL-28]', async () => {
      expect((await owner.submit(`${PATH}/nova`, card)).to).to.equal(`${HOME}?feito=criado`)
      const [created] = (await company.get('/sales/payment-types')).body.data
      expect(created).to.deep.include({ name: 'Cartão', fee_percentage: '2.50', accepts_api: true })
      await owner.submit(`${PATH}/${created.id}`, { ...card, name: 'Crédito', fee_percentage: '3' })
      expect((await company.get('/sales/payment-types')).body.data).to.deep.equal([
        { ...created, name: 'Crédito', fee_percentage: '3.00' },
      ])
      expect(await shown(HOME))
        .to.include('Crédito')
        .and.to.include('3,00%')
    })
  })

  describe('users', () => {
    const PATH = `${HOME}/usuarios`
    const fields = { name: 'Bia', email: 'bia@loja.example', role: 'clerk' }
    let people = 0
    const create = async (more: Partial<typeof fields> = {}) => {
      const person = { ...fields, email: `bia${++people}@loja${company.id}.example`, ...more }
      const sent = await owner.submit(`${PATH}/novo`, person)
      const id = Math.max(...[...(await owner.get(HOME)).html.matchAll(/usuarios\/(\d+)"/g)].map(([, n]) => Number(n)))
      return { ...person, ...sent, id, path: `${PATH}/${id}` }
    }
    it('are invited, and listed afterwards [PANEL-28, PANEL-50]', async () => {
      const bia = await create()
      expect(bia.status).to.equal(200)
      expect(await shown(bia.path))
        .to.include(bia.email)
        .and.to.include('Convidado')
    })

    it('change name and role [PANEL-28]', async () => {
      const bia = await create()
      await owner.submit(`${bia.path}/editar`, { name: 'Beatriz', role: 'owner' })
      expect(await shown(bia.path))
        .to.include('Beatriz')
        .and.to.include('Proprietário')
    })

    it('lose access at once when deactivated, and regain it when reactivated [PANEL-4, PANEL-1306]', async () => {
      const bia = await panelUser(api, company, 'clerk')
      const path = `${PATH}/${bia.id}`
      expect(await shown(`${path}/desativar`)).to.include('sai agora de todos os aparelhos')
      expect((await bia.get('/painel/clientes')).status).to.equal(200)
      expect((await owner.submit(`${path}/desativar`, {})).to).to.equal(`${path}?feito=desativado`)
      expect((await bia.get('/painel/clientes')).status).to.equal(303)
      expect((await bia.logIn()).status).to.equal(401)
      await owner.submit(path, {}, `${path}/reativar`)
      expect((await bia.logIn()).status).to.equal(303)
    })

    it('always include one owner [PANEL-8]', async () => {
      const { status, html } = await owner.submit(`${PATH}/${owner.id}/editar`, { name: 'Ana', role: 'clerk' })
      expect(status).to.equal(409)
      expect(problemsIn(html)).to.have.length(1)
      expect((await owner.get(HOME)).status).to.equal(200)
    })
  })

  it('refuses users who are not owners', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const pages = ['', '/empresa', '/formas-de-pagamento/nova', '/usuarios/novo', `/usuarios/${owner.id}`]
    for (const path of pages) expect((await clerk.get(HOME + path)).status, path).to.equal(403)
    const { _csrf = '', _key = '' } = hiddenFields((await clerk.get('/painel/clientes/novo')).html, '/painel/clientes')
    const role = { _csrf, _key, name: 'Rei', role: 'owner' }
    expect((await clerk.post(`${HOME}/usuarios/${clerk.id}/editar`, role)).status).to.equal(403)
  })

  describe('own password', () => {
    const PATH = '/painel/conta/senha'
    const change = (user: PanelUser, current_password: string, new_password: string, repeated = new_password) =>
      user.submit(PATH, { current_password, new_password, repeated })

    it('is changed with the current password, which ends all sessions and tokens [PANEL-9]', async () => {
      const clerk = await panelUser(api, company, 'clerk')
      expect(await shown('/painel/conta', clerk))
        .to.include(clerk.email)
        .and.to.include('Caixa')
      const { to } = await change(clerk, clerk.password, 'uma senha melhor')
      expect(to).to.equal('/painel/entrar?feito=senha-trocada')
      expect((await clerk.get('/painel')).status).to.equal(303)
      expect((await clerk.logIn()).status).to.equal(401)
      expect((await clerk.logIn('uma senha melhor')).status).to.equal(303)
    })

    it('is unchanged without the current password, if it is too short, or if the repetition differs', async () => {
      const attempts: [Promise<{ status: number; html: string }>, string][] = [
        [change(owner, 'senha errada', 'uma senha melhor'), 'Senha atual: está incorreta'],
        [change(owner, owner.password, 'curta'), 'Senha nova: deve ter de 8 a 200 caracteres'],
        [change(owner, owner.password, 'uma senha melhor', 'outra'), 'Confirme a senha: as senhas não são iguais'],
      ]
      for (const [attempt, problem] of attempts) {
        const { status, html } = await attempt
        expect(status).to.equal(422)
        expect(problemsIn(html)).to.include(problem)
        expect(html).not.to.include('uma senha melhor')
      }
      expect((await owner.logIn()).status).to.equal(303)
    })

    it('is throttled after wrong attempts like the login [PANEL-9]', async () => {
      for (let n = 0; n < 5; n++) await change(owner, `palpite ${n}`, 'uma senha melhor')
      const { html } = await change(owner, owner.password, 'uma senha melhor')
      expect(problemsIn(html).join()).to.include('muitas tentativas')
    })
  })

  describe('test company', () => {
    it('creates a twin with settings and its owner as the only user [KIT-32]', async () => {
      await company.paymentType('card', '2.50')
      await company.post('/customers', { name: 'Ana' })
      expect(await shown(`${HOME}/teste`)).to.include('Criar empresa de teste')
      expect((await owner.submit(`${HOME}/teste`, {})).to).to.equal('/painel/empresas?feito=empresa-de-teste')
      const { core, id } = company
      const { rows } = await core.pool.query(
        `select t.company_id as id, t.is_test, t.doc->>'cnpj' as cnpj, t.plan,
                (select array_agg(doc->>'name') from payment_types p where p.company_id = t.company_id) as ways,
                (select array_agg(email || ' ' || (doc->>'role')) from users u where u.company_id = t.company_id) as users
         from companies t join companies c on c.twin_id = t.company_id where c.company_id = $1`,
        [id],
      )
      const [{ id: twin, ...made }] = rows
      const ways = (await company.get('/sales/payment-types')).body.data.map(({ name }: { name: string }) => name)
      const users = [`${owner.email} owner`]
      expect(made).to.deep.equal({ is_test: true, cnpj: '11.222.333/0001-81', plan: 'api', ways, users })
      // A repeated request returns the same company.
      await owner.submit(`${HOME}/teste`, {})
      expect(await shown(`${HOME}/teste`)).to.include('Entrar na empresa de teste')
      const { rowCount } = await core.pool.query('select from users where email = $1', [owner.email])
      expect(rowCount).to.equal(2)

      expect((await owner.submit('/painel/empresas', { company_id: String(twin) })).to).to.equal('/painel')
      expect(await shown('/painel')).to.include('Ambiente de testes.')
      const { html } = await owner.submit(
        '/painel/integracoes/chaves/nova',
        { name: 'a', scopes: 'sales:read' },
        '/painel/integracoes/chaves',
      )
      expect(html).to.match(/tb_test_[A-Za-z0-9_-]{43}/)
      await owner.submit(`${HOME}/teste`, { advance_days: '40' })
      const day = new Date(Date.now() + 40 * 86_400_000).toLocaleDateString('pt-BR', { timeZone: 'America/Sao_Paulo' })
      expect(await shown('/painel')).to.include(`Data simulada: ${day}`)
      expect((await owner.submit(`${HOME}/teste/esvaziar`, {})).to).to.equal(`${HOME}/teste?feito=esvaziada`)
      expect(await shown('/painel')).not.to.include(day)
      await owner.submit('/painel/empresas', { company_id: String(id) })
      expect(await shown('/painel')).not.to.include('Ambiente de testes.')
    })

    it('refuses to empty a real company', async () => {
      expect(await shown(`${HOME}/teste/esvaziar`)).to.include('Esta é uma empresa real')
    })
  })
})

const URL = 'http://127.0.0.1:9/eventos'

describe('panel: integrations', () => {
  const HOME = '/painel/integracoes'

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

    it('are registered with a secret that is shown once', async () => {
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
    expect(await shown(`${HOME}/chamadas?since=2999-01-01T00:00`)).to.include('Nenhuma chamada encontrada.')
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
