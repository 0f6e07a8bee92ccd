import { expect } from 'chai'
import { createFirstRun } from '#access/one-time-links.ts'
import { browser, problemsIn, textIn, userWithBrowser } from '../support/panel.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const PATH = '/painel/primeiro-acesso'
const STEPS = '/painel/primeiros-passos'
const FORM = {
  company: 'Mercearia da Ana',
  cnpj: '11.222.333/0001-81',
  timezone: 'America/Manaus',
  name: 'Ana Lima',
  email: 'ana@mercearia.example',
  password: 'senha comprida da ana',
  repeated: 'senha comprida da ana',
}

describe('panel: first run', () => {
  const api = useApi(OWN_DATABASE)
  const linkOf = () => createFirstRun({ ...api.core, publicUrl: 'https://loja.example' }).link()
  const codeOf = async () => new URL((await linkOf()) ?? '').searchParams.get('codigo') ?? ''
  const create = (codigo: string, changes: object = {}) => browser(api.url).post(PATH, { ...FORM, codigo, ...changes })
  const companies = async () => (await api.core.pool.query('select doc from read.companies')).rows

  it('refuses a wrong code, a wrong form and other passwords, and creates nothing [PANEL-1300]', async () => {
    const code = await codeOf()
    expect(code).to.match(/^[\w-]{43}$/)
    expect(await codeOf()).to.equal(code)
    for (const wrong of ['', code.slice(1), `${code}x`]) {
      expect((await browser(api.url).get(`${PATH}?codigo=${wrong}`)).status).to.equal(410)
      expect((await create(wrong)).status).to.equal(410)
    }
    const { status, html } = await create(code, { cnpj: '11.222.333/0001-82', email: 'ana', repeated: 'outra' })
    expect(status).to.equal(422)
    expect(problemsIn(html).join(' ')).to.include('não é igual à senha')
    expect(html.match(/aria-invalid="true"/g)).to.have.length(3)
    expect(html).to.include('Mercearia da Ana').and.not.to.include(FORM.password)
    expect(await companies()).to.deep.equal([])
  })

  it('creates the company with its owner, once, and leads them into it [PANEL-1300]', async () => {
    const code = await codeOf()
    expect(textIn((await browser(api.url).get(`${PATH}?codigo=${code}`)).html)).to.include('Cidade mais próxima')
    const replies = await Promise.all([create(code), create(code, { company: 'Outra' })])
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([303, 410])
    expect(await companies()).to.have.length(1)
    expect(await linkOf()).to.equal(null)
    expect((await create(code, { company: 'Terceira' })).status).to.equal(410)
    const { rows } = await api.core.pool.query('select envelope::text as text from ledger.events')
    for (const secret of [code, FORM.password]) expect(JSON.stringify(rows)).not.to.include(secret)
  })

  it('leads an empty company to a first product, with nothing done by default [PANEL-1301]', async () => {
    const { rows } = await api.core.pool.query('select id, company_id from read.users')
    const [winner] = await companies()
    const owner = userWithBrowser(api.url, { id: rows[0].id, email: FORM.email, password: FORM.password })
    await owner.post('/painel/entrar', { email: FORM.email, password: FORM.password })
    expect(textIn((await owner.get('/painel')).html)).to.include('Primeiros passos 0 de 5')
    expect(winner.doc.business_type).to.equal(null)
    const form = `${STEPS}/negocio/grocery`
    expect((await owner.get(form)).html)
      .to.include('Hortifrúti')
      .and.to.include('value="1,99"')
    const chosen = {
      ways: ['Dinheiro', 'Cartão de crédito', 'Crediário'],
      debit_rate: '1,99',
      credit_rate: '3,50',
      credit_rate_2_6: '4,10',
      credit_rate_7_12: '',
      voucher_rate: '',
      categories: 'Bebidas\n Padaria \nBebidas\n',
    }
    const tooMany = { ...chosen, categories: Array.from({ length: 51 }, (_, at) => `c${at}`).join('\n') }
    expect((await owner.submit(form, tooMany)).status).to.equal(422)
    expect((await owner.submit(form, chosen)).to).to.equal(`${STEPS}?feito=negocio-escolhido`)
    // Again, with another way: what there is stays as it is.
    await owner.submit(form, { ...chosen, ways: [...chosen.ways, 'Pix'], credit_rate: '9,00' })
    const types = await api.core.pool.query(
      `select doc ->> 'name' as name, doc ->> 'kind' as kind, doc ->> 'acquirer_rate' as rate,
         doc ->> 'acquirer_rate_2_6' as later from read.payment_types order by id`,
    )
    expect(types.rows).to.deep.equal([
      { name: 'Dinheiro', kind: 'cash', rate: null, later: null },
      { name: 'Cartão de crédito', kind: 'card', rate: '3.50', later: '4.10' },
      { name: 'Crediário', kind: 'credit_account', rate: null, later: null },
      { name: 'Pix', kind: 'pix', rate: null, later: null },
    ])
    const categories = await api.core.pool.query(`select doc ->> 'name' as name from read.categories order by id`)
    expect(categories.rows.map(({ name }) => name)).to.deep.equal(['Bebidas', 'Padaria'])
    expect(textIn((await owner.get(STEPS)).html))
      .to.include('1 de 5')
      .and.to.include('Dizer o que a loja vende (feito)')
    expect((await owner.get('/painel/catalogo/novo')).html).to.include('<option value="KG"')
    expect((await owner.get(`${STEPS}/negocio/banco`)).status).to.equal(404)
  })

  it('names both secrets of Mercado Pago and where they are, and ends at the store [PANEL-1302]', async () => {
    const owner = userWithBrowser(api.url, { id: 1, email: FORM.email, password: FORM.password })
    await owner.post('/painel/entrar', { email: FORM.email, password: FORM.password })
    expect(textIn((await owner.get('/painel/loja/lojas/nova')).html))
      .to.include('Credenciais de produção')
      .and.to.include('Access Token do Mercado Pago')
      .and.to.include('Assinatura secreta')
    const secrets = { access_token: 'APP_USR-1', notification_secret: 'segredo' }
    const { to } = await owner.submit('/painel/loja/lojas/nova', { alias: 'loja-da-ana', ...secrets })
    expect(to).to.equal('/painel/loja/lojas/1?feito=criado')
    expect(textIn((await owner.get(STEPS)).html)).to.include('Receber pela internet com o Mercado Pago (feito)')
  })
})
