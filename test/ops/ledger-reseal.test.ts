import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { streamOf } from '#ledger/envelope.ts'
import { createPool } from '#postgres/pool.ts'
import { killedAfter, tillbook } from '../cli/tillbook.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { asOf01 } from '../support/clear-ledgers.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { startService } from '../support/process.ts'
import { until } from '../support/wait.ts'

const MARKER = 'Zulmira Markante'
const CUSTOMERS = 1_500

describe('tillbook ledger reseal', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let folder: string
  let api: TestApi | undefined
  let pool: Pool
  let company: TestCompany
  let customer: number
  let seals: string
  let auditor: string

  const env = (more: Record<string, string> = {}) => ({ DATABASE_URL: database.url, DATA_DIR: folder, ...more })
  const run = async (...words: string[]) => {
    const ended = await tillbook(env(), ...words, '--json')
    return { ...ended, result: ended.stdout === '' ? null : JSON.parse(ended.stdout) }
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-reseal-cli-'))
    pool = createPool(database.url, { max: 1, application_name: 'a test' })
    api = await startApi(database.url, { settings: { DATA_DIR: folder } })
    company = await api.company()
    const created = await company.post('/customers', { name: MARKER, phone: '11987654321' }, KEY)
    customer = created.body.data.id
    await company.post('/finance/receivables', {
      customer_id: customer,
      description: 'Fiado',
      amount: '10.00',
      due_date: '2026-12-01',
    })
    for (let from = 0; from < CUSTOMERS; from += 500)
      await company.post('/customers/batch', {
        items: Array.from({ length: 500 }, (_, n) => ({ external_id: `c-${from + n}`, name: `Zulmira ${from + n}` })),
      })
    await asOf01(api.core)
    expect(await found('ledger.events'), 'in clear').to.equal(true)
    seals = join(folder, 'old-seals.json')
    auditor = join(folder, 'auditor.pem')
    await writeFile(seals, (await tillbook(env(), 'ledger', 'seal', '--all')).stdout)
    await writeFile(auditor, (await tillbook(env(), 'ledger', 'public-key')).stdout)
    await writeFile(
      join(folder, 'old.jsonl'),
      (await tillbook(env(), 'ledger', 'export', '--company', String(company.id))).stdout,
    )
  })
  after(async () => {
    await api?.close()
    await pool.end()
    await rm(folder, { recursive: true })
  })

  const KEY = { 'idempotency-key': 'antes-de-selar' }
  const found = async (table: string): Promise<boolean> => {
    const { rowCount } = await pool.query(`select from ${table} where envelope::text like '%Zulmira%' limit 1`)
    return rowCount === 1
  }
  const mapping = () => join(folder, 'seals', `resealed-company-${company.id}.jsonl`)

  it('is called for by a service that starts, beside which it is refused [PRIV-53] [PRIV-57]', async () => {
    await api?.close()
    api = undefined
    const service = await startService(env())
    try {
      await until(async () => service.output().includes('in clear: reseal them'))
      expect(service.output()).to.include('"ledgers":1,"msg":"ledgers hold data about people in clear: reseal them"')
      const { code, stderr } = await run('ledger', 'reseal')
      expect(code).to.equal(1)
      expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).to.deep.include({
        code: 'unavailable',
        message: 'the service is running: stop all of its processes first',
      })
    } finally {
      await service.stop()
    }
  })

  it('killed again and again it has changed nothing, and is then finished [PRIV-52] [PRIV-58]', async () => {
    const before = await pool.query('select hash from ops.ledgers order by company_id')
    for (const after of ['company-', 900] as const) await killedAfter(env(), after, 'ledger', 'reseal')
    const { rows } = await pool.query('select hash from ops.ledgers order by company_id')
    const { rowCount } = await pool.query('select from ops.clear_ledgers')
    // The last of the kills may have come too late.
    if (rowCount) expect(rows).to.deep.equal(before.rows)
    const { code, stderr, result } = await run('ledger', 'reseal')
    expect(code, stderr).to.equal(0)
    if (rowCount) expect(result).to.include({ streams: 1 }).and.to.have.property('events').above(CUSTOMERS)
    expect(await found('ledger.events')).to.equal(false)
    expect(await found('ledger_former.events')).to.equal(true)
  })

  it('leaves seals and exports of before worth something, by the mapping [PRIV-55]', async () => {
    const trusted = ['--checkpoint', seals, '--public-key', auditor]
    const without = await run('ledger', 'verify', '--company', String(company.id), ...trusted)
    expect(without.result).to.include({ valid: false })
    const through = await run('ledger', 'verify', '--company', String(company.id), ...trusted, '--mapping', mapping())
    expect(through.result).to.include({ valid: true, trusted_key: true, resealed: 'since' })
    const old = join(folder, 'old.jsonl')
    const export_ = await run('ledger', 'verify', '--file', old, ...trusted, '--mapping', mapping())
    expect(export_.result).to.include({ valid: true, resealed: 'before' })
    const altered = join(folder, 'altered.jsonl')
    await writeFile(altered, (await readFile(old, 'utf8')).split('\n').slice(0, -2).join('\n'))
    const cut = await run('ledger', 'verify', '--file', altered, ...trusted, '--mapping', mapping())
    expect(cut.result).to.include({ valid: false })
  })

  it('lets everything go on: keys, repeated calls, history, tables, looking back [PRIV-58]', async () => {
    api = await startApi(database.url, { settings: { DATA_DIR: folder } })
    const call = (method: string, path: string, body?: object, headers = {}) =>
      fetch(`${api?.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      })
    const again = await call('POST', '/customers', { name: MARKER, phone: '11987654321' }, KEY)
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true'])
    expect((await call('PATCH', `/customers/${customer}`, { phone: '11912345678' })).status).to.equal(200)
    const history = (await (await call('GET', `/customers/${customer}/history`)).json()) as { data: { data: object }[] }
    expect(history.data[0]?.data).to.include({ name: MARKER, phone: '11987654321' })
    const { parity } = await api.core.rebuild()
    expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
    expect((await api.core.verifier.verify(company.id, null)).verification.valid).to.equal(true)
    await api.close()
    api = undefined
  })

  it('ends the old ledgers only while the mapping is there [PRIV-56]', async () => {
    const kept = await readFile(mapping(), 'utf8')
    await rm(mapping())
    expect((await run('ledger', 'reseal', '--drop-old')).code).to.equal(1)
    expect(await found('ledger_former.events')).to.equal(true)
    await writeFile(mapping(), kept)
    expect((await run('ledger', 'reseal', '--drop-old')).result).to.deep.equal({ verified: 1, dropped: true })
    const { rowCount } = await pool.query(`select from pg_namespace where nspname = 'ledger_former'`)
    expect(rowCount).to.equal(0)
  })

  describe('into an EventStoreDB', () => {
    let server: FakeEventStoreDb
    before(async () => {
      server = await startFakeEventStoreDb()
      const clear = await startApi(database.url, { settings: { DATA_DIR: folder } })
      await asOf01(clear.core)
      await clear.close()
    })
    after(() => server.close())

    it('leaves none in Postgres, and is served from there [PRIV-52] [PRIV-57]', async () => {
      const { code, stderr } = await run('ledger', 'reseal', '--to', server.url)
      expect(code, stderr).to.equal(0)
      expect(
        server.all.filter(({ stream }: { stream: string }) => stream === streamOf(company.id)),
      ).to.have.length.above(CUSTOMERS)
      expect((await run('ledger', 'verify')).stderr).to.include('These are not the ledgers that were resealed')
      const there = await tillbook(env({ EVENTSTORE_URL: server.url }), 'ledger', 'verify', '--json')
      expect(JSON.parse(there.stdout)[0]).to.include({ valid: true })
    })
  })
})
