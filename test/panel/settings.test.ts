import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import type { CompanyObject } from '#projections/companies.ts'
import { getRow } from '#queries/event-queries.ts'
import { fullReader } from '#queries/reader.ts'
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
        .and.to.include('America/Manaus')
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

    it('is unchanged if a field is invalid', async () => {
      for (const [wrong, label] of [
        [{ name: '' }, 'Nome'],
        [{ timezone: 'Lua/Cheia' }, 'Fuso horário'],
        [{ state_registration: 'IE 1' }, 'Inscrição estadual'],
        [{ brand_color: 'azul' }, 'Cor da loja'],
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

    it('are refused if a field is invalid', async () => {
      for (const wrong of [{ name: '' }, { kind: 'ouro' }, { fee_percentage: '-1' }, { due_days: 'x' }]) {
        const { status, html } = await owner.submit(`${PATH}/nova`, { ...card, ...wrong })
        expect(status, JSON.stringify(wrong)).to.equal(422)
        expect(problemsIn(html)).to.have.length.above(1)
      }
      expect((await company.get('/sales/payment-types')).body.data).to.deep.equal([])
    })

    it('of another company do not exist', async () => {
      const other = await api.company()
      const id = await other.paymentType('cash')
      expect((await owner.get(`${PATH}/${id}`)).status).to.equal(404)
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

    it('are refused if a field is invalid [PANEL-12]', async () => {
      for (const [wrong, label] of [
        [{ email: 'bia' }, 'E-mail'],
        [{ role: 'rei' }, 'Perfil de acesso'],
        [{ email: owner.email }, 'E-mail'],
      ] as const) {
        const { status, html } = await owner.submit(`${PATH}/novo`, { ...fields, ...wrong })
        expect(status, label).to.be.oneOf([409, 422])
        expect(problemsIn(html).join(), label).to.include(label)
      }
    })

    it('change name and role [PANEL-28]', async () => {
      const bia = await create()
      await owner.submit(`${bia.path}/editar`, { name: 'Beatriz', role: 'owner' })
      expect(await shown(bia.path))
        .to.include('Beatriz')
        .and.to.include('Proprietário')
    })

    it('lose access at once when deactivated, and regain it when reactivated [PANEL-4]', async () => {
      const bia = await panelUser(api, company, 'clerk')
      const path = `${PATH}/${bia.id}`
      expect((await owner.submit(path, {}, `${path}/desativar`)).to).to.equal(`${path}?feito=desativado`)
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

    it('of another company do not exist', async () => {
      const stranger = await panelUser(api, await api.company({ idsFrom: FOREIGN_IDS }))
      for (const page of ['', '/editar'])
        expect((await owner.get(`${PATH}/${stranger.id}${page}`)).status, page).to.equal(404)
      const { _csrf = '', _key = '' } = hiddenFields((await owner.get(`${PATH}/novo`)).html, `${PATH}/novo`)
      expect((await owner.post(`${PATH}/${stranger.id}/desativar`, { _csrf, _key })).status).to.equal(404)
      expect((await stranger.get('/painel')).status).to.equal(200)
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

    it('refuses to empty a real company [KIT-33]', async () => {
      expect(await shown(`${HOME}/teste/esvaziar`)).to.include('Esta é uma empresa real')
    })
  })
})
