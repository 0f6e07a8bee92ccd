import { expect } from 'chai'
import { z } from 'zod'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { changesOfEach, describeChanges, describeEventData, fieldsChangedBy } from '#panel/changes.ts'
import { EVENTS } from '#panel/words/events.ts'
import { FIELD_NAMES, VALUE_NAMES } from '#panel/words/fields.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

/** Members and enum values that have no Portuguese word. */
function* wordless({ properties = {}, anyOf = [], items, ...schema }: Schema, name: string): Iterable<string> {
  for (const value of schema.enum ?? (schema.const === undefined ? [] : [schema.const]))
    if (value !== null && !Object.hasOwn(VALUE_NAMES[name] ?? {}, String(value))) yield `${name}: ${value}`
  for (const [member, inner] of Object.entries(properties)) {
    if (!Object.hasOwn(FIELD_NAMES, member)) yield member
    yield* wordless(inner, member)
  }
  for (const one of anyOf) yield* wordless(one, name)
  if (items) yield* wordless(items, name)
}

const ZONE = 'America/Sao_Paulo'

describe('panel: event changes in words', () => {
  for (const [type, { data }] of Object.entries(EVENT_TYPES))
    it(`names all fields and values of ${type} [PANEL-86]`, () => {
      expect(EVENTS).to.have.property(type)
      expect([...new Set(wordless(z.toJSONSchema(data as z.ZodType) as Schema, 'id'))]).to.deep.equal([])
    })

  it('show the values before and after of each field, also within lists, and omit unchanged ones [PANEL-86]', () => {
    const line = { description: 'Café', unit_price: '12.50' }
    const before = {
      name: 'Ana',
      price: '1234.50',
      items: [line],
      address: { city: 'Recife', zip: '50010000' },
      notes: '',
    }
    const after = {
      ...before,
      price: '1300.00',
      items: [{ ...line, unit_price: '13.00' }, line],
      address: null,
      due_date: '2026-11-22',
      status: 'settled',
      updated_at: 'x',
    }
    expect(describeChanges(before, after, ZONE)).to.deep.equal([
      { field: 'Preço', before: 'R$\u00A01.234,50', after: 'R$\u00A01.300,00' },
      { field: 'Itens 1 · Preço unitário', before: 'R$\u00A012,50', after: 'R$\u00A013,00' },
      { field: 'Endereço · Cidade', before: 'Recife', after: null },
      { field: 'Endereço · CEP', before: '50010-000', after: null },
      { field: 'Itens 2 · Descrição', before: null, after: 'Café' },
      { field: 'Itens 2 · Preço unitário', before: null, after: 'R$\u00A012,50' },
      { field: 'Vencimento', before: null, after: '22/11/2026' },
      { field: 'Situação', before: null, after: 'Liquidada' },
    ])
  })

  it('take earlier values from earlier events [PANEL-86]', () => {
    const [, renamed, again] = changesOfEach(
      [
        { data: { id: 1, name: 'Ana', phone: null } },
        { data: { id: 1, changes: { name: 'Bia', phone: '11987654321' } } },
        { data: { id: 1, changes: { name: 'Ana' } } },
      ],
      ZONE,
    )
    expect(renamed).to.deep.equal([
      { field: 'Nome', before: 'Ana', after: 'Bia' },
      { field: 'Telefone', before: null, after: '(11) 98765-4321' },
    ])
    expect(again).to.deep.equal([{ field: 'Nome', before: 'Bia', after: 'Ana' }])
  })

  it('list the values of an event by field', () => {
    const data = { id: 1, changes: { role: 'auditor', personal_data: false } }
    expect(describeEventData({ data }, ZONE).map(({ field, after }) => [field, after])).to.deep.equal([
      ['Papel', 'Auditor'],
      ['Vê dados pessoais', 'não'],
    ])
    expect(fieldsChangedBy({ data })).to.deep.equal(['Papel', 'Vê dados pessoais'])
  })
})
