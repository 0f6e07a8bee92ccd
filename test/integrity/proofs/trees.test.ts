import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { appenderFrom, EMPTY_ROOT, isConsistent, isIncluded, leafHash, type TreeHead } from '#integrity/merkle.ts'
import { proveConsistency, proveInclusion } from '#integrity/prover.ts'
import { emptyTree, growTree, headOfTree, ledgerLog, TreeDiffers, type TreeLog } from '#integrity/trees.ts'
import { streamOf } from '#ledger/command.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
import { useDatabase } from '../../support/database.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { explore, TITLE } from '../../support/random.ts'
import { tamperBy } from '../../support/tamper.ts'
import { eventsOf, writeLedger } from '../audit/tampering.ts'

let logs = 1_000_000

/** Leaf data of an invented log, in batches. */
function logOf(leaves: readonly Buffer[], batch = 1_024, id = ++logs): TreeLog {
  return {
    id,
    async *leaves(from) {
      for (let start = from; start < leaves.length; start += batch) yield leaves.slice(start, start + batch)
    },
  }
}

const leavesOf = (size: number, salt = '') => Array.from({ length: size }, (_, index) => Buffer.from(`${salt}${index}`))

function headOf(leaves: readonly Buffer[]): TreeHead {
  const appender = appenderFrom()
  for (const leaf of leaves) appender.append(leafHash(leaf))
  return { size: leaves.length, root: appender.root() }
}

