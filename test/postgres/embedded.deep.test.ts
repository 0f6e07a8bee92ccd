import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { startEmbedded } from '#postgres/embedded.ts'
import { SERVICE_ROLE } from '#postgres/migrate.ts'
import { findEmbedded, serverPid, stopLeftOver } from '../support/find-embedded.ts'
import { testProgramOf } from '../support/program.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const HOLDER = 'test/support/embedded-holder.ts'
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
  /** A service that several cases look at. */
  let owner: Awaited<ReturnType<typeof hold>> | null = null

  afterEach(async () => {
    if (owner) return
    for (const holder of holders.splice(0)) holder.kill('SIGKILL')
    for (const name of await readdir(base)) await stopLeftOver(join(base, name))
  })
  after(() => rm(base, { recursive: true, force: true }))

  /** Another process that uses the server of a data directory, or is refused. */
  async function hold(directory = dataDir, kind: 'service' | 'command' = 'service') {
    const args = [...testProgramOf(HOLDER), directory, kind]
    const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    holders.push(child)
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next()).value ?? '{}')
    const { url = '', refused = '' } = (await next()) as { url?: string; refused?: string }
    return { child, next, url, refused }
  }

  /** The server of a data directory in this process. */
  const start = (kind: 'service' | 'command' = 'service') => startEmbedded({ dataDir, kind, settings })

  async function end({ child, next }: Pick<Awaited<ReturnType<typeof hold>>, 'child' | 'next'>): Promise<void> {
    child.kill('SIGTERM')
    expect(await next()).to.deep.equal({ stopped: true })
  }

  it('creates the cluster at the first start and gives the service its own role [OPS-1] [OPS-103]', async () => {
    const first = await start()
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
    await administer(first.ownerUrl, (client) => client.query(`drop role ${SERVICE_ROLE}`))
    await first.stop()
    expect(await findEmbedded(dataDir)).to.equal(null)

    const second = await start()
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

  it('is durable, on loopback only, with a password for its owner only [OPS-9]', async () => {
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

  it('uses a port outside the ephemeral range, and moves to another one if it is taken', async () => {
    const port = Number(await readFile(join(dataDir, 'postgres-port'), 'utf8'))
    expect(port).to.be.within(20_000, 32_767)
    const squatter = createServer().listen(port, '127.0.0.1')
    await once(squatter, 'listening')
    const server = await start()
    expect(new URL(server.url).port).not.to.equal(String(port))
    await administer(server.ownerUrl, (client) => client.query('select 1'))
    await server.stop()
    squatter.close()
  })

  it('survives a killed owner; the next start takes it over and stops it at the end [OPS-153]', async () => {
    const killed = await hold()
    const pid = await serverPid(dataDir)
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    expect(await findEmbedded(dataDir)).to.equal(killed.url)

    const next = await start()
    expect(next.ownerUrl).to.equal(killed.url)
    expect(await serverPid(dataDir)).to.equal(pid)
    await next.stop()
    expect(await serverPid(dataDir)).to.equal(undefined)
  })

  it('can be taken over and stopped by a command [OPS-153]', async () => {
    const killed = await hold()
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    await (await start('command')).stop()
    expect(await serverPid(dataDir)).to.equal(undefined)
  })

  it('lets the service shut down cleanly if Ctrl-C reaches its whole process group', async () => {
    const service = await hold()
    process.kill(-service.child.pid!, 'SIGINT')
    expect(await service.next()).to.deep.equal({ stopped: true })
    expect(await findEmbedded(dataDir)).to.equal(null)
  })

  it('has one owner if several services start at once on a folder whose initdb was interrupted [OPS-151]', async () => {
    const fresh = join(base, 'fresh')
    await mkdir(fresh)
    const killed = spawn(process.execPath, [...testProgramOf(HOLDER), fresh], { stdio: 'ignore' })
    await until(async () => (await readdir(fresh)).some((name) => name.startsWith('postgres.init-')), {
      interval_ms: 1,
    })
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(await readdir(fresh)).not.to.include('postgres')
    const all = await Promise.all([hold(fresh), hold(fresh)])
    const [first, ...others] = all.filter(({ url }) => url)
    expect(others).to.deep.equal([])
    expect((await readdir(fresh)).filter((name) => name.includes('init'))).to.deep.equal([])
    for (const { refused } of all.filter((one) => one !== first))
      expect(refused).to.include(`process ${first?.child.pid}`)
    await end(first!)
    expect(await serverPid(fresh)).to.equal(undefined)
  })

  for (const kind of ['service', 'command'] as const)
    it(`lets a ${kind} wait for a command that started it [OPS-152]`, async () => {
      const command = await hold(dataDir, 'command')
      const waiting = start(kind)
      const waits = () =>
        administer(command.url, async (client) => {
          const { rowCount } = await client.query(`select from pg_stat_activity where application_name ~ $1`, [
            `^tillbook ${kind} ${process.pid}$`,
          ])
          return rowCount === 1
        })
      await until(waits, { timeout_ms: 30_000, what: 'the second process' })
      await end(command)
      const second = await waiting
      await administer(second.ownerUrl, (client) => client.query('select 1'))
      await second.stop()
      expect(await serverPid(dataDir)).to.equal(undefined)
    })

  describe('with a service', () => {
    let url: string
    let name: string

    before(async () => {
      owner = await hold()
      url = owner.url
      name = `tillbook service ${owner.child.pid}`
    })
    after(async () => {
      const { child, next } = owner!
      owner = null
      await end({ child, next })
    })

    const query = async (sql: string, ...values: readonly string[]) =>
      (await administer(url, (client) => client.query(sql, [...values]))).rows[0]
    /** Process id of the session that owns the server. */
    const session = async (): Promise<number | undefined> =>
      (
        await query(
          `select pid from pg_stat_activity join pg_locks using (pid)
           where locktype = 'advisory' and granted and application_name = $1`,
          name,
        )
      )?.pid

    it('refuses a second one, and reports process, folder and remedy [OPS-151]', async () => {
      const second = await start().catch((error) => error)
      expect(second).to.have.property(
        'message',
        `${await realpath(dataDir)} is in use by a tillbook service (process ${owner?.child.pid}): stop it or wait until it ends, or set another DATA_DIR; several services need a Postgres of your own (DATABASE_URL)`,
      )
      await query('select 1')
    })

    it('serves a command beside it, and keeps running after the command ends [OPS-152]', async () => {
      const command = await start('command')
      expect(command.ownerUrl).to.equal(url)
      await command.stop()
      await query('select 1')
    })

    it('stays with it if it lost only its connection [OPS-151]', async () => {
      const pid = await serverPid(dataDir)
      const lost = await session()
      await query('select pg_terminate_backend($1::int)', String(lost))
      await until(async () => ((await session()) ?? lost) !== lost, { timeout_ms: 30_000 })
      expect(await serverPid(dataDir)).to.equal(pid)
    })

    it('is restarted on its port by it after it was killed [OPS-10]', async () => {
      const killed = (await serverPid(dataDir))!
      process.kill(killed, 'SIGKILL')
      await until(async () => (await session()) !== undefined, { timeout_ms: 30_000 })
      expect(await serverPid(dataDir)).not.to.equal(killed)
    })
  })

  describe('that cannot be restarted', () => {
    const control = () => join(dataDir, 'postgres', 'global', 'pg_control')
    let troubles: string[]
    let givenUp: number

    beforeEach(() => {
      troubles = []
      givenUp = 0
    })
    const startWatched = (restarts?: number) =>
      startEmbedded({
        dataDir,
        settings,
        log: (message) => troubles.push(message),
        onFailure: () => {
          givenUp += 1
        },
        ...(restarts !== undefined && { attempts: { restart: restarts } }),
      })

    it('is retried a limited number of times, then given up once [OPS-10]', async () => {
      const server = await startWatched(3)
      await rename(control(), `${control()}.away`)
      process.kill((await serverPid(dataDir))!, 'SIGKILL')
      await until(() => givenUp > 0, { timeout_ms: 30_000 })
      expect(troubles).to.deep.equal([
        'postgres: embedded server lost, restarting',
        'postgres: restart of the embedded server failed, will retry',
        'postgres: restart of the embedded server failed, will retry',
        'postgres: embedded server given up, stopping',
      ])
      await rename(`${control()}.away`, control())
      await server.stop()
      expect(givenUp).to.equal(1)
    })

    it('is given up if it stops again soon after each restart [OPS-10]', async () => {
      const server = await startWatched(1)
      const killed = new Set<number>()
      await until(
        async () => {
          const pid = await serverPid(dataDir)
          if (pid && !killed.has(pid) && (await findEmbedded(dataDir))) process.kill(killed.add(pid) && pid, 'SIGKILL')
          return givenUp > 0
        },
        { timeout_ms: 30_000 },
      )
      expect(killed).to.have.property('size', 2)
      await server.stop()
      expect(await serverPid(dataDir)).to.equal(undefined)
    })

    it('is not retried once its owner stops', async () => {
      const server = await startWatched()
      await rename(control(), `${control()}.away`)
      process.kill((await serverPid(dataDir))!, 'SIGKILL')
      await until(() => troubles.length > 1, { timeout_ms: 30_000 })
      await server.stop()
      await rename(`${control()}.away`, control())
      expect(await serverPid(dataDir)).to.equal(undefined)
      expect(givenUp).to.equal(0)
    })
  })

  it('recovers committed data after a kill, on another port if its own is taken [OPS-153]', async () => {
    const killed = await hold()
    await administer(killed.url, (client) => client.query('create table survivors as select 1 as id'))
    process.kill((await serverPid(dataDir))!, 'SIGKILL')
    killed.child.kill('SIGKILL')
    await once(killed.child, 'exit')
    const { port } = new URL(killed.url)
    const squatter = createServer()
    await until(
      () =>
        new Promise<boolean>((resolve) => {
          squatter.once('error', () => resolve(false)).listen(Number(port), '127.0.0.1', () => resolve(true))
        }),
    )
    const server = await start()
    expect(new URL(server.url).port).not.to.equal(port)
    const { rows } = await administer(server.ownerUrl, (client) => client.query('select * from survivors'))
    expect(rows).to.have.length(1)
    await server.stop()
    squatter.close()
  })

  it('ignores a stale lock file if its process id now belongs to another program', async () => {
    const lock = [process.pid, join(dataDir, 'postgres'), 1, 5432, '', '127.0.0.1', '0 0', 'ready   '].join('\n')
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), `${lock}\n`)
    expect(await findEmbedded(dataDir)).to.equal(null)
    const server = await start()
    await administer(server.ownerUrl, (client) => client.query('select 1'))
    await server.stop()
  })

  it('finds no server in an empty folder', async () => {
    expect(await findEmbedded(join(base, 'nowhere'))).to.equal(null)
    expect(await findEmbedded(dataDir)).to.equal(null)
  })

  it('reports the reason if the server cannot start', async () => {
    const failure = await startEmbedded({ dataDir, settings: { fsync: 'perhaps' }, attempts: { start: 1 } }).catch(
      (error) => error,
    )
    expect(failure).to.match(/fsync/)
  })

  it('reports a folder that belongs to another user', function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: only root can start another user’s process')
      return this.skip()
    }
    const nobody = { uid: 65_534, gid: 65_534, encoding: 'utf8' } as const
    const { stderr } = spawnSync(process.execPath, [...testProgramOf(HOLDER), dataDir], nobody)
    expect(stderr)
      .to.include(`${join(dataDir, 'postgres')} belongs to another user`)
      .and.to.include('DATA_DIR')
  })

  it('explains to root that the user for Postgres cannot enter the directory', async function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: only root runs Postgres as another user')
      return this.skip()
    }
    const closed = join(base, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const failure = await startEmbedded({ dataDir: join(closed, 'data') }).catch((error) => error)
    expect(failure).to.match(/cannot reach .*closed.*DATA_DIR/)
  })
})
