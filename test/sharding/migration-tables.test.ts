import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import pg from 'pg'
import { carriedTables, TABLES_LEFT } from '#sharding/migration/carried-tables.ts'
import { useDatabase } from '../support/database.ts'

describe('tables of a company under migration', () => {
  const database = useDatabase()
  let tables: readonly Table[]

  interface Table {
    readonly name: string
    readonly columns: readonly string[]
    /** Columns of the old row that replication sends. */
    readonly identity: readonly string[]
  }

  before('look at all tables', async () => {
    const client = new pg.Client({ connectionString: database.ownerUrl })
    await client.connect()
    const { rows } = await client.query<Table>(
      `select n.nspname || '.' || c.relname as name, array_agg(a.attname::text) as columns,
         array_agg(a.attname::text) filter (where c.relreplident = 'f' or a.attnum = any(i.indkey)) as identity
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_index i on i.indrelid = c.oid
         and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident else false end
       where n.nspname in ('ops', 'ledger') and c.relkind = 'r' group by 1`,
    )
    tables = rows
    await client.end()
  })

  it('are all listed, each as either copied or left behind [SHARD-51]', () => {
    const carried = carriedTables({ transactional: true }).map(({ name }) => name)
    const known = [...carried, ...Object.keys(TABLES_LEFT)]
    expect(new Set(known).size).to.equal(known.length)
    expect(tables.map(({ name }) => name).filter((name) => !known.includes(name))).to.deep.equal([])
  })

  it('identify the company of a changed or deleted row [SHARD-51]', () => {
    for (const { name, of } of carriedTables({ transactional: true })) {
      const [column] = of('7').split(' ')
      expect(tables.find((table) => table.name === name)?.identity, name).to.include(column)
    }
  })

  it('are copied if they have a company column', () => {
    const ofCompanies = tables.filter(({ columns }) => columns.includes('company_id')).map(({ name }) => name)
    const left = ofCompanies.filter((name) => name in TABLES_LEFT)
    expect(left.sort()).to.deep.equal([
      'ops.company_shards',
      'ops.demo_companies',
      'ops.directory_entries',
      'ops.imports',
      'ops.installation_entries',
      'ops.ledgers',
      'ops.moves',
      'ops.panel_calls',
      'ops.password_links',
    ])
  })
})
