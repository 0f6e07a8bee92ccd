import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { stopLeftOver } from '#postgres/embedded.ts'
import { findEmbedded } from '../support/find-embedded.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { type Service, startService } from '../support/process.ts'
import { onDatabase } from '../support/server.ts'
import { snippetsOf } from '../support/snippets.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { expectAtHome, gather, printed, sell } from './belongings.ts'
import { contentsOf } from './contents.ts'
import { type SystemPostgres, startSystemPostgres } from './system-postgres.ts'

const snippets = snippetsOf('docs/operations.md')
const STARTING = { timeout_ms: 120_000 }
const CALM = { SEED_DEMO: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', QUOTA_PER_MINUTE: '100000', LOG_LEVEL: 'warn' }

/** The commands of docs/operations.md, under the name that they have there. */
function script(name: string): string {
  const found = snippets.find(({ file }) => file === name)
  if (!found) throw new Error(`docs/operations.md has no ${name}`)
  return found.text
}

/** A whole ledger, seals that still hold, and tables that a replay of the ledgers makes again. */
async function expectWhole(env: Record<string, string>, seals: string, publicKey: string): Promise<void> {
  await printed(env, 'ledger', 'verify', '--checkpoint', seals, '--public-key', publicKey)
  const { parity } = JSON.parse(await printed(env, 'projections', 'rebuild', '--json'))
  expect(parity).to.have.length.above(10)
  for (const { table, equal } of parity) expect(equal, table).to.equal(true)
}

describe('a backup, made and restored as docs/operations.md says', function () {
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
    await receiver.close()
    await rm(base, { recursive: true })
  })

  /** Seals of all ledgers and the key that they are checked with, kept outside of the service. */
  async function seal(env: Record<string, string>) {
    const [seals, publicKey] = [join(base, 'seals.json'), join(base, 'auditor.pem')]
    await writeFile(seals, await printed(env, 'ledger', 'seal', '--all'))
    await writeFile(publicKey, await printed(env, 'ledger', 'public-key'))
    return { seals, publicKey }
  }

  it('of the embedded Postgres: the whole of DATA_DIR, while the service is stopped [OPS-13]', async () => {
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
      service = await startService({ ...CALM, ...env }, STARTING)
      expect(await contentsOf((await findEmbedded(RESTORED_DATA_DIR)) ?? '')).to.deep.equal(before)
      expect(await printed(env, 'ledger', 'public-key')).to.equal(await readFile(publicKey, 'utf8'))
      await expectAtHome(service.url, belongings, receiver)
      await expectWhole(env, seals, publicKey)
    } finally {
      await service?.stop()
      await until(() => stopLeftOver(RESTORED_DATA_DIR))
    }
  })

  describe('of a Postgres of one’s own', () => {
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

    it('a dump that is taken while the service sells [OPS-13]', async () => {
      const { url: SERVER_URL, programs } = server as SystemPostgres
      const [DATABASE_URL, RESTORED_URL] = [
        onDatabase(SERVER_URL, 'tillbook'),
        onDatabase(SERVER_URL, 'tillbook_restored'),
      ]
      workplace = await openWorkplace({
        PATH: `${programs}:${process.env.PATH}`,
        SERVER_URL,
        DATABASE_URL,
        RESTORED_URL,
      })
      await workplace.bash('createdb --maintenance-db="$SERVER_URL" tillbook')
      await mkdir(dataDir)
      const env = { DATABASE_URL, DATA_DIR: dataDir }
      service = await startService({ ...CALM, ...env }, STARTING)
      const { url } = service
      const belongings = await gather(url, env, receiver)
      const { seals, publicKey } = await seal(env)
      const before = await contentsOf(DATABASE_URL)
      await workplace.bash(script('back-up-database'))
      await sell(url, belongings.company, belongings.sale.body, 'depois da copia')
      expect(await service.stop()).to.equal(0)

      await workplace.bash(script('restore-database'))
      expect(await contentsOf(RESTORED_URL)).to.deep.equal(before)
      const restored = { DATABASE_URL: RESTORED_URL, DATA_DIR: dataDir }
      service = await startService({ ...CALM, ...restored }, STARTING)
      await expectAtHome(service.url, belongings, receiver)
      await expectWhole(restored, seals, publicKey)
    })
  })
})
