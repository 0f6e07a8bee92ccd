import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { createApiKey } from '#commands/api-keys.ts'
import { createPaymentType } from '#commands/payment-types.ts'
import { CreateStoreInput, createStore } from '#commands/stores.ts'
import { createUser, updateUser } from '#commands/users.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Core } from '#service/core.ts'
import { openDirectory } from '#sharding/directory.ts'
import { EntryTaken } from '#sharding/directory-entries.ts'
import { sweepDirectory } from '#sharding/directory-sweep.ts'
import { whileBroken } from '../support/broken-company.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { openTwoShards, type TwoShards } from './two-shards.ts'

const store = (alias: string) => CreateStoreInput.parse({ alias, commission_percentage: '5' })
const TAKEN = { refused: 'duplicate_resource', details: { field: 'alias' } }
const keyHash = () => createHash('sha256').update(randomBytes(8)).digest()

async function failureOf(answer: Promise<unknown>): Promise<unknown> {
  return answer.then(
    () => null,
    (error: unknown) => error,
  )
}

describe('the directory before the first additional shard', () => {
  const database = useDatabase()

  it('contains the companies of the default shard [SHARD-20]', async () => {
    const directory = openDirectory({ databaseUrl: database.url, log: () => {} })
    try {
      await directory.register(1, 'main')
      expect(await directory.shardOf(1)).to.equal('main')
      const error = await failureOf(directory.register(2, 'south'))
      expect(error).to.be.instanceOf(Unavailable)
    } finally {
      await directory.close()
    }
  })
})

