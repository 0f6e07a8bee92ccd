import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { deliveryHeaders } from '#webhooks/sender.ts'

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const OLD = secretOf(1)
const NEW = secretOf(2)
const NOW = Date.parse('2026-03-10T14:30:00.900Z')
const delivery = {
  id: '018f-id',
  event: 'sale.completed',
  revision: 12,
  sequence: 3,
  body: '{"event":"sale.completed"}',
}
const KNOWN = 'sha256=f960cf4d4ba2580fce5720ffb033520c79653f4b0b02d4edc5bdfa1f20203105'
const single = { secret: OLD, next_secret: null, switch_at: null }
const overlap = { secret: OLD, next_secret: NEW, switch_at: '2026-03-11T00:00:00.000Z' }

const signed = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret)
    .update(`${Math.floor(NOW / 1000)}.${body}`)
    .digest('hex')}`

describe('headers of a delivery', () => {
  it('are specific to the service, and keyed with the whole text of the secret [HOOK-13]', () => {
    expect(deliveryHeaders(delivery, single, NOW)).to.include({
      'X-Service-Event': 'sale.completed',
      'X-Service-Delivery': '018f-id',
      'X-Service-Timestamp': '1773153000',
      'X-Service-Signature': signed(OLD, delivery.body),
      'X-Service-Revision': '12',
      'X-Service-Sequence': '3',
      'webhook-id': '018f-id',
      'webhook-timestamp': '1773153000',
    })
  })

  it('match a signature that was computed independently [HOOK-13]', () => {
    // printf '1773153000.{"event":"sale.completed"}' | openssl dgst -sha256 -hmac 'whsec_AQEB…AQE='
    expect(deliveryHeaders(delivery, single, NOW)['X-Service-Signature']).to.equal(KNOWN)
  })

  it('have neither revision nor sequence for a test [HOOK-24]', () => {
    const headers = deliveryHeaders({ ...delivery, revision: null, sequence: null }, single, NOW)
    expect(headers).not.to.have.any.keys('X-Service-Revision', 'X-Service-Sequence', 'X-Service-Signature-Next')
  })

  it('contain both signatures during a rotation [HOOK-28]', () => {
    const headers = deliveryHeaders(delivery, overlap, NOW)
    expect(headers).to.include({
      'X-Service-Signature': signed(OLD, delivery.body),
      'X-Service-Signature-Next': signed(NEW, delivery.body),
    })
    expect(headers['webhook-signature']!.split(' ')).to.have.length(2)
  })

  it('are signed with the new secret alone from its effective time on [HOOK-28]', () => {
    const headers = deliveryHeaders(delivery, { ...overlap, switch_at: new Date(NOW).toISOString() }, NOW)
    expect(headers).to.include({ 'X-Service-Signature': signed(NEW, delivery.body) })
    expect(headers).not.to.have.property('X-Service-Signature-Next')
    expect(headers['webhook-signature']!.split(' ')).to.have.length(1)
  })

  it('verify in the public library with the secret, and with either secret during the overlap', () => {
    fc.assert(
      fc.property(fc.json(), fc.uuid(), fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, id, random) => {
        const own = `whsec_${Buffer.from(random).toString('base64')}`
        const now = Date.now()
        const headers = deliveryHeaders({ ...delivery, id, body }, { ...single, secret: own }, now)
        expect(new Webhook(own).verify(body, headers, { jsonParse: false })).to.equal(undefined)
        const both = deliveryHeaders(
          { ...delivery, id, body },
          { ...overlap, secret: own, switch_at: new Date(now + 60_000).toISOString() },
          now,
        )
        for (const secret of [own, NEW]) new Webhook(secret).verify(body, both, { jsonParse: false })
        expect(() => new Webhook(OLD).verify(body, headers)).to.throw()
      }),
    )
  })
})
