import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import pg from 'pg'
import { CARRIED, LEDGER, OF_PERSONS, TABLES_LEFT } from '#cells/carried-tables.ts'
import { useDatabase } from '../support/database.ts'

const ALL = [LEDGER, ...CARRIED, ...OF_PERSONS]

describe('tables of a company that leaves its installation', () => {
  const database = useDatabase()
  let tables: readonly Table[]

  interface Table {
    readonly name: string
    readonly columns: readonly string[]
  }

  before('look at all tables', async () => {
    const client = new pg.Client({ connectionString: database.ownerUrl })
    await client.connect()
    const { rows } = await client.query<Table>(
      `select n.nspname || '.' || c.relname as name, array_agg(a.attname::text) as columns
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where n.nspname in ('ops', 'ledger') and c.relkind in ('r', 'p') and not c.relispartition group by 1`,
    )
    tables = rows
    await client.end()
  })

  it('are all listed, each as either carried or left behind [CELL-1]', () => {
    const carried = ALL.map(({ name }) => name)
    const known = [...carried, ...Object.keys(TABLES_LEFT)]
    expect(new Set(known).size).to.equal(known.length)
    expect(tables.map(({ name }) => name).filter((name) => !known.includes(name))).to.deep.equal([])
  })

  it('name the company in each row [CELL-1]', () => {
    for (const { name, of } of ALL) {
      const [column] = of('7').split(' ')
      expect(tables.find((table) => table.name === name)?.columns, name).to.include(column)
    }
  })

  it('are carried if they have a company column [CELL-1]', () => {
    const ofCompanies = tables.filter(({ columns }) => columns.includes('company_id')).map(({ name }) => name)
    const left = ofCompanies.filter((name) => name in TABLES_LEFT)
    expect(left.sort()).to.deep.equal([
      'ops.company_moves',
      'ops.demo_companies',
      'ops.imports',
      'ops.installation_entries',
      'ops.ledgers',
      'ops.panel_calls',
      'ops.sealing_faults',
      'ops.table_checks',
    ])
  })
})
