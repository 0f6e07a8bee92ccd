import { expect } from 'chai'
import fc from 'fast-check'
import { amountOfPart, type LinePart, shareDiscount, sumSale, totalOfLine } from '#domain/payment-rules.ts'
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

  it('a sale’s discount beside those of lines loses no cent [SALE-24] [SALE-30]', async () => {
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

describe('the amount of a part of a sold line', () => {
  const parts = (line: LinePart, quantities: readonly number[]): number[] => {
    let before: LinePart = { thousandths: 0, cents: 0 }
    return quantities.map((thousandths) => {
      const cents = amountOfPart(line, before, thousandths)
      before = { thousandths: before.thousandths + thousandths, cents: before.cents + cents }
      return cents
    })
  }

  it('is half up, and the last part takes what is left [RETURN-2]', () => {
    expect(parts({ thousandths: 3000, cents: 1000 }, [1000, 1000, 1000])).to.deep.equal([333, 333, 334])
    expect(parts({ thousandths: 2000, cents: 999 }, [1000, 1000])).to.deep.equal([500, 499])
    expect(parts({ thousandths: 1500, cents: 1000 }, [500, 1000])).to.deep.equal([333, 667])
    expect(parts({ thousandths: 2000, cents: 0 }, [1000, 1000])).to.deep.equal([0, 0])
  })

  it('never exceeds what is left, however small the parts [RETURN-2]', () => {
    expect(parts({ thousandths: 4000, cents: 2 }, [1000, 1000, 1000, 1000])).to.deep.equal([1, 1, 0, 0])
  })

  it('sums to the line over any parts [RETURN-2]', async () => {
    const line = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 12 })
    await explore(
      fc.property(line, fc.nat(100_000_000), (quantities, cents) => {
        const thousandths = quantities.reduce((sum, quantity) => sum + quantity, 0)
        const amounts = parts({ thousandths, cents }, quantities)
        expect(amounts.reduce((sum, amount) => sum + amount, 0)).to.equal(cents)
        expect(Math.min(...amounts)).to.be.at.least(0)
      }),
      300,
    )
  })
})
