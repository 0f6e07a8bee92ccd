import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import { createCustomer } from '#commands/person-commands.ts'
import type { EventStore } from '#ledger/port.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { readModel } from '#projections/index.ts'
import { type Core, type CoreOptions, openCore } from '#service/core.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { cloneDatabase, useDatabase } from '../support/database.ts'
import { masterKeys } from '../support/master-key.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { addKeys, loseKeys } from '../support/person-keys.ts'
import { administer, onDatabase } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Requests of a company to a service started after its registration. */
const callTo =
  (url: string, { key }: TestCompany) =>
  (method: string, path: string, body?: unknown): Promise<Reply> =>
    send(`${url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}` })

function expectReadOnly(reply: Reply): void {
  expect(reply.status, reply.text).to.equal(503)
  expect(reply.headers.get('retry-after')).to.equal('60')
  expect(reply.body.error).to.include({ code: 'unavailable' })
  expect(reply.body.error.details).to.deep.equal({ reason: 'keys_missing' })
}

const namesOf = async (call: ReturnType<typeof callTo>): Promise<(string | null)[]> =>
  (await call('GET', '/customers')).body.data.map(({ name }: Json) => name)

/** Runs the verb like the command line. */
async function lostKeys(core: Core, ...words: string[]): Promise<Json> {
  const { name, values } = parseCommandLine(['person', 'lost-keys', ...words])
  const verb = await load(name)
  return verb.run(contextOf(core), values as Parameters<typeof verb.run>[1])
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}

describe('missing keys of persons during catch-up with a store outside Postgres', () => {
  const database = useDatabase('withoutReadModel')
  let backup: string
  let store: EventStore
  let losing: TestCompany
  let other: TestCompany
  let api: TestApi
  let logged: string[]

  /** A Postgres from before the last events of two companies, with the later keys of only one of them. */
  before(async function () {
    this.timeout(120_000)
    store = createOutsideStore()
    backup = `${new URL(database.url).pathname.slice(1)}_backup`
    const first = await startApi(database.url, { store })
    losing = await first.company()
    other = await first.company()
    for (const company of [losing, other]) await company.run(createCustomer, { name: 'Ana' })
    await first.close()
    await cloneDatabase(backup, new URL(database.url).pathname.slice(1))
    const second = await startApi(database.url, { store })
    for (const company of [losing, other]) {
      const call = callTo(second.url, company)
      for (const name of ['Bia', 'Caio']) expect((await call('POST', '/customers', { name })).status).to.equal(201)
    }
    await second.close()
    await addKeys(database.url, onDatabase(database.url, backup), other.id)
  })
  beforeEach(async () => {
    logged = []
    api = await startApi(onDatabase(database.url, backup), { store, log: (message) => logged.push(message) })
  })
  afterEach(() => api.close())
  after(() => administer(database.ownerUrl, (client) => client.query(`drop database if exists ${backup} with (force)`)))

  it('let the service start, with all data of other persons [LEDGER-51]', async () => {
    const call = callTo(api.url, other)
    expect(await namesOf(call)).to.deep.equal(['Ana', 'Bia', 'Caio'])
    expect((await call('POST', '/customers', { name: `Davi ${Date.now()}` })).status).to.equal(201)
    expect(logged).to.deep.equal(['ledger: company is read-only, keys of persons are missing'])
  })

  it('make their company read-only: writes are refused with the reason, reads are answered [LEDGER-51]', async () => {
    const call = callTo(api.url, losing)
    expect(await namesOf(call)).to.deep.equal(['Ana'])
    expectReadOnly(await call('POST', '/customers', { name: 'Davi' }))
    expectReadOnly(await call('POST', '/customers/batch', { items: [{ name: 'Davi' }] }))
  })

  it('are counted in health and metrics without affecting readiness [LEDGER-51]', async () => {
    expect(await api.core.missingKeys()).to.deep.equal([losing.id])
    const health = await (await fetch(`${api.url}/health/ready`)).json()
    expect(health).to.deep.include({ status: 'ready', read_only_without_keys: 1 })
  })

  it('stop background jobs that record events for the company, and block no other company [LEDGER-51]', async () => {
    const follower = api.core.follow()
    try {
      await callTo(api.url, other)('POST', '/customers', { name: `Eva ${Date.now()}` })
      await until(async () => follower?.lag() === 0, { what: 'a follower that is level' })
    } finally {
      await follower?.stop()
    }
  })

  it('are declared lost only after confirmation [LEDGER-53]', async () => {
    const error = await failureOf(lostKeys(api.core, String(losing.id)))
    expect(error).to.be.instanceOf(Refused)
    expect((error as Refused).refusal).to.have.nested.property('details.fields.yes')
    expect(await api.core.missingKeys()).to.deep.equal([losing.id])
  })

  it('count as erased once they are declared lost, and the company takes writes again [LEDGER-53]', async () => {
    const found = await lostKeys(api.core, String(losing.id), '--yes')
    expect(found).to.deep.equal({ company_id: losing.id, lost_keys: 2, takes_writes: true })
    const call = callTo(api.url, losing)
    expect(await namesOf(call)).to.deep.equal(['Ana', null, null])
    expect((await call('POST', '/customers', { name: 'Davi' })).status).to.equal(201)
    const health = await (await fetch(`${api.url}/health/ready`)).json()
    expect(health).not.to.have.property('read_only_without_keys')
    expect(await api.core.verifyTables(losing.id)).to.deep.include({ kind: 'verified', differences: [] })
  })
})

