import { expect } from 'chai'
import { type Refusal, refuse } from '#domain/refusals.ts'
import type { Inconsistency } from '#integrity/installation-check.ts'
import { type Answer, type CommandResult, createAnswer } from '#ledger/write/idempotency.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { countedWriter } from '#service/metrics.ts'
import { watchInstallation } from '#service/process.ts'
import { limitRepetitions } from '#service/service.ts'
import { answeringWriter } from '../support/answering-writer.ts'

/** Actions of a process for the result of its first installation check, and of the next one. */
async function seen(
  first: Inconsistency | null,
  then: Inconsistency | null,
  { wasCopy, isCopy } = { wasCopy: false, isCopy: false },
) {
  const done: string[] = []
  let inconsistency = first
  let copy = wasCopy
  let hasLooked = () => {}
  const looked = new Promise<void>((resolve) => {
    hasLooked = resolve
  })
  const installationCheck = {
    inconsistency: () => inconsistency,
    isCopy: () => copy,
    async look() {
      inconsistency = then
      copy = isCopy
      hasLooked()
      return then
    },
    note: async () => void done.push('note'),
  }
  const logger = {
    error: ({ installation }: { installation: string }) => done.push(installation),
    warn: () => done.push('copy'),
  }
  const watching = watchInstallation({
    core: { installationCheck },
    metrics: { gauge: () => {} },
    logger,
    log: (message: string) => done.push(message),
    begin: () => done.push('begin'),
    onEnd: () => done.push('end'),
  } as unknown as Parameters<typeof watchInstallation>[0])
  await looked
  await watching.stop()
  return done
}

describe('background roles', () => {
  it('start at once if nothing is wrong, and record the state when they end [OPS-80]', async () => {
    expect(await seen(null, null)).to.deep.equal(['begin', 'note', 'note'])
  })

  it('start once an operator has confirmed a restore [OPS-80]', async () => {
    expect(await seen('behind', null)).to.include.members(['behind', 'begin', 'note'])
    expect(await seen('behind', 'behind')).to.deep.equal(['behind'])
  })

  it('ends its process if a later check fails [OPS-80] [OPS-86]', async () => {
    expect(await seen(null, 'behind')).to.deep.equal(['begin', 'behind', 'end'])
    expect(await seen('copied', null, { wasCopy: false, isCopy: true }))
      .to.include('end')
      .and.not.to.include('begin')
    expect(await seen(null, null, { wasCopy: true, isCopy: true })).to.include.members(['copy', 'begin'])
  })
})

describe('log with deduplication', () => {
  let now = 0
  let written: string[] = []
  const log = limitRepetitions(
    (message, _error, fields) => written.push(fields ? `${message} ${JSON.stringify(fields)}` : message),
    () => now,
  )
  const down = new Error('connect ECONNREFUSED')

  beforeEach(() => {
    now += 1_000_000
    written = []
  })

  it('writes an error at once, and counts repetitions for a while [OPS-20]', () => {
    for (let n = 0; n < 5; n++) log('webhooks: leasing failed', down)
    expect(written).to.deep.equal(['webhooks: leasing failed'])
    now += 30_000
    log('webhooks: leasing failed', down)
    expect(written).to.deep.equal(['webhooks: leasing failed', 'webhooks: leasing failed {"repeated":4}'])
  })

  it('writes an error with another cause', () => {
    log('writer: unit of work failed, nothing recorded', down)
    log('writer: unit of work failed, nothing recorded', new TypeError('x is not a function'))
    log('another part failed', down)
    expect(written).to.deep.equal([
      'writer: unit of work failed, nothing recorded',
      'writer: unit of work failed, nothing recorded',
      'another part failed',
    ])
  })

  it('writes every error of a request', () => {
    log('http: request failed', down, { request_id: 'r-1' })
    log('http: request failed', down, { request_id: 'r-2' })
    expect(written).to.deep.equal([
      'http: request failed {"request_id":"r-1"}',
      'http: request failed {"request_id":"r-2"}',
    ])
  })

  it('remembers a bounded number of errors', () => {
    for (let n = 0; n < 1000; n++) log(`complaint ${n}`, down)
    expect(written).to.have.length(1000)
    log('complaint 999', down)
    expect(written).to.have.length(1000)
  })
})

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
