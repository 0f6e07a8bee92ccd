import { expect } from 'chai'
import { inOrder, parseScopes, SCOPES } from '#domain/rights.ts'

describe('scopes', () => {
  it('are fourteen [KEY-8]', () => {
    expect(new Set(SCOPES).size).to.equal(14)
  })

  it('are all of them for "all"', () => {
    expect(parseScopes('all')).to.deep.equal([...SCOPES])
  })

  it('are the read-only ones for "read"', () => {
    const read = ['catalog', 'customers', 'suppliers', 'finance', 'sales', 'orders', 'audit'].map(
      (area) => `${area}:read`,
    )
    expect(parseScopes('read')).to.deep.equal(read)
  })

  it('are the named ones, deduplicated in fixed order', () => {
    expect(parseScopes('sales:write, catalog:read,sales:write')).to.deep.equal(['catalog:read', 'sales:write'])
    expect(inOrder(['audit:read', 'catalog:write', 'audit:read'])).to.deep.equal(['catalog:write', 'audit:read'])
  })

  for (const text of ['', 'sales', 'sales:read,', 'sales:read,all', 'SALES:READ', 'toString']) {
    it(`are null for ${JSON.stringify(text)}`, () => {
      expect(parseScopes(text)).to.equal(null)
    })
  }
})
