import { expect } from 'chai'
import { SEED, TITLE } from '../support/random.ts'
import { useApi } from '../support/use-api.ts'
import { numbersOf, runCarelessly } from './careless-client.ts'

describe(`careless client of /mcp (${TITLE})`, function () {
  this.timeout(0)
  const api = useApi()

  it('has each effect once, none lost, none beyond its scopes and limits [AGENT-1222]', async () => {
    const run = await runCarelessly(api, 250, numbersOf(SEED))
    expect(run.dropped).to.be.above(run.calls / 10)
    expect(run.done).to.be.above(run.calls / 10)
    expect([...run.refused.keys()]).to.include.members(['amount_limit', 'insufficient_scope', 'validation_failed'])
  })
})
