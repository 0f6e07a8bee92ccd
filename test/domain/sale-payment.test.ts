import { expect } from 'chai'
import * as z from 'zod'
import {
  detailRefusedOnCash,
  paymentDetailsOf,
  paymentDetailsShape,
  uploadedDetailsShape,
} from '#domain/payment-rules.ts'

const schema = z.strictObject(paymentDetailsShape)

const wrongFields = (details: object): string[] =>
  (schema.safeParse(details).error?.issues ?? []).map(({ path }) => path.join('.'))

const CARD = {
  brand: 'visa',
  nsu: '000123',
  authorization: 'A1B2C3',
  installments: 3,
  acquirer_cnpj: '01.027.058/0001-91',
  integrated: true,
} as const

describe('details of a payment', () => {
  it('are optional, each of them', () => {
    expect(paymentDetailsOf(schema.parse({}))).to.deep.equal({})
    expect(paymentDetailsOf(schema.parse({ card: null, end_to_end_id: null }))).to.deep.equal({})
    expect(paymentDetailsOf(schema.parse({ card: {} }))).to.deep.equal({})
    const none = { brand: null, nsu: null, authorization: null, installments: null, acquirer_cnpj: null }
    expect(paymentDetailsOf(schema.parse({ card: { integrated: false } }))).to.deep.equal({
      card: { ...none, integrated: false },
    })
  })

  it('have no code where a text stands for none, in uploads too [VAL-910]', () => {
    for (const none of ['', '-', 'N/A', '0', '000000']) {
      const card = { brand: 'visa', nsu: none, authorization: none, acquirer_cnpj: none }
      for (const each of [schema, z.object(uploadedDetailsShape)])
        expect(paymentDetailsOf(each.parse({ card, end_to_end_id: none })), none).to.deep.equal({
          card: { ...CARD, nsu: null, authorization: null, acquirer_cnpj: null, installments: null, integrated: null },
        })
    }
  })

  it('keep a card as sent, the CNPJ of the acquirer without punctuation', () => {
    expect(paymentDetailsOf(schema.parse({ card: CARD }))).to.deep.equal({
      card: { ...CARD, acquirer_cnpj: '01027058000191' },
    })
    for (const brand of ['visa', 'mastercard', 'elo', 'amex', 'hipercard', 'other'])
      expect(wrongFields({ card: { brand } })).to.deep.equal([])
  })

  for (const [field, value] of [
    ['brand', 'diners'],
    ['nsu', 'x'.repeat(41)],
    ['authorization', 5],
    ['installments', 0],
    ['installments', 100],
    ['installments', 1.5],
    ['installments', '3'],
    ['acquirer_cnpj', '01027058000190'],
    ['integrated', 'sim'],
  ] as const)
    it(`refuse a card with ${field} ${JSON.stringify(value)}`, () => {
      expect(wrongFields({ card: { [field]: value } })).to.deep.equal([`card.${field}`])
    })

  it('refuse unknown fields of API v1, and ignore those of tills', () => {
    expect(wrongFields({ card: { holder: 'Ana' } })).to.deep.equal(['card'])
    expect(z.object(uploadedDetailsShape).parse({ card: { nsu: '1', holder: 'Ana' } })).to.deep.equal({
      card: { nsu: '1' },
    })
  })

  it('have the identifier of a Pix in letters and digits', () => {
    const end_to_end_id = 'E00038166201907261559y6j6mt9l0pi'
    expect(paymentDetailsOf(schema.parse({ end_to_end_id }))).to.deep.equal({ end_to_end_id })
    for (const wrong of ['E 1', 'x'.repeat(36), 1])
      expect(wrongFields({ end_to_end_id: wrong })).to.deep.equal(['end_to_end_id'])
  })

  it('are refused on cash, the card first', () => {
    expect(detailRefusedOnCash({ card: { nsu: '1' }, end_to_end_id: 'E1' })?.field).to.equal('card')
    expect(detailRefusedOnCash({ card: null, end_to_end_id: 'E1' })?.field).to.equal('end_to_end_id')
    for (const card of [null, {}, { nsu: null }]) expect(detailRefusedOnCash({ card })).to.equal(null)
  })
})