describe(`stored trees (${TITLE})`, () => {
  const database = useDatabase()
  let pool: Pool
  /** Pool of another process. */
  let other: Pool

  before(() => {
    pool = createPool(database.url, { max: 2 })
    other = createPool(database.url, { max: 2 })
  })
  after(() => Promise.all([pool.end(), other.end()]))

  /** Asserts that the sampled leaves and all earlier trees are included in the stored tree. */
  async function expectProofs(id: number, leaves: readonly Buffer[], places: readonly number[]) {
    const head = headOf(leaves)
    for (const index of places) {
      const leaf = leafHash(leaves[index] as Buffer)
      const { hashes, root } = await proveInclusion(pool, id, leaf, { index, size: head.size })
      expect(isIncluded(leaf, { index, ...head }, hashes) && root.equals(head.root), `leaf ${index}`).to.equal(true)
      const from = headOf(leaves.slice(0, index))
      const proof = await proveConsistency(pool, id, from.size, head.size)
      expect(isConsistent(from, head, proof.hashes), `from ${from.size}`).to.equal(true)
      expect(proof.fromRoot.equals(from.root) && proof.root.equals(head.root)).to.equal(true)
    }
  }

  it('prove any leaf and any earlier tree after concurrent growth by two processes and crashes [PROOF-4]', () =>
    explore(
      fc.asyncProperty(
        fc.array(
          fc.record({ more: fc.nat({ max: 700 }), batch: fc.integer({ min: 1, max: 300 }), dies: fc.nat({ max: 6 }) }),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        async (steps, draws) => {
          const id = ++logs
          let leaves: Buffer[] = []
          for (const { more, batch, dies } of steps) {
            leaves = leavesOf(leaves.length + more)
            const whole = logOf(leaves, Math.max(batch, 40), id)
            const dying: TreeLog = {
              id,
              async *leaves(from) {
                let left = dies
                for await (const batch of whole.leaves(from)) {
                  if (left-- === 0) throw new Error('killed')
                  yield batch
                }
              },
            }
            const outcomes = await Promise.allSettled([growTree(other, dying), growTree(pool, whole)])
            expect(outcomes[1]).to.deep.equal({ status: 'fulfilled', value: headOf(leaves) })
          }
          if (leaves.length > 0)
            await expectProofs(
              id,
              leaves,
              draws.map((draw) => draw % leaves.length),
            )
        },
      ),
      12,
    ))

  it('have as many levels as they need, and stop growing on request [PROOF-4]', async () => {
    const leaves = leavesOf(66_000)
    const log = logOf(leaves)
    const part = await growTree(pool, log, () => true)
    expect(part.size).to.equal(1_024)
    await growTree(pool, log)
    expect(await headOfTree(pool, log.id)).to.deep.equal(headOf(leaves))
    await expectProofs(log.id, leaves, [0, 65_535, 65_536, 65_999])
  })

  it('cover the hashes of events, in both stores [PROOF-4]', async () => {
    const companyId = await writeLedger(pool, 1_030)
    const events = await eventsOf(pool, companyId)
    const head = headOf(events.map(({ hash }) => Buffer.from(hash, 'hex')))
    expect(await growTree(pool, ledgerLog(createPostgresStore(pool), companyId))).to.deep.equal(head)
    const outside = createOutsideStore()
    await outside.append([{ stream: streamOf(companyId), expectedRevision: -1, commands: [events] }], null as never)
    await emptyTree(pool, companyId)
    expect(await growTree(pool, ledgerLog(outside, companyId))).to.deep.equal(head)
    expect(await growTree(pool, ledgerLog(outside, companyId + 1_000))).to.deep.equal({ size: 0, root: EMPTY_ROOT })
  })

  it('end before an event that is missing or has no hash [PROOF-4]', async () => {
    const store = createPostgresStore(pool)
    for (const tampering of [
      'delete from ledger.events where',
      `update ledger.events set envelope = '{"hash": 7}' where`,
    ]) {
      const companyId = await writeLedger(pool, 6)
      await tamperBy(pool, `${tampering} stream = $1 and revision = 4`, [streamOf(companyId)])
      expect((await growTree(pool, ledgerLog(store, companyId))).size).to.equal(4)
    }
  })

  it('are rebuilt if the ledger was replaced or truncated [PROOF-5]', async () => {
    const store = createOutsideStore()
    const log = ledgerLog(store, 4_711)
    const write = (count: number, from: number) => {
      const events = sealedAfter(
        streamOf(4_711),
        null,
        Array.from({ length: count }, () => ({ data: { from } })),
      )
      return events.map(({ hash }) => Buffer.from(hash, 'hex'))
    }
    for (const leaves of [write(700, 1), write(700, 2), write(300, 2), write(0, 2), write(900, 3)])
      expect(await growTree(pool, logOf(leaves, 100, log.id))).to.deep.equal(headOf(leaves))
  })

  it('return no tampered data, and are rebuilt after tampering is detected [PROOF-5]', () =>
    explore(
      fc.asyncProperty(fc.integer({ min: 2, max: 1_500 }), fc.nat(), fc.nat(), async (size, place, draw) => {
        const leaves = leavesOf(size)
        const log = logOf(leaves)
        await growTree(pool, log)
        const { rowCount } = await pool.query(
          `update ops.tree_tiles set hashes = overlay(hashes placing '\\x00ff' from 1 + $2::int % (length(hashes) - 1))
           where log = $1 and (level, index) = (select level, index from ops.tree_tiles where log = $1 order by random() limit 1)`,
          [log.id, place],
        )
        expect(rowCount).to.equal(1)
        const index = draw % size
        const leaf = leafHash(leaves[index] as Buffer)
        const head = headOf(leaves)
        const proved = async () => {
          const { hashes, root } = await proveInclusion(pool, log.id, leaf, { index, size })
          expect(isIncluded(leaf, { index, ...head }, hashes) && root.equals(head.root)).to.equal(true)
        }
        try {
          // A tile that this proof does not need may have any content.
          await proved()
        } catch (error) {
          if (!(error instanceof TreeDiffers)) throw error
          await emptyTree(pool, log.id)
        }
        leaves.push(Buffer.from('one more'))
        expect(await growTree(pool, log)).to.deep.equal(headOf(leaves))
        await proved()
      }),
      15,
      1,
    ))

  it('report missing tiles [PROOF-5]', async () => {
    const log = logOf(leavesOf(300))
    await growTree(pool, log)
    await pool.query('delete from ops.tree_tiles where log = $1 and level = 0 and index = 0', [log.id])
    const prove = proveInclusion(pool, log.id, leafHash(Buffer.from('1')), { index: 1, size: 300 })
    expect(await prove.catch((error: unknown) => error)).to.be.instanceOf(TreeDiffers)
  })
})
