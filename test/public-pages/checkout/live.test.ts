import { expect } from 'chai'
import type { Pool } from 'pg'
import type { LiveUpdates } from '#http/live-updates.ts'
import { Unavailable } from '#lib/errors.ts'
import { createOrderUpdates } from '#public-pages/checkout-live.ts'
import { until } from '../../support/wait.ts'

/** Ledger with scripted revisions of the company and its orders. */
function stage() {
  const revisions = new Map<number, number>()
  const subscribers = new Set<Parameters<LiveUpdates['subscribe']>[2]>()
  let looks = 0
  const live: LiveUpdates = {
    subscribe(_companyId, _since, subscriber) {
      subscribers.add(subscriber)
      return () => void subscribers.delete(subscriber)
    },
    close: async () => {},
  }
  const pool = {
    async query({ values: [, ids] }: { values: [number, number[]] }) {
      looks += 1
      return { rows: ids.flatMap((id) => (revisions.has(id) ? { id, revision: revisions.get(id) } : [])) }
    },
  } as unknown as Pool
  const updates = createOrderUpdates({
    live,
    pool,
    onError(error) {
      throw error
    },
  })
  const follow = (orderId: number, since = 0, companyId = 1) => {
    const told: (number | 'ended')[] = []
    const follower = { moved: (revision: number) => told.push(revision), ended: () => told.push('ended') }
    return { told, stop: updates.follow({ companyId, orderId, since }, follower) }
  }
  return { revisions, subscribers, follow, looks: () => looks }
}

describe('checkout page: live updates', () => {
  it('notify of changes of the own order only, including those before the stream opened [ORDER-35]', async () => {
    const { revisions, subscribers, follow } = stage()
    revisions.set(1, 5).set(2, 5)
    const [late, other] = [follow(1, 4), follow(2, 5)]
    await until(() => late.told.length > 0)
    revisions.set(1, 9)
    for (const { moved } of subscribers) moved(9)
    await until(() => late.told.length > 1)
    expect(late.told).to.deep.equal([5, 9])
    expect(other.told).to.deep.equal([])
  })

  it('share one subscription per company for any number of pages, and merge frequent changes [ORDER-36]', async () => {
    const { revisions, subscribers, follow, looks } = stage()
    const pages = Array.from({ length: 30 }, (_, n) => follow(n + 1))
    expect(subscribers.size).to.equal(1)
    revisions.set(30, 1_000)
    for (const { moved } of subscribers) for (let n = 1; n <= 1_000; n++) moved(n)
    await until(() => pages[29]?.told.includes(1_000))
    expect(looks()).to.be.at.most(2)
    for (const { stop } of pages) stop()
    expect(subscribers.size).to.equal(0)
  })

  it('allow ten pages per order, and reserve capacity for other companies [ORDER-36]', () => {
    const { follow } = stage()
    const pages = Array.from({ length: 10 }, () => follow(1))
    expect(() => follow(1)).to.throw(Unavailable)
    pages[0]?.stop()
    follow(1)
    let order = 1
    expect(() => {
      for (;;) follow(++order)
    }).to.throw(Unavailable)
    expect(order).to.be.within(400, 600)
    expect(() => follow(1, 0, 2)).to.not.throw()
  })

  it('end with the process [ORDER-35]', () => {
    const { subscribers, follow } = stage()
    const page = follow(1)
    for (const { ended } of subscribers) ended()
    expect(page.told).to.deep.equal(['ended'])
  })
})
