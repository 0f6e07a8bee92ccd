import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { startEmbedded, stopLeftOver } from '#postgres/embedded.ts'
import { findPostmaster } from '#postgres/postmaster.ts'
import { SERVICE_ROLE } from '#postgres/service-role.ts'
import { findEmbedded } from '../support/find-embedded.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const HOLDER = fileURLToPath(new URL('../support/embedded-holder.ts', import.meta.url))
const settings = { fsync: 'off' }

describe('embedded Postgres', function () {
  this.timeout(60_000)
  let base: string
  let dataDir: string
  const holders: ChildProcess[] = []

  before(async () => {
    base = await mkdtemp(join(tmpdir(), 'tillbook-embedded-'))
    await chmod(base, 0o755)
    dataDir = join(base, 'data')
  })
  afterEach(async () => {
    for (const holder of holders.splice(0)) holder.kill('SIGKILL')
    for (const name of await readdir(base))
      await until(() => stopLeftOver(join(base, name)), { what: `the end of ${name}` })
  })
  after(() => rm(base, { recursive: true, force: true }))

  const serverPid = async (): Promise<number | undefined> => (await findPostmaster(join(dataDir, 'postgres')))?.pid

  /** Another process that starts or adopts the server of `dataDir`. */
  async function hold(directory = dataDir) {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const child = spawn(process.execPath, ['--import', 'tsx', HOLDER, directory], { detached: true, stdio: [...stdio] })
    holders.push(child)
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next()).value ?? '{}')
    const ready = (await next()) as { url: string; adopted: boolean }
    return { child, next, ...ready }
  }

  it('creates cluster and database the first time, and keeps the data and the port; the service gets a role of its own [OPS-1] [OPS-103]', async () => {
    const first = await startEmbedded({ dataDir, settings })
    await administer(first.ownerUrl, (client) => client.query('create table notes as select 1 as id'))
    const { rows } = await administer(first.ownerUrl, (client) =>
      client.query(`select current_database() as name, getdatabaseencoding() as encoding, datcollate, 'a' < 'B' as dictionary_order,
        lower('ÇÃO') as lower, current_setting('server_version_num')::int / 10000 as version
        from pg_database where datname = current_database()`),
    )
    expect(rows[0]).to.deep.equal({
      name: 'tillbook',
      encoding: 'UTF8',
      datcollate: 'C',
      dictionary_order: false,
      lower: 'ção',
      version: 18,
    })
    // As a data directory of 0.1 is.
    await administer(first.ownerUrl, (client) => client.query(`drop role ${SERVICE_ROLE}`))
    await first.stop()
    expect(await findEmbedded(dataDir)).to.equal(null)

    const second = await startEmbedded({ dataDir, settings })
    expect(second.url).to.equal(first.url)
    const { rows: roles } = await administer(second.url, (client) =>
      client.query(
        'select rolname, rolsuper, rolcreaterole, rolreplication from pg_roles where rolname = current_user',
      ),
    )
    expect(roles).to.deep.equal([
      { rolname: SERVICE_ROLE, rolsuper: false, rolcreaterole: false, rolreplication: false },
    ])
    expect((await administer(second.ownerUrl, (client) => client.query('select * from notes'))).rows).to.have.length(1)
    await second.stop()
  })

  it('is durable and closed by default: fsync, loopback only, a password that others cannot read [OPS-9]', async () => {
    const server = await startEmbedded({ dataDir })
    const { rows } = await administer(server.ownerUrl, (client) =>
      client.query(`select name, setting from pg_settings where name in
        ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'unix_socket_directories')`),
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).to.deep.equal({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    })
    expect((await stat(join(dataDir, 'postgres-password'))).mode & 0o777).to.equal(0o600)
    const stranger = new URL(server.url)
    stranger.password = 'guess'
    const refusal = await administer(stranger.href, (client) => client.query('select 1')).catch((error) => error)
    expect(refusal).to.match(/authentication failed/)
    await server.stop()
  })

  it('has a port that systems give to no connection, and moves to another one when it is taken', async () => {
    const port = Number(await readFile(join(dataDir, 'postgres-port'), 'utf8'))
    expect(port).to.be.within(20_000, 32_767)
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')
    const server = await startEmbedded({ dataDir, settings })
    expect(new URL(server.url).port).not.to.equal(String(port))
    await administer(server.ownerUrl, (client) => client.query('select 1'))
    await server.stop()
    squatter.close()
  })

  it('outlives a killed process, is found beside it, and is adopted and then stopped by the next one [OPS-10]', async () => {
    const killed = await hold()
    expect(killed.adopted).to.equal(false)
    const pid = await serverPid()
    expect(await findEmbedded(dataDir)).to.equal(killed.url)
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    expect(await findEmbedded(dataDir)).to.equal(killed.url)

    const next = await hold()
    expect(next).to.include({ url: killed.url, adopted: true })
    expect(await serverPid()).to.equal(pid)
    next.child.kill('SIGTERM')
    expect(await next.next()).to.deep.equal({ stopped: true })
    expect(await serverPid()).to.equal(undefined)
  })

  it('lets the service end in an orderly way when Ctrl-C reaches its whole process group', async () => {
    const service = await hold()
    process.kill(-service.child.pid!, 'SIGINT')
    expect(await service.next()).to.deep.equal({ stopped: true })
    expect(await findEmbedded(dataDir)).to.equal(null)
  })

  it('is created, started and adopted once by processes that come at the same time, and goes down with the last one [OPS-10]', async () => {
    const fresh = join(base, 'fresh')
    const [one, two, three] = await Promise.all([hold(fresh), hold(fresh), hold(fresh)])
    expect([one, two, three].filter(({ adopted }) => !adopted)).to.have.length(1)
    expect(new Set([one.url, two.url, three.url])).to.have.property('size', 1)
    expect((await readdir(fresh)).filter((name) => name.includes('init'))).to.deep.equal([])

    one.child.kill('SIGTERM')
    expect(await one.next()).to.deep.equal({ stopped: true })
    two.child.kill('SIGKILL')
    await once(two.child, 'exit')
    await administer(three.url, (client) => client.query('select 1'))
    expect(await stopLeftOver(fresh), 'a server in use is not left over').to.equal(false)
    three.child.kill('SIGTERM')
    expect(await three.next()).to.deep.equal({ stopped: true })
    expect(await findEmbedded(fresh)).to.equal(null)
  })

  it('is started again on its port by those who use it when it was killed, and goes down with the last one [OPS-10]', async () => {
    const [one, two] = [await hold(), await hold()]
    const killed = (await serverPid())!
    process.kill(killed, 'SIGKILL')
    const answers = () => administer(one.url, (client) => client.query('select 1'))
    await until(answers, { timeout_ms: 30_000 })
    expect(await serverPid()).not.to.equal(killed)
    expect(await findEmbedded(dataDir)).to.equal(one.url)

    // Both have a share in it again, so that it stays for the other one.
    const shares = () =>
      administer(one.url, async (client) => {
        const { rowCount } = await client.query(
          `select from pg_locks where locktype = 'advisory' and mode = 'ShareLock'`,
        )
        return rowCount === 2
      })
    await until(shares, { timeout_ms: 30_000, what: 'the shares of both' })
    one.child.kill('SIGTERM')
    expect(await one.next()).to.deep.equal({ stopped: true })
    await answers()
    two.child.kill('SIGTERM')
    expect(await two.next()).to.deep.equal({ stopped: true })
    expect(await serverPid()).to.equal(undefined)
  })

  it('is not taken from another process by one that stops while it has lost its share', async () => {
    const other = await hold()
    const server = await startEmbedded({ dataDir, settings })
    // The last one to come in is the one of this process.
    await administer(server.ownerUrl, (client) =>
      client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'tillbook embedded' order by backend_start desc limit 1`),
    )
    await server.stop()
    await administer(other.url, (client) => client.query('select 1'))
    other.child.kill('SIGTERM')
    expect(await other.next()).to.deep.equal({ stopped: true })
  })

  it('recovers what was committed after server and service were killed [OPS-10]', async () => {
    const killed = await hold()
    await administer(killed.url, (client) => client.query('create table survivors as select 1 as id'))
    process.kill((await serverPid())!, 'SIGKILL')
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    const server = await startEmbedded({ dataDir, settings })
    expect(
      (await administer(server.ownerUrl, (client) => client.query('select * from survivors'))).rows,
    ).to.have.length(1)
    await server.stop()
  })

  it('is not misled by a stale lock file whose process id now belongs to another program', async () => {
    const lock = [process.pid, join(dataDir, 'postgres'), 1, 5432, '', '127.0.0.1', '0 0', 'ready   '].join('\n')
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), `${lock}\n`)
    expect(await findEmbedded(dataDir)).to.equal(null)
    const server = await startEmbedded({ dataDir, settings })
    await administer(server.ownerUrl, (client) => client.query('select 1'))
    await server.stop()
  })

  it('does an interrupted initdb again', async () => {
    const interrupted = join(base, 'interrupted')
    await mkdir(interrupted)
    const killed = spawn(process.execPath, ['--import', 'tsx', HOLDER, interrupted], { stdio: 'ignore' })
    await until(async () => (await readdir(interrupted)).some((name) => name.startsWith('postgres.init-')), {
      interval_ms: 1,
    })
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(await readdir(interrupted)).not.to.include('postgres')
    const server = await startEmbedded({ dataDir: interrupted, settings })
    await administer(server.ownerUrl, (client) => client.query('select 1'))
    await server.stop()
  })

  it('finds nothing where there is nothing', async () => {
    expect(await findEmbedded(join(base, 'nowhere'))).to.equal(null)
    expect(await findEmbedded(dataDir)).to.equal(null)
  })

  it('says what stops it when the server cannot start', async () => {
    const failure = await startEmbedded({ dataDir, settings: { fsync: 'perhaps' } }).catch((error) => error)
    expect(failure).to.match(/fsync/)
  })

  it('explains to root that the user for Postgres cannot enter the directory', async function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: only root runs Postgres as another user')
      return this.skip()
    }
    const closed = join(base, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const failure = await startEmbedded({ dataDir: join(closed, 'data') }).catch((error) => error)
    expect(failure).to.match(/may not enter .*closed .*DATA_DIR/)
  })
})
