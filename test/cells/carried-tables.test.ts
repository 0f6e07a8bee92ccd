import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import pg from 'pg'
import { type CarriedTable, CREDENTIALS, carriedTables, LEFT_TABLES, LOGIN_TABLES } from '#cells/company-file.ts'
import { useDatabase } from '../support/database.ts'

/** Tables of `ops` without a company's rows, or whose rows are derived from the ledger: none of them travels. */
const OF_NO_COMPANY = [
  'attestors',
  'checkpoint_tokens',
  'subscription_checkpoints',
  'installation',
  'installation_checkpoints',
  'installation_secrets',
  'login_failures',
  'login_origins',
  'master_keys',
  'migrations',
  'read_model',
  'checkpoint_keys',
  'checkpoint_runs',
  'second_steps',
  'unverified_notifications',
  'tree_tiles',
  'trees',
]

describe('tables of a company that leaves its installation', () => {
  const database = useDatabase()
  let carried: readonly CarriedTable[]
  let tables: readonly { readonly name: string; readonly columns: readonly string[] }[]

  before('look at all tables', async () => {
    const client = new pg.Client({ connectionString: database.ownerUrl })
    await client.connect()
    carried = await carriedTables(client)
    const { rows } = await client.query<(typeof tables)[0]>(
      `select relname as name, array_agg(a.attname::text) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where relnamespace = 'ops'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition group by 1`,
    )
    tables = rows
    await client.end()
  })

  it('are carried, left behind with a reason, or of no company: a new one is one of them [CELL-1]', () => {
    const known = [
      ...carried.map(({ name }) => name.replace('ops.', '')),
      ...Object.keys(LEFT_TABLES),
      ...OF_NO_COMPANY,
    ]
    expect(tables.map(({ name }) => name).sort()).to.deep.equal(known.sort())
  })

  it('name the company in each row, or are logins by e-mail [CELL-1]', () => {
    const withCompany = tables.filter(({ columns }) => columns.includes('company_id')).map(({ name }) => name)
    for (const name of [...Object.keys(LEFT_TABLES), ...CREDENTIALS]) expect(withCompany).to.include(name)
    for (const name of LOGIN_TABLES) expect(tables.find((table) => table.name === name)?.columns).to.include('email')

    expect(carried.slice(0, 4).map(({ name }) => name)).to.deep.equal(LOGIN_TABLES.map((name) => `ops.${name}`))
  })

  it('have a key to order rows by; those with ids of the installation and of its owner are told [CELL-1]', () => {
    for (const { name, key } of carried) expect(key, name).not.to.deep.equal([])
    const names = (which: (table: CarriedTable) => boolean) => carried.filter(which).map(({ name }) => name)
    expect(names(({ isCounted }) => isCounted)).to.deep.equal([
      'ops.downloads',
      'ops.payment_notifications',
      'ops.refused_sales',
    ])
    expect(names(({ isAppendOnly }) => isAppendOnly)).to.deep.equal(['ops.ledger_checkpoints', 'ops.restored_ledgers'])
  })
})
