import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { v7 } from 'uuid'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { appenderFrom, checkRoots, leafHash } from '#integrity/merkle.ts'
import { checkTables, checkTablesOnSchedule, findTableCheck, tableCheckFigures } from '#integrity/table-checks.ts'
import { createVerifier, type Verification, type VerifyOptions, verifyLedger } from '#integrity/verify.ts'
import { GENESIS_HASH, streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { fullReader } from '#queries/reader.ts'
import { createMetrics } from '#service/metrics.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
import type { Json } from '../../support/api.ts'
import { contextOf } from '../../support/context.ts'
import { useDatabase } from '../../support/database.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { explore } from '../../support/random.ts'
import { tamperBy } from '../../support/tamper.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'
import {
  eventsOf,
  forgeTail,
  insertEvent,
  notePosition,
  rehashed,
  removeEvents,
  replaceEvent,
  writeLedger,
} from './tampering.ts'

interface Verifying {
  readonly pool: Pool
  readonly store: EventStore
  verify(companyId: number, options?: VerifyOptions): Promise<Verification>
  /** Position and kind of the first fault, as `2 wrong_hash`; asserts that everything before it is valid. */
  faultIn(companyId: number): Promise<string>
}

/** Database with ledgers to tamper with (tampering.ts), and their verification. */
function useVerifying(): Verifying {
  const database = useDatabase()
  let pool: Pool

  before(() => {
    pool = createPool(database.ownerUrl, { max: 2 })
  })
  after(() => pool.end())

  const verify: Verifying['verify'] = (companyId, options = {}) =>
    verifyLedger({ pool, store: createPostgresStore(pool) }, companyId, options)
  return {
    get pool() {
      return pool
    },
    get store() {
      return createPostgresStore(pool)
    },
    verify,
    async faultIn(companyId) {
      const { valid, checked, revision, first_error } = await verify(companyId)
      expect(valid).to.equal(first_error === null)
      expect(checked).to.equal(revision + 1)
      return first_error ? `${first_error.revision} ${first_error.reason}` : 'none'
    },
  }
}

const LENGTH = 7

describe('verification of a stored ledger', () => {
  const ledgers = useVerifying()
  const { verify, faultIn } = ledgers

  /** Changes columns of the row of revision 3. */
  const set = (companyId: number, assignment: string, ...values: unknown[]) =>
    tamperBy(ledgers.pool, `update ledger.events set ${assignment} where stream = $1 and revision = 3`, [
      streamName(companyId),
      ...values,
    ])

  const edit = (companyId: number, pattern: string, replacement: string) =>
    set(companyId, 'envelope = regexp_replace(envelope::text, $2, $3)::json', pattern, replacement)

  it('finds no error in an untouched ledger of any length', async () => {
    // 200 rows are fetched at a time.
    for (const length of [0, 1, 2, 199, 200, 201, 450]) {
      const companyId = await writeLedger(ledgers.pool, length)
      const last = (await eventsOf(ledgers.pool, companyId)).at(-1)
      expect(await verify(companyId)).to.deep.equal({
        valid: true,
        checked: length,
        revision: length - 1,
        hash: last?.hash ?? GENESIS_HASH,
        first_error: null,
      })
    }
  })

  it('accepts every text that an event can contain', async () => {
    const texts = ['São "João" \\ / 😀\n\u000f\u2028\u2029', '\ufb33', '', '__proto__', ' ']
    const companyId = await writeLedger(
      ledgers.pool,
      texts.map((text) => ({ data: { id: 1, [text]: text, nested: [{ [text]: null }, 0.1, -1] } })),
    )
    expect(await faultIn(companyId)).to.equal('none')
  })

  const tamperings: Record<string, [found: string, tamper: (companyId: number) => Promise<unknown>]> = {
    'a value in its data': ['3 wrong_hash', (id) => edit(id, '"by":3', '"by":30')],
    'its time': ['3 wrong_hash', (id) => edit(id, '"recorded_at":"2026', '"recorded_at":"2027')],
    'its author': ['3 wrong_hash', (id) => edit(id, '"actor":null', '"actor":"user/1"')],
    'its id': ['3 wrong_hash', (id) => edit(id, '"id":"0', '"id":"1')],
    'its hash': ['3 wrong_hash', (id) => edit(id, '"hash":"..', '"hash":"zz')],
    'its link to the one before': ['3 wrong_hash', (id) => edit(id, '"previous_hash":"..', '"previous_hash":"zz')],
    'its revision': ['3 wrong_revision', (id) => edit(id, '"revision":3', '"revision":4')],
    'its stream': ['3 wrong_stream', (id) => edit(id, '"stream":"company-', '"stream":"company-9')],
    'a member that was empty, by leaving it out': ['3 malformed', (id) => edit(id, '"actor":null,', '')],
    'its members, by one more': ['3 malformed', (id) => edit(id, '"actor":null', '"actor":null,"note":null')],
    'its text, with a member twice': ['3 malformed', (id) => edit(id, '"by":3', '"by":30,"by":3')],
    'its text, with blanks': ['3 malformed', (id) => edit(id, '"by":3', '"by": 3')],
    'everything, to something else': ['3 malformed', (id) => set(id, `envelope = '[1]'`)],
    'the column revision': ['3 wrong_revision', (id) => set(id, 'revision = 100')],
    'the column stream': ['3 wrong_revision', (id) => set(id, `stream = 'company-0'`)],
    'the column id': ['3 columns_differ', (id) => set(id, 'id = $2', v7())],
    'the column type': ['3 columns_differ', (id) => set(id, `type = 'Other'`)],
    'the column subject': ['3 columns_differ', (id) => set(id, `subject = 'counter/9'`)],
    'the column recorded_at, by a microsecond': [
      '3 columns_differ',
      (id) => set(id, `recorded_at = recorded_at + interval '1 microsecond'`),
    ],
    'the column recorded_at, to no time at all': ['3 columns_differ', (id) => set(id, `recorded_at = 'infinity'`)],
  }

  for (const [what, [found, tamper]] of Object.entries(tamperings)) {
    it(`finds an altered event: ${what} [AUDIT-1]`, async () => {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      await tamper(companyId)
      expect(await faultIn(companyId)).to.equal(found)
    })
  }

  it('finds an event that was altered and rehashed [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const event = (await eventsOf(ledgers.pool, companyId))[3]
    if (event) await replaceEvent(ledgers.pool, companyId, 3, rehashed(event, { data: { id: 1, by: 1_000 } }))
    expect(await faultIn(companyId)).to.equal('4 broken_chain')
  })

  it('finds any change anywhere in a stored event [AUDIT-1]', async () => {
    await explore(
      fc.asyncProperty(
        fc.nat({ max: LENGTH - 1 }),
        fc.nat(),
        fc.constantFrom('replace', 'insert', 'remove'),
        fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
        async (revision, place, how, character) => {
          const companyId = await writeLedger(ledgers.pool, LENGTH)
          const before = JSON.stringify((await eventsOf(ledgers.pool, companyId))[revision])
          const at = place % before.length
          const rest = before.slice(how === 'insert' ? at : at + 1)
          const after = before.slice(0, at) + (how === 'remove' ? '' : character) + rest
          fc.pre(after !== before && isJson(after))
          await tamperBy(ledgers.pool, 'update ledger.events set envelope = $3 where stream = $1 and revision = $2', [
            streamName(companyId),
            revision,
            after,
          ])
          expect((await verify(companyId)).valid, after).to.equal(false)
        },
      ),
      150,
    )
  })

  it('continues while events are appended, and ends at a complete ledger [AUDIT-3]', async () => {
    // 200 rows are fetched at a time, in parallel with the checks of the previous ones.
    const companyId = await writeLedger(ledgers.pool, 500)
    const events = await eventsOf(ledgers.pool, companyId)
    const more = sealedAfter(streamName(companyId), events.at(-1) ?? null, [{}, {}])
    let appended = false
    const growing: EventStore = {
      ...ledgers.store,
      async *stored(stream, after) {
        for await (const event of ledgers.store.stored?.(stream, after) ?? []) {
          yield event
          if (appended) continue
          appended = true
          for (const each of more) await insertEvent(ledgers.pool, companyId, each.revision, each)
          await notePosition(ledgers.pool, companyId, more.at(-1) as never)
        }
      },
    }
    const found = await verifyLedger({ pool: ledgers.pool, store: growing }, companyId)
    expect(found).to.include({ valid: true, checked: 502 })
  })

  it('verifies an outside store as it is, even if it is ahead of the read model [AUDIT-3]', async () => {
    const outside = createOutsideStore()
    const companyId = await writeLedger(ledgers.pool, 2)
    const known = await eventsOf(ledgers.pool, companyId)
    const more = sealedAfter(streamName(companyId), known.at(-1) ?? null, [{}])
    const append = { stream: streamName(companyId), expectedRevision: -1, commands: [[...known, ...more]] }
    await outside.append([append], { query: () => Promise.reject(new Error('has no transaction')) })
    const found = await verifyLedger({ pool: ledgers.pool, store: outside }, companyId)
    expect(found).to.include({ valid: true, checked: 3 })
    const event = outside.events(streamName(companyId))[1] as { data: object }
    event.data = { id: 1, by: 5 }
    const altered = await verifyLedger({ pool: ledgers.pool, store: outside }, companyId)
    expect(altered.first_error).to.deep.equal({ revision: 1, reason: 'wrong_hash' })
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('verification of the order of a stored ledger', () => {
  const ledgers = useVerifying()
  const { verify, faultIn } = ledgers

  it('finds that time went back in a chain with valid hashes [AUDIT-2]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    await forgeTail(ledgers.pool, companyId, 3, () => ({ recorded_at: '2020-01-01T00:00:00.000Z' }))
    expect(await faultIn(companyId)).to.equal('3 time_goes_back')
  })

  it('finds removed events: the first, one in the middle, several, all [AUDIT-1]', async () => {
    for (const [from, to, found] of [
      [0, 0, '0 wrong_revision'],
      [3, 3, '3 wrong_revision'],
      [2, 4, '2 wrong_revision'],
      [0, 6, '0 truncated'],
    ] as const) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      await removeEvents(ledgers.pool, companyId, from, to)
      expect(await faultIn(companyId)).to.equal(found)
    }
  })

  it('finds a removed event if later ones were renumbered, with or without valid hashes [AUDIT-1]', async () => {
    for (const fitting of [false, true]) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      const events = await eventsOf(ledgers.pool, companyId)
      await removeEvents(ledgers.pool, companyId, 3, LENGTH)
      let previous = events[2]
      for (const event of events.slice(4)) {
        const revision = event.revision - 1
        const moved = { ...event, revision }
        previous = fitting ? rehashed(moved, { previous_hash: previous?.hash ?? '' }) : moved
        await insertEvent(ledgers.pool, companyId, revision, previous)
      }
      expect(await faultIn(companyId)).to.equal(fitting ? '6 truncated' : '3 wrong_hash')
    }
  })

  it('finds swapped events [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const [, , two, three] = await eventsOf(ledgers.pool, companyId)
    if (!two || !three) throw new Error('the ledger is too short')
    await replaceEvent(ledgers.pool, companyId, 2, three)
    await replaceEvent(ledgers.pool, companyId, 3, two)
    expect(await faultIn(companyId)).to.equal('2 wrong_revision')
    await replaceEvent(ledgers.pool, companyId, 2, { ...three, revision: 2 })
    await replaceEvent(ledgers.pool, companyId, 3, { ...two, revision: 3 })
    expect(await faultIn(companyId)).to.equal('2 wrong_hash')
    await replaceEvent(ledgers.pool, companyId, 2, rehashed(three, { revision: 2 }))
    expect(await faultIn(companyId)).to.equal('2 broken_chain')
  })

  it('finds an inserted event: before the first, at the end, far beyond it [AUDIT-1]', async () => {
    for (const [revision, found] of [
      [-1, '0 wrong_revision'],
      [-(2 ** 62), '0 wrong_revision'],
      [LENGTH, `${LENGTH} beyond_head`],
      [LENGTH + 5, `${LENGTH} columns_differ`],
      [2 ** 62, `${LENGTH} columns_differ`],
    ] as const) {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      const events = await eventsOf(ledgers.pool, companyId)
      const [extra] = sealedAfter(streamName(companyId), events.at(-1) ?? null, [{}])
      if (extra) await insertEvent(ledgers.pool, companyId, revision, extra)
      const { valid, first_error } = await verify(companyId)
      expect(valid).to.equal(false)
      expect(`${first_error?.revision} ${first_error?.reason}`).to.equal(found)
    }
  })

  it('finds an event inserted in the middle if later ones were renumbered [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const events = await eventsOf(ledgers.pool, companyId)
    const [extra] = sealedAfter(streamName(companyId), events[2] ?? null, [{ data: { id: 1, by: 99 } }])
    await removeEvents(ledgers.pool, companyId, 3, LENGTH)
    for (const [n, event] of [extra, ...events.slice(3)].entries())
      if (event) await insertEvent(ledgers.pool, companyId, 3 + n, { ...event, revision: 3 + n })
    expect(await faultIn(companyId)).to.equal('4 wrong_hash')
  })

  it('finds a truncated or forged tail if the position of the ledger is unchanged [AUDIT-2]', async () => {
    const cut = await writeLedger(ledgers.pool, LENGTH)
    await removeEvents(ledgers.pool, cut, 5, LENGTH)
    expect(await faultIn(cut)).to.equal('5 truncated')

    const forged = await writeLedger(ledgers.pool, LENGTH)
    await forgeTail(ledgers.pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    expect((await verify(forged)).first_error).to.deep.equal({ revision: LENGTH - 1, reason: 'other_hash' })
  })

  it('cannot find them if the position was forged too: that requires an external seal', async () => {
    const cut = await writeLedger(ledgers.pool, LENGTH)
    const kept = (await eventsOf(ledgers.pool, cut)).at(-1)
    await removeEvents(ledgers.pool, cut, 5, LENGTH)
    await notePosition(ledgers.pool, cut, (await eventsOf(ledgers.pool, cut)).at(-1) as never)
    expect(await faultIn(cut)).to.equal('none')
    expect((await verify(cut, { anchors: [kept!] })).first_error).to.deep.equal({ revision: 5, reason: 'truncated' })

    const forged = await writeLedger(ledgers.pool, LENGTH)
    const anchor = (await eventsOf(ledgers.pool, forged))[5]
    await forgeTail(ledgers.pool, forged, 4, () => ({ data: { id: 1, by: 1_000 } }))
    await notePosition(ledgers.pool, forged, (await eventsOf(ledgers.pool, forged)).at(-1) as never)
    expect(await faultIn(forged)).to.equal('none')
    const held = await verify(forged, { anchors: [anchor!] })
    expect(held.first_error).to.deep.equal({ revision: 5, reason: 'other_hash' })
    // A seal from before the forgery does not detect it.
    expect((await verify(forged, { anchors: [(await eventsOf(ledgers.pool, forged))[3]!] })).valid).to.equal(true)
  })

  it('fails for two anchors that contradict each other', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const [event] = await eventsOf(ledgers.pool, companyId)
    const anchors = [event!, { revision: 0, hash: 'f'.repeat(64) }]
    expect((await verify(companyId, { anchors })).first_error).to.deep.equal({ revision: 0, reason: 'other_hash' })
    expect((await verify(companyId, { anchors: anchors.reverse() })).valid).to.equal(false)
  })
})

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
    await until(async () => (await findTableCheck(fullReader(api.core.pool, other.id))) !== null && failures.length > 0)
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
    expect(await findTableCheck(fullReader(api.core.pool, company.id))).to.equal(null)
  })
})

