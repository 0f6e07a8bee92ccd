import { expect } from 'chai'
import type { Pool } from 'pg'
import { purge, type RetentionRule } from '#lib/background-loops.ts'
import { purgeOnSchedule } from '#service/process-roles.ts'
import { until } from '../support/wait.ts'

describe('retention', () => {
  const fail = (error: unknown) => expect.fail(String(error))
  const rule = (table: string): RetentionRule => ({ table, olderThan: 'at', keep: '1 days' })
  /** Answers by the name of the table; all others have nothing to delete. */
  const poolOf = (answers: Readonly<Record<string, () => number>>) => {
    const asked: string[] = []
    const query = async (text: string) => {
      const table = /^delete from (\w+)/.exec(text)?.[1] as string
      asked.push(table)
      return { rowCount: answers[table]?.() ?? 0 }
    }
    return { pool: { query } as unknown as Pool, asked }
  }

  it('deletes a batch of each table in turn, until nothing is left', async () => {
    const left = { much: [5_000, 5_000, 1], little: [2] }
    const { pool, asked } = poolOf({ much: () => left.much.shift() ?? 0, little: () => left.little.shift() ?? 0 })
    expect(await purge(pool, [rule('much'), rule('little')], { onError: fail })).to.equal(10_003)
    expect(asked).to.deep.equal(['much', 'little', 'much', 'little', 'much', 'much'])
  })

  it('goes on with the other tables if one fails', async () => {
    const errors: unknown[] = []
    const { pool, asked } = poolOf({
      broken() {
        throw new Error('broken')
      },
    })
    const steps = [rule('broken'), rule('sound'), async () => 0]
    expect(await purge(pool, steps, { onError: (error) => errors.push(error) })).to.equal(0)
    expect([asked, errors.length]).to.deep.equal([['broken', 'sound'], 1])
  })

  it('ends a run after a maximum number of batches of a table that never ends', async () => {
    const { pool, asked } = poolOf({ endless: () => 1 })
    await purge(pool, [rule('endless')], { onError: fail })
    expect(asked).to.have.length(1_000)
  })

  it('stops after the batch under way has ended, and begins no other', async () => {
    const ends: (() => void)[] = []
    const query = () => new Promise((resolve) => ends.push(() => resolve({ rowCount: 5_000, rows: [] })))
    const purging = purgeOnSchedule({ query } as unknown as Pool, fail)
    await until(() => ends.length === 1)
    let hasStopped = false
    const stopped = purging.stop().then(() => (hasStopped = true))
    await new Promise(setImmediate)
    expect(hasStopped).to.equal(false)
    ends[0]?.()
    await stopped
    expect(ends).to.have.length(1)
  })
})
