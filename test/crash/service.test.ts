import { expect } from 'chai'
import { freePort } from '#postgres/embedded.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { type Listeners, startListeners } from './listeners.ts'
import { scenario } from './scenario.ts'
import { play, type Surroundings, startSurroundings } from './stage.ts'

const STARTING = { timeout_ms: 120_000 }

describe('killed service [LEDGER-6, OPS-5, FEED-10, KIT-14]', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let surroundings: Surroundings
  let env: Record<string, string>
  let service: Service | undefined
  let url: string

  before(async () => {
    surroundings = await startSurroundings()
    const port = await freePort(null)
    url = `http://127.0.0.1:${port}`
    env = { ...surroundings.env, DATABASE_URL: database.url, PORT: String(port) }
  })
  beforeEach(async () => {
    service = await startService(env, STARTING)
  })
  afterEach(() => service?.kill())
  after(() => surroundings.close())

  scenario('loses and duplicates nothing, at random moments of the kill', async (dice) => {
    const drama = { surroundings, dice, databaseUrl: database.url, baseUrl: () => url }
    let listeners: Listeners | undefined
    const { caller } = await play(drama, async (moment, { books }) => {
      listeners = await startListeners(url, [...books.keys()])
      for (let kill = 0; kill < 2; kill++) {
        await moment(dice.between(20, 120))
        await service?.kill()
        service = await startService(env, STARTING)
      }
      await moment(dice.between(20, 60))
    })
    expect(caller.unknown()).to.be.above(0)
    await listeners?.expectNothingMissed()
  })
})
