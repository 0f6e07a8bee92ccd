import { expect } from 'chai'
import {
  formCodeOf,
  isFormCode,
  isTokenOf,
  orderIdOf,
  type PaymentLinks,
  paymentUrlOf,
  tokenOf,
} from '#domain/order-states.ts'

const secret = Buffer.alloc(32, 1)
const order = { id: 57, store_alias: 'minha-loja', provider_reference: 'order-57-a', payments: [], cancelled_at: null }
const links: PaymentLinks = { secret, publicUrl: 'https://tillbook.example' }

describe('payment link of an order', () => {
  const token = tokenOf(secret, order)

  it('has a deterministic token with two codes of 132 bits [ORDER-30]', () => {
    expect(token).to.match(/^57-[A-Za-z0-9_-]{44}$/)
    expect(tokenOf(secret, { ...order })).to.equal(token)
    expect(orderIdOf(secret, 'minha-loja', token)).to.equal(57)
    expect(isTokenOf(secret, token, order)).to.equal(true)
  })

  it('cannot be forged without the secret, for another store, number or order [ORDER-30, ORDER-32]', () => {
    const others = [
      tokenOf(Buffer.alloc(32, 2), order),
      tokenOf(secret, { ...order, store_alias: 'outra' }),
      token.replace('57-', '58-'),
      `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`,
      token.slice(0, -1),
      `${token}A`,
      `0${token}`,
      '57-',
      '',
      'é'.repeat(47),
    ]
    for (const other of others) {
      expect(orderIdOf(secret, 'minha-loja', other), other).to.equal(null)
      expect(isTokenOf(secret, other, order), other).to.equal(false)
    }
    expect(orderIdOf(secret, 'outra', token)).to.equal(null)
  })

  it('does not match an order with the same number in a restored database [ORDER-30]', () => {
    const later = { ...order, provider_reference: 'order-57-b' }
    expect(orderIdOf(secret, 'minha-loja', token)).to.equal(57)
    expect(isTokenOf(secret, token, later)).to.equal(false)
  })

  it('exists while the order can be paid and the service has a public URL', () => {
    expect(paymentUrlOf(links, order)).to.equal(`https://tillbook.example/pagar/minha-loja/${token}`)
    for (const status of ['failed', 'cancelled', 'pending'] as const)
      expect(paymentUrlOf(links, { ...order, payments: [{ provider_payment_id: 'p', status }] })).to.not.equal(null)
    for (const status of ['paid', 'refunded'] as const)
      expect(paymentUrlOf(links, { ...order, payments: [{ provider_payment_id: 'p', status }] })).to.equal(null)
    expect(paymentUrlOf(links, { ...order, cancelled_at: '2026-11-21T08:00:00.000Z' })).to.equal(null)
    expect(paymentUrlOf({ secret, publicUrl: null }, order)).to.equal(null)
  })

  it('has a form code that is not part of it [PAY-41]', () => {
    const code = formCodeOf(secret, token)
    expect(token).to.not.include(code)
    expect(isFormCode(secret, token, code)).to.equal(true)
    for (const other of ['', token.slice(-22), formCodeOf(secret, `${token}x`)])
      expect(isFormCode(secret, token, other), other).to.equal(false)
  })
})
