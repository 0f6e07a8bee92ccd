import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { installationSecret } from '#access/installation-secret.ts'
import { createVault } from '#lib/vault.ts'
import { claimDatabase } from '#master-key/belonging.ts'
import { givenKeys, keysInFile, type MasterKeys, WrongMasterKey } from '#master-key/keys.ts'
import { SEALED_COLUMNS } from '#master-key/sealed-columns.ts'
import { migrate } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { masterKeys, openedRows, vault } from '../support/master-key.ts'

const MIGRATIONS = 'src/postgres/migrations'
const others = givenKeys([Buffer.alloc(32, 1)], 'MASTER_KEY')

describe('the master key of a database', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool
  let folder: string
  const claim = (keys: MasterKeys, made: string[] = []) =>
    claimDatabase({ pool, keys, onMade: (source) => made.push(source) })
  const refusalOf = (keys: MasterKeys) =>
    claim(keys).then(
      () => expect.fail('it was taken'),
      (error: Error) => error,
    )

  before(async () => {
    pool = createPool(database.url, { max: 4 })
    folder = await mkdtemp(join(tmpdir(), 'tillbook-keys-'))
  })
  after(async () => {
    await pool.end()
    await rm(folder, { recursive: true })
  })

  it('is asked for by its id where another one is given, or none: no new one is made [OPS-71]', async () => {
    await claim(masterKeys)
    const expected = masterKeys.current().id
    const wrong = await refusalOf(others)
    expect(wrong).to.be.instanceOf(WrongMasterKey)
    expect(wrong.message).to.include(expected).and.include(`in MASTER_KEY there is ${others.current().id}`)
    const path = join(folder, 'nowhere', 'master.key')
    expect((await refusalOf(keysInFile(path))).message)
      .to.include(expected)
      .and.include(`in ${path} there is none`)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('may have a successor beside it, but neither alone is enough while both have sealed [OPS-71]', async () => {
    const both = givenKeys([Buffer.alloc(32, 1), Buffer.alloc(32, 'tillbook tests')], 'MASTER_KEY')
    await claim(both)
    // The new one has sealed nothing yet.
    await claim(masterKeys)
    expect((await refusalOf(others)).message).to.include(masterKeys.current().id)
    const sealed = createVault(both).seal(Buffer.from('""'), 'store_secrets/1/1')
    await pool.query(`insert into ops.store_secrets (store_id, company_id, alias, secrets) values (1, 1, 'a', $1)`, [
      sealed,
    ])
    expect((await refusalOf(masterKeys)).message).to.include(`sealed by master key ${others.current().id};`)
    await claim(both)
  })

  it('seals what the database can tell by which key: every such column is known [OPS-72]', async () => {
    const { rows } = await pool.query(
      `select table_name from information_schema.columns where table_schema = 'ops' and column_name = 'master_key_id'`,
    )
    expect(SEALED_COLUMNS.map(({ table }) => table)).to.have.members(rows.map(({ table_name }) => table_name))
    const stale = createVault(givenKeys([Buffer.alloc(32, 9)], 'MASTER_KEY')).seal(
      Buffer.from('""'),
      'store_secrets/1/2',
    )
    const insert = `insert into ops.store_secrets (store_id, company_id, alias, secrets) values (2, 1, 'b', $1)`
    expect(await pool.query(insert, [stale]).catch((error) => error.code)).to.equal('23503')
  })
})

describe('a secret of the installation', () => {
  const database = useDatabase('withoutReadModel')

  it('is made by the first that asks for it, sealed, and the same for all [OPS-72]', async () => {
    const pool = createPool(database.url, { max: 4 })
    try {
      await pool.query('delete from ops.installation_secrets')
      const asking = Array.from({ length: 4 }, () => installationSecret(pool, vault, 'request_hashes'))
      const [first, ...others] = (await Promise.all(asking)).map((secret) => secret.toString('base64'))
      expect(new Set(others)).to.deep.equal(new Set([first]))
      expect(await openedRows(pool, 'installation_secrets')).to.deep.equal([{ name: 'request_hashes', secret: first }])
    } finally {
      await pool.end()
    }
  })
})

describe('a database of 0.1', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool
  let folder: string

  before(async () => {
    pool = createPool(database.url, { max: 8 })
    folder = await mkdtemp(join(tmpdir(), 'tillbook-former-'))
    await pool.query('drop schema ops cascade; drop schema ledger cascade')
    for (const name of await readdir(MIGRATIONS)) if (name < '033') await cp(join(MIGRATIONS, name), join(folder, name))
  })
  after(async () => {
    await pool.end()
    await rm(folder, { recursive: true })
  })

  it('has its secrets sealed by the first start, once, whoever starts with it, and in no row in clear [OPS-72]', async () => {
    await migrate(database.url, { folder, log: () => {} })
    await pool.query(
      `insert into ops.webhook_secrets values (1, 7, 'whsec_first', null, null), (1, 8, '', null, null),
         (2, 9, 'whsec_second', 'whsec_third', '2026-03-11T00:00:00Z')`,
    )
    await pool.query(
      `insert into ops.store_secrets values (3, 1, 'padaria', 'APP_USR-token', 'segredo-da-loja'), (4, 1, 'banca', null, null)`,
    )
    const { rows } = await pool.query('select secret from ops.installation_secrets')
    await migrate(database.url, { log: () => {} })

    const made: string[] = []
    const path = join(folder, 'data', 'master.key')
    const starting = Array.from({ length: 5 }, () => keysInFile(path))
    await Promise.all(starting.map((keys) => claimDatabase({ pool, keys, onMade: (source) => made.push(source) })))
    expect(made).to.deep.equal([path])

    const ownVault = createVault(keysInFile(path))
    expect(await openedRows(pool, 'webhook_secrets', ownVault)).to.deep.equal([
      { company_id: 1, webhook_id: 7, secrets: { secret: 'whsec_first', next_secret: null }, switch_at: null },
      { company_id: 1, webhook_id: 8, secrets: null, switch_at: null },
      {
        company_id: 2,
        webhook_id: 9,
        secrets: { secret: 'whsec_second', next_secret: 'whsec_third' },
        switch_at: '2026-03-11T00:00:00.000Z',
      },
    ])
    expect(await openedRows(pool, 'store_secrets', ownVault)).to.deep.equal([
      {
        store_id: 3,
        company_id: 1,
        alias: 'padaria',
        secrets: { access_token: 'APP_USR-token', notification_secret: 'segredo-da-loja' },
      },
      { store_id: 4, company_id: 1, alias: 'banca', secrets: { access_token: null, notification_secret: null } },
    ])
    const secret = rows[0].secret.toString('base64')
    expect(await openedRows(pool, 'installation_secrets', ownVault)).to.deep.equal([{ name: 'request_hashes', secret }])
    const everything = await everythingIn(pool)
    for (const clear of ['whsec_', 'APP_USR', 'segredo'])
      for (const encoding of ['utf8', 'hex', 'base64'] as const)
        expect(everything, clear).not.to.include(Buffer.from(clear).toString(encoding).replace(/=+$/, ''))
    for (const text of [secret, rows[0].secret.toString('hex')]) expect(everything).not.to.include(text)
  })
})

/** All rows of all tables of `ops`, as text. */
async function everythingIn(pool: Pool): Promise<string> {
  const { rows } = await pool.query(`select tablename from pg_tables where schemaname = 'ops'`)
  const texts = rows.map(({ tablename }) =>
    pool.query(`select string_agg(t::text, ',') as text from ops.${tablename} t`),
  )
  return (await Promise.all(texts)).map((found) => found.rows[0].text ?? '').join('\n')
}