describe('the directory of two shards', () => {
  const [mainDatabase, southDatabase] = [useDatabase(), useDatabase()]
  let all: TwoShards
  let north: { id: number }
  let south: { id: number; userId: number; email: string }

  before(async () => {
    all = await openTwoShards(mainDatabase.url, southDatabase.url)
    north = await all.company('main')
    south = await all.company('south')
  })
  afterEach(() => all.proxy.mend())
  after(() => all.close())

  const open = (core: Core, companyId: number, alias: string) =>
    runAsSystem(core.writer, companyId, createStore, store(alias))
  const key = async (core: Core, companyId: number, hash = keyHash()) => {
    const input = {
      name: 'integração',
      scopes: ['sales:read' as const],
      prefix: 'tb_live_xxxx',
      hash,
      expires_at: null,
    }
    const made = await runAsSystem(core.writer, companyId, createApiKey, input)
    return { hash, made }
  }
  const listed = async (kind: string) =>
    (
      await all.main.pool.query<{ key: Buffer; company_id: number }>(
        'select key, company_id from ops.directory_entries where kind = $1 order by key, company_id',
        [kind],
      )
    ).rows
  const age = (kind: string) =>
    all.main.pool.query(
      `update ops.directory_entries set created_at = created_at - interval '2 hours' where kind = $1`,
      [kind],
    )

  it('finds companies by keys, aliases and addresses as soon as their creation is answered [SHARD-20] [SHARD-24]', async () => {
    const { hash } = await key(all.south, south.id)
    await open(all.south, south.id, 'loja-do-sul')
    const place = [{ companyId: south.id, shard: 'south', account: null }]
    expect(await all.directory.find('api_key', hash)).to.deep.equal(place)
    expect(await all.directory.find('store_alias', 'loja-do-sul')).to.deep.equal(place)
    expect(await all.directory.find('email', south.email)).to.deep.equal(place)
    expect(await all.directory.find('api_key', keyHash())).to.deep.equal([])
    expect(await all.directory.shardOf(north.id)).to.equal('main')
    expect(await all.directory.shardOf(999)).to.equal(null)
    expect(await all.directory.shards()).to.deep.equal([
      { name: 'main', draining: false, companies: 1 },
      { name: 'south', draining: false, companies: 1 },
    ])
  })

  it('makes an alias unique across shards under concurrent requests, and answers as on one shard [SHARD-24] [STORE-1]', async () => {
    const aliases = Array.from({ length: 5 }, (_, n) => `disputada-${n}`)
    const asked = aliases.flatMap((alias) => [open(all.main, north.id, alias), open(all.south, south.id, alias)])
    const answers = await Promise.all(asked)
    for (const [n, alias] of aliases.entries()) {
      const pair = answers.slice(2 * n, 2 * n + 2) as object[]
      expect(
        pair.filter((answer) => 'id' in answer),
        alias,
      ).to.have.length(1)
      expect(pair.find((answer) => !('id' in answer))).to.deep.equal(TAKEN)
    }
    // Other requests of its group have their own results.
    const [taken, opened] = await Promise.all([
      open(all.main, north.id, 'loja-do-sul'),
      open(all.main, north.id, 'loja-do-norte'),
    ])
    expect(taken).to.deep.equal(TAKEN)
    expect(opened).to.have.property('alias', 'loja-do-norte')
  })

  it('serves known keys while it is unreachable, and rejects no unknown key as invalid [SHARD-23]', async () => {
    const [known, other] = [(await key(all.south, south.id)).hash, (await key(all.south, south.id)).hash]
    await all.directory.find('api_key', known)
    all.proxy.cut()
    expect(await all.directory.find('api_key', known)).to.have.length(1)
    expect(await failureOf(all.directory.find('api_key', other))).to.be.instanceOf(Unavailable)
    expect(await failureOf(key(all.south, south.id))).to.be.instanceOf(Unavailable)
    expect(await failureOf(open(all.main, north.id, 'sem-catalogo'))).to.be.instanceOf(Unavailable)
    // A write without a name is not delayed by a name reservation in its group.
    const [refused, changed] = await Promise.all([
      failureOf(open(all.south, south.id, 'sem-catalogo')),
      runAsSystem(all.south.writer, south.id, createPaymentType, { name: 'Dinheiro', kind: 'cash' } as never),
    ])
    expect(refused).to.be.instanceOf(Unavailable)
    const renamed = { id: south.userId, name: 'Outra dona' }
    expect(await runAsSystem(all.south.writer, south.id, updateUser, renamed)).to.have.property('name', 'Outra dona')
    expect(changed).to.have.property('name', 'Dinheiro')
    all.proxy.mend()
    await until(async () => (await all.directory.find('api_key', other).catch(() => [])).length === 1)
  })

  it('notifies all processes of a migrated company [SHARD-22]', async () => {
    const moved = await all.company('main')
    const other = all.another().directory
    const { hash } = await key(all.main, moved.id)
    expect((await other.find('api_key', hash))[0]?.shard).to.equal('main')
    await all.directory.moveTo(moved.id, 'south')
    expect((await all.directory.find('api_key', hash))[0]?.shard).to.equal('south')
    await until(async () => (await other.find('api_key', hash))[0]?.shard === 'south')
    expect(await other.shardOf(moved.id)).to.equal('south')
    await all.directory.moveTo(moved.id, 'main')
    await until(async () => (await other.find('api_key', hash))[0]?.shard === 'main')
  })

  it('reserves a key for one company, and releases reservations of a dead process after an hour [SHARD-24] [SHARD-28]', async () => {
    const entry = { kind: 'store_alias', key: 'orfa', companyId: north.id } as const
    await all.directory.reserve([entry])
    await all.directory.reserve([entry])
    expect(await failureOf(all.directory.reserve([{ ...entry, companyId: south.id }]))).to.be.instanceOf(EntryTaken)
    await sweepDirectory(all.persons)
    expect(await open(all.south, south.id, 'orfa')).to.deep.equal(TAKEN)
    expect(await open(all.south, south.id, 'outra')).to.have.property('alias', 'outra')
    await age('store_alias')
    expect(await sweepDirectory(all.persons)).to.deep.equal({ added: 0, removed: 1 })
    expect(await open(all.south, south.id, 'orfa')).to.have.property('alias', 'orfa')
  })

  it('adds entries that it lacks from the shards, and removes ended ones [SHARD-28]', async () => {
    const [kept, revoked] = [await key(all.south, south.id), await key(all.main, north.id)]
    const holder = { userId: south.userId, companyId: south.id, generation: 0, personGeneration: 0 }
    const [session, token] = [await all.access.sessions.issue(holder), await all.access.tokens.issue(holder)]
    const before = await Promise.all(['api_key', 'session', 'sync_token', 'store_alias', 'email'].map(listed))
    await all.main.pool.query('delete from ops.directory_entries')
    await all.main.pool.query('delete from ops.company_shards where company_id = $1', [south.id])
    expect((await sweepDirectory(all.persons)).added).to.equal(before.flat().length + 1)
    expect(await Promise.all(['api_key', 'session', 'sync_token', 'store_alias', 'email'].map(listed))).to.deep.equal(
      before,
    )
    expect(await all.access.sessions.find(session.token)).to.include({ companyId: south.id })
    expect(await all.access.tokens.find(token.token)).to.include({ companyId: south.id })

    await all.main.pool.query('update api_keys set revoked_at = now() where company_id = $1', [north.id])
    await all.south.pool.query('update ops.sessions set revoked_at = now()')
    await Promise.all(['api_key', 'session', 'sync_token', 'email'].map(age))
    await sweepDirectory(all.persons)
    const left = (await listed('api_key')).map((entry) => entry.key.toString('hex'))
    expect(left).to.include(kept.hash.toString('hex')).and.not.to.include(revoked.hash.toString('hex'))
    expect(await listed('session')).to.deep.equal([])
    expect(await listed('sync_token')).to.have.length(1)
  })

  it('adds the entries of one shard if those of another fail [OPS-143]', async () => {
    const [before, aliases] = [await listed('email'), await listed('store_alias')]
    await all.main.pool.query('delete from ops.directory_entries where kind = any($1)', [['email', 'store_alias']])
    const fault = { table: 'ops.directory_entries', companyId: north.id }
    const error = await whileBroken(mainDatabase.url, fault, () => failureOf(sweepDirectory(all.persons)))
    expect(String(error)).to.include('refused by the test')
    const ofSouth = (entries: typeof before) => entries.filter(({ company_id }) => company_id === south.id)
    expect(ofSouth(before)).not.to.deep.equal([])
    expect(ofSouth(await listed('email'))).to.deep.equal(ofSouth(before))
    await sweepDirectory(all.persons)
    expect([await listed('email'), await listed('store_alias')]).to.deep.equal([before, aliases])
  })

  it('removes no entry of a shard that is down or has lost the ledger of the company [SHARD-28]', async () => {
    await age('store_alias')
    const before = await listed('store_alias')
    all.away('south', true)
    await sweepDirectory(all.persons)
    all.away('south', false)
    await all.south.pool.query('update ops.ledgers set revision = -1 - revision')
    await all.south.pool.query('update stores set alias = alias || $1', ['-x'])
    try {
      await sweepDirectory(all.persons)
      expect(await listed('store_alias')).to.include.deep.members(before)
    } finally {
      await all.south.pool.query('update ops.ledgers set revision = -1 - revision')
      await all.south.pool.query(`update stores set alias = left(alias, -2)`)
    }
  })

  it('keeps one password per person on all shards, whichever shard creates the users [SHARD-26]', async () => {
    const first = await all.company('main', 'socia@loja.example')
    const second = await all.company('south')
    const user = { name: 'Sócia', email: first.email, role: 'owner' as const, password_hash: 'another one' }
    expect(await runAsSystem(all.south.writer, second.id, createUser, user)).to.include({ email: first.email })
    const hashes = await Promise.all(
      [all.main, all.south].map(
        async ({ pool }) =>
          (await pool.query('select password_hash from ops.persons where email = $1', [first.email])).rows[0],
      ),
    )
    expect(hashes[0]).to.deep.equal(hashes[1])
    expect(hashes[0]).not.to.deep.equal({ password_hash: 'another one' })
  })
})
