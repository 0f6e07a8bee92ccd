import { expect } from 'chai'
import { describeIssues } from '#domain/refusals.ts'
import { PayInput, payerOf } from '#payments/pay-order.ts'

const problemsOf = (input: object) => {
  const result = PayInput.safeParse(input)
  return result.success ? [] : Object.keys(describeIssues(result.error).fields)
}

describe('payment input of an order', () => {
  for (const [what, input, problems] of [
    ['a Pix', { method: 'pix' }, []],
    ['a boleto until when', { method: 'boleto', expires_in_minutes: 43_199 }, []],
    ['a boleto of a day', { method: 'boleto', expires_in_minutes: 1_440 }, []],
    ['a Pix of the least', { method: 'pix', expires_in_minutes: 31 }, []],
    ['a boleto of less than a day', { method: 'boleto', expires_in_minutes: 1_439 }, ['expires_in_minutes']],
    ['a card', { method: 'card', token: 't', brand: 'visa', installments: 12 }, []],
    ['a card without its token and brand', { method: 'card' }, ['token', 'brand']],
    ['a card without a valid brand', { method: 'card', token: 't', brand: 'pix' }, ['brand']],
    ['a card with a malformed brand', { method: 'card', token: 't', brand: 'Visa!' }, ['brand']],
    [
      'a card with a time to pay',
      { method: 'card', token: 't', brand: 'visa', expires_in_minutes: 60 },
      ['expires_in_minutes'],
    ],
    ['a Pix in instalments', { method: 'pix', installments: 2, token: 't' }, ['token', 'installments']],
    ['too short', { method: 'pix', expires_in_minutes: 30 }, ['expires_in_minutes']],
    ['too long', { method: 'pix', expires_in_minutes: 43_200 }, ['expires_in_minutes']],
    ['no instalment', { method: 'card', token: 't', brand: 'visa', installments: 0 }, ['installments']],
    ['a cheque', { method: 'cheque' }, ['method']],
    ['no method', {}, ['method']],
    ['a malformed e-mail', { method: 'pix', payer: { email: 'ana' } }, ['payer.email']],
  ] as const)
    it(`${what}: ${problems.join(', ') || 'accepted'}`, () => expect(problemsOf(input)).to.deep.equal(problems))
})

describe('payer of an order [PAY-21]', () => {
  const customer = { id: null, external_id: null, name: 'Ana Souza', email: null, document: null }
  const address = {
    zip: '01310100',
    street: 'Av. Paulista',
    number: '1000',
    complement: null,
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
  }
  const lacking = (payer: unknown) =>
    Object.keys((payer as { details?: { fields: object } }).details?.fields ?? {}).sort()

  it('requires an e-mail always, and all fields for a boleto', () => {
    expect(lacking(payerOf({ method: 'pix' }, { customer }, null))).to.deep.equal(['payer.email'])
    expect(lacking(payerOf({ method: 'boleto' }, { customer }, { ...address, state: null }))).to.deep.equal([
      'payer.address.state',
      'payer.document',
      'payer.email',
    ])
  })

  it('never mixes two addresses', () => {
    const payer = { email: 'ana@example.com', document: '52998224725', address: { zip_code: '80010000', street: 'XV' } }
    const refused = payerOf({ method: 'boleto', payer }, { customer }, address)
    expect(lacking(refused)).to.deep.equal(
      ['city', 'neighborhood', 'number', 'state'].map((part) => `payer.address.${part}`),
    )
    expect(payerOf({ method: 'pix', payer }, { customer }, address)).to.deep.equal({
      name: 'Ana Souza',
      email: 'ana@example.com',
      document: '52998224725',
      address: null,
    })
  })
})
