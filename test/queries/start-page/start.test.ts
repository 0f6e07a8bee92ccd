import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { openAccounts } from '#queries/finance-summary.ts'
import { lowStock } from '#queries/item-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { useDatabase } from '../../support/database.ts'
import { itemCreated, payableCreated, receivableCreated, receivablePaid } from '../../support/facts.ts'
import { COMPANY_ID } from '../../support/given.ts'
import { OTHER_COMPANY_ID, openShop, type Shop } from '../../support/shop.ts'

const NONE = { count: 0, amount: '0.00' }

describe('other parts of the start page', () => {
  const database = useDatabase()
  let shop: Shop

  before(async () => {
    shop = await openShop(database.url)
  })
  after(() => shop.core.close())

  describe('open accounts', () => {
    const calendar = (today: string) => ({ timezone: 'America/Sao_Paulo', today })
    const open = (today: string) => openAccounts(fullReader(shop.core.pool, COMPANY_ID), calendar(today))

    it('are zero before any exist', async () => {
      const none = { pending: NONE, overdue: NONE }
      expect(await open('2026-03-10')).to.deep.equal({ receivables: none, payables: none })
    })

    it('are the pending ones, overdue from the day after the due date, without settled and deleted ones', async () => {
      const due = (due_date: string, amount: string) => ({ due_date, amount })
      await shop.record([
        receivableCreated({ id: 1, ...due('2026-03-09', '10.00') }),
        receivableCreated({ id: 2, ...due('2026-03-10', '0.05') }),
        receivableCreated({ id: 3, ...due('2026-03-01', '7.00') }),
        receivableCreated({ id: 4, ...due('2026-03-01', '9.00') }),
        payableCreated({ id: 1, ...due('2027-01-01', '9999999999.99') }),
        payableCreated({ id: 2, ...due('2027-01-01', '9999999999.99') }),
      ])
      await shop.record([event('ReceivableDeleted', { id: 3 }), receivablePaid(4, { amount: '9.00' })])
      await shop.record([receivableCreated({ id: 5, ...due('2026-03-01', '77.00') })], OTHER_COMPANY_ID)
      const payables = { pending: { count: 2, amount: '19999999999.98' }, overdue: NONE }
      const pending = { count: 2, amount: '10.05' }
      expect(await open('2026-03-09')).to.deep.equal({ receivables: { pending, overdue: NONE }, payables })
      const overdue = { count: 1, amount: '10.00' }
      expect(await open('2026-03-10')).to.deep.equal({ receivables: { pending, overdue }, payables })
      expect(await open('2026-03-11')).to.deep.equal({ receivables: { pending, overdue: pending }, payables })
    })
  })

  describe('low stock', () => {
    const product = (id: number, stock: string | null, name = `Produto ${id}`, rest: object = {}): NewEvent =>
      itemCreated({ id, name, stock, ...rest })
    const short = (limit = 20) => lowStock(fullReader(shop.core.pool, COMPANY_ID), limit)

    it('is empty for an empty catalog', async () => {
      expect(await short()).to.deep.equal({ out: 0, low: 0, items: [] })
    })

    it('lists items at or below their minimum, or out of stock, lowest stock first', async () => {
      await shop.record([
        product(1, '5.001', 'Açúcar', { min_stock: '5.000' }),
        product(2, '5.000', 'Zinco', { unit: 'KG', min_stock: '5.000' }),
        product(3, '0.000', 'Banana'),
        product(4, '-2.500'),
        product(5, null),
        product(6, null, 'Entrega', { type: 'service' }),
        product(7, '0.001', 'Produto 7', { min_stock: '0.001' }),
        product(11, '0.001'),
        product(8, '0.000', 'Abacate'),
        product(9, '-9.000'),
      ])
      await shop.record([event('CatalogItemDeactivated', { id: 9 })])
      await shop.record([product(10, '0.000')], OTHER_COMPANY_ID)
      const { out, low, items } = await short()
      expect([out, low]).to.deep.equal([3, 5])
      expect(items.map(({ id }) => id)).to.deep.equal([4, 8, 3, 7, 2])
      expect(items[0]).to.have.all.keys('id', 'name', 'unit', 'stock')
      expect(items.at(-1)).to.deep.equal({ id: 2, name: 'Zinco', unit: 'KG', stock: '5.000' })
    })

    it('counts all, those without stock among those that run out, and lists up to the requested number', async () => {
      const { out, low, items } = await short(2)
      expect([out, low]).to.deep.equal([3, 5])
      expect(items.map(({ id }) => id)).to.deep.equal([4, 8])
    })
  })
})
