import { expect } from 'chai'
import { createCustomer, deleteCustomer } from '#commands/person-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAs, runAsSystem } from '#ledger/write/run.ts'
import type { CustomerObject } from '#projections/people.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

describe('runAs', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
  })
  after(() => api.close())

  const acting = () => ({
    companyId: company.id,
    origin: 'pdv' as const,
    actor: 'user/7',
    requestId: '019990c5-0000-7000-8000-000000000001',
  })

  it('returns the record as the API shows it, and stores the actor in the event [LEDGER-3]', async () => {
    const { writer } = api.core
    const created = await runAs<CustomerObject>(writer, acting(), createCustomer, { name: 'Bia', person_type: 'PF' })
    if (isRefusal(created)) throw new Error(created.refused)
    expect(created).to.deep.equal((await company.get(`/customers/${created.id}`)).body.data)
    const { body } = await company.get(`/customers/${created.id}/history`)
    expect(body.data).to.have.length(1)
    expect(body.data[0]).to.include({ origin: 'pdv', actor: 'user/7', request_id: acting().requestId })
  })

  it('returns null if no record remains', async () => {
    const { writer } = api.core
    const { id } = (await runAs<CustomerObject>(writer, acting(), createCustomer, {
      name: 'Caio',
      person_type: 'PF',
    })) as CustomerObject
    expect(await runAs<null>(writer, acting(), deleteCustomer, { id })).to.equal(null)
    expect((await company.get(`/customers/${id}`)).body.data).to.include({ name: null })
  })

  it('returns the refusal', async () => {
    const refused = await runAs<null>(api.core.writer, acting(), deleteCustomer, { id: 999_999 })
    expect(refused).to.deep.equal({ refused: 'not_found' })
    expect(isRefusal(refused)).to.equal(true)
    expect(isRefusal(null)).to.equal(false)
  })

  it('stores no actor for the system [LEDGER-3]', async () => {
    const created = await runAsSystem<CustomerObject>(api.core.writer, company.id, createCustomer, {
      name: 'Davi',
      person_type: 'PF',
    })
    const { body } = await company.get(`/customers/${(created as CustomerObject).id}/history`)
    expect(body.data[0]).to.include({ origin: 'system', actor: null, request_id: null })
  })
})
