import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool, PoolClient } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import { claimDatabase, ROTATION_LOCK, rotateMasterKey } from '#crypto/master-key-registry.ts'
import { configuredMasterKeys, type MasterKeys, masterKeysInFile, WrongMasterKey } from '#crypto/master-keys.ts'
import { createVault } from '#crypto/vault.ts'
import { createPool } from '#postgres/pool.ts'
import { tillbook } from '../cli/tillbook.ts'
import { expectSigned } from '../ops/belongings.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { MASTER_KEY, masterKeys, openedRows } from '../support/master-key.ts'
import { startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { until } from '../support/wait.ts'
import { startDelivering } from '../webhooks/delivering-service.ts'

/** More than one batch of the rotation. */
const PERSON_KEYS = 1_100
/** Secret of a store, and two secrets of the installation. */
const OTHERS = 3

describe('master key rotation', () => {
  const database = useDatabase()
  let pool: Pool
  let folder: string
  let path: string

  beforeEach(async () => {
    pool = createPool(database.url, { max: 6, pipeline: true })
    folder = await mkdtemp(join(tmpdir(), 'tillbook-keys-'))
    path = join(folder, 'master.key')
    await writeFile(path, `${MASTER_KEY}\n`, { mode: 0o600 })
    await fill(pool, masterKeys, PERSON_KEYS)
  })
  afterEach(async () => {
    // Restores the key of the other tests, through the environment.
    const [current] = (await readFile(path, 'utf8')).split('\n')
    if (current !== MASTER_KEY) await rotateMasterKey(pool, given(MASTER_KEY, current as string))
    await pool.query('delete from ops.person_keys; delete from ops.store_secrets')
    await pool.end()
    await rm(folder, { recursive: true })
  })

  it('replaces the current key: all secrets open with the new key, none with the old one [OPS-73]', async () => {
    const running = masterKeysInFile(path)
    const before = running.current().id
    const rotation = await rotateMasterKey(pool, masterKeysInFile(path))
    expect(rotation).to.deep.include({ former: [before], resealed: PERSON_KEYS + OTHERS })
    expect(
      masterKeysInFile(path)
        .all()
        .map(({ id }) => id),
    ).to.deep.equal([rotation.master_key])
    await expectOpen(pool, masterKeysInFile(path))
    // Process that has not read the changed file yet.
    await expectOpen(pool, running)
    expect(running.current().id).to.equal(rotation.master_key)
    expect(await openedRows(pool, 'store_secrets', createVault(masterKeys)).catch((error) => error.message)).to.match(
      new RegExp(`sealed by master key ${rotation.master_key}`),
    )
    const refused = await claim(pool, masterKeys).catch((error: Error) => error)
    expect(refused).to.be.instanceOf(WrongMasterKey)
    const late = createVault(masterKeys).seal(Buffer.from('{}'), 'store_secrets/1/9')
    const insert = `insert into ops.store_secrets (store_id, company_id, alias, secrets) values (9, 1, 'tarde', $1)`
    expect(await pool.query(insert, [late]).catch((error) => error.code)).to.equal('23503')
  })

  it('takes the new key from the environment if there is no file [OPS-73]', async () => {
    const next = Buffer.alloc(32, 5).toString('base64')
    const alone = await rotateMasterKey(pool, given(MASTER_KEY)).catch((error: Error) => error)
    expect((alone as Error).message).to.include('MASTER_KEY_FORMER')
    const both = given(next, MASTER_KEY)
    await claim(pool, both)
    // Services with the former key continue if they know both keys.
    const services = [both, given(MASTER_KEY, next)]
    for (const keys of services) await expectOpen(pool, keys)
    const { resealed } = await rotateMasterKey(pool, both)
    expect(resealed).to.equal(PERSON_KEYS + OTHERS)
    for (const keys of [...services, given(next)]) await expectOpen(pool, keys)
    await claim(pool, given(next))
    expect(await rotateMasterKey(pool, both)).to.deep.include({ former: [], resealed: 0 })
    await writeFile(path, `${next}\n`)
  })

  it('runs in one command at a time, which waits for one that is about to end [OPS-73]', async () => {
    const other = await pool.connect()
    await other.query('select pg_advisory_lock(hashtextextended($1, 0))', [ROTATION_LOCK])
    const refused = await rotateMasterKey(pool, masterKeysInFile(path)).catch((error: Error) => error)
    expect(refused).to.be.instanceOf(WrongMasterKey)
    expect((refused as Error).message).to.include('by another command')
    expect(masterKeysInFile(path).all()).to.have.length(1)
    const rotation = rotateMasterKey(pool, masterKeysInFile(path))
    await untilBlocked(pool)
    other.release(true)
    expect(await rotation).to.include({ resealed: PERSON_KEYS + OTHERS })
  })

  it('completes after an interruption at every step if it is run again [OPS-73]', async () => {
    await pool.query(`delete from ops.person_keys where subject > 'order/1010'`)
    let step = 0
    for (let isDone = false; !isDone; step++) {
      const interrupted = rotateMasterKey(failingAfter(step, pool), failingKeys(path))
      isDone = await interrupted
        .then(() => true)
        .catch((error: Error) => {
          if (error.message !== 'interrupted') throw error
          return false
        })
      const keys = masterKeysInFile(path)
      await claim(pool, keys)
      await expectOpen(pool, keys)
    }
    expect(step).to.be.above(20)
    await rotateMasterKey(pool, masterKeysInFile(path))
    const { rows } = await pool.query(`select encode(id, 'hex') as id from ops.master_keys`)
    expect(rows).to.deep.equal([{ id: masterKeysInFile(path).current().id }])
    expect(masterKeysInFile(path).all()).to.have.length(1)
  })

  it('completes after the command is killed and run again, while services seal [OPS-73]', async function () {
    this.timeout(90_000)
    await fill(pool, masterKeys, 8_000)
    const before = masterKeysInFile(path).current().id
    const { PATH = '' } = process.env
    const env = { ...TEST_SETTINGS, PATH, DATABASE_URL: database.url, DATA_DIR: folder, MASTER_KEY: '' }
    const command = spawn(process.execPath, programOf('src/cli/main.ts', 'master-key', 'rotate'), {
      env,
      stdio: 'ignore',
    })
    const ended = once(command, 'exit')
    const countOf = async (operator: string) => {
      const counting = `select count(*) from ops.person_keys where master_key_id ${operator} decode($1, 'hex')`
      return (await pool.query(counting, [before])).rows[0].count as number
    }
    await until(async () => (await countOf('<>')) > 0, { interval_ms: 1 })
    command.kill('SIGKILL')
    await ended
    expect(await countOf('=')).to.be.above(0)
    const keys = masterKeysInFile(path)
    await expectOpen(pool, keys)

    let sealed = 0
    const again = rotateMasterKey(pool, masterKeysInFile(path)).finally(() => {
      sealed = -sealed
    })
    while (sealed >= 0) await fill(pool, keys, 1, `order/late-${sealed++}`)
    const { former } = await again
    expect(former).to.deep.equal([before])
    expect(await countOf('=')).to.equal(0)
    await expectOpen(pool, masterKeysInFile(path))
  })
})

const given = (...texts: string[]) =>
  configuredMasterKeys(
    texts.map((text) => Buffer.from(text, 'base64')),
    'MASTER_KEY',
  )

const claim = (pool: Pool, keys: MasterKeys) => claimDatabase({ pool, keys, onMade: () => {} })

/** Creates a store with secrets, and keys of persons, one of them destroyed. */
async function fill(pool: Pool, keys: MasterKeys, count: number, prefix = 'order'): Promise<void> {
  const vault = createVault(keys)
  const { rows } = await pool.query(
    `insert into ops.person_keys (key_id, company_id, subject, part, created_at, destroyed_at)
     select gen_random_uuid(), 1, $1 || '/' || (1000 + n), 'identity', now(), now() from generate_series(0, $2::int) as n
     on conflict do nothing returning key_id`,
    [prefix, count],
  )
  const ids = rows.slice(1).map(({ key_id }) => key_id)
  const wrapped = ids.map((id) => vault.seal(Buffer.from(id), `person_key/${id}`))
  await pool.query(
    `update ops.person_keys k set wrapped = w.wrapped, destroyed_at = null
     from unnest($1::uuid[], $2::bytea[]) as w(key_id, wrapped) where w.key_id = k.key_id`,
    [ids, wrapped],
  )
  const secrets = vault.seal(Buffer.from('{"access_token":"APP_USR"}'), 'store_secrets/1/1')
  await pool.query(
    `insert into ops.store_secrets (store_id, company_id, alias, secrets) values (1, 1, 'loja', $1) on conflict do nothing`,
    [secrets],
  )
}

async function expectOpen(pool: Pool, keys: MasterKeys): Promise<void> {
  const vault = createVault(keys)
  const { rows } = await pool.query('select key_id, wrapped from ops.person_keys where wrapped is not null')
  for (const { key_id, wrapped } of rows)
    expect(vault.open(wrapped, `person_key/${key_id}`).toString()).to.equal(key_id)
  const [store] = await openedRows(pool, 'store_secrets', vault)
  expect(store?.secrets).to.deep.equal({ access_token: 'APP_USR' })
  expect((await openedRows(pool, 'installation_secrets', vault))[0]?.secret).to.have.length(44)
}

const steps = { left: 0 }
const step = () => {
  if (steps.left-- <= 0) throw new Error('interrupted')
}

/** Pool that loses its connection before one of its statements. */
function failingAfter(count: number, pool: Pool): Pool {
  steps.left = count
  const connect = async () => {
    const client = await pool.connect()
    const query = client.query.bind(client) as (...values: unknown[]) => Promise<unknown>
    const failing = (async (...values: unknown[]) => {
      step()
      return query(...values)
    }) as PoolClient['query']
    return Object.assign(Object.create(client), { query: failing, release: (error: boolean) => client.release(error) })
  }
  return { connect } as unknown as Pool
}

/** Key file in which the process is killed before or after a change. */
function failingKeys(path: string): MasterKeys {
  const keys = masterKeysInFile(path)
  const around = async (change: () => Promise<void> | undefined) => {
    step()
    await change()
    step()
  }
  return {
    ...keys,
    file: {
      create: () => expect.fail('there is a key'),
      renew: (secret) => around(() => keys.file?.renew(secret)),
      dropFormer: () => around(() => keys.file?.dropFormer()),
    },
  }
}

describe('services and their master key', function () {
  this.timeout(90_000)
  const database = useDatabase()
  let folder: string
  let path: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-keys-'))
    path = join(folder, 'master.key')
    await writeFile(path, `${MASTER_KEY}\n`, { mode: 0o600 })
  })
  after(() => rm(folder, { recursive: true }))

  it('keep signing and registering during a rotation, and work without the former key [OPS-73]', async () => {
    const service = await startDelivering(database.url, {}, { masterKeys: masterKeysInFile(path) })
    try {
      const secrets = new Map<string, string>()
      const register = async (name: string) => {
        const { id, secret } = await service.register(['customer.created'], `${service.receiver.url}/${name}`)
        secrets.set(`/hooks/${name}`, secret)
        return id
      }
      await register('before')
      let customers = 0
      const create = async () => {
        await service.company.run(createCustomer, { name: `Cliente ${++customers}`, person_type: 'PF' as const }, 'pdv')
      }
      let isRotating = true
      const rotating = rotateMasterKey(service.api.core.pool, masterKeysInFile(path)).finally(() => {
        isRotating = false
      })
      while (isRotating || customers < 20) await create()
      const { master_key, former } = await rotating
      expect(former).to.deep.equal([masterKeys.current().id])
      await register('after')
      await create()
      expect(masterKeysInFile(path).current().id).to.equal(master_key)
      await until(() => service.receiver.received.length === customers + 1, { what: 'every delivery' })
      for (const received of service.receiver.received) expectSigned(received, secrets.get(received.path) as string)
      expect(service.errors).to.deep.equal([])
    } finally {
      await service.close()
    }
  })

  it('processes do not start without the key, and name it and its location [OPS-71]', async () => {
    const expected = masterKeysInFile(path).current().id
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
    const missing = join(folder, 'missing')
    const failure = await startService({ ...env, MASTER_KEY: '', DATA_DIR: missing }).catch((error: Error) => error)
    const { message, cause } = failure as Error
    expect(message).to.include(`sealed by master key ${expected}; in ${join(missing, 'master.key')} there is none`)
    expect(String(cause)).to.include('ended with 1')
    const { code, stderr } = await tillbook(env, 'company', 'list', '--json')
    expect(code).to.equal(1)
    const { error } = JSON.parse(stderr)
    expect(error.code).to.equal('wrong_master_key')
    expect(error.message).to.include(expected).and.include(`in MASTER_KEY there is ${masterKeys.current().id}`)
  })
})
