import { expect } from 'chai'
import fc from 'fast-check'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { type PaymentType, type Product, sell } from '#demo/till/demo-sales.ts'
import { explore } from '../support/random.ts'

const product = fc.record({
  id: fc.integer({ min: 1, max: 50 }),
  name: fc.constant('Café'),
  price: fc.integer({ min: 0, max: 99_999 }).map((cents) => cents / 100),
  stock: fc.constant(0),
  updated_at: fc.constant('2026-03-10T14:00:00.000Z'),
}) satisfies fc.Arbitrary<Product>

const types: PaymentType[] = [
  { id: 1, name: 'Dinheiro', kind: 'cash', is_cash: true },
  { id: 2, name: 'Pix', kind: 'pix', is_cash: false },
  { id: 3, name: 'Crediário', kind: 'credit_account', is_cash: false },
  { id: 4, name: 'Cartão', kind: 'card', is_cash: false },
]

describe('sales of the reference till', () => {
  it('are valid for the service, with correct sums', async () => {
    const chance = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 })
    await explore(
      fc.property(fc.array(product, { minLength: 1, maxLength: 5 }), chance, (products, numbers) => {
        let drawn = 0
        const sale = sell(products, types, {
          random: () => numbers[drawn++ % numbers.length] as number,
          now: () => new Date('2026-03-10T14:00:00.000Z'),
          newId: () => 'pdv-1',
        })
        const parsed = OfflineSaleInput.safeParse(JSON.parse(JSON.stringify(sale)))
        expect(parsed.success, JSON.stringify([sale, parsed.error?.issues])).to.equal(true)
        const [payment] = parsed.data?.payments ?? []
        expect(typeof payment?.card?.nsu === 'string').to.equal(payment?.payment_type_id === 4)
        expect(/^E\d{31}$/.test(payment?.end_to_end_id ?? '')).to.equal(payment?.payment_type_id === 2)
      }),
      500,
    )
  })
})
