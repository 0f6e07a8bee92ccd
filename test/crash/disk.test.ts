import { chmod, mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Client } from 'pg'
import { DEPTH } from '../support/random.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import type { Dice } from './dice.ts'
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts'
import { scenario } from './scenario.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'
import { play, type Surroundings, startSurroundings } from './stage.ts'

const PATIENCE = { timeout_ms: 60_000 }
/** Number of runs; they share one disk. */
const SCENARIOS = 2

describe('full disk of the embedded Postgres [OPS-8]', function () {
  this.timeout(120_000)
  let dataDir: string
  let disk: SmallDisk | string
  let surroundings: Surroundings
  let own: OwnPostgres | undefined

  before(async function () {
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-disk-'))
    await chmod(dataDir, 0o755)
    disk = mountSmallDisk(dataDir, SCENARIOS * DEPTH)
    if (typeof disk === 'string') {
      console.log(`      skipped: ${disk}`)
      return this.skip()
    }
    surroundings = await startSurroundings()
    own = await startOwnPostgres(surroundings.env, dataDir)
  })
  after(async () => {
    const code = await own?.stop()
    await surroundings?.close()
    if (typeof disk !== 'string') disk.unmount()
    await rmdir(dataDir)
    if (own) expect(code).to.equal(0)
  })

  const fill = async (dice: Dice, whileFull: () => Promise<void>) => {
    const [{ databaseUrl, url, ready }, small] = [own as OwnPostgres, disk as SmallDisk]
    await play({ surroundings, databaseUrl, baseUrl: () => url, dice }, async (moment, { caller, hasFailed }) => {
      try {
        await moment(dice.between(20, 100))
        await small.fill()
        const before = caller.unknown()
        await until(() => hasFailed() || caller.unknown() > before + 10, { ...PATIENCE, what: 'a write that waits' })
        await whileFull()
      } finally {
        await small.free()
      }
      await moment(dice.between(20, 60))
    })
    await ready()
    // Shrinks the log, so that many runs do not fill the disk.
    await administer(databaseUrl, (client) => client.query('checkpoint'))
  }

  scenario('delays writes and loses none', (dice) => fill(dice, async () => {}))
  scenario('ends the server, which restarts once there is space', (dice) =>
    fill(dice, async () => {
      const { databaseUrl, notReady } = own as OwnPostgres
      await fillLog(databaseUrl)
      await notReady()
    }),
  )
})

/** Postgres ends if it cannot write its log, and cannot restart before there is space. */
async function fillLog(databaseUrl: string): Promise<void> {
  await until(() => administer(databaseUrl, endLog).then(() => false, isGone), {
    ...PATIENCE,
    what: 'the end of the server',
  })
}

async function endLog(client: Client): Promise<void> {
  client.on('error', () => {})
  // Writes to the log only.
  await client.query(`select pg_logical_emit_message(false, 'crash', 'full')`)
  await client.query('select pg_switch_wal()')
}

/** Not an error about missing space. */
const isGone = (error: { code?: string }): boolean => !error.code?.startsWith('53')
