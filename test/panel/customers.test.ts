import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { openCounter } from '../support/offline-sales.ts'
import { HOSTILE, hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

describe('panel: customers', () => {
  const { api, company, user } = usePanelUser('manager')

  const create = async (fields: Record<string, string>) =>
    user.submit('/painel/clientes/novo', { person_type: 'PF', ...fields }, '/painel/clientes')
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')

  it('creates a customer from Brazilian notation, visible in the API, with the counter as the channel', async () => {
    const { status, to } = await create({
      name: ' Maria da Silva ',
      document: '529.982.247-25',
      phone: '(11) 98765-4321',
      notes: 'linha 1\r\nlinha 2',
      'address.zip': '01310-100',
      'address.state': 'SP',
    })
    expect(status).to.equal(303)
    const [customer] = (await company.get('/customers')).body.data
    expect(customer).to.deep.include({ name: 'Maria da Silva', document: '52998224725', notes: 'linha 1\nlinha 2' })
    expect(customer.address).to.deep.include({ zip: '01310100', state: 'SP', street: null })
    const [event] = (await company.get(`/customers/${customer.id}/history`)).body.data
    expect(event).to.deep.include({ origin: 'panel', actor: `user/${user.id}` })
    const shown = textIn((await user.get(to ?? '')).html)
    for (const text of ['Cadastro criado.', '529.982.247-25', 'CEP 01310-100', 'Cliente criado', 'Painel'])
      expect(shown).to.include(text)
  })

  it('shows an invalid form again with its input, and errors at the fields [PANEL-12]', async () => {
    const { status, html } = await create({ name: '', document: '123', notes: 'fica' })
    expect(status).to.equal(422)
    expect(problemsIn(html)).to.deep.equal([
      'Confira os campos indicados.',
      'Nome: preencha este campo',
      'CPF ou CNPJ: deve ser um CPF ou CNPJ válido, com ou sem pontuação',
    ])
    expect(html).to.include('value="123"').and.to.include('>fica</textarea>').and.to.include('aria-invalid="true"')
    expect((await company.get('/customers')).body.data).to.deep.equal([])
  })

  it('names who has a taken name, and saves with the suggested one if it is ticked', async () => {
    const { id } = (await company.post('/customers', { name: 'Maria', phone: '11987654321' })).body.data
    const taken = await create({ name: ' maria ', notes: 'fica' })
    expect(taken.status).to.equal(409)
    expect(problemsIn(taken.html)).to.include('Nome: já existe um cadastro com este valor')
    expect(taken.html).to.include(`href="/painel/clientes/${id}"`).and.to.include('value="maria (2)"')
    expect(textIn(taken.html)).to.include('Este nome já é de Maria ((11) 98765-4321).')
    const { to } = await create({ name: ' maria ', notes: 'fica', _nome: 'maria (2)' })
    expect(textIn((await user.get(to ?? '')).html))
      .to.include('maria (2)')
      .and.to.include('fica')
    const renamed = await user.submit(`${pathOf(to)}/editar`, { name: 'Maria', person_type: 'PF' })
    expect(renamed.status).to.equal(409)
    expect(renamed.html).to.include(`href="/painel/clientes/${id}"`)
  })

  it('warns of others with the same document or phone, with links', async () => {
    const one = (await company.post('/customers', { name: 'Ana', document: '52998224725' })).body.data.id
    const two = (await company.post('/customers', { name: 'Bia', phone: '5511987654321' })).body.data.id
    const { to } = await create({ name: 'Eva', document: '529.982.247-25', phone: '(11) 98765-4321' })
    const { html } = await user.get(to ?? '')
    expect(textIn(html)).to.include('Mesmo CPF ou CNPJ de Ana').and.to.include('Mesmo telefone de Bia')
    for (const id of [one, two]) expect(html).to.include(`href="/painel/clientes/${id}"`)
    expect(textIn((await user.get(`/painel/clientes/${one}`)).html)).to.include('Mesmo CPF ou CNPJ de Eva')
    await company.call('DELETE', `/customers/${one}`)
    expect(textIn((await user.get(pathOf(to))).html)).not.to.include('Mesmo CPF')
  })

  it('shows what each customer owes, and the sum of the found ones', async () => {
    const owe = async (name: string, ...amounts: string[]) => {
      const customer_id = (await company.post('/customers', { name })).body.data.id
      for (const [at, amount] of amounts.entries()) {
        const account = { customer_id, description: 'Fiado', amount, due_date: '2026-01-31' }
        const { id } = (await company.post('/finance/receivables', account)).body.data
        if (at === 0) await settle(company, SIDES[0], id, { payment_method: 'cash' })
      }
    }
    await owe('Ana', '5.00', '10.00', '2.50')
    await owe('Bia', '1.00', '1000.00')
    await owe('Eva')
    const all = textIn((await user.get('/painel/clientes')).html)
    expect(all).to.include('3 cadastros · Deve: R$ 1.012,50')
    expect(all).to.match(/Ana R\$ 12,50 Bia R\$ 1\.000,00 Eva R\$ 0,00/)
    expect(textIn((await user.get('/painel/clientes?q=ana')).html)).to.include('1 cadastro · Deve: R$ 12,50')
  })

  it('takes the state from a list, and a CEP of that state', async () => {
    const { html } = await user.get('/painel/clientes/novo')
    expect(html).to.include('<option value="SP">SP – São Paulo</option>')
    const address = (zip: string, state: string) => create({ name: 'Ana', 'address.zip': zip, 'address.state': state })
    expect(problemsIn((await address('00000-000', '')).html)).to.include('CEP: não existe: confira os números')
    expect(problemsIn((await address('01310-100', 'RJ')).html)).to.include('CEP: é de SP, e não de RJ')
    const { to } = await address('01310-100', 'SP')
    const edited = await user.submit(`${pathOf(to)}/editar`, {
      name: 'Ana',
      person_type: 'PF',
      'address.zip': '01310-100',
      'address.state': 'RJ',
    })
    expect(problemsIn(edited.html)).to.include('UF: o CEP é de SP')
  })

  it('changes only edited fields, and keeps concurrent changes of others [PANEL-11]', async () => {
    const path = pathOf((await create({ name: 'Maria', phone: '11111111' })).to)
    const id = path.split('/').at(-1)
    const { html } = await user.get(`${path}/editar`)
    await company.call('PATCH', `/customers/${id}`, { phone: '22222222', notes: 'da API' })
    const form = {
      ...hiddenFields(html, `${path}/editar`),
      name: 'Maria Souza',
      person_type: 'PF',
      phone: '11111111',
      notes: '',
    }
    expect((await user.post(`${path}/editar`, form)).status).to.equal(303)
    expect((await company.get(`/customers/${id}`)).body.data).to.deep.include({
      name: 'Maria Souza',
      phone: '22222222',
      notes: 'da API',
    })
  })

  it('empties a cleared field', async () => {
    const path = pathOf((await create({ name: 'Maria', phone: '11111111', 'address.city': 'Santos' })).to)
    const cleared = { name: 'Maria', person_type: 'PF', phone: '', 'address.city': '' }
    expect((await user.submit(`${path}/editar`, cleared)).status).to.equal(303)
    expect((await company.get(path.replace('/painel/clientes', '/customers'))).body.data).to.deep.include({
      phone: null,
      address: null,
    })
  })

  it('refuses an emptied name instead of keeping the old one', async () => {
    const path = pathOf((await create({ name: 'Maria', phone: '11111111' })).to)
    const { status, html } = await user.submit(`${path}/editar`, { name: ' ', person_type: 'PF', phone: '' })
    expect(status).to.equal(422)
    expect(problemsIn(html)).to.deep.equal(['Confira os campos indicados.', 'Nome: preencha este campo'])
    const { data } = (await company.get(path.replace('/painel/clientes', '/customers'))).body
    expect(data).to.deep.include({ name: 'Maria', phone: '11111111' })
  })

  it('deletes after confirmation', async () => {
    const path = pathOf((await create({ name: 'Maria' })).to)
    expect(textIn((await user.get(`${path}/excluir`)).html)).to.include('deixa de aparecer')
    expect((await user.submit(`${path}/excluir`, {})).to).to.equal('/painel/clientes?feito=excluido')
    expect((await user.get(path)).status).to.equal(404)
  })

  it('lists by name with pages and filters in the address [PANEL-16]', async () => {
    const items = Array.from({ length: 52 }, (_, n) => ({ external_id: `c${n}`, name: `Cliente ${99 - n}` }))
    await company.post('/customers/batch', { items })
    const first = (await user.get('/painel/clientes')).html
    expect(textIn(first)).to.match(/Cliente 48 .*Cliente 49 .*Cliente 97 /)
    const next = /href="([^"]+)" rel="next"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(textIn((await user.get(next)).html))
      .to.include('Cliente 98')
      .and.to.include('Cliente 99')
      .and.not.to.include('Cliente 97')
    const filtered = textIn((await user.get('/painel/clientes?q=te+51')).html)
    expect(filtered).to.include('Cliente 51').and.not.to.include('Cliente 52')
    expect((await user.get('/painel/clientes?cursor=quebrado')).status).to.equal(200)
  })

  it('shows a customer as of a revision and as of a time, without actions', async () => {
    const path = pathOf((await create({ name: 'Maria' })).to)
    const { headers } = await company.get('/me')
    await user.submit(`${path}/editar`, { name: 'Outra', person_type: 'PF' })
    const then = await user.get(`${path}?em=${headers.get('x-ledger-revision')}`)
    expect(textIn(then.html)).to.include('Como era no evento nº').and.to.include('Maria').and.not.to.include('Outra')
    expect(then.html).not.to.include('/editar')
    expect((await user.get(`${path}?em=1999-01-01T10:00`)).status).to.equal(422)
    expect((await user.get(`${path}?em=ontem`)).status).to.equal(422)
    expect((await user.get(`${path}?em=9999999`)).status).to.equal(422)
  })

  it('escapes markup in every field [PANEL-13]', async () => {
    await company.post('/customers', {
      name: HOSTILE,
      notes: HOSTILE,
      external_id: HOSTILE,
      address: { street: HOSTILE },
    })
    const list = (await user.get('/painel/clientes')).html
    const path = /href="(\/painel\/clientes\/\d+)"/.exec(list)?.[1] ?? ''
    for (const page of [
      list,
      (await user.get(path)).html,
      (await user.get(`${path}/editar`)).html,
      (await user.get(`/painel/clientes?q=${encodeURIComponent(HOSTILE)}`)).html,
    ]) {
      expect(page).to.include('&lt;script>')
      expect(page)
        .not.to.include('<script>alert')
        .and.not.to.match(/<img[^>]*onerror/)
    }
  })

  it('responds alike for a customer of another company and a missing one', async () => {
    const other = await api.company()
    const { id } = (await other.post('/customers', { name: 'De outra' })).body.data
    for (const path of [`/painel/clientes/${id}`, `/painel/clientes/${id}/editar`, `/painel/clientes/${id}/excluir`])
      expect((await user.get(path)).status, path).to.equal(404)
  })

  it('tolerates arbitrary filter values [PANEL-16]', async () => {
    for (const query of ['?q=%02', '?document=%02', '?external_id=%01', `?q=${'x'.repeat(300)}`, '?cursor=x'])
      expect((await user.get(`/painel/clientes${query}`)).status, query).to.equal(200)
  })

  it('lists the purchases of a customer without cancelled sales, page by page', async () => {
    const counter = await openCounter(company)
    const { id } = (await company.post('/customers', { name: 'Maria', external_id: 'm' })).body.data
    const sales: number[] = []
    for (let n = 0; n < 12; n++) sales.push((await counter.sell({ customer_external_id: 'm' })).id)
    await counter.sell()
    await company.post(`/sales/${sales[0]}/cancel`, {})
    const { html } = await user.get(`/painel/clientes/${id}`)
    expect(textIn(html)).to.include('Total comprado R$ 220,00').and.to.include('Compras 11')
    const listed = (page: string) =>
      [...page.matchAll(/href="\/painel\/vendas\/(\d+)"/g)].map(([, sale]) => Number(sale))
    expect(listed(html)).to.deep.equal(sales.toReversed().slice(0, 10))
    const next = /href="([^"#]+compras=[^"#]+)#compras" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(listed((await user.get(next)).html)).to.deep.equal(sales.toReversed().slice(10))
  })

  it('states that a customer did not exist yet, for a time before its creation', async () => {
    const { id } = (await company.post('/customers', { name: 'Maria' })).body.data
    const early = await user.get(`/painel/clientes/${id}?em=0`)
    expect(early.status).to.equal(404)
    expect(textIn(early.html))
      .to.include('Maria')
      .and.to.include('Ainda não existia')
      .and.to.include('Ver como é agora')
    const never = await user.get(`/painel/clientes/${id + 1}?em=0`)
    expect(never.status).to.equal(404)
    expect(textIn(never.html)).not.to.include('Ainda não existia')
  })
})

