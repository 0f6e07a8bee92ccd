import { expect } from 'chai'
import fc from 'fast-check'
import * as z from 'zod'
import { decodeCursor, encodeCursor } from '#queries/record-queries.ts'

const scope = { companyId: 1, resource: 'customers', filters: { name: 'ana', since: undefined } }
const key = z.tuple([z.string(), z.int()])
const cursor = encodeCursor(scope, ['a', 1])

describe('cursor', () => {
  it('decodes to its key, for the same list and filters in any order', () => {
    expect(decodeCursor(scope, key, cursor)).to.deep.equal(['a', 1])
    const filters = { b: 1, a: 'x' }
    const other = encodeCursor({ companyId: 1, resource: 'r', filters }, ['a', 1])
    expect(
      decodeCursor({ companyId: 1, resource: 'r', filters: { a: 'x', b: 1, c: undefined } }, key, other),
    ).to.deep.equal(['a', 1])
  })

  it('needs no escaping in a query string', () => {
    expect(encodeCursor(scope, ['São Paulo ?&+/', 1])).to.match(/^[\w-]+$/)
  })

  it('is refused by another company, list or other filters [LIST-3]', () => {
    expect(decodeCursor({ ...scope, companyId: 2 }, key, cursor)).to.equal(null)
    expect(decodeCursor({ ...scope, resource: 'sales' }, key, cursor)).to.equal(null)
    for (const filters of [{}, { name: 'Ana' }, { name: 'ana', since: 'x' }, { name: undefined, document: 'ana' }]) {
      expect(decodeCursor({ ...scope, filters }, key, cursor), JSON.stringify(filters)).to.equal(null)
    }
  })

  it('is refused if its key does not fit the list', () => {
    const forged = [[], ['a'], [1, 'a'], ['a', 1.5], ['a', 1, 2]]
    for (const wrong of forged) expect(decodeCursor(scope, key, encodeCursor(scope, wrong as never))).to.equal(null)
  })

  it('is refused if altered in any way [LIST-3]', () => {
    for (const broken of ['', 'x', cursor.slice(1), cursor.slice(0, -1), `${cursor}=`, `${cursor}A`, ` ${cursor}`]) {
      expect(decodeCursor(scope, key, broken), broken).to.equal(null)
    }
    const json = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    for (const altered of [{ ...json, v: 2 }, { ...json, x: 1 }, null, 1, []]) {
      const text = Buffer.from(JSON.stringify(altered)).toString('base64url')
      expect(decodeCursor(scope, key, text)).to.equal(null)
    }
  })

  it('never throws on any text', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => decodeCursor(scope, key, text) === null))
  })
})
