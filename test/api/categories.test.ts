import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

describe('categories', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const post = (body: object) => company.post('/catalog/categories', body)

  it('are created with 201, with equal bytes in POST, GET and list [REC-1, ITEM-6]', async () => {
    const created = await post({ name: 'Bebidas', external_id: 'beb' })
    expect(created.status).to.equal(201)
    const { id, created_at, ...rest } = created.body.data
    expect(rest).to.deep.equal({ external_id: 'beb', name: 'Bebidas', updated_at: created_at, deleted_at: null })
    expect(created_at).to.match(LOCAL_TIME)
    expect((await company.get(`/catalog/categories/${id}`)).text).to.equal(created.text)
    expect((await company.get('/catalog/categories')).text).to.include(`{"data":[${recordText(created)}],`)
  })

  it('require a name, unique ignoring case and blanks; the external_id is optional and unique [ITEM-6]', async () => {
    const { id } = (await post({ name: 'Pães e Bolos', external_id: 'a' })).body.data
    expectInvalid(await post({}), ['name'])
    expectInvalid(await post({ name: 'x'.repeat(81) }), ['name'])
    for (const name of ['pães e bolos', '  PÃES  E BOLOS ']) {
      expect(expectProblem(await post({ name }), 409, 'duplicate_resource')).to.deep.equal({
        field: 'name',
        conflicting_id: id,
      })
    }
    const details = expectProblem(await post({ name: 'Outra', external_id: 'a' }), 409, 'duplicate_resource')
    expect(details).to.deep.equal({ field: 'external_id', conflicting_id: id })
    expect((await post({ name: 'Outra', external_id: null })).status).to.equal(201)
  })

  it('are listed like every other resource: pages, updated_since and filters [ITEM-6]', async () => {
    const ids: number[] = []
    for (const name of ['Bebidas', 'Bebidas quentes', 'Pães']) {
      ids.push((await post({ name, external_id: name.slice(0, 1) + ids.length })).body.data.id)
    }
    const first = await company.get('/catalog/categories?limit=2')
    expect(idsIn(first)).to.deep.equal(ids.slice(0, 2))
    expect(first.body.meta).to.include({ has_more: true, limit: 2 })
    const second = await company.get(`/catalog/categories?limit=2&cursor=${first.body.meta.next_cursor}`)
    expect(idsIn(second)).to.deep.equal(ids.slice(2))
    expect(second.body.meta).to.include({ has_more: false, next_cursor: null })
    expect(idsIn(await company.get('/catalog/categories?name=BEBIDAS'))).to.deep.equal(ids.slice(0, 2))
    expect(idsIn(await company.get('/catalog/categories?external_id=P2'))).to.deep.equal(ids.slice(2))
    const since = encodeURIComponent(first.body.data[1].updated_at)
    expect(idsIn(await company.get(`/catalog/categories?updated_since=${since}`))).to.include.members(ids.slice(1))
  })
})
