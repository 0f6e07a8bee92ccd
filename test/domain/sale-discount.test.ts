import { expect } from 'chai'
import fc from 'fast-check'
import { shareDiscount, sumSale, totalOfLine } from '#domain/sale-discount.ts'
import { explore } from '../support/random.ts'

describe('discount of a whole sale', () => {
  for (const [what, lines, discount, shares] of [
    ['equal lines', [1000, 1000, 1000], 300, [100, 100, 100]],
    ['a rest of one cent', [1000, 1000, 1000], 100, [34, 33, 33]],
    ['the largest remainder, not the largest line', [1000, 999, 1], 101, [51, 50, 0]],
    ['lines of nothing', [0, 1000, 0], 1, [0, 1, 0]],
    ['everything', [1, 2, 3], 6, [1, 2, 3]],
    ['the largest amounts', [999_999_999_999, 999_999_999_999], 999_999_999_999, [500_000_000_000, 499_999_999_999]],
    ['nothing', [5, 7], 0, [0, 0]],
    ['a sale of nothing', [0, 0], 0, [0, 0]],
  ] as const)
    it(`is shared over its lines to the cent: ${what} [SALE-30]`, () => {
      expect(shareDiscount(lines, discount)).to.deep.equal(shares)
    })

  it('is the sum of its shares, each at most its line and within a cent of its proportion [SALE-30]', async () => {
    const amounts = fc.array(fc.nat(100_000), { minLength: 1, maxLength: 20 })
    await explore(
      fc.property(amounts, fc.double({ min: 0, max: 1, noNaN: true }), (lines, part) => {
        const sum = lines.reduce((before, line) => before + line, 0)
        const discount = Math.floor(sum * part)
        const shares = shareDiscount(lines, discount)
        expect(shares.reduce((before, share) => before + share, 0)).to.equal(discount)
        for (const [at, share] of shares.entries()) {
          const line = lines[at] ?? 0
          expect(share).to.be.within(0, line)
          if (sum > 0) expect(Math.abs(share - (line * discount) / sum)).to.be.below(1)
        }
      }),
      300,
    )
  })

  it('is refused if it is no amount [SALE-30]', () => {
    for (const wrong of [-1, 0.5, Number.NaN]) {
      expect(() => shareDiscount([1], wrong)).to.throw(RangeError)
      expect(() => shareDiscount([wrong], 1)).to.throw(RangeError)
    }
  })

  it('beside those of lines leaves lines that are the sale: no line below zero, no cent lost [SALE-24] [SALE-30]', async () => {
    const line = fc.nat(100_000).chain((gross) => fc.record({ gross: fc.constant(gross), discount: fc.nat(gross) }))
    const lines = fc.array(line, { minLength: 1, maxLength: 20 })
    await explore(
      fc.property(lines, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(10_000), (lines, part, deliveryFee) => {
        const totals = lines.map(totalOfLine)
        const discount = Math.floor(sumSale(lines, 0, 0).subtotal * part)
        const { subtotal, total } = sumSale(lines, discount, deliveryFee)
        const shares = shareDiscount(totals, discount)
        const nets = totals.map((amount, at) => amount - (shares[at] ?? 0))
        expect(Math.min(...nets)).to.be.at.least(0)
        expect(nets.reduce((sum, net) => sum + net, 0) + deliveryFee).to.equal(total)
        expect(totals.reduce((sum, amount) => sum + amount, 0)).to.equal(subtotal)
      }),
      300,
    )
  })
})
