import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { ensureLedger } from '#ledger/ledgers.ts'
import { resolveAbandonedMigrations } from '#sharding/migration/abandoned-migrations.ts'
import { migrateCompany, undoMigration } from '#sharding/migration/migrate-company.ts'
import type { MigratingShard } from '#sharding/migration/migrating-shard.ts'
import { withMoveLock } from '#sharding/migration/migration-lock.ts'
import { MigrationRefused } from '#sharding/migration/migration-refused.ts'
import { MIGRATION_STEPS, type MigrationStep } from '#sharding/migration/migration-steps.ts'
import { type CompanyResidence, readResidence, switchPlacement } from '#sharding/migration/placement-switch.ts'
import { closeWrites } from '#sharding/write-fence.ts'
import { send, type TestCompany } from '../support/api.ts'
import { whileBroken } from '../support/broken-company.ts'
import { rowsOf, tracesOf, useTwoShards } from '../support/migrating.ts'

const fail = (error: unknown) => expect.fail(String(error))

describe('migration of a company', () => {
  const shards = useTwoShards()

  const sale = (cash: number) => ({
    items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
    payments: [{ payment_type_id: cash, amount: '5.00' }],
  })

  /** Company on the default shard with a sale. */
  async function shop(): Promise<{ readonly company: TestCompany; readonly cash: number }> {
    const company = await shards.main.company()
    await shards.register(company.id)
    const cash = await company.paymentType('cash')
    expect((await company.post('/sales', sale(cash))).status).to.equal(201)
    return { company, cash }
  }

  const inSouth = ({ key }: TestCompany, method: string, path: string, body?: unknown, headers = {}) =>
    send(`${shards.south.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}`, ...headers })

  it('moves all data to the other shard, and requests continue there [SHARD-50, SHARD-52, SHARD-53, SHARD-57, SHARD-58]', async () => {
    const { company, cash } = await shop()
    const { from, to } = shards.moving(company.id)
    const kept = ({ dataDir }: MigratingShard) => join(dataDir, 'seals', `company-${company.id}.checkpoints`)
    await mkdir(dirname(kept(from)), { recursive: true })
    await writeFile(kept(from), 'signed')
    const before = await company.get('/sales')
    const first = await company.post('/sales', sale(cash), { 'idempotency-key': 'a' })
    const seen = await company.get(`/sales?updated_since=${before.body.meta.synced_at}`)
    const events = await company.get('/events')
    const report = await migrateCompany(shards.moving(company.id))
    expect(report.refused_ms).to.be.lessThan(2_000)
    expect((await inSouth(company, 'POST', '/sales', sale(cash), { 'idempotency-key': 'a' })).text).to.equal(first.text)
    expect(
      (await inSouth(company, 'GET', `/sales?updated_since=${before.body.meta.synced_at}`)).body.data,
    ).to.deep.equal(seen.body.data)
    expect((await inSouth(company, 'GET', '/events')).body.data).to.deep.equal(events.body.data)
    const next = await inSouth(company, 'POST', '/sales', sale(cash))
    expect(next.body.data.id).to.equal(first.body.data.id + 1)
    expect(await tracesOf(shards.main.databaseUrl, company.id)).to.deep.equal(['left'])
    expect(await tracesOf(shards.south.databaseUrl, company.id)).to.deep.equal([])
    expect(await rowsOf(shards.main.core.pool, company.id)).to.equal(0)
    expect(await readFile(kept(to), 'utf8')).to.equal('signed')
    expect(existsSync(kept(from))).to.equal(false)
  })

  const BEFORE_SWITCH = MIGRATION_STEPS.slice(0, MIGRATION_STEPS.indexOf('switched'))

  /** Migrates up to a step, which fails. */
  const interrupted = (id: number, at: MigrationStep) =>
    migrateCompany(
      shards.moving(id, {
        onStep: async (step) => {
          if (step === at) throw new Error(`broken after ${at}`)
        },
      }),
    )

  it('reopens the company after any failure before the switch, and leaves no trace [SHARD-56]', async () => {
    const { company, cash } = await shop()
    for (const step of ['replicating', 'compared'] as const) {
      await failing(interrupted(company.id, step), step)
      expect((await company.post('/sales', sale(cash))).status, step).to.equal(201)
      await undoMigration(shards.moving(company.id))
      for (const { databaseUrl } of [shards.main, shards.south])
        expect(await tracesOf(databaseUrl, company.id), step).to.deep.equal([])
      expect(await rowsOf(shards.south.core.pool, company.id), step).to.equal(0)
    }
  })

  it('is rolled back by the monitor once its command has ended; a late switch does not happen [SHARD-55, SHARD-56]', async () => {
    const { company } = await shop()
    const { pool } = shards.main.core
    const known = (await readResidence(pool, company.id)) as CompanyResidence
    const main = { pool, name: 'main' }
    await closeWrites(pool, company.id)
    const moving = shards.moving(company.id)
    await withMoveLock(moving, async () => expect(await resolveAbandonedMigrations(main, pool, fail)).to.deep.equal([]))
    expect(await resolveAbandonedMigrations(main, pool, fail)).to.deep.equal([company.id])
    expect(await switchPlacement(pool, company.id, known, 'south')).to.equal(false)
    expect(await tracesOf(shards.main.databaseUrl, company.id)).to.deep.equal([])
  })

  it('is rolled back even if the rollback for another company fails [OPS-143]', async () => {
    const [first, other] = [(await shop()).company, (await shop()).company]
    const { pool } = shards.main.core
    for (const { id } of [first, other]) await closeWrites(pool, id)
    const errors: unknown[] = []
    const opened = await whileBroken(shards.main.databaseUrl, { table: 'ops.ledgers', companyId: first.id }, () =>
      resolveAbandonedMigrations({ pool, name: 'main' }, pool, (error) => errors.push(error)),
    )
    expect([opened, errors.length]).to.deep.equal([[other.id], 1])
    expect(await resolveAbandonedMigrations({ pool, name: 'main' }, pool, fail)).to.deep.equal([first.id])
  })

  it('opens the company on its new shard if the command ended right after the switch [SHARD-56]', async () => {
    const { company, cash } = await shop()
    await failing(interrupted(company.id, 'switched'), 'switched')
    const { pool } = shards.main.core
    expect(await resolveAbandonedMigrations({ pool: shards.south.core.pool, name: 'south' }, pool, fail)).to.deep.equal(
      [company.id],
    )
    expect(await resolveAbandonedMigrations({ pool, name: 'main' }, pool, fail)).to.deep.equal([])
    expect((await inSouth(company, 'POST', '/sales', sale(cash))).status).to.equal(201)
    await migrateCompany(shards.moving(company.id))
    expect(await tracesOf(shards.main.databaseUrl, company.id)).to.deep.equal(['left'])
    expect(await tracesOf(shards.south.databaseUrl, company.id)).to.deep.equal([])
  })

  it('is rolled back without a trace if a copied row differs [SHARD-54]', async () => {
    const { company, cash } = await shop()
    await company.post('/sales', sale(cash), { 'idempotency-key': 'b' })
    const spoil = async (step: MigrationStep) => {
      if (step !== 'verified') return
      const changed = `update ops.idempotent_answers set outcome = 'updated' where company_id = $1`
      expect((await shards.south.core.pool.query(changed, [company.id])).rowCount).to.equal(1)
    }
    expect(await refusalOf(migrateCompany(shards.moving(company.id, { onStep: spoil })))).to.equal('differs')
    expect((await company.post('/sales', sale(cash))).status).to.equal(201)
    for (const { databaseUrl } of [shards.main, shards.south])
      expect(await tracesOf(databaseUrl, company.id)).to.deep.equal([])
    expect(await rowsOf(shards.south.core.pool, company.id)).to.equal(0)
  })

  it('is refused before any change if it is impossible [SHARD-59]', async () => {
    const { company } = await shop()
    const { id } = company
    await withMoveLock(shards.moving(id), async () =>
      expect(await refusalOf(migrateCompany(shards.moving(id)))).to.equal('busy'),
    )
    const south = shards.south.core.pool
    await ensureLedger(south, id)
    expect(await refusalOf(migrateCompany(shards.moving(id)))).to.equal('company')
    await south.query('delete from ops.ledgers where company_id = $1', [id])
    await south.query(`update ops.read_model set version = version || 'x'`)
    expect(await refusalOf(migrateCompany(shards.moving(id)))).to.equal('versions')
    await south.query(`update ops.read_model set version = left(version, -1)`)
    const { from, to } = shards.moving(id)
    expect(await refusalOf(migrateCompany(shards.moving(id, { from: { ...from, owner: from.pool } })))).to.equal(
      'rights',
    )
    expect(await refusalOf(migrateCompany(shards.moving(id, { to: { ...to, owner: to.pool } })))).to.equal('rights')
    expect(await refusalOf(migrateCompany(shards.moving(id + 1_000)))).to.equal('company')
    for (const { databaseUrl } of [shards.main, shards.south]) expect(await tracesOf(databaseUrl, id)).to.deep.equal([])
  })

  it('resumes after an interruption at any step, and completes [SHARD-56]', async () => {
    const { company, cash } = await shop()
    for (const step of BEFORE_SWITCH) {
      await failing(interrupted(company.id, step), step)
      expect((await company.post('/sales', sale(cash))).status, step).to.equal(201)
    }
    const sales = (await company.get('/sales')).body.data
    for (const step of MIGRATION_STEPS.slice(MIGRATION_STEPS.indexOf('switched')))
      await failing(interrupted(company.id, step), step)
    await migrateCompany(shards.moving(company.id))
    expect((await inSouth(company, 'GET', '/sales')).body.data).to.deep.equal(sales)
    expect((await inSouth(company, 'POST', '/sales', sale(cash))).status).to.equal(201)
    expect(await shards.south.core.verifyTables(company.id)).to.deep.include({ differences: [] })
    expect(await tracesOf(shards.south.databaseUrl, company.id)).to.deep.equal([])
    expect(await rowsOf(shards.main.core.pool, company.id)).to.equal(0)
  })
})

const refusalOf = (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error) => (error instanceof MigrationRefused ? error.obstacle : String(error)),
  )

async function failing(work: Promise<unknown>, step: MigrationStep): Promise<void> {
  const error = await work.then(
    () => null,
    (thrown: Error) => thrown,
  )
  expect(error?.message).to.equal(`broken after ${step}`)
}
