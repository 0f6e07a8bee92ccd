import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readConfig } from '#config/config.ts'
import { attestorNames } from '#integrity/attestor-settings.ts'
import { createProofServices } from '#integrity/sale-receipts.ts'
import { createErasureList } from '#privacy/erasure-list.ts'
import { createMetrics, type Metrics } from '#service/metrics.ts'
import { type RunningRole, type SharedServices, startDispatcher, startProjector } from '#service/process-roles.ts'
import { noProvider } from '../../support/provider.ts'
import { useApi } from '../../support/use-api.ts'

/** Statements that only gauges run, by a part of their text, and the gauges that show their result. */
const STATEMENTS = {
  'from ops.checkpoint_faults': ['checkpoint_faults', 'checkpoint_run_age_seconds', 'checkpoint_age_seconds'],
  'ops.table_checks where not is_equal': ['tables_unequal_companies', 'tables_check_overdue_seconds'],
  'as oldest_due_seconds': ['deliveries_pending', 'deliveries_oldest_due_seconds'],
  'left join ops.attestors': ['attestor_token_age_seconds', 'attestor_waiting_seconds', 'attestor_failures'],
}

describe('scrape of the metrics of background roles', () => {
  const api = useApi()
  const counts = new Map<string, number>()
  let directory: string
  let metrics: Metrics
  let roles: RunningRole[]
  let restore: () => void

  before('start the roles on a pool that counts statements', async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-scrape-'))
    const { pool, sealing } = api.core
    const query = pool.query
    const counting = (...given: unknown[]) => {
      const [asked] = given as [string | { text: string }]
      const text = typeof asked === 'string' ? asked : asked.text
      for (const part of Object.keys(STATEMENTS)) if (text.includes(part)) counts.set(part, (counts.get(part) ?? 0) + 1)
      return Reflect.apply(query, pool, given)
    }
    pool.query = counting as typeof query
    restore = () => {
      pool.query = query
    }
    const config = { ...readConfig({}), SEAL_PUSH_FOLDER: directory }
    metrics = createMetrics()
    const shared = {
      config,
      core: { ...api.core, proof: createProofServices(pool, { sealing, attestors: attestorNames(config) }) },
      databaseUrl: api.databaseUrl,
      forgottenList: createErasureList({ pool, dataDir: directory, onError: () => {} }),
      provider: noProvider,
      metrics,
      logger: { info() {}, warn() {}, error() {} },
      log() {},
    }
    const services = shared as unknown as SharedServices
    roles = [startProjector(services), startDispatcher(services)]
  })
  after(async () => {
    await Promise.all(roles.map((role) => role.stop()))
    restore()
    await rm(directory, { recursive: true })
  })
  beforeEach(() => counts.clear())

  for (const [part, names] of Object.entries(STATEMENTS))
    it(`runs one statement for ${names.join(', ')} [OPS-19]`, async () => {
      const text = await metrics.read()
      for (const name of names) expect(text).to.include(`# TYPE tillbook_${name} gauge`)
      expect(counts.get(part)).to.equal(1)
      await metrics.read()
      expect(counts.get(part)).to.equal(2)
    })

  it('is shared by concurrent calls, and the next call makes a new one [OPS-19]', async () => {
    const [first, second] = await Promise.all([metrics.read(), metrics.read()])
    expect(first).to.equal(second)
    expect([...counts.values()]).to.deep.equal(Object.keys(STATEMENTS).map(() => 1))
    await metrics.read()
    expect([...counts.values()]).to.deep.equal(Object.keys(STATEMENTS).map(() => 2))
  })
})
