import { expect } from 'chai'
import { streamOf } from '#ledger/command.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { appendOf, collect } from '../ledger/event-store-contract.ts'
import { ordinary, sealedAfter } from '../ledger/sealed-events.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { tillbook } from './tillbook.ts'

const NO_TRANSACTION = { query: () => Promise.reject(new Error('has no transaction')) }

describe('tillbook ledger copy', function () {
  this.timeout(60_000)
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let server: FakeEventStoreDb

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await company.post('/customers/batch', {
      items: Array.from({ length: 300 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` })),
    })
  })
  beforeEach(async () => {
    server = await startFakeEventStoreDb()
  })
  afterEach(() => server.close())
  after(() => api.close())

  const copy = (to = server.url) => tillbook({ DATABASE_URL: database.url }, 'ledger', 'copy', '--to', to, '--json')
  const problemOf = (stderr: string): Json => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error

  it('copies the ledgers unchanged, ends by itself, and adds later events when repeated [LEDGER-15]', async () => {
    const events = await collect(api.core.store.read(streamOf(company.id), 0))
    const first = await copy()
    expect(first.code, first.stderr).to.equal(0)
    expect(JSON.parse(first.stdout)).to.deep.equal({ streams: 1, events: events.length, known: 0 })
    expect(first.stderr).to.equal('')
    const target = createEventStoreDb(server.url)
    expect(await collect(target.read(streamOf(company.id), 0))).to.deep.equal(events)
    await target.close()
    await company.post('/customers', { name: 'Mais tarde' })
    const again = await copy()
    expect(JSON.parse(again.stdout)).to.deep.equal({ streams: 1, events: events.length + 1, known: events.length })
  })

  it('refuses a target with other events, and leaves it unchanged [LEDGER-15]', async () => {
    for (const stream of [streamOf(company.id), streamOf(987_654)]) {
      const target = createEventStoreDb(server.url)
      await target.append([appendOf(sealedAfter(stream, null, ordinary(2)))], NO_TRANSACTION)
      await target.close()
      const length = server.all.length
      const { code, stdout, stderr } = await copy()
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      expect(problemOf(stderr).details.fields.to[0]).to.include(
        'o destino tem outro evento na revisão 0 do livro company-',
      )
      expect(server.all).to.have.length(length)
    }
  })

  it('reports an unreachable or malformed target without its password', async () => {
    await server.kill()
    const unreachable = await copy()
    expect(unreachable.code).to.equal(1)
    expect(problemOf(unreachable.stderr).code).to.equal('unavailable')
    for (const address of ['http://admin:segredo@127.0.0.1', 'esdb://admin:segredo@127.0.0.1:porta']) {
      const { code, stderr } = await copy(address)
      expect(code).to.equal(1)
      expect(problemOf(stderr)).to.include({ code: 'validation_failed' })
      expect(stderr).to.not.include('segredo')
    }
  })
})
