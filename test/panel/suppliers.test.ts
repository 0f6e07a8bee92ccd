import { expect } from 'chai'
import { FOREIGN_IDS } from '../support/api.ts'
import { HOSTILE, hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

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

  it('takes effect once for repeated forms [PANEL-10]', async () => {
    const { html } = await user.get(`${PATH}/novo`)
    const form = { ...hiddenFields(html, PATH), name: 'ACME Ltda', person_type: 'PJ' }
    const both = [await user.post(PATH, form), await user.post(PATH, form)]
    expect(both.map(({ status }) => status)).to.deep.equal([303, 303])
    expect(both[0]?.to).to.equal(both[1]?.to)
    expect((await company.get('/suppliers')).body.data).to.have.length(1)
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

  it('escapes markup in every field, and shows no supplier of another company', async () => {
    const path = pathOf((await create({ name: HOSTILE, trade_name: HOSTILE })).to)
    for (const page of [PATH, path, `${path}/editar`]) {
      const { html } = await user.get(page)
      expect(html).to.include('&lt;script>')
      expect(html).not.to.include('<script>alert').and.not.to.include('<img')
    }
    const other = await api.company({ idsFrom: FOREIGN_IDS })
    const { id } = (await other.post('/suppliers', { name: 'De outra' })).body.data
    for (const page of [`${PATH}/${id}`, `${PATH}/${id}/editar`, `${PATH}/${id}/excluir`])
      expect((await user.get(page)).status, page).to.equal(404)
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
