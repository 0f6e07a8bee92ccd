import { expect } from 'chai'
import fc from 'fast-check'
import { idsIn, LOCAL_TIME } from '../../support/answers.ts'
import { explore } from '../../support/random.ts'
import { useReader } from './reader.ts'

describe('lists: pages', () => {
  const { company, put, customers, list, walk } = useReader()

  it('have 50 records by default, and up to 200, in the order of ids [LIST-2]', async () => {
    const ids = await customers(205)
    const first = await list()
    expect(idsIn(first)).to.deep.equal(ids.slice(0, 50))
    const { next_cursor, synced_at, ...meta } = first.body.meta
    expect(meta).to.deep.equal({ has_more: true, limit: 50 })
    expect(next_cursor).to.be.a('string').that.is.not.empty
    expect(synced_at).to.match(LOCAL_TIME)
    const largest = await list({ limit: 200 })
    expect(idsIn(largest)).to.deep.equal(ids.slice(0, 200))
    const rest = await list({ limit: 200, cursor: largest.body.meta.next_cursor })
    expect(idsIn(rest)).to.deep.equal(ids.slice(200))
    expect(rest.body.meta).to.include({ has_more: false, next_cursor: null, limit: 200 })
  })

  it('end with next_cursor null, also if the last one is full or the list is empty', async () => {
    expect((await list()).body.meta).to.include({ has_more: false, next_cursor: null })
    expect((await list()).body.data).to.deep.equal([])
    const ids = await customers(6)
    expect((await list({ limit: 6 })).body.meta).to.include({ has_more: false, next_cursor: null })
    const first = await list({ limit: 3 })
    const second = await list({ limit: 3, cursor: first.body.meta.next_cursor })
    expect(idsIn(second)).to.deep.equal(ids.slice(3))
    expect(second.body.meta).to.include({ has_more: false, next_cursor: null })
  })

  it('show each record in the bytes of its GET [VAL-5]', async () => {
    const ids = await customers(3)
    const texts = await Promise.all(
      ids.map(async (id) => (await company.get(`/customers/${id}`)).text.slice('{"data":'.length, -1)),
    )
    expect((await list()).text.startsWith(`{"data":[${texts.join(',')}],"meta":{`)).to.equal(true)
  })

  it('may change their size between requests', async () => {
    const ids = await customers(10)
    const first = await list({ limit: 2 })
    expect(idsIn(await list({ limit: 5, cursor: first.body.meta.next_cursor }))).to.deep.equal(ids.slice(2, 7))
  })

  it('of any size return the whole list, each record once [LIST-3]', async () => {
    const ids = await customers(23)
    await explore(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (limit) => {
        expect(await walk({ limit })).to.deep.equal(ids)
      }),
      8,
    )
  })

  it('stay correct during changes: records present all the time are returned once [LIST-3]', async () => {
    const ids = await customers(20)
    const removed = [ids[1], ids[9], ids[18]] as number[]
    const seen = await walk({ limit: 4 }, '/customers', async (page) => {
      const id = removed[page]
      if (id !== undefined) await company.call('DELETE', `/customers/${id}`)
      // Already returned or not: a change does not move a record in the list.
      await company.call('PATCH', `/customers/${ids[0]}`, { notes: `página ${page}` })
      await company.call('PATCH', `/customers/${ids[19]}`, { notes: `página ${page}` })
      await put(`novo-${page}`, { name: `Novo ${page}` })
    })
    const stayed = ids.filter((id) => !removed.includes(id))
    expect(seen.filter((id) => stayed.includes(id))).to.deep.equal(stayed)
    expect(new Set(seen).size).to.equal(seen.length)
  })

  it('continue after their last record even if it is deleted [LIST-3]', async () => {
    const ids = await customers(4)
    const { next_cursor } = (await list({ limit: 2 })).body.meta
    await company.call('DELETE', `/customers/${ids[1]}`)
    expect(idsIn(await list({ limit: 2, cursor: next_cursor }))).to.deep.equal(ids.slice(2))
  })

  it('accept a cursor any number of times [LIST-3]', async () => {
    await customers(4)
    const { next_cursor } = (await list({ limit: 2 })).body.meta
    const [a, b] = [await list({ limit: 2, cursor: next_cursor }), await list({ limit: 2, cursor: next_cursor })]
    expect(a.text).to.equal(b.text)
  })
})