describe('keys of persons restored while a service runs on a store outside Postgres', () => {
  const database = useDatabase('withoutReadModel')
  const older = useDatabase('withoutReadModel')

  it('end the read-only state of their company automatically [LEDGER-52]', async function () {
    this.timeout(120_000)
    const store = createOutsideStore()
    const first = await startApi(database.url, { store })
    const company = await first.company()
    await company.run(createCustomer, { name: 'Ana' })
    await first.close()
    const ofOlder = await startApi(older.url, { store })
    // Like an old backup: its tables end where they were emptied.
    expect(await ofOlder.core.missingKeys()).to.deep.equal([company.id])
    await ofOlder.core.pool.query(`update ops.ledgers set missing_keys = 'pending' where company_id = $1`, [company.id])
    await addKeys(database.url, older.url, company.id)
    const follower = ofOlder.core.follow()
    try {
      const isFree = async () => (await ofOlder.core.missingKeys()).length === 0
      await until(isFree, { what: 'the end of the read-only state', timeout_ms: 30_000 })
      // Secrets of its API keys exist in the newer Postgres only.
      expect(await runAsSystem(ofOlder.core.writer, company.id, createCustomer, { name: 'Bia' })).to.include({ id: 2 })
    } finally {
      await follower?.stop()
      await ofOlder.close()
    }
  })
})