const sealedOf = async () => ({ anchors: [], watch: checkRoots([]) })

describe('verification through the API', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore

  before(() => {
    pool = createPool(database.url, { max: 4 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())

  /** Store with blocked reads, and the number of readers. */
  function gated() {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const started: string[] = []
    const waiting: EventStore = {
      ...store,
      async *stored(stream, after) {
        started.push(stream)
        await gate
        yield* store.stored?.(stream, after) ?? []
      },
    }
    return { store: waiting, started, open: () => open() }
  }

  it('runs once for equal requests, and refuses a different one of the same company meanwhile [FEED-4]', async () => {
    const companyId = await writeLedger(pool, 5)
    const [first] = await eventsOf(pool, companyId)
    const { store: waiting, started, open } = gated()
    const verifier = createVerifier({ pool, store: waiting }, { clock: Date.now, sealedOf })
    const both = [verifier.verify(companyId, null), verifier.verify(companyId, null)]
    const refused = await verifier.verify(companyId, first ?? null).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Unavailable)
    await until(() => started.length > 0)
    open()
    const [one, other] = await Promise.all(both)
    expect(one?.verification).to.include({ valid: true, checked: 5 })
    expect(other).to.equal(one)
    expect(started).to.have.length(1)
    // Afterwards any request may run.
    expect((await verifier.verify(companyId, first ?? null)).verification).to.include({ checked: 4 })
  })

  it('limits the number of ledgers verified at a time [FEED-4]', async () => {
    const companies = [await writeLedger(pool, 1), await writeLedger(pool, 1), await writeLedger(pool, 1)]
    const { store: waiting, started, open } = gated()
    const verifier = createVerifier({ pool, store: waiting }, { clock: Date.now, sealedOf })
    const results = companies.map((companyId) => verifier.verify(companyId, null))
    await until(() => started.length === 2)
    open()
    for (const { verification } of await Promise.all(results)) expect(verification.valid).to.equal(true)
    expect(started).to.have.length(3)
  })

  it('stops at its time limit, and resumes from there [FEED-4]', async () => {
    const companyId = await writeLedger(pool, 10)
    let now = 0
    // The clock advances 4 seconds per read: the third event exceeds the limit.
    const clock = () => {
      now += 4_000
      return now
    }
    const verifier = createVerifier({ pool, store }, { clock, sealedOf })
    const first = await verifier.verify(companyId, null)
    expect(first.head).to.equal(9)
    expect(first.verification).to.include({ valid: true, checked: 3, revision: 2 })
    let { verification } = first
    let checked = verification.checked
    while (verification.revision < first.head) {
      verification = (await verifier.verify(companyId, verification)).verification
      expect(verification.valid).to.equal(true)
      checked += verification.checked
    }
    expect(checked).to.equal(10)
  })

  it('computes the root of the tree, and compares it with the signed one [FEED-4, PROOF-6]', async () => {
    const companyId = await writeLedger(pool, 9)
    const tree = appenderFrom()
    const heads = (await eventsOf(pool, companyId)).map(({ hash }) => {
      tree.append(leafHash(Buffer.from(hash, 'hex')))
      return { size: tree.size, root: tree.root() }
    })
    const [root, other] = [tree.root(), leafHash(tree.root())]
    const verifyWith = (...signed: Parameters<typeof checkRoots>[0][number][]) =>
      createVerifier(
        { pool, store },
        { clock: Date.now, sealedOf: async () => ({ anchors: [], watch: checkRoots(signed) }) },
      )
    const verified = await verifyWith(...heads).verify(companyId, null)
    expect(verified).to.deep.include({ root: root.toString('base64'), head: 8 })
    expect(verified.verification.valid).to.equal(true)
    const faults = [
      await verifyWith(...heads, { size: 4, root: other }).verify(companyId, null),
      await verifyWith({ size: 10, root: other }).verify(companyId, null),
    ]
    expect(faults.map(({ verification }) => verification.first_error)).to.deep.equal([
      { revision: 3, reason: 'other_root' },
      { revision: 9, reason: 'truncated' },
    ])
    expect(faults.map((each) => each.root)).to.deep.equal([null, null])
    expect((await verifyWith(...heads).verify(companyId, { revision: 3, hash: '' })).root).to.equal(null)
  })
})
