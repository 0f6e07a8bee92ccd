import { expect } from 'chai'
import { inZone } from '#domain/instant.ts'
import { idsIn } from '../../support/answers.ts'
import { useReader, ZONE } from './reader.ts'

describe('lists', () => {
  const { api, company, put, customers, list, walk, syncedAt } = useReader()

  describe('updated_since', () => {
    it('is inclusive to the millisecond, in any offset [LIST-4]', async () => {
      const { id, updated_at } = await put('a', { name: 'Ana' })
      const at = Date.parse(updated_at)
      const since = async (ms: number, zone = ZONE) =>
        idsIn(await list({ updated_since: inZone(new Date(ms).toISOString(), zone) }))
      expect(await since(at)).to.deep.equal([id])
      expect(await since(at, 'Asia/Tokyo')).to.deep.equal([id])
      expect(await since(at - 1)).to.deep.equal([id])
      expect(await since(at + 1)).to.deep.equal([])
    })

    it('is ordered by last change, each record once, with its newest state [LIST-4]', async () => {
      const ids = await customers(5)
      const since = await syncedAt()
      for (const position of [3, 0, 3, 1, 0]) {
        await company.call('PATCH', `/customers/${ids[position]}`, { notes: `${Math.random()}` })
      }
      const changed = [ids[3], ids[1], ids[0]]
      // Records created at the same instant may be repeated before them; all changes must be included.
      expect(idsIn(await list({ updated_since: since })).slice(-3)).to.deep.equal(changed)
      const epoch = '1970-01-01T00:00:00Z'
      expect(idsIn(await list({ updated_since: epoch }))).to.deep.equal([ids[2], ids[4], ...changed])
      expect(await walk({ updated_since: epoch, limit: 1 })).to.deep.equal([ids[2], ids[4], ...changed])
    })

    it('pages through records of the same instant without loss [LIST-4]', async () => {
      const ids = await customers(30)
      const [{ updated_at }] = (await list({ limit: 1 })).body.data
      expect(await walk({ updated_since: updated_at, limit: 7 })).to.deep.equal(ids)
    })

    it('returns a record again that changes during paging, on a later page [LIST-4]', async () => {
      const ids = await customers(6)
      const seen = await walk({ updated_since: '1970-01-01T00:00:00Z', limit: 2 }, '/customers', async (page) => {
        if (page === 0) await company.call('PATCH', `/customers/${ids[0]}`, { notes: 'de novo' })
      })
      expect(seen).to.deep.equal([...ids, ids[0]])
    })

    it('combines with filters', async () => {
      await customers(3)
      const { synced_at } = (await list()).body.meta
      const { id } = await put('x', { name: 'Cliente novo' })
      await put('y', { name: 'Outro' })
      expect(idsIn(await list({ updated_since: synced_at, name: 'cliente novo' }))).to.deep.equal([id])
    })

    it('excludes deleted records, and includes revived ones [LIST-6]', async () => {
      const { id } = await put('a', { name: 'Ana' })
      const since = await syncedAt()
      await company.call('DELETE', `/customers/${id}`)
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([])
      await put('a', { name: 'Ana' })
      expect(idsIn(await list({ updated_since: since }))).to.deep.equal([id])
    })
  })

  describe('synced_at', () => {
    it("is the time of the ledger's last event, with the company's offset, on every list [LIST-5]", async () => {
      const { updated_at } = await put('a', { name: 'Ana' })
      for (const path of ['/customers', '/customers/deleted', '/catalog/items', '/catalog/categories', '/sales']) {
        const { meta } = (await list({}, path)).body
        expect(meta.synced_at, path).to.equal(updated_at)
      }
      const tokyo = await api.company({ timezone: 'Asia/Tokyo' })
      expect((await tokyo.get('/customers')).body.meta.synced_at).to.match(/\+09:00$/)
    })

    it('as the next updated_since misses nothing, without repeating everything [LIST-5]', async () => {
      await customers(20)
      const known = new Set<number>()
      let since = await syncedAt()
      for (let round = 0; round < 5; round++) {
        const { id } = await put(`novo-${round}`, { name: `Novo ${round}` })
        const reply = await list({ updated_since: since })
        for (const found of idsIn(reply)) known.add(found)
        expect(known.has(id)).to.equal(true)
        expect(reply.body.data.length).to.be.below(20 + 2)
        since = reply.body.meta.synced_at
      }
      expect((await list({ updated_since: since })).body.data).to.have.length(1)
    })
  })

  describe('deleted records', () => {
    it('are ordered by time of deletion, in pages, from `since` on, inclusive [LIST-6]', async () => {
      const ids = await customers(5)
      const order = [ids[4], ids[0], ids[2]] as number[]
      for (const id of order) await company.call('DELETE', `/customers/${id}`)
      const path = '/customers/deleted'
      const all = await list({}, path)
      expect(idsIn(all)).to.deep.equal(order)
      expect(await walk({ limit: 1 }, path)).to.deep.equal(order)
      const { deleted_at } = all.body.data[1]
      expect(idsIn(await list({ since: deleted_at }, path))).to.deep.equal(order.slice(1))
      expect(await walk({ since: deleted_at, limit: 1 }, path)).to.deep.equal(order.slice(1))
      const after = inZone(new Date(Date.parse(deleted_at) + 1).toISOString(), ZONE)
      expect(idsIn(await list({ since: after }, path))).to.deep.equal(order.slice(2))
    })

    it('exclude revived ones, and show a second deletion at its own time [REC-4]', async () => {
      const { id } = await put('a', { name: 'Ana' })
      await company.call('DELETE', `/customers/${id}`)
      const [first] = (await company.get('/customers/deleted')).body.data
      await put('a', { name: 'Ana' })
      expect((await company.get('/customers/deleted')).body.data).to.deep.equal([])
      await company.call('DELETE', `/customers/${id}`)
      const [second] = (await company.get('/customers/deleted')).body.data
      expect(second).to.include({ id, external_id: 'a' })
      expect(second.deleted_at > first.deleted_at).to.equal(true)
    })
  })
})
