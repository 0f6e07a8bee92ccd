import { expect } from 'chai'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createPool } from '#postgres/pool.ts'
import { assertSupported } from '#postgres/requirements.ts'
import { startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Pooler, startPgBouncer } from '../support/pgbouncer.ts'
import { startService } from '../support/process.ts'

const whyNot = (url: string, undurable = true): Promise<string> =>
  assertSupported(url, { undurable, newId: uuidv7 }).then(
    () => '',
    (error: Error) => error.message,
  )

describe('Postgres requirements', () => {
  const database = useDatabase()

  it('demand a server with durable commits, unless a setting allows otherwise [OPS-34]', async () => {
    expect(await whyNot(database.url, false)).to.match(
      /fsync and full_page_writes switched off.*ALLOW_UNDURABLE_POSTGRES=true/,
    )
    expect(await whyNot(database.url)).to.equal('')
  })

  it('are reported before any change, by service and command line, with exit code 1 [OPS-34]', async () => {
    const strict = { DATABASE_URL: database.url, ALLOW_UNDURABLE_POSTGRES: 'false' }
    const failure = await startService(strict).catch((error: Error) => error)
    expect(String(failure)).to.include('fsync and full_page_writes switched off')
    expect(String((failure as Error).cause)).to.include('ended with 1')
  })
})

describe('sessions of the service', () => {
  const database = useDatabase()

  const commitOf = async (given: string, keyLookupsOnly = true): Promise<string> => {
    const client = new pg.Client({ connectionString: database.ownerUrl })
    await client.connect()
    const name = new URL(database.url).pathname.slice(1)
    await client.query(`alter database ${name} set synchronous_commit = ${given}`)
    await client.end()
    const pool = createPool(database.url, { max: 1, keyLookupsOnly })
    const { rows } = await pool.query('show synchronous_commit')
    await pool.end()
    return rows[0].synchronous_commit
  }

  it('wait for the disk at a COMMIT, whatever the settings of the database [OPS-33]', async () => {
    for (const given of ['off', 'local', 'remote_write', 'on']) expect(await commitOf(given), given).to.equal('on')
  })

  it('keep waiting for the disk if the server settings change while they are open [OPS-33]', async () => {
    const pool = createPool(database.url, { max: 1 })
    const { rows } = await pool.query(
      `select source from pg_settings where name = 'synchronous_commit' and setting = 'on'`,
    )
    await pool.end()
    expect(rows).to.deep.equal([{ source: 'session' }])
  })

  it('keep a stricter synchronous_commit setting, such as remote_apply [OPS-33]', async () => {
    expect(await commitOf('remote_apply')).to.equal('remote_apply')
    expect(await commitOf('off', false)).to.equal('on')
  })
})

describe('a connection pooler in front of Postgres', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let pooler: Pooler | undefined

  afterEach(async () => {
    await pooler?.stop()
    pooler = undefined
  })

  async function pool(this: Mocha.Context, mode: 'session' | 'transaction'): Promise<string> {
    const started = await startPgBouncer(database.url, mode)
    if (typeof started === 'string') {
      console.log(`      skipped: ${started}`)
      return this.skip()
    }
    pooler = started
    return started.url
  }

  it('in transaction mode is refused at startup, in one sentence that lists the missing features [OPS-35]', async function () {
    const url = await pool.call(this, 'transaction')
    const message = await whyNot(url)
    expect(message).to.match(
      /settings of a session \(SET\), named prepared statements, advisory locks, notifications \(LISTEN\)/,
    )
    expect(message).to.include('pool_mode = session')
    const failure = await startService({ DATABASE_URL: url }).catch((error: Error) => error)
    expect(String((failure as Error).cause)).to.include('ended with 1')
    expect((failure as Error).message).to.include('does not keep settings of a session')
  })

  it('in session mode works without extra settings [OPS-35]', async function () {
    const url = await pool.call(this, 'session')
    expect(await whyNot(url)).to.equal('')
    const service = await startService({ DATABASE_URL: url, LOG_LEVEL: 'warn' })
    const office = await startApi(url)
    try {
      const company = await office.company()
      const { status } = await company.post('/customers', { name: 'Ana', person_type: 'PF' })
      expect(status).to.equal(201)
      expect(service.output(), 'nothing that could not be done').not.to.include('"level":50')
    } finally {
      await office.close()
      expect(await service.stop()).to.equal(0)
    }
  })
})
