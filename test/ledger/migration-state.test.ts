import { expect } from 'chai'
import { v7 } from 'uuid'
import { streamOf } from '#ledger/envelope.ts'
import type { MigrationState } from '#ledger/migration-state.ts'
import { catchUpCompany } from '#ledger/write/catch-up.ts'
import { operate } from '#ledger/write/operation.ts'
import { Unavailable, WrongShardError } from '#lib/errors.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { addition, counterModel, echo } from './counters.ts'
import { collect } from './event-store-contract.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const [MOVING, OTHER] = [1, 2]

for (const kind of ['in Postgres', 'outside of it'] as const) {
  describe(`ledgers of companies under migration, ${kind}`, () => {
    const database = useDatabase()
    let harness: Harness
    let outside: FaultyStore

    beforeEach(async () => {
      outside = createOutsideStore()
      harness = await openHarness(database.url, kind === 'in Postgres' ? null : outside, [MOVING, OTHER])
      await empty(harness)
      await move(null)
    })
    afterEach(() => harness.close())

    const move = (to: MigrationState | null) =>
      harness.pool.query('update ops.ledgers set move = $2 where company_id = $1', [MOVING, to])
    const add = (companyId = MOVING, key?: string) => harness.writer.run(addition(companyId, { id: 1, by: 1 }, key))
    const outcome = (work: Promise<unknown>) => work.then(() => 'done').catch((error: unknown) => error)

    it('take writes while paused, none while leaving, and belong to another shard before and after [SHARD-40, SHARD-41, SHARD-42]', async () => {
      for (const [state, isTaken] of [
        [null, true],
        ['paused', true],
        ['leaving', false],
        ['left', WrongShardError],
        ['arriving', WrongShardError],
      ] as const) {
        await move(state)
        const operation = operate(harness.pool, { companyId: MOVING, actor: null }, async () => '{}')
        // One group: a refusal does not affect the others.
        const answers = await Promise.all([outcome(add()), outcome(add(OTHER)), outcome(operation)])
        expect(answers[1]).to.equal('done')
        for (const answer of [answers[0], answers[2]]) {
          if (isTaken === true) expect(answer, String(state)).to.equal('done')
          else expect(answer, String(state)).to.be.instanceOf(isTaken || Unavailable)
          if (isTaken === false) expect(answer).not.to.be.instanceOf(WrongShardError)
        }
      }
      await assertLedger(harness, MOVING, 2)
      await assertLedger(harness, OTHER, 5)
      expect(harness.logged).to.deep.equal([])
    })

    it('contain every accepted request and no refused one, whatever was under way at the close [SHARD-41]', async () => {
      const writers = [harness.writer, harness.another()]
      const runs = Array.from({ length: 200 }, (_, n) =>
        outcome(writers[n % 2]?.run(addition(MOVING, { id: 1, by: 1 }, `key-${n}`)) as Promise<unknown>),
      )
      await Promise.race(runs)
      await move('leaving')
      const atClose = await collect(harness.store.read(streamOf(MOVING), 0))
      const outcomes = await Promise.all(runs)
      const done = outcomes.filter((each) => each === 'done').length
      for (const each of outcomes) if (each !== 'done') expect(each).to.be.instanceOf(Unavailable)
      expect(done).to.equal(atClose.length)
      await assertLedger(harness, MOVING, done)
      await move(null)
      // After reopening each is executed once, including the answered ones.
      await Promise.all(outcomes.map((_, n) => add(MOVING, `key-${n}`)))
      await assertLedger(harness, MOVING, 200)
    })

    it('keep an unknown outcome unknown once closed; a retry gets the settled outcome [SHARD-43]', async () => {
      if (kind === 'in Postgres') harness.commitFaults.push('done')
      else outside.faults.push('after')
      let closing: Promise<unknown> | undefined
      const onDecide = () => {
        closing ??= move('leaving')
      }
      const told = await outcome(harness.writer.run(addition(MOVING, { id: 1, by: 1, onDecide }, 'key')))
      await closing
      expect(told).to.be.instanceOf(Unavailable)
      expect(told).not.to.be.instanceOf(WrongShardError)
      expect((await collect(harness.store.read(streamOf(MOVING), 0))).length).to.equal(1)
      const behind = await harness.pool.query('select revision from ops.ledgers where company_id = $1', [MOVING])
      expect(behind.rows[0].revision).to.equal(kind === 'in Postgres' ? 0 : -1)
      await move(null)
      expect(await add(MOVING, 'key')).to.include({ outcome: 'updated' })
      await assertLedger(harness, MOVING, 1)
    })

    it('are rebuilt from their events at the destination, without side effects, and ignored at the origin [SHARD-40]', async () => {
      await add()
      await add()
      await harness.pool.query(
        `update ops.ledgers set revision = -1, reacted_revision = -1, hash = repeat('0', 64) where company_id = ${MOVING}`,
      )
      await harness.pool.query('delete from counters; delete from ops.echoes')
      const options = { pool: harness.pool, store: harness.store, model: counterModel, keys: keysIn(harness.pool) }
      const catchUp = () =>
        catchUpCompany(
          { ...options, reactors: [echo], newId: v7, onCommitted: () => {}, onOutdated: () => {} },
          MOVING,
          { waits: true },
        )
      await move('left')
      expect(await catchUp()).to.equal(false)
      await move('arriving')
      expect(await catchUp()).to.equal(true)
      const { rows } = await harness.pool.query(
        `select revision, reacted_revision, (select value from counters where company_id = ${MOVING}) as value,
           (select count(*)::int from ops.echoes) as echoes from ops.ledgers where company_id = ${MOVING}`,
      )
      expect(rows).to.deep.equal([{ revision: 1, reacted_revision: 1, value: 2, echoes: 0 }])
    })
  })
}
