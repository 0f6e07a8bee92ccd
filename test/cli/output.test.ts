import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { detailsInEnglish, fieldInEnglish, refusalInEnglish } from '#cli/english.ts'
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

/** Sources of the messages that verbs can get. */
const SOURCES = [
  ...['company', 'user', 'api-key', 'store', 'payment-type', 'fiscal-document', 'invitation'].map(
    (area) => `commands/${area}-commands.ts`,
  ),
  ...['commands/forget-person.ts', 'src/access/login.ts', 'src/access/passwords.ts'],
  ...['text', 'instant', 'money', 'person-values'].map((name) => `src/domain/${name}.ts`),
]
const PORTUGUESE = /^(?:deve|não|preencha|informe|é|tem|começa|um|já|campo|o livro) /
/** Literals and templates without conditions; an expression counts as a number. */
const TEXT = /'((?:\\.|[^'\\\n])*)'|`((?:[^`$?]|\$\{[^}?]*\})*)`/g

describe('refusals of the command line', () => {
  it('are English, whatever a command says in Portuguese', () => {
    const messages = SOURCES.flatMap((path) =>
      Array.from(readFileSync(path, 'utf8').matchAll(TEXT), ([, literal, template = '']) => literal ?? template)
        .filter((text) => PORTUGUESE.test(text) && !/\$\{side/.test(text))
        .map((text) => text.replace(/\$\{[^}]*\}/g, '7')),
    )
    expect(messages).to.have.length.above(40)
    expect(messages.filter((message) => fieldInEnglish(message) === message)).to.deep.equal([])
    const built = [
      'deve ter no máximo 1 caractere',
      'deve ter no mínimo 2 itens',
      'deve ser no máximo 9',
      'deve ser "a"',
    ]
    expect(built.map(fieldInEnglish)).to.deep.equal([
      'has the wrong length, at most 1',
      'has the wrong length, at least 2',
      'is out of range, at most 9',
      'must be "a"',
    ])
  })

  it('keep codes and other details', () => {
    expect(refusalInEnglish('last_owner')).to.match(/^The company needs/)
    expect(refusalInEnglish('toString')).to.equal(null)
    const details = { fields: { cnpj: ['preencha este campo'] }, unknown_fields: ['x'] }
    expect(detailsInEnglish(details)).to.deep.equal({ fields: { cnpj: ['is required'] }, unknown_fields: ['x'] })
    expect(detailsInEnglish({ subject: 'customer/9' })).to.deep.equal({ subject: 'customer/9' })
  })
})
