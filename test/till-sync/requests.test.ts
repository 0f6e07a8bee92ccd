import { expect } from 'chai'
import type * as z from 'zod'
import { Problem, parseInput } from '#http/problems.ts'
import { KnownProduct, ProductCheck, parseEach, UploadedMovements, UploadedSales } from '#till-sync/till-answers.ts'

/** The wrong fields of a body, with their messages. */
async function errorsOf(read: () => unknown): Promise<Record<string, string[]>> {
  try {
    await read()
    return {}
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'validation_failed') throw error
    return error.details?.fields as Record<string, string[]>
  }
}

describe('lists that tills upload', () => {
  const schemas: [list: string, schema: z.ZodType, rule: string, most: string][] = [
    ['sales', UploadedSales, 'UP-1', 'no máximo 1000 vendas por envio'],
    ['movements', UploadedMovements, 'UP-1', 'no máximo 1000 movimentos por envio'],
  ]
  for (const [list, schema, rule, most] of schemas) {
    const noList: [what: string, body: unknown, field: string][] = [
      [`without ${list}`, {}, list],
      [`with ${list} that are no list`, { [list]: { 0: {} } }, list],
      ['that is a list', [], 'body'],
      ['that is null', null, 'body'],
    ]
    for (const [what, body, field] of noList)
      it(`are refused: a body ${what}, naming ${field} [${rule}]`, async () => {
        expect(await errorsOf(() => parseInput(schema, body))).to.have.all.keys(field)
      })

    it(`have up to 1,000 ${list}, and any elements [${rule}]`, async () => {
      const elements = Array(1_000).fill(null)
      expect(parseInput(schema, { [list]: elements })).to.deep.equal({ [list]: elements })
      expect(await errorsOf(() => parseInput(schema, { [list]: [...elements, 1] }))).to.deep.equal({ [list]: [most] })
    })
  }
})

describe('products that a till checks', () => {
  const OLD = '2000-01-01T00:00:00.000Z'
  const wrongFields = (body: unknown) =>
    errorsOf(() => parseEach(KnownProduct, 'products', parseInput(ProductCheck, body).products, async () => {}))

  for (const [what, body, fields] of [
    ['no products', {}, ['products']],
    ['products other than a list', { products: { id: 1 } }, ['products']],
    ['null', { products: null }, ['products']],
    ['a list', [], ['body']],
    ['texts', { products: ['1'] }, ['products[0]']],
    ['an empty product', { products: [{}] }, ['products[0].id', 'products[0].updated_at']],
    ['a text as id', { products: [{ id: '1', updated_at: OLD }] }, ['products[0].id']],
    ['an id beyond integers', { products: [{ id: 1e300, updated_at: OLD }] }, ['products[0].id']],
    ['an id of 0', { products: [{ id: 0, updated_at: OLD }] }, ['products[0].id']],
    ['a fraction', { products: [{ id: 1.5, updated_at: OLD }] }, ['products[0].id']],
    ['a broken time', { products: [{ id: 1, updated_at: 'ontem' }] }, ['products[0].updated_at']],
    [
      'a year with five digits',
      { products: [{ id: 1, updated_at: '99999-01-01T00:00:00Z' }] },
      ['products[0].updated_at'],
    ],
    ['no time', { products: [{ id: 1, updated_at: null }] }, ['products[0].updated_at']],
  ] as const)
    it(`are refused: ${what}, naming ${fields.join(' and ')}`, async () => {
      expect(await wrongFields(body)).to.have.all.keys(...fields)
    })

  it('may have more fields, as may the body [SYNC-2]', async () => {
    const products = [{ id: 1, updated_at: OLD, stock: 3 }]
    expect(await wrongFields({ products, device: 'Caixa 1' })).to.deep.equal({})
  })

  it('are at most 50,000', async () => {
    const products = Array(50_000).fill({ id: 1, updated_at: OLD })
    expect(parseInput(ProductCheck, { products }).products).to.have.length(50_000)
    expect(await wrongFields({ products: [...products, products[0]] })).to.deep.equal({
      products: ['deve ter no máximo 50000 itens'],
    })
  })
})
