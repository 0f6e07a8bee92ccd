import { expect } from 'chai'
import { toRepresentation } from '#http/answers.ts'
import { formatProblem } from '#http/problems.ts'
import { createPageCache, type PageCache, type PageMoment } from '#http/traffic.ts'

const MOMENT: PageMoment = { revision: 7, tables: 16_700, today: '2026-03-10' }
const KIB = 1_024
const page = (size_bytes: number) => toRepresentation(Buffer.alloc(size_bytes, 'x'))

/** Cache in which all keys were already requested once. */
function cacheOf(capacity_bytes: number): PageCache {
  const cache = createPageCache(capacity_bytes)
  return {
    ...cache,
    keep(key, moment, body) {
      cache.keep(key, moment, page(0))
      cache.keep(key, moment, body)
    },
  }
}

describe('page cache', () => {
  it('returns a page with the same bytes for every request', () => {
    const cache = cacheOf(1_000 * KIB)
    const body = { ...page(20 * KIB), br: Buffer.from('br'), gzip: Buffer.from('gzip') }
    cache.keep('1 /sales', MOMENT, body)
    expect(cache.find('1 /sales', MOMENT)).to.deep.equal(body)
    expect(cache.find('1 /sales', { ...MOMENT })).to.deep.equal(body)
    expect(cache.find('2 /sales', MOMENT)).to.equal(null)
  })

  it('does not cache first requests: reading a whole history evicts no other pages', () => {
    const cache = createPageCache(1_000 * KIB)
    cache.keep('1 /sales', MOMENT, page(10))
    expect(cache.find('1 /sales', MOMENT)).to.equal(null)
    cache.keep('1 /sales', { ...MOMENT, revision: 8 }, page(20))
    expect(cache.find('1 /sales', { ...MOMENT, revision: 8 })?.identity.length).to.equal(20)
  })

  it('remembers first requests for a limited time', () => {
    const cache = createPageCache(1_000 * KIB)
    for (let n = 0; n < 20_000; n++) cache.keep(`1 /sales?cursor=${n}`, MOMENT, page(1))
    cache.keep('1 /sales?cursor=0', MOMENT, page(1))
    expect(cache.find('1 /sales?cursor=0', MOMENT)).to.equal(null)
    cache.keep('1 /sales?cursor=19999', MOMENT, page(1))
    expect(cache.find('1 /sales?cursor=19999', MOMENT)).not.to.equal(null)
  })

  it('does not cache pages that repeat after more pages than its capacity', () => {
    const cache = createPageCache(1_000 * KIB)
    const readAll = (count: number) => {
      for (let n = 0; n < count; n++) cache.keep(`1 /sales?cursor=${n}`, MOMENT, page(100 * KIB))
    }
    readAll(12)
    readAll(12)
    expect(cache.find('1 /sales?cursor=11', MOMENT)).to.equal(null)
    readAll(8)
    readAll(8)
    expect(cache.find('1 /sales?cursor=7', MOMENT)).not.to.equal(null)
  })

  const changes: [string, Partial<PageMoment>][] = [
    ['the ledger has a newer revision', { revision: 8 }],
    ['the ledger has an older revision', { revision: 6 }],
    ['a rebuild has replaced the tables', { tables: 16_900 }],
    ['the day has changed', { today: '2026-03-11' }],
  ]
  for (const [what, change] of changes) {
    it(`misses if ${what}`, () => {
      const cache = cacheOf(1_000 * KIB)
      cache.keep('1 /sales', MOMENT, page(10))
      expect(cache.find('1 /sales', { ...MOMENT, ...change })).to.equal(null)
    })
  }

  it('replaces a page by one of another revision or day', () => {
    const cache = cacheOf(1_000 * KIB)
    const later = { ...MOMENT, revision: 8 }
    cache.keep('1 /sales', MOMENT, page(10))
    cache.keep('1 /sales', later, page(20))
    expect(cache.find('1 /sales', later)?.identity.length).to.equal(20)
    expect(cache.find('1 /sales', MOMENT)).to.equal(null)
  })

  it('does not replace a page by one of a replica that lags behind [READ-922]', () => {
    const cache = cacheOf(1_000 * KIB)
    cache.keep('1 /sales', MOMENT, page(10))
    cache.keep('1 /sales', { ...MOMENT, revision: MOMENT.revision - 1 }, page(20))
    expect(cache.find('1 /sales', MOMENT)?.identity.length).to.equal(10)
  })

  it('evicts the least recently requested pages when it is full', () => {
    const cache = cacheOf(100 * KIB)
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) cache.keep(key, MOMENT, page(10 * KIB))
    cache.find('a', MOMENT)
    cache.keep('j', MOMENT, page(10 * KIB))
    expect(cache.find('b', MOMENT)).to.equal(null)
    for (const key of ['a', 'c', 'j']) expect(cache.find(key, MOMENT), key).not.to.equal(null)
  })

  it('copies a page, because the buffer of its response is reused', () => {
    const cache = cacheOf(10 * KIB)
    const body = Buffer.from('{}')
    cache.keep('1 /sales', MOMENT, { ...toRepresentation(body), gzip: body, br: body })
    body.fill('x')
    const { identity, gzip, br } = cache.find('1 /sales', MOMENT) ?? {}
    for (const kept of [identity, gzip, br]) {
      expect(kept?.buffer.byteLength).to.equal(2)
      expect(String(kept)).to.equal('{}')
    }
  })

  it('counts the overhead of a page, even a small one', () => {
    const cache = cacheOf(10 * KIB)
    for (let n = 0; n < 40; n++) cache.keep(String(n), MOMENT, page(2))
    const held = Array.from({ length: 40 }, (_, n) => cache.find(String(n), MOMENT)).filter((found) => found !== null)
    expect(held.length).to.be.within(1, 20)
  })

  it('counts the compressed form of a page too', () => {
    const cache = cacheOf(10 * KIB)
    cache.keep('a', MOMENT, page(500))
    cache.keep('a', MOMENT, { ...page(500), gzip: Buffer.alloc(KIB) })
    expect(cache.find('a', MOMENT)?.gzip).to.equal(undefined)
  })

  it('refuses pages larger than an eighth of its capacity, and all pages without capacity', () => {
    const cache = cacheOf(80 * KIB)
    cache.keep('large', MOMENT, page(11 * KIB))
    expect(cache.find('large', MOMENT)).to.equal(null)
    const none = cacheOf(0)
    none.keep('any', MOMENT, page(1))
    expect(none.find('any', MOMENT)).to.equal(null)
  })
})

describe('message of a mismatch of a return', () => {
  it('names the sum, or the part on credit if the sum is right [RETURN-2] [RETURN-5]', () => {
    const due = { due: '10.00', refunded: '9.00', on_credit: '4.00' }
    expect(formatProblem('payment_mismatch', due)).to.include('devem somar 10.00')
    const onCredit = formatProblem('payment_mismatch', { ...due, refunded: '10.00' })
    expect(onCredit).to.include('4.00 deve ser na forma a prazo').and.not.include('somar')
    expect(formatProblem('payment_mismatch')).to.equal('Os pagamentos não somam o total da venda.')
  })
})
