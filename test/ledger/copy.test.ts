import { expect } from 'chai'
import { streamOf } from '#ledger/command.ts'
import { CopyDiffers, copyLedgers } from '#ledger/stores/copy-ledgers.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { collect } from './event-store-contract.ts'

describe('copy of all ledgers to another store', () => {
  const database = useDatabase()
  let api: TestApi
  let companies: TestCompany[]
  let target: FaultyStore

  before(async () => {
    api = await startApi(database.url)
    companies = [await api.company(), await api.company()]
    const items = Array.from({ length: 500 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` }))
    for (const company of companies) {
      await company.post('/customers/batch', { items })
      await company.post('/catalog/items', { name: 'Café', price: '1.00' })
    }
  })
  beforeEach(() => {
    target = createOutsideStore({ maxAppendBytes: 60_000 })
  })
  after(() => api.close())

  const copy = () => copyLedgers(api.core.store, target)
  const lengths = () => companies.map(({ id }) => target.events(streamOf(id)).length)

  it('contains the same events, with the same revisions, ids and hashes [LEDGER-15]', async () => {
    const { streams, events, known } = await copy()
    expect({ streams, known }).to.deep.equal({ streams: 2, known: 0 })
    for (const { id } of companies) {
      expect(target.events(streamOf(id))).to.deep.equal(await collect(api.core.store.read(streamOf(id), 0)))
    }
    expect(events).to.equal(lengths().reduce((sum, length) => sum + length, 0))
  })

  it('resumes after an interruption, and includes events appended since [LEDGER-15]', async () => {
    target.faults.push('none', 'half', 'after')
    const failures: unknown[] = []
    for (let run = 0; run < 4; run++) await copy().catch((error) => failures.push(error))
    expect(failures).to.have.length.above(0)
    const [first] = companies
    await first?.post('/customers', { name: 'Mais tarde' })
    const { events, known } = await copy()
    expect(events - known).to.equal(1)
    expect(await copy()).to.include({ events, known: events })
  })

  it('can replace the source as the store of the service', async () => {
    await copy()
    const moved = await startApi(database.url, { store: target })
    try {
      const before = lengths()
      const reply = await fetch(`${moved.url}/api/v1/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${companies[0]?.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'No novo lugar' }),
      })
      expect(reply.status).to.equal(201)
      expect(lengths()).to.deep.equal([(before[0] ?? 0) + 1, before[1]])
    } finally {
      await moved.close()
    }
  })

  it('stops if the target contains other events [LEDGER-15]', async () => {
    const [company] = companies
    const stream = streamOf(company?.id ?? 0)
    const [first] = await collect(api.core.store.read(stream, 0))
    if (!first) throw new Error('the source is empty')
    const other = { ...first, hash: 'f'.repeat(64) }
    await target.append([{ stream, expectedRevision: -1, commands: [[other]] }], undefined as never)
    const failure = await copy().catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(CopyDiffers).and.to.include({ stream, revision: 0 })
    expect(target.events(stream)).to.have.length(1)
  })
})
