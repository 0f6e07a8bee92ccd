import { expect } from 'chai'
import { readModel } from '#projections/index.ts'
import { fullReader, presentSource, Reader, type Sight, WHOLE } from '#queries/reader.ts'
import { getRequest } from '#queries/request-queries.ts'
import { OWN_ROLLUPS, OWN_ROWS, RULES, type Rule, ruleOf } from '#queries/tables.ts'
import { useCompany } from '../support/use-api.ts'

const SIGHTS: readonly Partial<Sight>[] = [
  { hidesPersons: true },
  { hidesCosts: true },
  { hidesPayables: true },
  { ownSales: { userId: 1, from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } },
]

describe('rules of tables', () => {
  const { api, company } = useCompany()

  it('are there for all tables of the read model, with their conditions on own sales [ROLE-950] [ROLE-105]', () => {
    const tables = readModel.projections.flatMap((projection) => projection.tables.map(({ name }) => name))
    expect(Object.keys(RULES)).to.include.members(tables)
    for (const [name, condition] of Object.entries(OWN_ROWS)) expect(ruleOf(name).own, name).to.equal(condition)
    for (const [name, rows] of Object.entries(OWN_ROLLUPS)) expect(ruleOf(name).ownRollup, name).to.equal(rows)
  })

  it('know all columns of the tables of which they mask some [ROLE-950]', async () => {
    const masked = Object.entries<Rule>(RULES).flatMap(([name, { persons, contents }]) => {
      const { table } = persons ?? contents ?? {}
      return table ? [{ name, columns: Object.keys(table.columns) }] : []
    })
    expect(masked.length).to.be.above(10)
    for (const { name, columns } of masked) {
      const { rows } = await api.core.pool.query<{ column_name: string }>(
        'select column_name from information_schema.columns where table_name = $1 and table_schema in ($2, $3)',
        [name, 'read', 'ops'],
      )
      expect(columns, name).to.have.members(rows.map(({ column_name }) => column_name))
    }
  })

  it('hide what a refused request sent from every role that does not see all [ROLE-951]', async () => {
    const { headers } = await company.post('/customers', { name: 'Eva', plano: '5.00' })
    const id = headers.get('x-request-id') ?? ''
    // The API flushes the log before it reads it.
    expect((await company.get(`/requests/${id}`)).status).to.equal(200)
    const sent = async (sight: Partial<Sight>) => {
      const reader = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, ...sight })
      return JSON.parse((await getRequest(reader, id)).record ?? '{}')
    }
    expect((await sent({})).body).to.be.an('object')
    for (const sight of SIGHTS) expect((await sent(sight)).body, JSON.stringify(sight)).to.equal(null)
    expect((await sent({ hidesPersons: true })).status).to.equal(422)
    expect(
      JSON.parse((await getRequest(fullReader(api.core.pool, (await api.company()).id), id)).record ?? 'null'),
    ).to.equal(null)
  })
})
