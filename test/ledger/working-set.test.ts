import { expect } from 'chai'
import fc from 'fast-check'
import { byKey, byPk } from '#ledger/table.ts'
import { createWorkingSet } from '#ledger/working-set.ts'
import { binaryArray } from '#postgres/row-bytes.ts'
import type { BulkTransaction, Transaction } from '#postgres/transaction.ts'
import { explore } from '../support/random.ts'
import {
  byExternal,
  byId,
  byName,
  emails,
  load,
  names,
  type Person,
  people,
  person,
  store,
  transact,
  usePeople,
} from './people.ts'

describe('working set', () => {
  const given = usePeople()

  describe('loading', () => {
    it('sends one statement per table and key for any number of rows and companies', async () => {
      await store(
        given.pool,
        person(1, 'ana'),
        person(2, 'bia', { external_id: 'b' }),
        person(1, 'ana', { company_id: 2 }),
      )
      await transact(given.pool, async (tx, sent) => {
        const set = createWorkingSet()
        set.queue(1, [byId(1), byId(2), byId(3), byName('ana'), byName('bia')])
        set.queue(2, [byId(1), byName('nobody'), byPk(emails, 'a@example.com'), byPk(emails, 'b@example.com')])
        await Promise.all(set.load(tx))
        expect(sent.sort()).to.deep.equal(['load_emails_pk', 'load_people_name', 'load_people_pk'])
        expect(set.of(1).get(byId(2))).to.deep.equal(person(2, 'bia', { external_id: 'b' }))
        expect(set.of(2).get(byId(1))).to.deep.equal(person(1, 'ana', { company_id: 2 }))
      })
    })

    it('remembers absent rows, and queries nothing twice', async () => {
      await store(given.pool, person(1, 'ana'))
      await transact(given.pool, async (tx, sent) => {
        const set = createWorkingSet()
        const refs = [byId(1), byId(9), byName('nobody')]
        await load(set, tx, refs)
        expect(set.of(1).get(byId(9))).to.equal(null)
        expect(set.of(1).get(byName('nobody'))).to.equal(null)
        expect(set.missing(1, [...refs, byId(10)])).to.deep.equal([byId(10)])
        sent.length = 0
        await load(set, tx, refs)
        expect(sent).to.deep.equal([])
      })
    })

    it('finds a loaded row by each of its keys', async () => {
      await store(given.pool, person(1, 'ana', { external_id: 'a-1' }))
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byName('ana')])
        expect(set.missing(1, [byId(1), byExternal('a-1')])).to.deep.equal([])
        expect(set.of(1).get(byExternal('a-1'))?.id).to.equal(1)
      })
    })

    it('never replaces a changed row by one that is loaded later', async () => {
      await store(given.pool, person(1, 'ana', { external_id: 'a-1' }))
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byId(1)])
        const renamed = person(1, 'anna', { external_id: null })
        set.of(1).put(people, renamed)
        // Both are still in the database, and another projection may load them.
        const again = createWorkingSet()
        again.of(1).put(people, renamed)
        for (const each of [set, again]) {
          await load(each, tx, [byId(1), byName('ana'), byExternal('a-1')])
          expect(each.of(1).get(byId(1))).to.equal(renamed)
          expect(each.of(1).get(byName('anna'))).to.equal(renamed)
          expect(each.of(1).get(byName('ana'))).to.equal(null)
          expect(each.of(1).get(byExternal('a-1'))).to.equal(null)
        }
      })
    })

    it('throws for a row that was neither loaded nor put, and for an unknown key of the table', () => {
      const rows = createWorkingSet().of(1)
      expect(() => rows.get(byId(1))).to.throw('people.pk 1 was not loaded')
      expect(() => rows.get(byKey(people, 'phone', '1'))).to.throw('people has no key phone')
      expect(() => createWorkingSet().queue(1, [byKey(people, 'phone', '1')])).to.throw('people has no key phone')
    })
  })

  describe('changing', () => {
    it('finds a put row by all of its keys', () => {
      const set = createWorkingSet()
      const ana = person(1, 'ana', { external_id: 'a-1' })
      set.of(1).put(people, ana)
      for (const ref of [byId(1), byName('ana'), byExternal('a-1')]) expect(set.of(1).get(ref)).to.equal(ana)
    })

    it('releases only the old name of a renamed row', () => {
      const set = createWorkingSet()
      set.of(1).put(people, person(1, 'ana', { external_id: 'a-1' }))
      set.of(1).put(people, person(1, 'anna', { external_id: 'a-1' }))
      expect(set.of(1).get(byName('ana'))).to.equal(null)
      expect(set.of(1).get(byName('anna'))?.id).to.equal(1)
      expect(set.of(1).get(byExternal('a-1'))?.name_key).to.equal('anna')
    })

    it('releases the name of a deleted row for another one, while the row itself is still found', () => {
      const set = createWorkingSet()
      set.of(1).put(people, person(1, 'ana'))
      set.of(1).put(people, person(1, null))
      expect(set.of(1).get(byName('ana'))).to.equal(null)
      set.of(1).put(people, person(2, 'ana'))
      set.of(1).put(people, person(1, null, { born: '1990-01-01' }))
      expect(set.of(1).get(byName('ana'))?.id).to.equal(2)
      expect(set.of(1).get(byId(1))?.born).to.equal('1990-01-01')
    })

    it('keeps a name with the row that took it, for either order of puts', () => {
      for (const order of [
        [1, 2],
        [2, 1],
      ] as const) {
        const set = createWorkingSet()
        set.of(1).put(people, person(1, 'ana'))
        set.of(1).put(people, person(2, 'bia'))
        for (const id of order) set.of(1).put(people, person(id, id === 1 ? 'bia' : 'ana'))
        expect([set.of(1).get(byName('ana'))?.id, set.of(1).get(byName('bia'))?.id]).to.deep.equal([2, 1])
      }
    })

    it('adds only new rows', async () => {
      await store(given.pool, person(1, 'ana'))
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byId(1), byId(2)])
        expect(() => set.of(1).add(people, person(1, 'other'))).to.throw('people')
        set.of(1).add(people, person(2, 'bia'))
        expect(() => set.of(1).add(people, person(2, 'bia'))).to.throw('exists already')
      })
    })

    it('refuses a row of another company, and one without its primary key', () => {
      const rows = createWorkingSet().of(1)
      expect(() => rows.put(people, person(1, 'ana', { company_id: 2 }))).to.throw('another company')
      expect(() => rows.add(people, person(1, 'ana', { company_id: 2 }))).to.throw('another company')
      expect(() => rows.put(people, { ...person(1, 'ana'), id: null as unknown as number })).to.throw('primary key')
    })

    it('separates companies with the same ids and names', async () => {
      await store(given.pool, person(1, 'ana'), person(1, 'ana', { company_id: 2, born: '1980-02-03' }))
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byId(1), byName('ana')], 1)
        expect(() => set.of(2).get(byId(1))).to.throw('not loaded')
        await load(set, tx, [byId(1)], 2)
        set.of(1).put(people, person(1, null))
        expect(set.of(1).get(byName('ana'))).to.equal(null)
        expect(set.of(2).get(byName('ana'))?.born).to.equal('1980-02-03')
        await Promise.all(set.flush(tx))
      })
      expect(await names(given.pool)).to.deep.equal([
        [1, null],
        [1, 'ana'],
      ])
    })

    it('shares the rows of a global table among all companies', async () => {
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byPk(emails, 'ana@example.com')], 1)
        set.of(1).put(emails, { email: 'ana@example.com', company_id: 1 })
        expect(set.of(2).get(byPk(emails, 'ana@example.com'))?.company_id).to.equal(1)
        await Promise.all(set.flush(tx))
      })
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byPk(emails, 'ana@example.com')], 2)
        expect(set.of(2).get(byPk(emails, 'ana@example.com'))?.company_id).to.equal(1)
      })
    })
  })
})

