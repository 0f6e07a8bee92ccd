import { expect } from 'chai'
import type { Pool } from 'pg'
import { appenderFrom, isConsistent, isIncluded, leafHash, type TreeHead } from '#integrity/merkle.ts'
import { createProver, type EventProof, type GrowthProof, type SignedHead } from '#integrity/prover.ts'
import { growTrees, headOfTree, TreeDiffers } from '#integrity/trees.ts'
import { streamOf } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../../support/database.ts'
import { tamperBy } from '../../support/tamper.ts'
import { eventsOf, notePosition, writeLedger } from '../audit/tampering.ts'

const EVENTS = 300

const growing = { onError: (error: unknown) => expect.fail(String(error)) }

describe('proofs through the API', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore
  let companyId: number
  let leaves: Buffer[]
  let signed: SignedHead | null
  let now: number

  before(() => {
    pool = createPool(database.url, { max: 3 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())
  beforeEach(async () => {
    companyId = await writeLedger(pool, EVENTS)
    leaves = (await eventsOf(pool, companyId)).map(({ hash }) => leafHash(Buffer.from(hash, 'hex')))
    signed = null
    now = 0
  })

  function head(size: number): TreeHead {
    const appender = appenderFrom()
    for (const leaf of leaves.slice(0, size)) appender.append(leaf)
    return { size, root: appender.root() }
  }

  const sign = (size: number) => {
    signed = { ...head(size), note: `note of ${size}` }
  }
  const proverOf = (options = {}) =>
    createProver({ pool, store, newestOf: async () => signed, clock: () => now, ...options })

  function expectIncluded(found: unknown, revision: number, size: number, checkpoint: string | null): void {
    const proof = found as EventProof
    expect(proof).to.include({ revision, size, checkpoint })
    expect(leafHash(Buffer.from(proof.hash, 'hex')).equals(leaves[revision] as Buffer)).to.equal(true)
    expect(isIncluded(leaves[revision] as Buffer, { index: revision, ...head(size) }, proof.hashes)).to.equal(true)
    expect(proof.root.equals(head(size).root)).to.equal(true)
  }

  it('use the last signed size, else the current tree, or any requested size [PROOF-7]', async () => {
    const prover = proverOf()
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, EVENTS, null)
    sign(200)
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, 200, 'note of 200')
    expectIncluded(await prover.inclusion(companyId, 200, null), 200, EVENTS, null)
    expectIncluded(await prover.inclusion(companyId, 7, 200), 7, 200, 'note of 200')
    expectIncluded(await prover.inclusion(companyId, 7, 8), 7, 8, null)
    for (const size of [0, 7]) expect(await prover.inclusion(companyId, 7, size)).to.deep.equal({ available: EVENTS })
    expect(await prover.inclusion(companyId, 7, EVENTS + 1)).to.deep.equal({ available: EVENTS })
    expect(await prover.inclusion(companyId, EVENTS, null)).to.equal(null)
    signed = null
    expect(await prover.inclusion(companyId + 1_000, 0, null), 'of no company').to.equal(null)
  })

  it('show that a tree is consistent with an earlier one [PROOF-7]', async () => {
    const prover = proverOf()
    for (const [from, to] of [
      [0, 0],
      [0, EVENTS],
      [120, 121],
      [EVENTS, EVENTS],
    ] as const) {
      const { hashes, ...proof } = (await prover.consistency(companyId, from, to)) as GrowthProof
      expect(proof).to.deep.equal({ from, to, fromRoot: head(from).root, root: head(to).root })
      expect(isConsistent(head(from), head(to), hashes)).to.equal(true)
    }
    expect((await prover.consistency(companyId, 5, null)) as GrowthProof).to.include({ from: 5, to: EVENTS })
    expect(await prover.consistency(companyId, 6, 5)).to.deep.equal({ available: EVENTS })
    expect(await prover.consistency(companyId, 5, EVENTS + 1)).to.deep.equal({ available: EVENTS })
  })

  it('use a rebuilt tree if the stored one differs, without a rebuild per request [PROOF-5]', async () => {
    const prover = proverOf()
    sign(EVENTS)
    await prover.inclusion(companyId, 7, null)
    const tamper = () =>
      pool.query(`update ops.tree_tiles set hashes = overlay(hashes placing '\\x0000' from 40) where log = $1`, [
        companyId,
      ])
    await tamper()
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, EVENTS, `note of ${EVENTS}`)
    await tamper()
    const again = () => prover.inclusion(companyId, 7, null).catch((error: unknown) => error)
    expect(await again()).to.be.instanceOf(TreeDiffers)
    now += 600_000
    expectIncluded(await again(), 7, EVENTS, `note of ${EVENTS}`)
  })

  it('are refused if the ledger differs from the signed one [PROOF-5]', async () => {
    sign(EVENTS)
    const note = signed?.note ?? ''
    signed = { size: EVENTS, root: leafHash(Buffer.from('x')), note }
    expect(
      await proverOf()
        .inclusion(companyId, 7, null)
        .catch((error: unknown) => error),
    ).to.be.instanceOf(TreeDiffers)
    sign(EVENTS)
    await tamperBy(pool, 'delete from ledger.events where stream = $1 and revision >= 290', [streamOf(companyId)])
    expect(
      await proverOf()
        .inclusion(companyId, 295, null)
        .catch((error: unknown) => error),
    ).to.be.instanceOf(TreeDiffers)
  })

  it('wait for a tree under construction only up to the time limit of a request [PROOF-7]', async () => {
    companyId = await writeLedger(pool, 1_100)
    // The deadline passes at the first clock read after the start.
    let looks = 0
    const prover = proverOf({ clock: () => (looks++ === 0 ? 0 : 1e9) })
    expect(await prover.inclusion(companyId, 1_050, null).catch((error: unknown) => error)).to.be.instanceOf(
      Unavailable,
    )
    expect((await headOfTree(pool, companyId)).size).to.equal(1_024)
    expect(await prover.inclusion(companyId, 1_050, null)).to.include({ size: 1_100 })
  })

  it('use trees that were grown in the background [PROOF-4]', async () => {
    await growTrees({ pool, store }, { ...growing, stopping: AbortSignal.abort() })
    expect((await headOfTree(pool, companyId)).size).to.equal(0)
    await growTrees({ pool, store }, growing)
    expect(await headOfTree(pool, companyId)).to.deep.equal(head(EVENTS))
    await notePosition(pool, companyId, { revision: 9_999, hash: '' })
    await growTrees({ pool, store }, growing)
    expect((await headOfTree(pool, companyId)).size).to.equal(EVENTS)
  })
})
