import { expect } from 'chai'
import { Unavailable } from '#lib/errors.ts'
import { createDirectoryCache, type LookUpResult } from '#sharding/directory-cache.ts'

const HOUR_MS = 3_600_000

/** Directory that answers statements from its entries, and records them. */
function directory(kept = 10) {
  let time = 0
  const asked: (readonly string[])[] = []
  const answers = new Map<string, LookUpResult>()
  const state = { isCut: false, held: Promise.resolve() }
  const lookUps = createDirectoryCache({
    maxEntries: kept,
    now: () => time,
    async ask(keys) {
      asked.push(keys)
      const known = keys.map((key) => answers.get(key))
      await state.held
      if (state.isCut) throw new Error('connection refused')
      return known.map((found) => (found ? [found] : []))
    },
  })
  const put = (key: string, companyId: number, shard = 'main', account: string | null = null) =>
    answers.set(key, { companyId, shard, account })
  return { lookUps, asked, answers, put, state, pass: (ms: number) => (time += ms) }
}

async function shardOf({ lookUps }: ReturnType<typeof directory>, key: string): Promise<string | undefined> {
  return (await lookUps.find(key))[0]?.shard
}

async function expectUnavailable(answer: Promise<unknown>): Promise<void> {
  expect(await answer.catch((error: unknown) => error)).to.be.instanceOf(Unavailable)
}

describe('directory cache', () => {
  it('sends one query for all waiting look-ups, and caches results for a minute [SHARD-22]', async () => {
    const there = directory()
    there.put('a', 1)
    there.put('b', 2, 'south')
    const found = await Promise.all(['a', 'b', 'a', 'x'].map((key) => shardOf(there, key)))
    expect(found).to.deep.equal(['main', 'south', 'main', undefined])
    expect(there.asked).to.deep.equal([['a', 'b', 'x']])
    there.pass(59_000)
    expect(await shardOf(there, 'b')).to.equal('south')
    expect(there.asked).to.have.length(1)
    there.put('b', 2, 'north')
    there.pass(2_000)
    expect(await shardOf(there, 'b')).to.equal('north')
  })

  it('never caches unknown keys, because they can be created at any time [SHARD-21]', async () => {
    const there = directory(2)
    there.put('a', 1)
    await shardOf(there, 'a')
    for (let n = 0; n < 100; n++) expect(await shardOf(there, `x${n}`)).to.equal(undefined)
    there.put('x1', 7)
    expect(await shardOf(there, 'x1')).to.equal('main')
    expect(await shardOf(there, 'a')).to.equal('main')
    expect(there.asked.flat().filter((key) => key === 'a')).to.have.length(1)
    there.put('b', 2)
    await shardOf(there, 'b')
    expect(there.asked.flat().filter((key) => key === 'a')).to.have.length(1)
  })

  it('evicts the least recently used key when it is full [SHARD-21]', async () => {
    const there = directory(2)
    for (const [position, key] of ['a', 'b', 'c'].entries()) there.put(key, position + 1)
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await shardOf(there, key)
    expect(there.asked.flat()).to.deep.equal(['a', 'b', 'c', 'b'])
  })

  it('serves cached results for a day while the directory is down, and reports no key as unknown [SHARD-23]', async () => {
    const there = directory()
    there.put('a', 1)
    await shardOf(there, 'a')
    there.state.isCut = true
    there.pass(23 * HOUR_MS)
    expect(await shardOf(there, 'a')).to.equal('main')
    expect(there.lookUps.isUp()).to.equal(false)
    await expectUnavailable(shardOf(there, 'b'))
    const asked = there.asked.length
    await expectUnavailable(shardOf(there, 'c'))
    expect(there.asked, 'it is not asked again in the same second').to.have.length(asked)
    there.pass(2 * HOUR_MS)
    await expectUnavailable(shardOf(there, 'a'))
    there.state.isCut = false
    there.pass(1_001)
    expect(await shardOf(there, 'a')).to.equal('main')
    expect(there.lookUps.isUp()).to.equal(true)
  })

  it('serves a cached result if a newer answer is slow', async () => {
    const there = directory()
    there.put('a', 1)
    await shardOf(there, 'a')
    there.pass(61_000)
    let answer = () => {}
    there.state.held = new Promise((resolve) => {
      answer = resolve
    })
    expect(await shardOf(there, 'a')).to.equal('main')
    answer()
  })

  it('refreshes a migrated company, and an account with ended logins [SHARD-22]', async () => {
    const there = directory()
    there.put('a', 1)
    there.put('s', 2, 'main', 'eva')
    await Promise.all([shardOf(there, 'a'), shardOf(there, 's')])
    there.put('a', 1, 'south')
    there.answers.delete('s')
    there.lookUps.drop({ companyId: 1 })
    expect([await shardOf(there, 'a'), await shardOf(there, 's')]).to.deep.equal(['south', 'main'])
    there.lookUps.drop({ account: 'eva' })
    expect(await shardOf(there, 's')).to.equal(undefined)
  })

  it('discards an answer that was under way during a migration [SHARD-22]', async () => {
    const there = directory()
    there.put('a', 1)
    let answer = () => {}
    there.state.held = new Promise((resolve) => {
      answer = resolve
    })
    const before = shardOf(there, 'a')
    while (there.asked.length === 0) await new Promise(setImmediate)
    there.put('a', 1, 'south')
    there.lookUps.drop({ companyId: 1 })
    answer()
    await before
    expect(await shardOf(there, 'a')).to.equal('south')
  })

  it('refreshes everything after missed notifications, and serves cached results if it cannot [SHARD-22] [SHARD-23]', async () => {
    const there = directory()
    there.put('a', 1)
    await shardOf(there, 'a')
    there.put('a', 1, 'south')
    there.lookUps.doubt()
    there.state.isCut = true
    expect(await shardOf(there, 'a')).to.equal('main')
    there.state.isCut = false
    there.pass(1_001)
    expect(await shardOf(there, 'a')).to.equal('south')
  })

  it('queries five hundred keys at a time, one statement after the other, and queues up to ten thousand [SHARD-21]', async () => {
    const there = directory()
    let answer = () => {}
    there.state.held = new Promise((resolve) => {
      answer = resolve
    })
    const all = Array.from({ length: 10_001 }, (_, n) =>
      shardOf(there, `made-up-${n}`).catch((error: unknown) => error),
    )
    while (there.asked.length === 0) await new Promise(setImmediate)
    expect(there.asked.map(({ length }) => length)).to.deep.equal([500])
    answer()
    const told = await Promise.all(all)
    expect(told.filter((one) => one instanceof Unavailable)).to.have.length(1)
    expect(Math.max(...there.asked.map(({ length }) => length))).to.equal(500)
  })
})
