import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { copyItem } from '../support/large-catalog.ts'
import { openTill } from '../support/till.ts'
import { OWN_DATABASE, useCompany } from '../support/use-api.ts'
import { productsOf } from './products-of-till.ts'

describe('GET /api/sync/products of a large catalog', () => {
  const { api, company } = useCompany(OWN_DATABASE)

  it('returns 50,000 products, each once and in order [SYNC-10]', async () => {
    const till = await openTill(api.url, company)
    const products = productsOf(company, till)
    const first = await products.create({ name: 'Produto', barcode: '789', stock: '1' })
    await copyItem(api.core.pool, company.id, first, 49_999)
    const { body } = await products.download()
    expect(body.total).to.equal(50_000)
    for (const [position, { id, name }] of body.data.entries()) {
      if (id !== first + position || !name.startsWith('Produto')) expect.fail(`${id} at position ${position}`)
    }
    // The copies have equal times and revisions, so pages continue by id.
    const since = await products.download('2000-01-01T00:00:00Z')
    expect(idsIn(since)).to.deep.equal(body.data.map(({ id }: Json) => id))

    // A slow till holds no Postgres transaction, and so no snapshot.
    const slow = await fetch(`${api.url}/api/sync/products`, { headers: { authorization: `Bearer ${till.token}` } })
    const { rows } = await api.core.pool.query(
      `select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in trans%'`,
    )
    expect(rows[0].open).to.equal(0)
    expect(((await slow.json()) as Json).total).to.equal(50_000)
  })
})
