import { expect } from 'chai'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { type Answer, type CommandResult, createAnswer } from '#ledger/write/idempotency.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { countedWriter } from '#service/metrics.ts'
import { answeringWriter } from '../../support/answering-writer.ts'

const RESULT: CommandResult = { outcome: 'created', subject: 'sale/1', json: '{}' }
const answer = (results: readonly CommandResult[], replayed = false) =>
  createAnswer({ outcome: 'created', json: '{}' }, { revision: 1, results, replayed })

const requestOf = (commands: number): Request => ({
  companyId: 1,
  invocations: Array.from({ length: commands }, () => ({
    command: { needs: () => [], decide: () => refuse('not_found') },
    input: {},
  })),
  origin: 'api',
  actor: null,
  requestId: null,
})

/** Counts recorded while a writer with this `run` answers a request. */
async function counted(request: Request, run: (request: Request) => Promise<Answer | Refusal>): Promise<object> {
  const counts: Record<string, number> = {}
  let unanswered = 0
  const add = (name: string, count: number) => {
    counts[name] = (counts[name] ?? 0) + count
  }
  const writer = countedWriter(
    answeringWriter((all) => {
      expect(unanswered).to.equal(request.invocations.length)
      return run(all)
    }),
    {
      onCommands: add,
      onRefused: (code) => add(code, 1),
      onUnanswered(change) {
        unanswered += change
      },
    },
  )
  await writeRequest(writer, request).catch(() => null)
  expect(unanswered).to.equal(0)
  return counts
}

describe('metrics of the writer', () => {
  it('count a command by its outcome [OPS-19]', async () => {
    const one = requestOf(1)
    expect(await counted(one, async () => answer([RESULT]))).to.deep.equal({ accepted: 1 })
    expect(await counted(one, async () => answer([], true))).to.deep.equal({ replayed: 1 })
    expect(await counted(one, async () => refuse('insufficient_stock'))).to.deep.equal({
      refused: 1,
      insufficient_stock: 1,
    })
  })

  it('count commands with an unknown outcome separately from failed ones [OPS-19]', async () => {
    const fail = (error: Error) => () => Promise.reject(error)
    expect(await counted(requestOf(3), fail(new Unavailable('down')))).to.deep.equal({ unavailable: 3 })
    expect(await counted(requestOf(1), fail(new Error('a bug')))).to.deep.equal({ failed: 1 })
  })

  it('count each command of a batch', async () => {
    const results = [RESULT, refuse('duplicate_resource'), RESULT]
    const figures = await counted(requestOf(3), async () => answer(results))
    expect(figures).to.deep.equal({ accepted: 2, refused: 1, duplicate_resource: 1 })
  })
})
