import { expect } from 'chai'
import { replaceCustomer } from '#commands/person-commands.ts'
import { event } from '#events/catalogue.ts'
import { getCustomer, listCustomers, listDeletedCustomers, type PersonFilters } from '#queries/person-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { useDatabase } from '../support/database.ts'
import { customerCreated } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { dataOf, idsOf, OTHER_COMPANY_ID, openShop, recordsOf, type Shop } from '../support/shop.ts'

describe('queries on customers', () => {
  const database = useDatabase()
  let shop: Shop

  before(async () => {
    shop = await openShop(database.url)
    const details = { external_id: 'a', document: '52998224725' }
    await shop.record([
      customerCreated({ id: 1, name: 'José da Silva', ...details }),
      customerCreated({ id: 2, name: '100% Bom_Preço', external_id: 'b' }),
      customerCreated({ id: 3, name: 'Maria', external_id: 'c' }),
      event('CustomerDeleted', { id: 3 }),
    ])
    await shop.record([customerCreated({ id: 4, name: 'José de Outra' })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const list = async (filters: PersonFilters) =>
    idsOf(await listCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))

  it('lists live customers of the company', async () => {
    expect(await list({})).to.deep.equal([1, 2])
  })

  it('finds a substring of a name, ignoring case, accents and spacing [LIST-7]', async () => {
    expect(await list({ name: 'JOSÉ' })).to.deep.equal([1])
    expect(await list({ name: ' da  SILVA ' })).to.deep.equal([1])
    expect(await list({ name: 'jose' })).to.deep.equal([1])
    expect(await list({ name: 'silva jose' })).to.deep.equal([])
    expect(await list({ name: 'maria' })).to.deep.equal([])
  })

  it('takes a name literally', async () => {
    expect(await list({ name: '%' })).to.deep.equal([2])
    expect(await list({ name: 'm_p' })).to.deep.equal([2])
    expect(await list({ name: 'j_sé' })).to.deep.equal([])
    expect(await list({ name: '\\' })).to.deep.equal([])
  })

  it('finds words of names and external id in any order', async () => {
    expect(await list({ q: 'SILVA jose' })).to.deep.equal([1])
    expect(await list({ q: '  sil   A ' })).to.deep.equal([1])
    expect(await list({ q: 'josé b' })).to.deep.equal([])
    expect(await list({ q: 'preco 100% b' })).to.deep.equal([2])
    expect(await list({ q: '_' })).to.deep.equal([2])
    expect(await list({ q: 'maria' })).to.deep.equal([])
    expect(await list({ q: 'outra' })).to.deep.equal([])
  })

  it('finds by document and external id, all filters together', async () => {
    expect(await list({ document: '52998224725' })).to.deep.equal([1])
    expect(await list({ external_id: 'b' })).to.deep.equal([2])
    expect(await list({ external_id: 'c' })).to.deep.equal([])
    expect(await list({ name: 'josé', external_id: 'a', document: '52998224725' })).to.deep.equal([1])
    expect(await list({ name: 'josé', external_id: 'b' })).to.deep.equal([])
  })

  it('gets one customer with the bytes of the list', async () => {
    const page = await listCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })
    const found = await getCustomer(fullReader(shop.core.pool, COMPANY_ID), 1)
    expect(page).to.include({ revision: found.revision })
    expect(dataOf(page)).to.equal(found.record)
  })

  it('does not get missing or deleted customers, or those of another company', async () => {
    for (const id of [3, 4, 99, Number.MAX_SAFE_INTEGER]) {
      const found = await getCustomer(fullReader(shop.core.pool, COMPANY_ID), id)
      expect(found).to.deep.equal({ record: null, revision: 4 })
    }
  })

  it('responds to a command with the bytes of the list', async () => {
    const other = await openAnswer(shop)
    expect(await getCustomer(fullReader(shop.core.pool, COMPANY_ID), other.id)).to.include({ record: other.json })
  })

  it('lists deleted ones separately', async () => {
    const page = await listDeletedCustomers(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    const [record] = recordsOf(page)
    expect(recordsOf(page)).to.have.length(1)
    expect(record).to.have.all.keys('id', 'external_id', 'deleted_at')
    expect(record).to.include({ id: 3, external_id: 'c' })
    expect(record?.deleted_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/)
  })

  it('finds a phone with or without country code, and both with a document', async () => {
    await shop.record([
      customerCreated({ id: 5, name: 'Com telefone', phone: '5511987654321' }),
      customerCreated({ id: 6, name: 'E documento', phone: '11987654321', document: '52998224725' }),
    ])
    expect(await list({ phone: '11987654321' })).to.deep.equal([5, 6])
    expect(await list({ phone: '5511987654321', document: '52998224725' })).to.deep.equal([6])
    expect(await list({ phone: '87654321' })).to.deep.equal([])
    expect(await list({ find: '98765-4321' })).to.deep.equal([5, 6])
    expect(await list({ find: 'telefone com' })).to.deep.equal([5])
    await shop.record([event('CustomerDeleted', { id: 5 }), event('CustomerDeleted', { id: 6 })])
    expect(await list({ phone: '11987654321' })).to.deep.equal([])
  })
})

async function openAnswer(shop: Shop): Promise<{ id: number; json: string }> {
  const name = 'Zé "aspas" \\ \n\u2028 😀'
  const { json, record } = await shop.run(replaceCustomer, { external_id: 'z', name, person_type: 'PF' })
  return { id: (record as { id: number }).id, json }
}
