import { expect } from 'chai'
import * as z from 'zod'
import { fiscalCodesOf, itemTaxProblem, itemTaxShape } from '#domain/fiscal-values.ts'

const schema = z.strictObject(itemTaxShape)

const wrongFields = (item: object): string[] =>
  (schema.safeParse(item).error?.issues ?? []).map(({ path }) => path.join('.'))

describe('tax fields of an item', () => {
  it('are optional texts, cleared by null', () => {
    expect(schema.parse({})).to.deep.equal({})
    const none = Object.fromEntries(Object.keys(itemTaxShape).map((field) => [field, null]))
    expect(schema.parse(none)).to.deep.equal(none)
    for (const field of Object.keys(itemTaxShape)) expect(wrongFields({ [field]: 1 })).to.deep.equal([field])
  })

  for (const [field, right, wrong] of [
    ['origin', ['0', '8'], ['9', '00', '']],
    ['cfop', ['5102', '6102', '7101', '1102'], ['510', '51021', '4102', '8102', '0102', 'abcd']],
    ['icms_cst', ['00', '60'], ['0', '060', 'x0']],
    ['csosn', ['102', '500', '900'], ['10', '0102', 'abc']],
    ['pis_cst', ['01', '49'], ['1', '001']],
    ['cofins_cst', ['01', '99'], ['1', '001']],
    ['cbenef', ['PR800000', 'SC85012345', 'SEM CBENEF'], ['PR80000', 'PR8000000', 'SEM', 'PR-00000']],
    ['ibs_cbs_cst', ['000', '410'], ['00', '0000']],
    ['ibs_cbs_class', ['000001', '410004'], ['00001', '0000010', 'abcdef']],
  ] as const)
    it(`are checked by their shape: ${field}`, () => {
      for (const code of right) expect(schema.parse({ [field]: code })).to.deep.equal({ [field]: code })
      for (const code of wrong) expect(wrongFields({ [field]: code }), code).to.deep.equal([field])
    })

  it('are stored as in fiscal documents, without the point of a CFOP and in capitals', () => {
    expect(schema.parse({ cfop: '5.102', cbenef: ' pr800000 ' })).to.deep.equal({ cfop: '5102', cbenef: 'PR800000' })
  })

  it('do not contradict each other [ITEM-21]', () => {
    expect(itemTaxProblem({ icms_cst: '00', csosn: '102' })?.field).to.equal('csosn')
    expect(itemTaxProblem({ ibs_cbs_cst: '000', ibs_cbs_class: '410004' })?.field).to.equal('ibs_cbs_class')
    for (const taxes of [
      {},
      { icms_cst: '00', csosn: null },
      { ibs_cbs_cst: '410', ibs_cbs_class: '410004' },
      { ibs_cbs_class: '410004' },
    ])
      expect(itemTaxProblem(taxes)).to.equal(null)
  })

  it('are kept by sales with GTIN, NCM and CEST, without keys for empty ones [SALE-23]', () => {
    expect(fiscalCodesOf({ ncm: '09012100', cest: null, origin: '0', cfop: '' })).to.deep.equal({
      ncm: '09012100',
      origin: '0',
    })
  })
})
