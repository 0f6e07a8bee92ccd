import { expect } from 'chai'
import * as z from 'zod'
import { EVENT_TYPES, event } from '#events/catalogue.ts'
import {
  changesOfEach,
  describeChange,
  describeChanges,
  describeEventData,
  fieldsChangedBy,
  splitTechnical,
} from '#panel/record-history.tsx'
import { EVENTS, FIELD_NAMES } from '#panel/words/event-words.ts'
import { toSentence, VALUE_NAMES } from '#panel/words/record-words.ts'
import { EVERY_EVENT } from '../support/every-event.ts'

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

  it('shows changed fields before and after, also within lists [PANEL-86]', () => {
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
      { field: 'Situação', before: null, after: 'Quitada' },
    ])
  })

  it('say what changed in words, without paths [PANEL-86]', () => {
    const said = ([field, before, after]: readonly [string, string | null, string | null]) =>
      describeChange({ field, before, after })
    expect(
      [
        ['Preço', '18,90', '19,90'],
        ['Situação', null, 'Ativo'],
        ['Permissões', 'Vender', null],
        ['Dia do pagamento', '1', '2'],
        ['CNPJ', 'x', 'y'],
        ['Vê dados pessoais', 'não', 'sim'],
        ['Itens 2 · Preço unitário', '1', '2'],
      ].map((change) => said(change as [string, string, string])),
    ).to.deep.equal([
      'o preço de 18,90 para 19,90',
      'a situação para Ativo',
      'as permissões de Vender para vazio',
      'o dia do pagamento de 1 para 2',
      'o CNPJ de x para y',
      '“Vê dados pessoais” de não para sim',
      'o preço unitário (itens 2) de 1 para 2',
    ])
  })

  it('take earlier values from earlier events [PANEL-86]', () => {
    const [, renamed, again] = changesOfEach(
      [
        { type: 'CustomerCreated', data: { id: 1, name: 'Ana', phone: null } },
        { type: 'CustomerUpdated', data: { id: 1, changes: { name: 'Bia', phone: '11987654321' } } },
        { type: 'CustomerUpdated', data: { id: 1, changes: { name: 'Ana' } } },
      ],
      ZONE,
    )
    expect(renamed).to.deep.equal([
      { field: 'Nome', before: 'Ana', after: 'Bia' },
      { field: 'Telefone', before: null, after: '(11) 98765-4321' },
    ])
    expect(again).to.deep.equal([{ field: 'Nome', before: 'Bia', after: 'Ana' }])
  })

  it('name the environment and the state of an online payment in words [PANEL-86]', () => {
    const payment = { live_mode: false, provider_status: 'approved', status_detail: 'accredited', active: true }
    expect(describeChanges(null, payment, ZONE).map(({ field, after }) => `${field}: ${after}`)).to.deep.equal([
      'Ambiente: Teste',
      'Situação no provedor: Aprovado',
      'Detalhe da situação: Pagamento aprovado.',
      'Ativo: sim',
    ])
  })

  it('never compare a value with that of another kind of event [PANEL-86]', () => {
    const events = [
      event('PaymentStarted', {
        id: 1,
        attempt_id: '01a00000-0000-7000-8000-000000000000',
        idempotency_key: null,
        payment_method_id: 'pix',
        amount: '46.30',
        commission_percentage: '5.00',
      }),
      event('CommissionSplit', {
        id: 1,
        provider_payment_id: 'p1',
        percentage: '5.00',
        amount: '2.32',
        store_amount: '43.98',
      }),
    ]
    expect(changesOfEach(events, ZONE)).to.deep.equal([[], []])
    expect(events.map((each) => toSentence(each, ZONE))).to.deep.equal([
      'Pagamento de R$\u00A046,30 iniciado',
      'Comissão de 5,00%: R$\u00A02,32',
    ])
  })

  for (const each of EVERY_EVENT)
    it(`tell event ${each.revision}, ${each.type}, in a sentence, with Brazilian numbers [PANEL-86]`, () => {
      const sentence = toSentence(each, ZONE)
      expect(sentence).to.match(/^\p{Lu}/u)
      expect(sentence).not.to.match(/\d\.\d{2}\b|undefined|null|\[object/)
    })

  it('show quantities and percentages with a comma', () => {
    const data = { id: 1, before: '4797.000', after: '96.500', fee_percentage: '5.00' }
    expect(describeEventData({ data }, ZONE).map(({ after }) => after)).to.deep.equal(['4.797', '96,5', '5,00%'])
  })

  it('name the lines of a sale in one line, up to ten', () => {
    const line = (place: number) => ({ description: `Pão ${place}`, quantity: `${place}.500`, unit_price: '1.00' })
    const told = (count: number) => {
      const data = { id: 1, items: Array.from({ length: count }, (_, at) => line(at + 1)) }
      return describeEventData({ data }, ZONE).map(({ field, after }) => [field, after])
    }
    expect(told(1)).to.deep.equal([['Itens', '1 item: Pão 1 (1,5)']])
    expect(told(2)).to.deep.equal([['Itens', '2 itens: Pão 1 (1,5), Pão 2 (2,5)']])
    expect(told(12).join()).to.match(/^Itens,12 itens: Pão 1 .* Pão 10 \(10,5\) e mais 2$/)
  })

  it('keep what identifies an event for programs apart', () => {
    const [plain, technical] = splitTechnical({ id: 1, amount: '1.00', attempt_id: 'a', fingerprint: 'f' })
    expect(plain).to.deep.equal({ id: 1, amount: '1.00' })
    expect(technical).to.deep.equal({ attempt_id: 'a', fingerprint: 'f' })
  })

  it('list the values of an event by field', () => {
    const data = { id: 1, changes: { role: 'auditor', personal_data: false } }
    expect(describeEventData({ data }, ZONE).map(({ field, after }) => [field, after])).to.deep.equal([
      ['Perfil de acesso', 'Auditor'],
      ['Vê dados pessoais', 'não'],
    ])
    expect(fieldsChangedBy({ data })).to.deep.equal(['Perfil de acesso', 'Vê dados pessoais'])
  })
})
