import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { describeIssues } from '#domain/refusals.ts'
import { isSigned } from '#payments/notifications.ts'
import { PayInput, toPayer } from '#payments/pay-order.ts'

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
  const customer = { id: null, external_id: null, name: 'Ana Souza', email: null, document: null, phone: null }
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
    expect(lacking(toPayer({ method: 'pix' }, { customer }, null))).to.deep.equal(['payer.email'])
    expect(lacking(toPayer({ method: 'boleto' }, { customer }, { ...address, state: null }))).to.deep.equal([
      'payer.address.state',
      'payer.document',
      'payer.email',
    ])
  })

  it('never mixes two addresses', () => {
    const payer = { email: 'ana@example.com', document: '52998224725', address: { zip_code: '80010000', street: 'XV' } }
    const refused = toPayer({ method: 'boleto', payer }, { customer }, address)
    expect(lacking(refused)).to.deep.equal(
      ['city', 'neighborhood', 'number', 'state'].map((part) => `payer.address.${part}`),
    )
    expect(toPayer({ method: 'pix', payer }, { customer }, address)).to.deep.equal({
      name: 'Ana Souza',
      email: 'ana@example.com',
      document: '52998224725',
      address: null,
    })
  })
})

const SECRET = 'a secret of the store'
const TS = '1742505638683'

const hmac = (manifest: string, secret = SECRET) => createHmac('sha256', secret).update(manifest).digest('hex')
const header = (manifest: string, secret?: string) => `ts=${TS},v1=${hmac(manifest, secret)}`
const genuine = {
  dataId: '123456',
  requestId: 'req-1',
  signature: header(`id:123456;request-id:req-1;ts:${TS};`),
}

describe('origin of a notification', () => {
  it('is the provider if data.id, request id and time are signed with the secret [RCV-6]', () => {
    expect(isSigned(genuine, SECRET)).to.equal(true)
    const spaced = genuine.signature.replace(',', ' , ')
    expect(isSigned({ ...genuine, signature: spaced }, SECRET)).to.equal(true)
  })

  it('is the provider without a request id, if none was signed', () => {
    const signature = header(`id:123456;ts:${TS};`)
    expect(isSigned({ ...genuine, requestId: undefined, signature }, SECRET)).to.equal(true)
    expect(isSigned({ ...genuine, signature }, SECRET)).to.equal(false)
  })

  it('is the provider if it signed the letters of an id as given or in lower case', () => {
    for (const id of ['PAY01K', 'pay01k']) {
      const signature = header(`id:${id};request-id:req-1;ts:${TS};`)
      expect(isSigned({ ...genuine, dataId: 'PAY01K', signature }, SECRET), id).to.equal(true)
    }
  })

  it('is the provider for any signing time, in seconds or milliseconds [RCV-6]', () => {
    for (const ts of ['1', '1577836800', '1577836800000']) {
      const signature = `ts=${ts},v1=${hmac(`id:123456;request-id:req-1;ts:${ts};`)}`
      expect(isSigned({ ...genuine, signature }, SECRET), ts).to.equal(true)
    }
  })

  const FORGED: Record<string, Partial<typeof genuine> | { signature: undefined } | { requestId: undefined }> = {
    'without a signature': { signature: undefined },
    'with an empty signature': { signature: '' },
    'with an invalid signature': { signature: 'let me in' },
    'without a time': { signature: `v1=${hmac('id:123456;request-id:req-1;')}` },
    'without a hash': { signature: `ts=${TS}` },
    'with a hash of another version': { signature: genuine.signature.replace('v1', 'v2') },
    'with another secret': { signature: header(`id:123456;request-id:req-1;ts:${TS};`, 'another') },
    'with a signature of half the length': { signature: genuine.signature.slice(0, -32) },
    'with another payment': { dataId: '123457' },
    'with another request id': { requestId: 'req-2' },
    'without the request id that was signed': { requestId: undefined },
    'with another time': { signature: genuine.signature.replace(TS, '1742505638684') },
    'with a time that is not a number': { signature: genuine.signature.replace(TS, `${TS}x`) },
  }
  for (const [name, change] of Object.entries(FORGED)) {
    it(`is unknown ${name} [RCV-6]`, () => {
      expect(isSigned({ ...genuine, ...change }, SECRET)).to.equal(false)
    })
  }
})
