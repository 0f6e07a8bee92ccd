import { expect } from 'chai'
import { panelUser, textIn } from '../../support/panel.ts'
import { useApi } from '../../support/use-api.ts'

describe('deleted persons with open accounts', () => {
  const api = useApi()

  for (const [people, accounts, party, pages] of [
    ['customers', 'receivables', 'customer', ['/painel/clientes', '/painel/contas-a-receber']],
    ['suppliers', 'payables', 'supplier', ['/painel/fornecedores', '/painel/contas-a-pagar']],
  ] as const) {
    const owing = async () => {
      const company = await api.company()
      const { id } = (await company.post(`/${people}`, { name: 'Dona Benta', phone: '11987654321' })).body.data
      const account = { description: 'Fiado', amount: '37.50', due_date: '2030-01-10', [`${party}_id`]: id }
      const owed = (await company.post(`/finance/${accounts}`, { ...account, external_id: 'c-1' })).body.data
      return { company, id, account, owed }
    }

    it(`are deleted with force only (${people}) [PERSON-10]`, async () => {
      const { company, id, owed } = await owing()
      const refused = await company.call('DELETE', `/${people}/${id}`)
      expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'open_balance'])
      expect(refused.body.error.details).to.deep.equal({ balance: '37.50' })
      expect((await company.call('DELETE', `/${people}/${id}?force=talvez`)).status).to.equal(422)
      expect((await company.call('DELETE', `/${people}/${id}?force=true`)).status).to.equal(204)
      const kept = (await company.get(`/${people}/${id}`)).body.data
      expect([kept.name, kept.phone]).to.deep.equal(['Dona Benta', null])
      await company.post(
        `/finance/${accounts}/${owed.id}/settle`,
        { payment_method: 'cash' },
        { 'idempotency-key': `quita-${accounts}` },
      )
      expect((await company.get(`/${people}/${id}`)).body.data.name).to.equal(null)
    })

    it(`keep their accounts: PUT by-external may change them (${accounts}) [PERSON-10]`, async () => {
      const { company, id, account } = await owing()
      await company.call('DELETE', `/${people}/${id}?force=true`)
      const path = `/finance/${accounts}/by-external/c-1`
      const changed = await company.call('PUT', path, { ...account, amount: '40.00' })
      expect([changed.status, changed.body.data[`${party}_name`]]).to.deep.equal([200, 'Dona Benta'])
      const other = await company.call('PUT', `/finance/${accounts}/by-external/c-2`, account)
      expect(other.status).to.equal(422)
    })

    it(`stay among the debtors, by name, with a page and in the search (${people}) [PANEL-800]`, async () => {
      const { company, id, owed } = await owing()
      const user = await panelUser(api, company)
      const [personPath, accountPath] = pages
      const removal = await user.get(`${personPath}/${id}/excluir`)
      expect(textIn(removal.html)).to.include('1 conta em aberto: R$ 37,50')
      expect((await user.submit(`${personPath}/${id}/excluir`, {})).status).to.equal(303)
      const debtors = (await user.get(`${accountPath}/em-aberto`)).html
      expect(debtors).to.include(`href="${personPath}/${id}"`)
      expect(textIn(debtors)).to.include('Dona Benta (excluído)')
      expect(textIn((await user.get('/painel/busca?q=benta')).html)).to.include('Dona Benta')
      const shown = await user.get(`${personPath}/${id}`)
      expect([shown.status, textIn(shown.html).includes('R$ 37,50')]).to.deep.equal([200, true])
      expect(shown.html).to.include(`${personPath}/${id}/liquidar`).and.not.to.include(`${personPath}/${id}/editar`)
      expect((await user.get(`${personPath}/${id}/liquidar`)).status).to.equal(200)
      expect((await user.get(`${accountPath}/${owed.id}`)).html).to.include(`href="${personPath}/${id}"`)
    })
  }
})
