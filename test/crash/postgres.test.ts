import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { administer } from '../support/server.ts'
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts'
import { scenario } from './scenario.ts'
import { play, type Surroundings, startSurroundings } from './stage.ts'

describe('killed Postgres [OPS-10]', function () {
  this.timeout(120_000)
  let dataDir: string
  let surroundings: Surroundings
  let own: OwnPostgres | undefined

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-crash-'))
    await chmod(dataDir, 0o755)
    surroundings = await startSurroundings()
    own = await startOwnPostgres(surroundings.env, dataDir)
  })
  after(async () => {
    const code = await own?.stop()
    await surroundings.close()
    await rm(dataDir, { recursive: true, force: true })
    expect(code).to.equal(0)
  })

  const drama = (service: OwnPostgres) => ({
    surroundings,
    databaseUrl: service.databaseUrl,
    baseUrl: () => service.url,
  })

  scenario('is restarted by its service without losses', async (dice) => {
    const service = own as OwnPostgres
    const { caller } = await play({ ...drama(service), dice }, async (moment) => {
      for (let kill = 0; kill < 2; kill++) {
        await moment(dice.between(20, 100))
        await service.killServer()
      }
      await moment(dice.between(20, 60))
    })
    expect(caller.unknown()).to.be.above(0)
    await service.ready()
  })

  scenario('restarts itself if only one of its processes is killed', async (dice) => {
    const service = own as OwnPostgres
    await play({ ...drama(service), dice }, async (moment) => {
      await moment(dice.between(20, 100))
      await service.killServer(await aWritersProcess(service.databaseUrl))
      await moment(dice.between(20, 60))
    })
    await service.ready()
  })

  scenario('recovers if the service is killed too, as in a power failure', async (dice) => {
    const service = own as OwnPostgres
    await play({ ...drama(service), dice }, async (moment) => {
      await moment(dice.between(20, 100))
      await Promise.all([service.killServer(), service.killService()])
      await service.startAgain()
      await moment(dice.between(20, 60))
    })
  })
})

/** Postgres restarts all of its processes if one of them is killed. */
function aWritersProcess(databaseUrl: string): Promise<number> {
  return administer(databaseUrl, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'tillbook' order by query_start desc limit 1`,
    )
    return rows[0]!.pid
  })
}
