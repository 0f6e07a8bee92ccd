import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { installationSecret } from '#access/credentials.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import { claimDatabase } from '#crypto/master-key-registry.ts'
import { configuredMasterKeys, type MasterKeys, masterKeysInFile, WrongMasterKey } from '#crypto/master-keys.ts'
import { createVault, SEALED_COLUMNS } from '#crypto/vault.ts'
import { createPool } from '#postgres/pool.ts'
import { startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { masterKeys, openedRows, vault } from '../support/master-key.ts'

const others = configuredMasterKeys([Buffer.alloc(32, 1)], 'MASTER_KEY')

describe('master key of a database', () => {
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

  it('is required by its id if another or no key is given: no new one is created [OPS-71]', async () => {
    await claim(masterKeys)
    const expected = masterKeys.current().id
    const wrong = await refusalOf(others)
    expect(wrong).to.be.instanceOf(WrongMasterKey)
    expect(wrong.message).to.include(expected).and.include(`in MASTER_KEY there is ${others.current().id}`)
    const path = join(folder, 'nowhere', 'master.key')
    expect((await refusalOf(masterKeysInFile(path))).message)
      .to.include(expected)
      .and.include(`in ${path} there is none`)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('may have a successor, but both are required while both have sealed data [OPS-71]', async () => {
    const both = configuredMasterKeys([Buffer.alloc(32, 1), Buffer.alloc(32, 'tillbook tests')], 'MASTER_KEY')
    await claim(both)
    // The new key has sealed nothing yet.
    await claim(masterKeys)
    expect((await refusalOf(others)).message).to.include(masterKeys.current().id)
    const sealed = createVault(both).seal(Buffer.from('""'), 'store_secrets/1/1')
    await pool.query(`insert into ops.store_secrets (store_id, company_id, alias, secrets) values (1, 1, 'a', $1)`, [
      sealed,
    ])
    expect((await refusalOf(masterKeys)).message).to.include(`sealed by master key ${others.current().id};`)
    await claim(both)
  })

  it('stores the key id of every sealed value, and refuses a value of an unknown key [OPS-72]', async () => {
    const { rows } = await pool.query(
      `select table_name from information_schema.columns where table_schema = 'ops' and column_name = 'master_key_id'`,
    )
    expect(SEALED_COLUMNS.map(({ table }) => table)).to.have.members(rows.map(({ table_name }) => table_name))
    const stale = createVault(configuredMasterKeys([Buffer.alloc(32, 9)], 'MASTER_KEY')).seal(
      Buffer.from('""'),
      'store_secrets/1/2',
    )
    const insert = `insert into ops.store_secrets (store_id, company_id, alias, secrets) values (2, 1, 'b', $1)`
    expect(await pool.query(insert, [stale]).catch((error) => error.code)).to.equal('23503')
  })
})

describe('secret of the installation', () => {
  const database = useDatabase('withoutReadModel')

  it('is created by the first request, sealed, and equal for all processes [OPS-72]', async () => {
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

describe('new database', () => {
  const database = useDatabase('withoutReadModel')

  it('gets one master key if several processes start together [OPS-71]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tillbook-first-key-'))
    const pool = createPool(database.url, { max: 8 })
    try {
      await pool.query('delete from ops.installation_secrets; delete from ops.master_keys')
      const made: string[] = []
      const path = join(folder, 'data', 'master.key')
      const starting = Array.from({ length: 5 }, () => masterKeysInFile(path))
      await Promise.all(starting.map((keys) => claimDatabase({ pool, keys, onMade: (source) => made.push(source) })))
      expect(made).to.deep.equal([path])
      const { rows } = await pool.query(`select encode(id, 'hex') as id from ops.master_keys`)
      expect(rows).to.deep.equal([{ id: masterKeysInFile(path).current().id }])
    } finally {
      await pool.end()
      await rm(folder, { recursive: true })
    }
  })
})

describe('secrets of a company', () => {
  const database = useDatabase()

  it('are stored encrypted in all tables [OPS-72]', async () => {
    const api = await startApi(database.url)
    try {
      const company = await api.company()
      const { secret } = (await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
      const rotated = (await company.post('/webhooks/1/rotate-secret', { overlap_hours: 1 })).body.data.secret
      const ofStore = { access_token: 'APP_USR-token', notification_secret: 'segredo-da-loja' }
      const store = { alias: 'padaria', commission_percentage: '5', sandbox: true, ...ofStore }
      await company.run(createStore, CreateStoreInput.parse(store))
      const everything = await everythingIn(api.core.pool)
      expect(everything).to.include('padaria')
      const texts = [secret, rotated, ...Object.values(ofStore)].map((text) => Buffer.from(text as string))
      for (const clear of [...texts, api.core.requestSecret])
        for (const encoding of ['utf8', 'hex', 'base64'] as const)
          expect(everything, encoding).not.to.include(clear.toString(encoding).replace(/=+$/, ''))
    } finally {
      await api.close()
    }
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
