import { expect } from 'chai'
import * as z from 'zod'
import { eventReference, eventsOfArea, shapesOfEvents } from '#api/docs/event-reference.ts'
import { EVENT_AREAS, EVENT_TYPES } from '#events/catalogue.ts'
import { eventType, kindsOf, money, newVersion, personal, quantity, text } from '#events/event-definitions.ts'

describe('event catalogue', () => {
  it('lists every type with its version and subject', () => {
    const catalogue = eventReference(EVENT_AREAS)
      .map(({ text }) => text())
      .join('\n')
    for (const [name, type] of Object.entries(EVENT_TYPES)) {
      const subjects = kindsOf(type).map((kind) => `\`${kind}/{id}\``)
      expect(catalogue).to.include(`## ${name}\n\nVersão ${type.version}, de ${subjects.join(', ')}.`)
    }
  })

  it('lists every field, and marks personal ones with all their parts [LEDGER-5]', () => {
    const Moved = eventType('thing', {
      note: text.nullable(),
      price: money,
      who: personal(z.strictObject({ name: text }), 'identity'),
      parts: z.array(z.strictObject({ kind: z.enum(['a', 'b']), quantity })),
      changes: z.strictObject({ name: personal(text, 'contact', { kind: 'customer', id: 'id' }) }).partial(),
    })
    const rows = eventsOfArea('x', { Moved })
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    expect(rows).to.deep.equal([
      '| `id` | inteiro |  |',
      '| `note` | texto ou nulo |  |',
      '| `price` | decimal em texto, 2 casas |  |',
      '| `who` | objeto ou nulo | **pessoal** (identity) |',
      '| `who.name` | texto | **pessoal** (identity) |',
      '| `parts` | lista de objeto |  |',
      '| `parts[].kind` | um de `a`, `b` |  |',
      '| `parts[].quantity` | decimal em texto com sinal, 3 casas |  |',
      '| `changes` | objeto |  |',
      '| `changes.name` | texto ou nulo | opcional, **pessoal** (contact de `customer/{id}`) |',
    ])
  })

  it('shows former versions, newest first', () => {
    const first = eventType('thing', { note: text })
    const second = newVersion(first, { notes: z.array(text) }, ({ id, note }) => ({ id, notes: [note] }))
    const Noted = newVersion(second, { notes: z.array(text), price: money }, (data) => ({ ...data, price: '0.00' }))
    const lines = eventsOfArea('x', { Noted }).split('\n')
    expect(lines.filter((line) => /^(#|Versão|Não é mais|\| `)/.test(line)).slice(1)).to.deep.equal([
      '## Noted',
      'Versão 3, de `thing/{id}`.',
      '| `id` | inteiro |  |',
      '| `notes` | lista de texto |  |',
      '| `price` | decimal em texto, 2 casas |  |',
      '### Noted, versão 2',
      'Não é mais gravada.',
      '| `id` | inteiro |  |',
      '| `notes` | lista de texto |  |',
      '### Noted, versão 1',
      'Não é mais gravada.',
      '| `id` | inteiro |  |',
      '| `note` | texto |  |',
    ])
  })

  it('gives each version of an event a line that changes with its shape', () => {
    const first = eventType('thing', { note: text })
    const Noted = newVersion(first, { note: text.nullable() }, (data) => data)
    const lines = shapesOfEvents({ Noted })
    expect(lines.map((line) => line.replace(/ [0-9a-f]{12}$/, ''))).to.deep.equal([
      'event Noted 1 thing',
      'event Noted 2 thing',
    ])
    expect(lines[0]?.split(' ').at(-1)).to.not.equal(lines[1]?.split(' ').at(-1))
    expect(Object.keys(EVENT_TYPES)).to.deep.equal(Object.values(EVENT_AREAS).flatMap((types) => Object.keys(types)))
  })
})
