import { expect } from 'chai'
import { createAnswer } from '#ledger/write/idempotency.ts'
import { type AdmissionCheck, writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { answeringWriter } from '../support/answering-writer.ts'
import { addition } from './counters.ts'

describe('admission of writes', () => {
  const ANSWER = createAnswer({ outcome: 'updated', json: '' }, { revision: 0 })

  /** Names of the checks that ran, and `write` if the request joined the queue. */
  async function pass(checks: Readonly<Record<string, AdmissionCheck>>): Promise<{ steps: string[]; answer: unknown }> {
    const steps: string[] = []
    const named = Object.entries(checks).map(([name, check]) => async () => {
      await check()
      steps.push(name)
    })
    const run = async () => {
      steps.push('write')
      return ANSWER
    }
    const writer = { ...answeringWriter(run), admission: named }
    const answer = await writeRequest(writer, addition(1, { id: 1, by: 1 })).catch((error: unknown) => error)
    return { steps, answer }
  }

  it('waits for each check, in the order of the list', async () => {
    const later = () => new Promise<void>((resolve) => setImmediate(resolve))
    const { steps, answer } = await pass({ first: later, second: () => {}, third: later })
    expect(steps).to.deep.equal(['first', 'second', 'third', 'write'])
    expect(answer).to.equal(ANSWER)
  })

  it('refuses with the error of the first check that fails, and writes nothing', async () => {
    const refusal = new Unavailable('not yet')
    const { steps, answer } = await pass({
      first: () => {},
      second() {
        throw refusal
      },
      third: () => {},
    })
    expect(steps).to.deep.equal(['first'])
    expect(answer).to.equal(refusal)
  })
})
