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
/** They share one disk. */
const SCENARIOS = 2

describe('a disk of the embedded Postgres that is full [OPS-8]', function () {
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
    // What the log has grown to is given back, or many runs would fill the disk by themselves.
    await administer(databaseUrl, (client) => client.query('checkpoint'))
  }

  scenario('makes writes wait, and loses none', (dice) => fill(dice, async () => {}))
  scenario('costs the server its life, which comes back when there is room', (dice) =>
    fill(dice, async () => {
      const { databaseUrl, notReady } = own as OwnPostgres
      await fillLog(databaseUrl)
      await notReady()
    }),
  )
})

/** Where Postgres finds no room for its log, it ends, and cannot come back before there is some. */
async function fillLog(databaseUrl: string): Promise<void> {
  await until(() => administer(databaseUrl, endLog).then(() => false, isGone), {
    ...PATIENCE,
    what: 'the end of the server',
  })
}

async function endLog(client: Client): Promise<void> {
  client.on('error', () => {})
  // Writes to the log and nowhere else.
  await client.query(`select pg_logical_emit_message(false, 'crash', 'full')`)
  await client.query('select pg_switch_wal()')
}

/** Other than a statement that found no room. */
const isGone = (error: { code?: string }): boolean => !error.code?.startsWith('53')
