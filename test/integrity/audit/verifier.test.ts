import { expect } from 'chai'
import type { Pool } from 'pg'
import { appenderFrom, checkRoots, leafHash } from '#integrity/merkle.ts'
import { createVerifier } from '#integrity/verify.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../../support/database.ts'
import { until } from '../../support/wait.ts'
import { eventsOf, writeLedger } from './tampering.ts'

const sealedOf = async () => ({ anchors: [], watch: checkRoots([]) })

describe('verification through the API', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore

  before(() => {
    pool = createPool(database.url, { max: 4 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())

  /** Store with blocked reads, and the number of readers. */
  function gated() {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const started: string[] = []
    const waiting: EventStore = {
      ...store,
      async *stored(stream, after) {
        started.push(stream)
        await gate
        yield* store.stored?.(stream, after) ?? []
      },
    }
    return { store: waiting, started, open: () => open() }
  }

  it('runs once for equal requests, and refuses a different one of the same company meanwhile [FEED-4]', async () => {
    const companyId = await writeLedger(pool, 5)
    const [first] = await eventsOf(pool, companyId)
    const { store: waiting, started, open } = gated()
    const verifier = createVerifier({ pool, store: waiting }, { clock: Date.now, sealedOf })
    const both = [verifier.verify(companyId, null), verifier.verify(companyId, null)]
    const refused = await verifier.verify(companyId, first ?? null).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Unavailable)
    await until(() => started.length > 0)
    open()
    const [one, other] = await Promise.all(both)
    expect(one?.verification).to.include({ valid: true, checked: 5 })
    expect(other).to.equal(one)
    expect(started).to.have.length(1)
    // Afterwards any request may run.
    expect((await verifier.verify(companyId, first ?? null)).verification).to.include({ checked: 4 })
  })

  it('limits the number of ledgers verified at a time [FEED-4]', async () => {
    const companies = [await writeLedger(pool, 1), await writeLedger(pool, 1), await writeLedger(pool, 1)]
    const { store: waiting, started, open } = gated()
    const verifier = createVerifier({ pool, store: waiting }, { clock: Date.now, sealedOf })
    const results = companies.map((companyId) => verifier.verify(companyId, null))
    await until(() => started.length === 2)
    open()
    for (const { verification } of await Promise.all(results)) expect(verification.valid).to.equal(true)
    expect(started).to.have.length(3)
  })

  it('stops at its time limit, and resumes from there [FEED-4]', async () => {
    const companyId = await writeLedger(pool, 10)
    let now = 0
    // The clock advances 4 seconds per read: the third event exceeds the limit.
    const clock = () => {
      now += 4_000
      return now
    }
    const verifier = createVerifier({ pool, store }, { clock, sealedOf })
    const first = await verifier.verify(companyId, null)
    expect(first.head).to.equal(9)
    expect(first.verification).to.include({ valid: true, checked: 3, revision: 2 })
    let { verification } = first
    let checked = verification.checked
    while (verification.revision < first.head) {
      verification = (await verifier.verify(companyId, verification)).verification
      expect(verification.valid).to.equal(true)
      checked += verification.checked
    }
    expect(checked).to.equal(10)
  })

  it('computes the root of the tree, and compares it with the signed one [FEED-4, PROOF-6]', async () => {
    const companyId = await writeLedger(pool, 9)
    const tree = appenderFrom()
    const heads = (await eventsOf(pool, companyId)).map(({ hash }) => {
      tree.append(leafHash(Buffer.from(hash, 'hex')))
      return { size: tree.size, root: tree.root() }
    })
    const [root, other] = [tree.root(), leafHash(tree.root())]
    const verifyWith = (...signed: Parameters<typeof checkRoots>[0][number][]) =>
      createVerifier(
        { pool, store },
        { clock: Date.now, sealedOf: async () => ({ anchors: [], watch: checkRoots(signed) }) },
      )
    const verified = await verifyWith(...heads).verify(companyId, null)
    expect(verified).to.deep.include({ root: root.toString('base64'), head: 8 })
    expect(verified.verification.valid).to.equal(true)
    const faults = [
      await verifyWith(...heads, { size: 4, root: other }).verify(companyId, null),
      await verifyWith({ size: 10, root: other }).verify(companyId, null),
    ]
    expect(faults.map(({ verification }) => verification.first_error)).to.deep.equal([
      { revision: 3, reason: 'other_root' },
      { revision: 9, reason: 'truncated' },
    ])
    expect(faults.map((each) => each.root)).to.deep.equal([null, null])
    expect((await verifyWith(...heads).verify(companyId, { revision: 3, hash: '' })).root).to.equal(null)
  })
})
