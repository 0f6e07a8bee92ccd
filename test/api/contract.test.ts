import { expect } from 'chai'
import type { ProblemCode } from '#http/problems.ts'
import { httpStatusOf } from '#http/problems.ts'
import type { Reply } from '../support/api.ts'
import {
  documentedCodes,
  documentedSuccesses,
  expectAcceptable,
  expectDocumented,
  isStream,
  type Operation,
  operations,
} from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { CASES } from './contract/cases.ts'
import { EDGE, sendCall } from './contract/edge.ts'
import { createWorld, type World } from './contract/world.ts'

/** Outcome of a response, as named in the case tables. */
function outcomeOf({ status, body }: Reply, wanted: string): string {
  if (status >= 400) return body.error.code
  if (!wanted.startsWith('item:')) return String(status)
  expect(body.meta.errors).to.have.length(1)
  return `item:${body.meta.errors[0].code}`
}

const isSuccess = (outcome: string) => /^\d/.test(outcome)

describe('contract by operation', () => {
  const database = useDatabase()
  let world: World

  before(async () => {
    world = await createWorld(database.url)
  })
  after(() => world.close())

  for (const operation of operations) {
    const cases = CASES[operation.id] ?? {}
    const edge = documentedCodes(operation).filter((code) => code in EDGE && !(code in cases)) as ProblemCode[]

    describe(`${operation.id}: ${operation.method} ${operation.path}`, () => {
      it('has a case for every documented outcome, and no other [HTTP-15]', () => {
        const documented = [...documentedSuccesses(operation), ...documentedCodes(operation)]
        expect([...Object.keys(cases), ...edge]).to.have.members(documented)
      })

      for (const [outcome, prepare] of Object.entries(cases)) {
        // Never ends: test/api/event-stream.test.ts covers it.
        if (isStream(operation)) continue
        it(`responds ${outcome} as documented [HTTP-15]`, async () => {
          const call = await prepare(world)
          if (isSuccess(outcome) && outcome !== '207') expectAcceptable(operation, call.body)
          const reply = await sendCall(world, { operation, call })
          expect(outcomeOf(reply, outcome), reply.text).to.equal(outcome)
          expectDocumented(operation, reply)
        })
      }

      if (operation.method === 'GET' && !isStream(operation)) {
        it('responds 304 if the client has the current representation, as documented [HTTP-15, LIST-9]', async () => {
          const call = await firstSuccess(operation)(world)
          const reply = await sendCall(world, { operation, call }, { headers: { 'if-none-match': '*' } })
          expect(reply.status).to.equal(304)
          expectDocumented(operation, reply)
        })
      }

      if (operation.method !== 'GET') {
        it('answers a repetition under the same Idempotency-Key alike [HTTP-15]', async () => {
          const call = await firstSuccess(operation)(world)
          const headers = { ...call.headers, 'idempotency-key': world.unique('key') }
          const first = await sendCall(world, { operation, call }, { headers })
          const second = await sendCall(world, { operation, call }, { headers })
          expect(second.headers.get('idempotent-replayed')).to.equal('true')
          // Secrets are shown once: a stored response omits them.
          const stored = first.text.replace(/,"secret":"[^"]*"/, '')
          expect([second.status, second.text]).to.deep.equal([first.status, stored])
          expectDocumented(operation, second)
        })
      }

      it(`refuses at the edge as documented, with ${edge.length} codes [HTTP-15]`, async () => {
        const call = await firstSuccess(operation)(world)
        // Sent together: a refusal changes nothing that another one depends on.
        const refuse = (code: ProblemCode) => EDGE[code]?.(world, { operation, call }) as Promise<Reply>
        const replies = await Promise.all(edge.map(refuse))
        for (const [n, code] of edge.entries()) {
          const reply = replies[n] as Reply
          expect(`${reply.status} ${reply.body?.error?.code}`, reply.text).to.equal(`${httpStatusOf(code)} ${code}`)
          expectDocumented(operation, reply)
        }
      })
    })
  }

  it('has no cases of removed operations', () => {
    expect(operations.map(({ id }) => id)).to.include.members(Object.keys(CASES))
  })
})

function firstSuccess({ id }: Operation) {
  const [found] = Object.entries(CASES[id] ?? {}).filter(([outcome]) => isSuccess(outcome))
  if (!found) throw new Error(`${id} has no case of a success`)
  return found[1]
}
