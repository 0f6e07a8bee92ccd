import { expect } from 'chai'
import { byKey, byPk } from '#ledger/table.ts'
import { createWorkingSet } from '#ledger/working-set.ts'
import { byExternal, byId, byName, emails, load, names, people, person, store, transact, usePeople } from './people.ts'

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
