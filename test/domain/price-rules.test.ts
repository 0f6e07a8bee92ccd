import { expect } from 'chai'
import { applyPriceRule, PriceRule, priceByUnit } from '#domain/prices.ts'

const percent = (amount: number, ending: number | null = null) => ({ kind: 'percent', amount, ending }) as const
const cost = (amount: number, ending: number | null = null) => ({ kind: 'cost', amount, ending }) as const
const at = (price: string, known: string | null = null) => ({ price, cost: known })

describe('price rules', () => {
  it('change a price by a percentage, to the nearest cent, ties up [ITEM-1260]', () => {
    expect(applyPriceRule(percent(500), at('18.90'))).to.equal('19.85')
    expect(applyPriceRule(percent(500), at('0.10'))).to.equal('0.11')
    expect(applyPriceRule(percent(-350), at('10.00'))).to.equal('9.65')
    expect(applyPriceRule(percent(500), at('9999999999.99'))).to.equal(null)
    expect(applyPriceRule(percent(-9999), at('0.10'))).to.equal(null)
  })

  it('multiply the cost; without one there is no price [ITEM-1260]', () => {
    expect(applyPriceRule(cost(14_000), at('1.00', '10.01'))).to.equal('14.01')
    expect(applyPriceRule(cost(14_000), at('1.00', null))).to.equal(null)
    expect(applyPriceRule(cost(14_000), at('1.00', '0.00'))).to.equal(null)
  })

  it('end in the nearest ending of the exact price, ties up, never in zero [ITEM-1261]', () => {
    const same = (price: string, ending: number) => applyPriceRule(cost(10_000, ending), at('1.00', price))
    expect(['18.40', '18.39', '18.90', '19.40', '19.39', '0.05'].map((price) => same(price, 90))).to.deep.equal([
      ...['18.90', '17.90', '18.90', '19.90', '18.90', '0.90'],
    ])
    expect(['0.49', '0.50', '1.49', '1.50'].map((price) => same(price, 0))).to.deep.equal([
      ...['1.00', '1.00', '1.00', '2.00'],
    ])
    // 1.3965 is nearer to 0.90 than to 1.90; rounded to 1.40 first it would be a tie.
    expect(applyPriceRule(percent(500, 90), at('1.33'))).to.equal('0.90')
  })

  it('refuse 0 %, −100 % and factors of zero [ITEM-1260]', () => {
    for (const rule of [percent(0), percent(-10_000), percent(-20_000), percent(100_001), cost(0), cost(1_000_001)])
      expect(PriceRule.safeParse(rule).success, JSON.stringify(rule)).to.equal(false)
    for (const rule of [percent(-9_999), percent(100_000), cost(1), cost(14_000, 99)])
      expect(PriceRule.safeParse(rule).success, JSON.stringify(rule)).to.equal(true)
  })
})

describe('price of a kilogram or litre', () => {
  const of = (name: string, unit: string | null, price: string) => {
    const found = priceByUnit(name, unit, price)
    return found && `${found.amount} o ${found.unit}`
  }

  it('is that of what is sold by it, or follows from the content in the name [ITEM-1267]', () => {
    expect(of('Queijo', 'KG', '59.90')).to.equal('59.90 o kg')
    expect(of('Café 500 g', 'UN', '18.90')).to.equal('37.80 o kg')
    expect(of('Café 1.000g', 'UN', '18.90')).to.equal('18.90 o kg')
    expect(of('Suco 1,5L', 'UN', '9.00')).to.equal('6.00 o litro')
    expect(of('Cerveja 6x350ml', 'UN', '21.00')).to.equal('10.00 o litro')
    expect(of('Arroz 5kg tipo 1', null, '25.01')).to.equal('5.00 o kg')
  })

  it('is unknown without a content [ITEM-1267]', () => {
    for (const name of ['Pilha 9V', 'Camiseta G', 'Cabo 2 lados', 'Água 0 ml', '12345 g'])
      expect(of(name, 'UN', '1.00'), name).to.equal(null)
  })
})
