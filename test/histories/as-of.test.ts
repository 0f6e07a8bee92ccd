import { expect } from 'chai'
import fc from 'fast-check'
import type { ReadAnswer } from '#api/api-route.ts'
import { answerAsOf } from '#api/read-as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { bodyOf, usePast } from '../integrity/audit/past.ts'
import type { TestCompany } from '../support/api.ts'
import { explore } from '../support/random.ts'
import { invocationOf, type Known, kindOf, type Step, step } from '../support/random-history.ts'

const RUNS = 5

/** Lists of all records of the ledger; ids are added as they appear. */
const LISTS = [
  '/customers?limit=200',
  '/customers?limit=2',
  '/customers/deleted',
  '/suppliers',
  '/catalog/items?limit=200',
  '/catalog/items/deleted',
  '/catalog/categories',
  '/finance/receivables?limit=200',
  '/finance/receivables?status=overdue',
  '/finance/payables?limit=200',
  '/finance/payables/deleted',
  '/finance/summary',
  '/finance/summary?from=1999-01-01&to=2099-12-31',
  '/sales?limit=200',
  '/sales?updated_since=2020-01-01T00:00:00Z',
  '/sales/payment-types',
  '/orders',
  '/events?limit=200',
  '/events?types=SaleCompleted,CustomerCreated',
]

const PATHS: Readonly<Record<string, string>> = {
  customer: '/customers',
  supplier: '/suppliers',
  catalog_item: '/catalog/items',
  category: '/catalog/categories',
  receivable: '/finance/receivables',
  payable: '/finance/payables',
  sale: '/sales',
}

/** Keeps the API plan: without it no request would be answered. */
const keepsPlan = ({ act, input }: Step): Step =>
  act === 'updateCompany' ? { act, input: { ...input, plan: undefined } } : { act, input }

const history = fc.array(fc.array(step.map(keepsPlan), { minLength: 1, maxLength: 4 }), { minLength: 6, maxLength: 9 })

interface Recorded {
  readonly path: string
  readonly status: number
  readonly revision: number
  readonly text: string
}

describe('as of', () => {
  const { api, follow, present, visit } = usePast()

  async function play(company: TestCompany, steps: readonly Step[], known: Known): Promise<void> {
    for (const each of steps) {
      const invocation = invocationOf(each, known)
      if (!invocation) continue
      const answer = await writeRequest(api.core.writer, {
        companyId: company.id,
        invocations: [invocation],
        origin: 'api',
        actor: null,
        requestId: null,
      })
      if (isRefusal(answer) || answer.json === '') continue
      const ids = known.get(kindOf(each)) ?? []
      const { id } = answer.record as { id: number }
      known.set(kindOf(each), ids.includes(id) ? ids : [...ids, id])
    }
  }

  /** Current responses to all lists and all records ever created, with their histories. */
  async function record(company: TestCompany, known: Known): Promise<Recorded[]> {
    const records = [...known].flatMap(([kind, ids]) => {
      const path = PATHS[kind]
      return path ? ids.flatMap((id) => [`${path}/${id}`, `${path}/${id}/history?limit=3`]) : []
    })
    const recorded: Recorded[] = []
    for (const path of [...LISTS, ...records]) {
      const { status, headers, text } = await company.get(path)
      expect(status, text).to.be.oneOf([200, 404])
      recorded.push({ path, status, revision: Number(headers.get('x-ledger-revision')), text })
    }
    return recorded
  }

  it('any revision, every response equals, to the last byte, the response at that revision [ASOF-1]', async () => {
    await explore(
      fc.asyncProperty(history, async (groups) => {
        present()
        const company = await api.company()
        const known: Known = new Map([['payment_type', [await company.paymentType('cash')]]])
        const moments: { revision: number; answers: Recorded[] }[] = []
        for (const steps of groups) {
          await play(company, steps, known)
          const revision = await follow(company)
          if (moments.at(-1)?.revision !== revision) moments.push({ revision, answers: await record(company, known) })
        }
        for (const { revision, answers } of moments) {
          await visit(company, { revision }, async (asOf) => {
            for (const { path, status, revision: told, text } of answers) {
              const answer = await answerAsOf(asOf, path)
              if (status === 404) expect(answer, path).to.deep.equal({ refused: 'not_found' })
              else {
                expect(bodyOf(answer), `${path} as of ${revision}`).to.equal(text)
                expect((answer as ReadAnswer).revision).to.equal(told)
              }
            }
          })
        }
      }),
      RUNS,
    )
  }).timeout(180_000)
})
