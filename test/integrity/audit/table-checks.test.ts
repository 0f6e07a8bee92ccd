import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { checkTables, checkTablesOnSchedule, findTableCheck, tableCheckFigures } from '#integrity/table-checks.ts'
import { createMetrics } from '#service/metrics.ts'
import type { Json } from '../../support/api.ts'
import { contextOf } from '../../support/context.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'

describe('verification of tables against ledgers', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  const item = async (price: string) =>
    (await company.post('/catalog/items', { name: 'Café', price, stock: '5' })).body.data.id as number
  /** Changes a price in the database, bypassing the ledger. */
  const falsify = (id: number) =>
    api.core.pool.query(`update read.catalog_items set doc = replace(doc::text, '10.00', '1.00')::json where id = $1`, [
      id,
    ])
  const differences = (id: number) => [{ table: 'catalog_items', key: { id }, found: 'changed', fields: ['doc.price'] }]

  async function words(...given: string[]): Promise<{ result: Json; isBad: boolean | undefined }> {
    const { name, values } = parseCommandLine(given)
    const verb = await load(name)
    const context = contextOf(api.core)
    const result = (await verb.run(context, values as Parameters<typeof verb.run>[1])) as Json
    return { result, isBad: verb.isBad?.(result) }
  }

  it('finds a falsified price on the command line, exits with 1, and a rebuild repairs it [OPS-45, OPS-47]', async () => {
    const id = await item('10.00')
    const verify = () => words('projections', 'verify', String(company.id))
    expect(await verify()).to.deep.include({ isBad: false })
    await falsify(id)
    const { result, isBad } = await verify()
    expect(result).to.deep.include({ company_id: company.id, equal: false, differences: differences(id) })
    expect(JSON.stringify(result)).not.to.include('1.00')
    expect(isBad).to.equal(true)
    const all = await words('projections', 'verify')
    expect(all.isBad).to.equal(true)
    expect((all.result as Json[]).filter(({ equal }) => !equal).map(({ company_id }) => company_id)).to.deep.equal([
      company.id,
    ])
    await words('projections', 'rebuild')
    expect(await verify()).to.deep.include({ isBad: false })
  })

  it('checks each company in turn; differences are logged and checked again [OPS-46, OPS-47]', async () => {
    const id = await item('10.00')
    const other = await api.company()
    await falsify(id)
    // A company with a failing check must not stop the checks of others.
    const broken = await api.company()
    await api.core.pool.query('update ops.ledgers set revision = 99 where company_id = $1', [broken.id])
    const metrics = createMetrics()
    metrics.gauge('unequal', 'as the projector shows it', async () => (await tableCheckFigures(api.core.pool)).unequal)
    const told: unknown[] = []
    const failures: string[] = []
    const checks = checkTablesOnSchedule(api.core, {
      isBehind: () => false,
      onDifferent: (companyId, _revision, found) => told.push([companyId, found]),
      onError: (error) => failures.push((error as Error).message),
      rest_ms: () => 0,
    })
    await until(async () => (await findTableCheck(api.core.pool, other.id)) !== null && failures.length > 0)
    await checks.stop()
    expect(told).to.deep.equal([[company.id, differences(id)]])
    expect(failures).to.deep.equal([`the ledger of company ${broken.id} ends before its tables do`])
    expect(await metrics.read()).to.include('unequal 1')
    const { rows } = await api.core.pool.query(
      `select company_id, round(extract(epoch from due_at - clock_timestamp()) / 3600)::int as hours from ops.table_checks
       where company_id = any($1) order by 1`,
      [[company.id, other.id, broken.id]],
    )
    expect(rows.map(({ hours }) => hours)).to.deep.equal([1, 20, 1])
    await api.core.pool.query('update ops.ledgers set revision = 2 where company_id = $1', [broken.id])
    await api.core.rebuild()
    await checkTables(api.core, company.id)
    expect(await tableCheckFigures(api.core.pool)).to.deep.equal({ unequal: 0, overdue_seconds: 0 })
  })

  it('compares nothing while the read model is behind, and ends its pause with the process [OPS-46]', async () => {
    await item('10.00')
    let isBehind = true
    let asked = 0
    let rests = 0
    const checks = checkTablesOnSchedule(api.core, {
      isBehind: () => {
        asked += 1
        return isBehind
      },
      onDifferent: () => {},
      onError: (error) => expect.fail(String(error)),
      rest_ms: () => {
        rests += 1
        return 60_000
      },
    })
    await until(async () => asked > 0)
    expect(rests).to.equal(0)
    isBehind = false
    checks.now()
    await until(async () => rests > 0)
    await checks.stop()
    expect(await findTableCheck(api.core.pool, company.id)).to.equal(null)
  })
})
