import { expect } from 'chai'
import fc from 'fast-check'
import type { Reply } from '../support/api.ts'
import { anyCharacter, explore } from '../support/random.ts'
import { useCaller, WRITES } from './caller.ts'

describe('errors of API v1: random values', () => {
  const { company } = useCaller()

  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: anyCharacter }),
      fc.constantFrom('', '1', '1.00', '0', '-1', '1e9', 'PF', 'product', '2026-01-01T00:00:00Z', '\ud800'),
      fc.double(),
      fc.maxSafeInteger(),
      fc.constantFrom(null, true, false),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        fc.oneof(fc.constantFrom('name', 'external_id', 'items', '__proto__'), fc.string({ unit: anyCharacter })),
        tie('value'),
        { maxKeys: 5 },
      ),
    ),
  }))
  const answersAll = async (calls: readonly Promise<Reply>[]) => {
    for (const reply of await Promise.all(calls)) expect(reply.status, reply.text).to.be.within(200, 422)
  }

  it('get a response from every route, never 500 [HTTP-12]', async () => {
    await explore(
      fc.asyncProperty(fc.array(value, { minLength: WRITES.length, maxLength: WRITES.length }), (values) =>
        answersAll(WRITES.map(([method, path], n) => company.call(method, path, JSON.stringify(values[n])))),
      ),
      5,
    )
  }).timeout(30_000)

  it('at any position of an otherwise valid body get a response, never 500 [HTTP-12]', async () => {
    const person = {
      name: 'Alvo',
      person_type: 'PF',
      document: '52998224725',
      address: { zip: '01310100', city: 'São Paulo' },
    }
    const item = { name: 'Alvo', price: '1.00', stock: '5', barcode: '1', category_id: 1 }
    const account = { description: 'Alvo', amount: '1.00', due_date: '2026-12-01', external_id: 'alvo' }
    const sale = {
      external_id: 'alvo',
      sold_at: '2026-01-01T00:00:00Z',
      items: [{ description: 'Alvo', quantity: '1', unit_price: '1.00' }],
      payments: [{ payment_type_id: 1, amount: '1.00' }],
    }
    const customer = (await company.post('/customers', { name: 'Alvo de PATCH' })).body.data.id
    const product = (await company.post('/catalog/items', { name: 'Alvo', price: '1.00' })).body.data.id
    const bodies: readonly (readonly [string, string, object])[] = [
      ['POST', '/customers', person],
      ['PUT', '/customers/by-external/alvo', person],
      ['PATCH', `/customers/${customer}`, person],
      [
        'POST',
        '/customers/batch',
        {
          items: [
            { external_id: 'alvo', ...person },
            { external_id: 'b', name: 'B' },
          ],
        },
      ],
      ['PUT', '/suppliers/by-external/alvo', { ...person, trade_name: 'Alvo' }],
      ['POST', '/catalog/items', item],
      ['PUT', '/catalog/items/by-external/alvo', item],
      ['PATCH', `/catalog/items/${product}`, item],
      ['PATCH', `/catalog/items/${product}`, { stock_adjustment: '1' }],
      ['POST', '/catalog/categories', { name: 'Alvo', external_id: 'alvo' }],
      ['POST', '/finance/receivables', { ...account, customer_id: customer }],
      ['POST', '/finance/payables/batch', { items: [account] }],
      ['POST', '/sales', sale],
      ['POST', '/sales', { ...sale, customer_external_id: 'alvo', delivery_fee: '1.00' }],
    ]
    await explore(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(), value), { minLength: 14, maxLength: 14 }), (spoilers) =>
        answersAll(
          bodies.map(([method, path, body], n) => {
            const [place, spoiler] = spoilers[n] as [number, unknown]
            return company.call(method, path, JSON.stringify(spoiled(body, place, spoiler)))
          }),
        ),
      ),
      8,
    )
  }).timeout(30_000)
})

/** Copy with another value at one position, at any depth; `place` selects the position, modulo their number. */
function spoiled(body: object, place: number, value: unknown): unknown {
  const places: ((copy: unknown) => void)[] = []
  const visit = (node: unknown, path: readonly string[]): void => {
    if (path.length > 0) places.push((copy) => put(copy, path, value))
    if (node !== null && typeof node === 'object') {
      for (const [name, inner] of Object.entries(node)) visit(inner, [...path, name])
    }
  }
  visit(body, [])
  const copy = structuredClone(body)
  places[place % places.length]?.(copy)
  return copy
}

function put(root: unknown, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  const node = root as Record<string, unknown>
  if (rest.length === 0) node[name] = value
  else put(node[name], rest, value)
}