for (const [name, outside] of [
  ['Postgres', null],
  ['a store outside', createOutsideStore()],
] as const) {
  describe(`missing keys of persons during a rebuild from ledgers in ${name}`, () => {
    const database = useDatabase(outside ? 'withoutReadModel' : 'withReadModel')
    let losing: TestCompany
    let other: TestCompany
    let version = readModel.number

    const storeOf = () => (outside ? { store: outside } : {})
    /** Starts the next version, which rebuilds its tables. */
    async function startNext(changes: Partial<CoreOptions> = {}): Promise<Core> {
      version += 1
      return openCore({
        masterKeys,
        databaseUrl: database.url,
        queryConnections: 4,
        log: () => {},
        onOutdated: () => {},
        model: { ...readModel, number: version, version: `next ${version}` },
        ...storeOf(),
        ...changes,
      })
    }
    const customersOf = async (core: Core, { id }: TestCompany): Promise<(string | null)[]> => {
      const { rows } = await core.pool.query(
        "select doc ->> 'name' as name from customers where company_id = $1 order by id",
        [id],
      )
      return rows.map((row) => row.name)
    }
    const create = (core: Core, { id: companyId }: TestCompany, customer: string) =>
      writeRequest(core.writer, {
        companyId,
        invocations: [{ command: createCustomer, input: { name: customer } }],
        origin: 'system',
        actor: null,
        requestId: null,
      })

    before(async () => {
      const api = await startApi(database.url, storeOf())
      losing = await api.company()
      other = await api.company()
      for (const company of [losing, other])
        for (const customer of ['Ana', 'Bia']) await company.run(createCustomer, { name: customer })
      await api.close()
    })

    it('are restored: a rebuild reads all data, and the company takes writes again [LEDGER-52]', async function () {
      this.timeout(120_000)
      const restore = await loseKeys(database.url, losing.id)
      const core = await startNext()
      try {
        expect(await core.missingKeys()).to.deep.equal([losing.id])
        expect(await customersOf(core, losing)).to.deep.equal([null, null])
        expect(await customersOf(core, other)).to.deep.equal(['Ana', 'Bia'])
        expect(await failureOf(create(core, losing, 'Caio'))).to.include({ name: 'Unavailable' })
        await create(core, other, 'Caio')
        await restore()
        expect(await lostKeys(core, String(losing.id)), 'rows are still empty').to.include({
          lost_keys: 0,
          takes_writes: false,
        })
        await core.rebuild()
        expect(await customersOf(core, losing)).to.deep.equal(['Ana', 'Bia'])
        expect((await lostKeys(core, String(losing.id))).takes_writes).to.equal(true)
        expect(await core.missingKeys()).to.deep.equal([])
        await create(core, losing, 'Caio')
      } finally {
        await core.close()
      }
    })

    it('are declared lost: the company takes writes again, and reads stay the same from then on [LEDGER-53]', async function () {
      this.timeout(120_000)
      await loseKeys(database.url, losing.id)
      const core = await startNext()
      try {
        expect(await lostKeys(core, String(losing.id), '--yes')).to.include({ lost_keys: 3, takes_writes: true })
        await create(core, losing, 'Davi')
        expect(await customersOf(core, losing)).to.deep.equal([null, null, null, 'Davi'])
        expect((await core.rebuild()).parity?.filter(({ equal }) => !equal)).to.deep.equal([])
        expect(await core.missingKeys()).to.deep.equal([])
      } finally {
        await core.close()
      }
    })

    it('fail a rebuild that would erase data the tables still show [LEDGER-51]', async () => {
      const core = await startNext()
      try {
        await loseKeys(database.url, other.id)
        expect(await failureOf(core.rebuild())).to.include({ name: 'CannotOpen' })
        expect(await customersOf(core, other)).to.deep.equal(['Ana', 'Bia', 'Caio'])
        expect(await core.missingKeys()).to.deep.equal([])
      } finally {
        await core.close()
      }
    })

    if (!outside)
      it('can be declared lost even if their persons have new keys [LEDGER-53]', async () => {
        const core = await startNext()
        try {
          expect(await core.missingKeys()).to.deep.equal([other.id])
          expect((await lostKeys(core, String(other.id), '--yes')).lost_keys).to.equal(3)
          await core.pool.query(`delete from ops.person_keys where company_id = $1 and subject like 'customer/%'`, [
            other.id,
          ])
          await create(core, other, 'Davi')
          await core.pool.query(
            `update ops.person_keys set subject = 'customer/1' where company_id = $1 and wrapped is not null and subject like 'customer/%'`,
            [other.id],
          )
          expect((await lostKeys(core, String(other.id), '--yes')).lost_keys).to.equal(3)
          expect((await core.rebuild()).companies).to.be.at.least(2)
        } finally {
          await core.close()
        }
      })
  })
}
