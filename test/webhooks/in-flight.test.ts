import { expect } from 'chai'
import { type InFlightDelivery, InFlightLimiter } from '#webhooks/delivery-leases.ts'

const attempt = (webhookId: number, given: Partial<InFlightDelivery> = {}): InFlightDelivery => ({
  endpoint: `1/${webhookId}`,
  failing: false,
  startedAt: 0,
  ...given,
})

describe('limiter of attempts in flight', () => {
  it('offers the full capacity if nothing is under way', () => {
    expect(new InFlightLimiter().room(0)).to.deep.equal({ sound: 256, strained: 64, busy: {} })
  })

  it('counts attempts by endpoint until their release, which counts once', () => {
    const limiter = new InFlightLimiter()
    const [one, other] = [attempt(7), attempt(7)]
    for (const each of [one, other, attempt(8)]) limiter.take(each)
    expect(limiter.room(0).busy).to.deep.equal({
      '1/7': { attempts: 2, slow: false, strained: false },
      '1/8': { attempts: 1, slow: false, strained: false },
    })
    limiter.release(one)
    limiter.release(one)
    expect(limiter.room(0)).to.deep.include({
      sound: 254,
      busy: {
        '1/7': { attempts: 1, slow: false, strained: false },
        '1/8': { attempts: 1, slow: false, strained: false },
      },
    })
    limiter.release(other)
    expect(limiter.room(0).busy).to.have.keys('1/8')
    expect(limiter.count).to.equal(1)
  })

  it('counts attempts at failing endpoints separately', () => {
    const limiter = new InFlightLimiter()
    for (let endpoint = 1; endpoint <= 64; endpoint++) limiter.take(attempt(endpoint, { failing: true }))
    expect(limiter.room(0)).to.include({ sound: 256, strained: 0 })
  })

  it('returns the capacity of an endpoint that turns out slow', () => {
    const limiter = new InFlightLimiter()
    for (let n = 0; n < 32; n++) limiter.take(attempt(7))
    expect(limiter.room(1_000)).to.include({ sound: 224, strained: 64 })
    const later = limiter.room(1_001)
    expect(later).to.include({ sound: 256, strained: 32 })
    expect(later.busy['1/7']).to.deep.equal({ attempts: 32, slow: true, strained: true })
  })

  it('has a total limit, however many endpoints become slow', () => {
    const limiter = new InFlightLimiter()
    for (let endpoint = 1; endpoint <= 16; endpoint++) for (let n = 0; n < 32; n++) limiter.take(attempt(endpoint))
    expect(limiter.room(2_000)).to.include({ sound: 0, strained: 0 })
  })
})
