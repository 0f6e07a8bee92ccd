import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { forgetPerson } from '#commands/forget-person.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { createErasureList } from '#privacy/erasures.ts'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { cloneDatabase, useDatabase } from '../support/database.ts'
import { MASTER_KEY } from '../support/master-key.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { startService } from '../support/process.ts'
import { administer, onDatabase } from '../support/server.ts'
import { openTestCore } from '../support/test-core.ts'

const ANA = { name: 'Zoraide Zenaide', phone: '11988800001' }
const BIA = { name: 'Beatriz', phone: '11988800002' }
const CAIO = { name: 'Caio', phone: '11988800003' }
const ON = { ground: 'holder_request', retention_years: 5 } as const

describe('a restored backup', () => {
  const database = useDatabase()
  let backup: string
  let dataDir: string

  beforeEach(async () => {
    backup = `${new URL(database.url).pathname.slice(1)}_backup`
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-restored-'))
  })
  afterEach(async () => {
    await administer(database.ownerUrl, (client) => client.query(`drop database if exists ${backup} with (force)`))
    await rm(dataDir, { recursive: true })
  })

  /** Creates three customers, copies the files of Postgres, then erases one and asks for another with an open account. */
  async function forgetAfterBackup(store?: FaultyStore): Promise<TestCompany> {
    const where = store ? { store } : {}
    let api: TestApi = await startApi(database.url, where)
    const company = await api.company()
    for (const person of [ANA, BIA, CAIO]) expect((await company.post('/customers', person)).status).to.equal(201)
    await api.close()
    const from = new URL(database.url).pathname.slice(1)
    await cloneDatabase(backup, from)
    api = await startApi(database.url, where)
    const ids = (
      await send(`${api.url}/api/v1/customers`, 'GET', undefined, { authorization: `Bearer ${company.key}` })
    ).body
    const [ana, bia] = ids.data.map(({ id }: { id: number }) => id)
    const { writer, pool } = api.core
    await runAsSystem(writer, company.id, forgetPerson, { kind: 'customer', id: ana, ...ON })
    const account = { description: 'Fiado', amount: '1.00', due_date: '2030-01-10', customer_id: bia }
    const key = { authorization: `Bearer ${company.key}` }
    expect((await send(`${api.url}/api/v1/finance/receivables`, 'POST', account, key)).status).to.equal(201)
    await runAsSystem(writer, company.id, forgetPerson, { kind: 'customer', id: bia, queue: true, ...ON })
    const list = createErasureList({ pool, dataDir, onError: () => {} })
    await list.sync()
    await api.close()
    return company
  }

  it('erases all persons on the erasure list again before the service is ready [PRIV-40] [PRIV-41]', async () => {
    const company = await forgetAfterBackup()
    const file = join(dataDir, 'seals', 'forgotten.jsonl')
    const listed = await readFile(file, 'utf8')
    expect(listed).not.to.match(/zoraide|beatriz/i)
    // Simulates a line truncated by a crash.
    await appendFile(file, '{"company_id":1,"subj')

    const DATABASE_URL = onDatabase(database.url, backup)
    const service = await startService({ DATABASE_URL, DATA_DIR: dataDir, MASTER_KEY, LOG_LEVEL: 'warn' })
    try {
      const key = { authorization: `Bearer ${company.key}` }
      const { data } = (await send(`${service.url}/api/v1/customers`, 'GET', undefined, key)).body
      const [ana, bia, caio] = data
      expect(ana).to.include({ name: null, phone: null }).and.to.have.property('forgotten_at').that.is.a('string')
      // Nothing of this person was erased: the contact was kept for an open account.
      expect(bia).to.include({ phone: BIA.phone })
      expect(caio).to.include({ ...CAIO, forgotten_at: null })
      const { data: events } = (
        await send(`${service.url}/api/v1/events?subject=customer/${ana.id}`, 'GET', undefined, key)
      ).body
      expect(events.at(-1)).to.deep.include({ type: 'PersonForgotten', actor: null })
      expect(events.at(-1).data).to.include({ ground: 'restored_backup' })
      expect(service.output())
        .to.include(`"subject":"customer/${ana.id}"`)
        .and.not.to.match(/zoraide/i)
    } finally {
      expect(await service.stop()).to.equal(0)
    }
    // The file continues, with each key once.
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.endsWith('}'))
    expect(new Set(lines).size).to.equal(lines.length)
    expect(lines.join('\n')).to.include(listed.trim())
  })

  it('catches up with external ledgers, even with an empty list [PRIV-42]', async () => {
    const store = createOutsideStore()
    const company = await forgetAfterBackup(store)
    const core = await openTestCore(onDatabase(database.url, backup), { store })
    try {
      const { rows } = await core.pool.query('select doc from customers where company_id = $1 order by id', [
        company.id,
      ])
      expect(rows.map(({ doc }) => [doc.name, doc.phone])).to.deep.equal([
        [null, null],
        [BIA.name, BIA.phone],
        [CAIO.name, CAIO.phone],
      ])
      const alive = await core.pool.query(
        'select subject, part from person_keys where company_id = $1 and wrapped is not null order by 1, 2',
        [company.id],
      )
      expect(alive.rows.map(({ part }) => part)).to.deep.equal(['contact', 'identity', 'contact', 'identity'])
    } finally {
      await core.close()
    }
  })
})
