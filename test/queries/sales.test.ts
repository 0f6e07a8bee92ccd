import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { event } from '#events/catalogue.ts'
import { listPaymentTypes } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { getSale, getSaleByExternalId, listSales, type SaleFilters } from '#queries/sale-queries.ts'
import { useDatabase } from '../support/database.ts'
import { customerCreated, paymentTypeCreated, saleCompleted } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { dataOf, idsOf, OTHER_COMPANY_ID, openShop, type Shop } from '../support/shop.ts'

const TIMEZONE = 'America/Sao_Paulo'
const customer = { id: 4, external_id: null, name: 'Ana' }

describe('queries on sales', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
    await shop.record([
      paymentTypeCreated({ id: 2, name: 'Crediário', kind: 'credit_account' }),
      paymentTypeCreated({ id: 1 }),
      customerCreated({ id: 4 }),
      // Last millisecond of 9 March, first of 10 March, and last of 10 March in São Paulo.
      saleCompleted({ id: 1, external_id: 'a', customer, sold_at: '2026-03-10T02:59:59.999Z' }),
      saleCompleted({ id: 2, sold_at: '2026-03-10T03:00:00.000Z' }),
      saleCompleted({ id: 3, external_id: 'c', sold_at: '2026-03-11T02:59:59.999Z' }),
      event('SaleCancelled', { id: 3, reason: 'erro', restock: [] }),
    ])
    await shop.record([saleCompleted({ id: 9, external_id: 'z' })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const list = async (filters: SaleFilters) =>
    idsOf(await listSales(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, timezone: TIMEZONE, ...filters }))

  it('filters by status, customer, origin and external id', async () => {
    expect(await list({})).to.deep.equal([1, 2, 3])
    expect(await list({ status: 'cancelled' })).to.deep.equal([3])
    expect(await list({ status: 'completed' })).to.deep.equal([1, 2])
    expect(await list({ customer_id: 4 })).to.deep.equal([1])
    expect(await list({ origin: 'api' })).to.deep.equal([1, 2, 3])
    expect(await list({ origin: 'pdv' })).to.deep.equal([])
    expect(await list({ external_id: 'c' })).to.deep.equal([3])
    expect(await list({ external_id: 'z' })).to.deep.equal([])
  })

  it('filters by days in the company’s zone, both ends included', async () => {
    expect(await list({ sold_from: '2026-03-10', sold_to: '2026-03-10' })).to.deep.equal([2, 3])
    expect(await list({ sold_to: '2026-03-09' })).to.deep.equal([1])
    expect(await list({ sold_from: '2026-03-11' })).to.deep.equal([])
    expect(await list({ sold_from: '2026-03-10', sold_to: '2026-03-09' })).to.deep.equal([])
    const manaus = await listSales(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 50,
      timezone: 'America/Manaus',
      sold_from: '2026-03-10',
    })
    expect(idsOf(manaus)).to.deep.equal([3])
  })

  it('pages through a filtered list', async () => {
    const query = { limit: 1, timezone: TIMEZONE, sold_from: '2026-03-09', status: 'completed' } as const
    const first = (await listSales(fullReader(shop.core.pool, COMPANY_ID), query)) as { next: string }
    const second = await listSales(fullReader(shop.core.pool, COMPANY_ID), { ...query, cursor: first.next })
    expect([idsOf(first), idsOf(second)]).to.deep.equal([[1], [2]])
    expect(second).to.include({ has_more: false, next: null })
  })

  it('gets a sale by id and by external id, cancelled ones included', async () => {
    const listed = await listSales(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 1,
      timezone: TIMEZONE,
      status: 'cancelled',
    })
    const byId = await getSale(fullReader(shop.core.pool, COMPANY_ID), 3)
    const byExternalId = await getSaleByExternalId(fullReader(shop.core.pool, COMPANY_ID), 'c')
    expect(listed).to.include({ revision: byId.revision })
    expect(dataOf(listed)).to.equal(byId.record)
    expect(byExternalId).to.deep.equal(byId)
  })

  it('does not get sales of another company', async () => {
    expect(await getSale(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(await getSaleByExternalId(fullReader(shop.core.pool, COMPANY_ID), 'z')).to.include({ record: null })
  })

  it('responds to a cancellation with the bytes of a later read', async () => {
    const { json } = await shop.run(cancelSale, { id: 2 })
    expect(await getSale(fullReader(shop.core.pool, COMPANY_ID), 2)).to.include({ record: json })
  })

  it('lists all payment types by id, refused ones with their reason', async () => {
    const { data } = await listPaymentTypes(fullReader(shop.core.pool, COMPANY_ID))
    const types = JSON.parse(`[${data}]`)
    expect(types.map(({ id, accepts_api }: Record<string, unknown>) => [id, accepts_api])).to.deep.equal([
      [1, true],
      [2, false],
    ])
    const none = await listPaymentTypes(fullReader(shop.core.pool, OTHER_COMPANY_ID))
    expect(none).to.deep.equal({ data: '', revision: 1 })
  })
})