const PATH = '/painel/fornecedores'

describe('panel: suppliers', () => {
  const { api, company, user } = usePanelUser('owner')

  const create = async (fields: Record<string, string>) =>
    user.submit(`${PATH}/novo`, { person_type: 'PJ', ...fields }, PATH)
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')
  const inApi = (path: string) => company.get(path.replace(PATH, '/suppliers'))

  it('creates suppliers with trade names, visible in the API', async () => {
    const path = pathOf((await create({ name: 'ACME Ltda', trade_name: 'Acme', document: '11.222.333/0001-81' })).to)
    expect((await inApi(path)).body.data).to.deep.include({ trade_name: 'Acme', document: '11222333000181' })
    for (const page of [path, PATH]) {
      const shown = textIn((await user.get(page)).html)
      for (const text of ['ACME Ltda', 'Nome fantasia', 'Acme', '11.222.333/0001-81'])
        expect(shown, page).to.include(text)
    }
    await user.submit(`${path}/editar`, { name: 'ACME Ltda', trade_name: '', person_type: 'PJ' })
    expect((await inApi(path)).body.data).to.deep.include({ trade_name: null, document: null })
  })

  it('takes effect even if an API client has used the key of the form [PAY-61]', async () => {
    const { html } = await user.get(`${PATH}/novo`)
    const hidden = hiddenFields(html, PATH)
    const form = { ...hidden, name: 'ACME Ltda', person_type: 'PJ' }
    const headers = { 'idempotency-key': `painel:${hidden._key}:0` }
    expect((await company.post('/suppliers', { name: 'Outro' }, headers)).status).to.equal(201)
    expect((await user.post(PATH, form)).status).to.equal(303)
    expect((await company.get('/suppliers')).body.data).to.have.length(2)
  })

  it('names invalid fields, and fields taken by another supplier', async () => {
    await create({ name: 'ACME Ltda' })
    const wrong = await create({ name: '', trade_name: 'x'.repeat(121) })
    expect(wrong.status).to.equal(422)
    expect(problemsIn(wrong.html)).to.include.members([
      'Nome: preencha este campo',
      'Nome fantasia: deve ter no máximo 120 caracteres',
    ])
    const taken = await create({ name: 'acme  ltda' })
    expect(taken.status).to.equal(409)
    expect(problemsIn(taken.html)).to.include('Nome: já existe um cadastro com este valor')
  })

  it('deletes after confirmation, and still shows earlier revisions', async () => {
    const path = pathOf((await create({ name: 'ACME Ltda', trade_name: 'Acme' })).to)
    const { headers } = await company.get('/me')
    expect((await user.submit(`${path}/excluir`, {})).to).to.equal(`${PATH}?feito=excluido`)
    expect((await user.get(path)).status).to.equal(404)
    const then = textIn((await user.get(`${path}?em=${headers.get('x-ledger-revision')}`)).html)
    expect(then).to.include('Acme').and.to.include('Como era no evento nº')
  })

  it('links an empty list to the form for the first supplier, for roles that may create it', async () => {
    const next = async (who: Pick<typeof user, 'get'>, query = '') =>
      /class="nothing"[\s\S]*?<\/div>/.exec((await who.get(PATH + query)).html)?.[0] ?? ''
    expect(await next(user)).to.include(`${PATH}/novo`)
    expect(await next(user, '?q=x')).to.equal('')
    const accountant = await panelUser(api, company, 'accountant')
    expect(await next(accountant))
      .to.not.equal('')
      .and.not.include('/novo')
  })

  it('tolerates arbitrary filter values', async () => {
    for (const query of ['?name=%02', '?document=%02', '?external_id=%01', `?name=${'x'.repeat(300)}`, '?cursor=x'])
      expect((await user.get(`/painel/fornecedores${query}`)).status, query).to.equal(200)
  })
})