/** Ways of the writer and of a replay. */
const WAYS = ['flush', 'flushInBulk'] as const

/** Enough new rows for a bulk copy. */
const CROWD = Array.from({ length: 50 }, (_, n) => person(100 + n, null))

describe('working set, flushing', () => {
  const given = usePeople()

  it('sends nothing for rows that were only read', async () => {
    await store(given.pool, person(1, 'ana'))
    await transact(given.pool, async (tx, sent) => {
      const set = createWorkingSet()
      await load(set, tx, [byId(1), byId(2)])
      sent.length = 0
      await Promise.all(set.flush(tx))
      expect(sent).to.deep.equal([])
    })
  })

  it('swaps the names of two rows, and rotates names in a ring, in one statement', async () => {
    await store(given.pool, person(1, 'ana'), person(2, 'bia'), person(3, 'carla'), person(4, 'dora'), person(5, 'eva'))
    await transact(given.pool, async (tx, sent) => {
      const set = createWorkingSet()
      await load(set, tx, [1, 2, 3, 4, 5].map(byId))
      sent.length = 0
      for (const [id, name] of [
        [1, 'bia'],
        [2, 'ana'],
        [3, 'dora'],
        [4, 'eva'],
        [5, 'carla'],
      ] as const) {
        set.of(1).put(people, person(id, name))
      }
      await Promise.all(set.flush(tx))
      expect(sent).to.deep.equal(['replace_people'])
    })
    expect(await names(given.pool)).to.deep.equal([
      [1, 'bia'],
      [2, 'ana'],
      [3, 'dora'],
      [4, 'eva'],
      [5, 'carla'],
    ])
  })

  it('gives the name of a deleted row to a new one in one statement each', async () => {
    await store(given.pool, person(2, 'ana'))
    await transact(given.pool, async (tx, sent) => {
      const set = createWorkingSet()
      await load(set, tx, [byId(2), byId(1), byName('ana')])
      sent.length = 0
      set.of(1).put(people, person(2, null))
      set.of(1).add(people, person(1, 'ana'))
      await Promise.all(set.flush(tx))
      expect(sent).to.deep.equal(['replace_people', 'add_people'])
    })
    expect(await names(given.pool)).to.deep.equal([
      [1, 'ana'],
      [2, null],
    ])
  })

  it('replaces rows it has added if another transaction has written them meanwhile', async () => {
    const set = createWorkingSet()
    set.of(1).add(people, person(1, 'ana'))
    await store(given.pool, person(1, 'ana'))
    set.of(1).put(people, person(1, 'bia'))
    set.markWritten(people)
    await transact(given.pool, (tx) => Promise.all(set.flush(tx)))
    expect(await names(given.pool)).to.deep.equal([[1, 'bia']])
  })

  it('copies new rows to a table in bulk, after the rows that release their names', async () => {
    await store(given.pool, person(1, 'ana'), person(2, 'bia'))
    await transact(given.pool, async (tx, sent) => {
      const set = createWorkingSet()
      await load(set, tx, [byId(1), byId(3)])
      sent.length = 0
      set.of(1).put(people, person(1, null))
      set.of(1).put(people, person(3, 'ana'))
      set.of(1).add(people, person(4, 'first'))
      set.of(1).put(people, person(4, 'last'))
      for (const each of CROWD) set.of(1).add(people, each)
      await Promise.all(set.flushInBulk(tx))
      expect(sent).to.deep.equal(['replace_people', 'copy people'])
    })
    // Rows that were not loaded may exist, and a few new rows do not justify a copy.
    await transact(given.pool, async (tx, sent) => {
      const set = createWorkingSet()
      set.of(1).put(people, person(2, 'bea'))
      set.of(1).put(people, person(5, 'eva'))
      set.of(1).add(people, person(6, 'fay'))
      await Promise.all(set.flushInBulk(tx))
      expect(sent).to.deep.equal(['upsert_people', 'add_people'])
    })
    expect(await names(given.pool)).to.deep.equal([
      [1, null],
      [2, 'bea'],
      [3, 'ana'],
      [4, 'last'],
      [5, 'eva'],
      [6, 'fay'],
      ...CROWD.map(({ id }) => [id, null]),
    ])
  })

  it('reports why a copy was refused, and fails every statement behind it', async () => {
    await store(given.pool, person(1, 'ana'))
    const failures: unknown[] = []
    const failed = transact(given.pool, async (tx) => {
      const set = createWorkingSet()
      for (const each of [person(1, 'other'), ...CROWD]) set.of(1).add(people, each)
      const sent = [...set.flushInBulk(tx), tx.query({ name: 'one', text: 'select 1' })]
      for (const outcome of await Promise.allSettled(sent)) {
        failures.push(outcome.status === 'rejected' && (outcome.reason as { code: string }).code)
      }
    })
    expect(await failed.catch((error: Error) => error.message)).to.equal('the transaction was not committed: ROLLBACK')
    expect(failures).to.deep.equal(['23505', '25P02'])
    expect(await names(given.pool)).to.deep.equal([[1, 'ana']])
  })

  it('is refused by the database if two rows end with one name: the safety net', async () => {
    const error = await store(given.pool, person(1, 'ana'), person(2, 'ana')).catch((reason: unknown) => reason)
    expect(error).to.include({ code: '23505', constraint: 'people_name_key' })
    expect(await names(given.pool)).to.deep.equal([])
  })

  it('writes the last state of each row once, in order of the primary key', async () => {
    const flushed: unknown[][] = []
    const query = async (_: unknown, values: unknown[]) => flushed.push(values)
    const set = createWorkingSet()
    for (const [company_id, id] of [
      [10, 1],
      [9, 11],
      [9, 2],
      [10, 3],
      [9, 2],
    ] as const) {
      set.of(company_id).put(people, person(id, `name-${flushed.length}-${id}`, { company_id }))
    }
    set.of(9).put(people, person(2, 'last', { company_id: 9 }))
    await Promise.all(set.flush({ query } as unknown as Transaction))
    const [companies, ids, keys] = flushed[0] as Buffer[]
    expect(companies).to.deep.equal(binaryArray('bigint', [9, 9, 10, 10]))
    expect(ids).to.deep.equal(binaryArray('bigint', [2, 11, 1, 3]))
    expect(keys?.indexOf('last')).to.be.lessThan(keys?.indexOf('name-0-11') as number)
  })

  it('sends nothing if a row cannot be written as JSON', () => {
    const sent: unknown[] = []
    const query = async (statement: unknown) => sent.push(statement)
    const set = createWorkingSet()
    set.of(1).put(emails, { email: 'ana@example.com', company_id: 1 })
    set.of(1).put(people, person(1, 'ana', { doc: { amount: 1n } }))
    const tx = { query, copy: query } as unknown as BulkTransaction
    for (const way of WAYS) expect(() => set[way](tx)).to.throw(TypeError)
    expect(sent).to.deep.equal([])
  })

  for (const way of WAYS)
    it(`preserves every type, and JSON byte for byte, by ${way}`, async () => {
      const doc = {
        z: 1,
        a: { 10: 'x', 9: null },
        'ç "\\': ['é', '😀', '\u2028', 1.5, 1e21, true],
        'a\nb': [{}, []],
        empty: '',
      }
      const row = person(1, 'O\'Hara, {x} \\ NULL "q" \n', {
        external_id: 'NULL',
        born: '2024-02-29',
        changed_at: '2026-12-31T23:59:59.999Z',
        secret: Buffer.from([0, 1, 39, 92, 255]),
        doc,
      })
      const plain = person(2, '', { doc: null })
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byId(1)])
        set.of(1).put(people, row)
        set.of(1).add(people, plain)
        await Promise.all(set[way](tx))
      })
      const { rows } = await given.pool.query<{ text: string }>('select doc::text as text from people where id = 1')
      expect(rows[0]?.text).to.equal(JSON.stringify(doc))
      await transact(given.pool, async (tx) => {
        const set = createWorkingSet()
        await load(set, tx, [byId(1), byName(''), byExternal('NULL')])
        expect(set.of(1).get(byExternal('NULL'))).to.deep.equal(row)
        expect(set.of(1).get(byName(''))).to.deep.equal(plain)
        set.of(1).put(people, { ...(set.of(1).get(byId(1)) as Person), born: null })
        await Promise.all(set[way](tx))
      })
      const after = await given.pool.query<{ text: string }>('select doc::text as text, born from people where id = 1')
      expect(after.rows[0]).to.deep.equal({ text: JSON.stringify(doc), born: null })
    })

  for (const way of WAYS)
    it(`by ${way} shows and stores the same as changes one by one, for any order of loads and puts`, async () => {
      const NAMES = ['ana', 'bia', 'carla', null]
      const change = fc.record({
        id: fc.integer({ min: 1, max: 4 }),
        name: fc.constantFrom(...NAMES),
        newGroup: fc.boolean(),
      })
      const group = async (
        changes: readonly { id: number; name: string | null }[],
        truth: Map<number, string | null>,
      ) =>
        transact(given.pool, async (tx) => {
          const set = createWorkingSet()
          const rows = set.of(1)
          for (const { id, name } of changes) {
            await load(set, tx, [byId(id), ...(name === null ? [] : [byName(name)])])
            const holder = [...truth].find(([, taken]) => taken === name)?.[0] ?? null
            if (name !== null) expect(rows.get(byName(name))?.id ?? null).to.equal(holder)
            expect(rows.get(byId(id))?.name_key).to.equal(truth.get(id))
            if (name !== null && holder !== null && holder !== id) {
              // Two rows swap names, as two commands of one group may do.
              rows.put(people, person(holder, truth.get(id) ?? null))
              truth.set(holder, truth.get(id) ?? null)
            }
            rows.put(people, person(id, name))
            truth.set(id, name)
          }
          await Promise.all(set[way](tx))
        })
      await explore(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (changes) => {
          await given.pool.query('truncate people')
          const truth = new Map<number, string | null>()
          const groups = changes.reduce<(typeof changes)[]>((all, each) => {
            if (each.newGroup || all.length === 0) all.push([])
            all.at(-1)?.push(each)
            return all
          }, [])
          for (const each of groups) await group(each, truth)
          expect(await names(given.pool)).to.deep.equal([...truth].sort(([a], [b]) => a - b))
        }),
        60,
      )
    })
})
