import { expect } from 'chai'
import * as z from 'zod'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { eventType, kindsOf, money, newVersion, personal, quantity, text } from '#events/define.ts'
import { eventCatalogue } from '../../tools/event-catalogue.ts'

describe('event catalogue', () => {
  it('lists every type with its version and subject', () => {
    const catalogue = eventCatalogue(EVENT_TYPES)
    for (const [name, type] of Object.entries(EVENT_TYPES)) {
      const subjects = kindsOf(type).map((kind) => `\`${kind}/{id}\``)
      expect(catalogue).to.include(`## ${name}\n\nVersion ${type.version}, subject ${subjects.join(', ')}.`)
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
    const rows = eventCatalogue({ Moved })
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    expect(rows).to.deep.equal([
      '| `id` | integer |  |',
      '| `note` | text or null |  |',
      '| `price` | decimal text, 2 places |  |',
      '| `who` | object or null | **personal** (identity) |',
      '| `who.name` | text | **personal** (identity) |',
      '| `parts` | list of object |  |',
      '| `parts[].kind` | one of `a`, `b` |  |',
      '| `parts[].quantity` | signed decimal text, 3 places |  |',
      '| `changes` | object |  |',
      '| `changes.name` | text or null | optional, **personal** (contact of `customer/{id}`) |',
    ])
  })

  it('shows former versions, newest first', () => {
    const first = eventType('thing', { note: text })
    const second = newVersion(first, { notes: z.array(text) }, ({ id, note }) => ({ id, notes: [note] }))
    const Noted = newVersion(second, { notes: z.array(text), price: money }, (data) => ({ ...data, price: '0.00' }))
    const lines = eventCatalogue({ Noted }).split('\n')
    expect(lines.filter((line) => /^(#|Version|No longer|\| `)/.test(line)).slice(1)).to.deep.equal([
      '## Noted',
      'Version 3, subject `thing/{id}`.',
      '| `id` | integer |  |',
      '| `notes` | list of text |  |',
      '| `price` | decimal text, 2 places |  |',
      '### Noted, version 2',
      'No longer written.',
      '| `id` | integer |  |',
      '| `notes` | list of text |  |',
      '### Noted, version 1',
      'No longer written.',
      '| `id` | integer |  |',
      '| `note` | text |  |',
    ])
  })
})
