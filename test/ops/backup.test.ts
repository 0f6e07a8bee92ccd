import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { findEmbedded, stopLeftOver } from '../support/find-embedded.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { type Service, startService } from '../support/process.ts'
import { administer, onDatabase } from '../support/server.ts'
import { snippetsOf } from '../support/snippets.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type Belongings, expectBelongings, gather, printed, sell } from './belongings.ts'
import { contentsOf } from './contents.ts'
import { accountForPostgres, type SystemPostgres, startSystemPostgres } from './system-postgres.ts'

const run = promisify(execFile)

const snippets = snippetsOf('docs/operations/backup-and-restore.md').concat(snippetsOf('docs/operations/install.md'))
const STARTING = { timeout_ms: 120_000 }
const CALM = { SEED_DEMO: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', QUOTA_PER_MINUTE: '100000', LOG_LEVEL: 'warn' }

/** Commands of a named block in docs/operations. */
function script(name: string): string {
  const found = snippets.find(({ file }) => file === name)
  if (!found) throw new Error(`docs/operations has no ${name}`)
  return found.text
}

/** As documented, without the time. */
const RESTORED = ['restored', '--reason', 'disk lost'] as const

/** Asserts complete ledgers, seals that still verify, and tables that equal a replay. */
async function expectWhole(env: Record<string, string>, seals: string, publicKey: string): Promise<void> {
  await printed(env, 'ledger', 'verify', '--checkpoint', seals, '--public-key', publicKey)
  const { parity } = JSON.parse(await printed(env, 'projections', 'rebuild', '--json'))
  expect(parity).to.have.length.above(10)
  for (const { table, equal } of parity) expect(equal, table).to.equal(true)
}

describe('backup and restore as documented in docs/operations', function () {
  // Nine processes, one after the other.
  this.timeout(480_000)
  let base: string
  let dataDir: string
  let receiver: Receiver
  let service: Service | undefined
  let workplace: Workplace | undefined

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'tillbook-backup-'))
    await chmod(base, 0o755)
    dataDir = join(base, 'data')
    receiver = await startReceiver()
  })
  afterEach(async () => {
    await service?.stop()
    service = undefined
    await workplace?.close()
    workplace = undefined
    await receiver.close()
    await rm(base, { recursive: true })
  })

  /** Seals of all ledgers and their public key, stored outside of the service. */
  async function seal(env: Record<string, string>) {
    const [seals, publicKey] = [join(base, 'seals.json'), join(base, 'auditor.pem')]
    await writeFile(seals, await printed(env, 'ledger', 'seal', '--all'))
    await writeFile(publicKey, await printed(env, 'ledger', 'public-key'))
    return { seals, publicKey }
  }

  it('of the embedded Postgres: the whole DATA_DIR, while the service is stopped [OPS-13]', async () => {
    const RESTORED_DATA_DIR = join(base, 'restored')
    // The master key is in DATA_DIR.
    const made = { DATA_DIR: dataDir, MASTER_KEY: '' }
    service = await startService({ ...CALM, ...made }, STARTING)
    const belongings = await gather(service.url, made, receiver)
    const { seals, publicKey } = await seal(made)
    const before = await contentsOf((await findEmbedded(dataDir)) ?? '')
    expect(await service.stop()).to.equal(0)

    workplace = await openWorkplace({ DATA_DIR: dataDir, RESTORED_DATA_DIR })
    await workplace.bash(script('back-up-data-dir'))
    await workplace.bash(script('back-up-master-key'))
    await rm(dataDir, { recursive: true })
    await workplace.bash(script('restore-data-dir'))

    try {
      const env = { DATA_DIR: RESTORED_DATA_DIR, MASTER_KEY: '' }
      // Without the demonstration shop, which would add what its tills sold since.
      service = await startService({ ...CALM, ...env, SEED_DEMO: 'false' }, STARTING)
      expect(await contentsOf((await findEmbedded(RESTORED_DATA_DIR)) ?? '')).to.deep.equal(before)
      expect(await printed(env, 'ledger', 'public-key')).to.equal(await readFile(publicKey, 'utf8'))
      await expectBelongings(service.url, belongings, receiver)
      await expectWhole(env, seals, publicKey)
    } finally {
      await service?.stop()
      await stopLeftOver(RESTORED_DATA_DIR)
    }
  })

  /** The two addresses of a database as installed with two roles. */
  function addressesAt(server: SystemPostgres, database: string) {
    const of = (role: string) => onDatabase(server.url.replace('//tillbook@', `//${role}@`), database)
    return { DATABASE_URL: of('tillbook_service'), DATABASE_OWNER_URL: of('tillbook_owner') }
  }

  /** Creates both roles and the database, and starts a service that does not know the owner's role. */
  async function startInstallation(server: SystemPostgres, addresses: ReturnType<typeof addressesAt>) {
    workplace = await openWorkplace({
      PATH: `${server.programs}:${process.env.PATH}`,
      SERVER_URL: server.url,
      ...addresses,
      RESTORED_OWNER_URL: addressesAt(server, 'tillbook_restored').DATABASE_OWNER_URL,
    })
    await writeFile(join(workplace.directory, 'roles.sql'), script('two-roles'))
    await workplace.bash('psql --quiet --set=ON_ERROR_STOP=1 --file=roles.sql "$SERVER_URL"')
    await mkdir(dataDir)
    const env = { DATABASE_URL: addresses.DATABASE_URL, DATA_DIR: dataDir }
    const prepared = JSON.parse(await printed({ ...env, ...addresses }, 'database', 'prepare', '--json'))
    expect(prepared).to.deep.equal({ role: 'tillbook_service', excess: '' })
    service = await startService({ ...CALM, ...env }, STARTING)
    return env
  }

  /** Asserts that a service refuses writes until the restore is recorded, and then works as before. */
  async function expectRestored(env: Record<string, string> & { DATA_DIR: string }, lostAfter: string, made: Made) {
    service = await startService({ ...CALM, ...env }, STARTING)
    const { url } = service
    const health = `${url}/health/ready`
    expect(await (await fetch(health)).json()).to.include({ status: 'ready', installation: 'behind' })
    const { belongings, seals, publicKey } = made
    const refused = await sell(url, belongings.company, belongings.sale.body, 'antes da hora').catch(String)
    expect(JSON.stringify(refused)).to.include('restore_unconfirmed')
    await printed(env, ...RESTORED, '--lost-after', lostAfter)
    await until(async () => (await (await fetch(health)).json()).installation === undefined, { timeout_ms: 30_000 })
    await expectBelongings(url, belongings, receiver)
    await expectWhole(env, seals, publicKey)
  }

  describe('of an external Postgres', () => {
    let server: SystemPostgres | string

    before(async function () {
      server = await startSystemPostgres()
      if (typeof server !== 'string') return
      console.log(`      skipped: ${server}`)
      this.skip()
    })
    after(async () => {
      if (typeof server !== 'string') await server?.stop()
    })

    it('restores a dump that was taken while the service sold [OPS-13] [OPS-103]', async () => {
      const [original, copy] = ['tillbook', 'tillbook_restored'].map((name) =>
        addressesAt(server as SystemPostgres, name),
      ) as [ReturnType<typeof addressesAt>, ReturnType<typeof addressesAt>]
      const env = await startInstallation(server as SystemPostgres, original)
      const { url } = service as Service
      const belongings = await gather(url, env, receiver)
      const made = { belongings, ...(await seal(env)) }
      const before = await contentsOf(original.DATABASE_OWNER_URL)
      await workplace?.bash(script('back-up-database'))
      await sell(url, belongings.company, belongings.sale.body, 'depois da copia')
      expect(await service?.stop()).to.equal(0)

      await workplace?.bash(script('restore-database'))
      expect(await contentsOf(copy.DATABASE_OWNER_URL)).to.deep.equal(before)
      const restored = { DATABASE_URL: copy.DATABASE_URL, DATA_DIR: dataDir }
      await printed({ ...restored, ...copy }, 'database', 'prepare')
      await expectRestored(restored, new Date().toISOString(), made)
    })
  })

  describe('to a point in time', () => {
    let server: SystemPostgres | string
    let archive: string

    before(async function () {
      const version = await run('pgbackrest', ['version']).catch(() => null)
      archive = await mkdtemp(join(tmpdir(), 'tillbook-archive-'))
      const config = join(archive, 'pgbackrest.conf')
      const settings = script('archive').match(/archive_\w+ = .+/g) ?? []
      const flags = settings.map((each) => `-c "${each.replace(';', '').replace(' = ', '=').replaceAll("'", '')}"`)
      server = version
        ? await startSystemPostgres({ PGBACKREST_CONFIG: config }, ['-c fsync=off', ...flags].join(' '))
        : 'pgBackRest is not installed'
      if (typeof server === 'string') {
        console.log(`      skipped: ${server}`)
        return this.skip()
      }
      // The paths of the page are Debian's.
      const configured = script('pgbackrest.conf')
        .replace('/var/lib/pgbackrest', join(archive, 'repo'))
        .replace('/var/lib/postgresql/18/main', server.data)
        .replace('5432', String(server.port))
      const local = `log-path=${archive}\nlock-path=${archive}\nspool-path=${archive}\npg1-user=tillbook\npg1-socket-path=${dirname(server.data)}\n`
      await writeFile(config, configured + local)
      const owner = await accountForPostgres()
      if (owner) await chown(archive, owner.uid, owner.gid)
    })
    after(async () => {
      if (typeof server !== 'string') await server?.stop()
      await rm(archive, { recursive: true, force: true })
    })

    it('by pgBackRest: everything before the moment is there, and nothing after it [OPS-980]', async () => {
      const postgres = server as SystemPostgres
      const addresses = addressesAt(postgres, 'tillbook')
      await postgres.bash(script('begin-archive'))
      const env = await startInstallation(postgres, addresses)
      const { url } = service as Service
      const belongings = await gather(url, env, receiver)
      const made = { belongings, ...(await seal(env)) }
      await postgres.bash(script('back-up-daily'))
      await sell(url, belongings.company, belongings.sale.body, 'depois da copia')
      const before = await contentsOf(addresses.DATABASE_OWNER_URL)
      const RESTORE_TO = new Date().toISOString()
      await sell(url, belongings.company, belongings.sale.body, 'depois do momento')
      expect(await service?.stop()).to.equal(0)

      await postgres.shutDown()
      await postgres.bash(`RESTORE_TO=${RESTORE_TO}\n${script('restore-to-a-moment')}`)
      await postgres.startAgain()
      await untilWritable(addresses.DATABASE_OWNER_URL)
      expect(await contentsOf(addresses.DATABASE_OWNER_URL)).to.deep.equal(before)
      await expectRestored(env, RESTORE_TO, made)
    })
  })
})

/** Belongings of a service and the seals of its ledgers. */
interface Made {
  readonly belongings: Belongings
  readonly seals: string
  readonly publicKey: string
}

/** A restored server answers reads while it still recovers. */
const untilWritable = (url: string) =>
  until(
    () =>
      administer(url, async (client) => {
        const { rows } = await client.query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers')
        return rows[0]?.recovers === false
      }),
    { timeout_ms: 60_000, what: 'the end of the recovery' },
  )
