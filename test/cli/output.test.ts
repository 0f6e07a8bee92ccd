import { expect } from 'chai'
import { formatAsText } from '#cli/terminal.ts'

describe('text output', () => {
  it('shows a record with one line per member', () => {
    const record = { id: 1, scopes: ['a:read', 'b:read'], expires_at: null, nested: { a: 1 } }
    expect(formatAsText(record)).to.equal(
      'id          1\nscopes      a:read,b:read\nexpires_at  -\nnested      {"a":1}',
    )
  })

  it('shows a list in columns, including members that only some records have', () => {
    const list = [
      { id: 1, name: 'Pix' },
      { id: 12, name: 'Crediário', reason: 'a prazo' },
    ]
    expect(formatAsText(list)).to.equal('id  name       reason\n1   Pix        -\n12  Crediário  a prazo')
  })

  it('reports an empty list', () => {
    expect(formatAsText([])).to.equal('(none)')
  })
})
