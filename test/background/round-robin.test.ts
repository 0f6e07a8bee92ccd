import { expect } from 'chai'
import type { Pool } from 'pg'
import { createRoundRobin, workInTurn } from '#lib/background-loops.ts'

describe('round robin over companies', () => {
  const fail = (error: unknown) => expect.fail(String(error))

  it('gives each company one slice before any company gets a second one', async () => {
    const left = new Map([
      [1, 3],
      [2, 1],
      [3, 2],
    ])
    const worked: number[] = []
    const slice = async (id: number) => {
      worked.push(id)
      left.set(id, (left.get(id) as number) - 1)
      return left.get(id) === 0 ? 'done' : 'more'
    }
    await workInTurn(left.keys(), slice, { onError: fail })
    expect(worked).to.deep.equal([1, 2, 3, 1, 3, 1])
  })

  it('continues with the others if one company fails, and reports the failed one', async () => {
    const worked: number[] = []
    const failed: number[] = []
    const slice = async (id: number) => {
      worked.push(id)
      if (id === 1) throw new Error('broken')
      return worked.filter((each) => each === id).length < 2 ? 'more' : 'done'
    }
    await workInTurn([1, 2], slice, { onError: (_error, id) => failed.push(id) })
    expect([worked, failed]).to.deep.equal([[1, 2, 2], [1]])
  })

  it('ends a run after a maximum number of slices of an endless company', async () => {
    let slices = 0
    const slice = async () => {
      slices += 1
      return 'more' as const
    }
    await workInTurn([1], slice, { onError: fail, slices: 4 })
    expect(slices).to.equal(4)
  })

  it('works a quarter of the time while a company has more [OPS-158]', async () => {
    const [WORK_MS, SLICES] = [10, 3]
    let left = SLICES
    const slice = async () => {
      for (const end = performance.now() + WORK_MS; performance.now() < end; );
      left -= 1
      return left > 0 ? 'more' : 'done'
    }
    const startedAt = performance.now()
    await workInTurn([1], slice, { onError: fail })
    // A timer may fire up to a millisecond early; nothing follows the last slice.
    const rests_ms = (SLICES - 1) * (3 * WORK_MS - 1)
    expect(performance.now() - startedAt).to.be.at.least(SLICES * WORK_MS + rests_ms)
  })

  it('starts nothing more after a stop', async () => {
    const worked: number[] = []
    const stopping = new AbortController()
    const slice = async (id: number) => {
      worked.push(id)
      stopping.abort()
      return 'more' as const
    }
    await workInTurn([1, 2], slice, { onError: fail, stopping: stopping.signal })
    expect(worked).to.deep.equal([1])
  })

  for (const [what, stood, served, after] of [
    ['the last of those that were served', 0, [2, 5], 5],
    ['the last before the circle closed', 6, [7, 9, 2], 2],
    ['where it was, after an empty batch', 6, [], 6],
  ] as const)
    it(`sets its position after ${what}`, async () => {
      const companies = createRoundRobin()
      const positions: unknown[] = []
      const take = (ids: readonly number[]) => {
        const query = async ({ values }: { readonly values: readonly unknown[] }) => {
          positions.push(values.at(-1))
          return { rows: ids.map((company_id) => ({ company_id })) }
        }
        return companies.take({ query } as unknown as Pool, { name: 'taken', text: '' }, ['another value'])
      }
      for (const ids of [[stood], served, []]) expect(await take(ids)).to.have.length(ids.length)
      expect(positions).to.deep.equal([0, stood, after])
    })
})
