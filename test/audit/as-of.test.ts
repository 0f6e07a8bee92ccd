import { expect } from 'chai'
import fc from 'fast-check'
import { type CompanyAsOf, type Moment, withCompanyAsOf } from '../../src/audit/as-of.ts'
import type { Refusal } from '../../src/domain/refusal.ts'
import { answerAsOf, readAsOf } from '../../src/http/read-as-of.ts'
import type { ReadAnswer } from '../../src/http/route.ts'
import { isRefusal } from '../../src/ledger/command.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { invocationOf, type Known, kindOf, type Step, step } from '../support/random-history.ts'
import { until } from '../support/wait.ts'

const RUNS = 5

/** Lists of everything that is of the ledger; ids are added as they come up. */
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

/** Without leaving the plan that has the API: nothing could be asked any more. */
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
  const database = useDatabase()
  let api: TestApi
  /** The clock of calls is that of the ledger: a day that ends between a command and a call would be another day. */
  let now = ''

  before(async () => {
    api = await startApi(database.url, { now: () => now || new Date().toISOString() })
  })
  after(() => api.close())

  async function follow(company: TestCompany): Promise<number> {
    const { rows } = await api.core.pool.query<{ revision: number; last_recorded_at: string }>(
      'select revision, last_recorded_at from ledgers where company_id = $1',
      [company.id],
    )
    now = rows[0]?.last_recorded_at ?? ''
    return rows[0]?.revision ?? -1
  }

  async function play(company: TestCompany, steps: readonly Step[], known: Known): Promise<void> {
    for (const each of steps) {
      const invocation = invocationOf(each, known)
      if (!invocation) continue
      const answer = await api.core.writer.run({
        companyId: company.id,
        invocations: [invocation],
        origin: 'api',
        actor: null,
        requestId: null,
        reply: { status: () => 200 },
      })
      if (isRefusal(answer) || answer.body === '') continue
      const ids = known.get(kindOf(each)) ?? []
      const { id } = JSON.parse(answer.body)
      known.set(kindOf(each), ids.includes(id) ? ids : [...ids, id])
    }
  }

  /** What the service answers now, to all lists and to each record that was ever there, with its history. */
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

  /** Does something with the company as it was at a moment that it has. */
  async function then<T>(company: TestCompany, at: Moment, work: (asOf: CompanyAsOf) => Promise<T>): Promise<T> {
    const done = await withCompanyAsOf(api.core, company.id, at, async (asOf) => ({ value: await work(asOf) }))
    if (isRefusal(done)) throw new Error(JSON.stringify(done))
    return done.value
  }

  const bodyOf = (answer: ReadAnswer | Refusal): string => {
    if (isRefusal(answer)) throw new Error(JSON.stringify(answer))
    return answer.body
  }

  it('any revision, every answer is to the last byte what the service answered at that revision', async function () {
    this.timeout(180_000)
    await fc.assert(
      fc.asyncProperty(history, async (groups) => {
        now = ''
        const company = await api.company()
        const known: Known = new Map([['payment_type', [await company.paymentType('cash')]]])
        const moments: { revision: number; answers: Recorded[] }[] = []
        for (const steps of groups) {
          await play(company, steps, known)
          const revision = await follow(company)
          if (moments.at(-1)?.revision !== revision) moments.push({ revision, answers: await record(company, known) })
        }
        for (const { revision, answers } of moments) {
          await then(company, { revision }, async (asOf) => {
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
      { numRuns: RUNS },
    )
  })

  describe('a moment', () => {
    let company: TestCompany
    let customer: number
    let events: Json[]

    before(async () => {
      now = ''
      company = await api.company({ timezone: 'Asia/Kolkata' })
      customer = (await company.post('/customers', { name: 'Ana' })).body.data.id
      await company.call('PATCH', `/customers/${customer}`, { name: 'Bia' })
      await company.call('DELETE', `/customers/${customer}`)
      events = (await company.get('/events?limit=200')).body.data
    })

    const nameAt = async (at: Moment): Promise<string> => {
      const answer = await readAsOf(api.core, company.id, at, `/api/v1/customers/${customer}`)
      return isRefusal(answer) ? answer.refused : JSON.parse(answer.body).data.name
    }
    const eventOf = (type: string): Json => events.find((event) => event.type === type)
    const fieldsOf = (answer: object): string[] =>
      isRefusal(answer) ? Object.keys((answer.details?.fields as object) ?? {}) : []

    it('is a revision, inclusive', async () => {
      const created = eventOf('CustomerCreated').revision
      expect(await nameAt({ revision: created - 1 })).to.equal('not_found')
      expect(await nameAt({ revision: created })).to.equal('Ana')
      expect(await nameAt({ revision: created + 1 })).to.equal('Bia')
      expect(await nameAt({ revision: created + 2 })).to.equal('not_found')
    })

    it('or a time, inclusive to the millisecond', async () => {
      const at = (type: string, ms: number) => ({
        time: new Date(Date.parse(eventOf(type).recorded_at) + ms).toISOString(),
      })
      expect(await nameAt(at('CustomerUpdated', -1))).to.equal('Ana')
      expect(await nameAt(at('CustomerUpdated', 0))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', -1))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', 86_400_000))).to.equal('not_found')
    })

    it('has its own day, by which accounts were overdue or not yet', async () => {
      const due_date = '2026-03-10'
      const { id } = (await company.post('/finance/receivables', { description: 'x', amount: '1.00', due_date })).body
        .data
      const { revision } = (await company.get('/events?types=ReceivableCreated')).body.data[0]
      const later = await then(company, { revision }, async (asOf) => ({
        asOf,
        answer: await answerAsOf(asOf, `/finance/receivables/${id}`),
      }))
      expect(JSON.parse(bodyOf(later.answer)).data.is_overdue).to.equal(later.asOf.calendar.today > due_date)
      const time = '2199-01-01T20:00:00.000Z'
      expect(await then(company, { time }, async ({ calendar }) => calendar)).to.deep.equal({
        timezone: 'Asia/Kolkata',
        today: '2199-01-02',
      })
    })

    it('is refused where the ledger has none: before its first event, beyond its last', async () => {
      const head = await follow(company)
      now = ''
      for (const at of [{ revision: -1 }, { revision: head + 1 }, { time: '2020-01-01T00:00:00.000Z' }]) {
        const answer = await readAsOf(api.core, company.id, at, '/customers')
        expect(fieldsOf(answer), JSON.stringify(at)).to.deep.equal(['at'])
      }
      expect(await readAsOf(api.core, 999_999, { revision: 0 }, '/customers')).to.include({ refused: 'not_found' })
    })

    it('is refused for what the ledger does not hold, and for what no GET takes', async () => {
      await company.post('/webhooks', { url: 'https://erp.example/x', events: ['*'] })
      const revision = await follow(company)
      now = ''
      const ask = (target: string) => readAsOf(api.core, company.id, { revision }, target)
      for (const target of [
        '/webhooks',
        '/webhooks/1',
        '/me',
        '/events/verify',
        '/nope',
        '/sales/1/cancel',
        'sales',
        '',
      ])
        expect(fieldsOf(await ask(target)), target).to.deep.equal(['get'])
      expect(fieldsOf(await ask('/customers?limit=0'))).to.deep.equal(['limit'])
      expect(fieldsOf(await ask('/customers?limit=1&limit=2'))).to.deep.equal(['limit'])
      expect(fieldsOf(await ask('/customers?cursor=x'))).to.deep.equal(['cursor'])
      for (const target of ['/sales/0', '/sales/x', '/sales/by-external/none'])
        expect(await ask(target), target).to.deep.equal({ refused: 'not_found' })
    })

    it('shows one company, and another one’s record never', async () => {
      const other = await api.company()
      const { id } = (await other.post('/customers', { name: 'Caio' })).body.data
      const revision = await follow(company)
      now = ''
      expect(await readAsOf(api.core, company.id, { revision }, `/customers/${id}`)).to.deep.equal({
        refused: 'not_found',
      })
    })
  })

  describe('the tables', () => {
    const temporary = async (): Promise<number> => {
      const { rows } = await api.core.pool.query<{ count: number }>(
        `select count(*) from pg_class where relpersistence = 't' and relkind = 'r'`,
      )
      return rows[0]?.count ?? -1
    }

    it('are gone when the work is over, and when it fails', async () => {
      const company = await api.company()
      const during = await then(company, { revision: 0 }, temporary)
      expect(during).to.be.greaterThan(10)
      await until(async () => (await temporary()) === 0)
      const failed = then(company, { revision: 0 }, () => Promise.reject(new Error('the work failed')))
      expect(await failed.catch((error: Error) => error.message)).to.equal('the work failed')
      await until(async () => (await temporary()) === 0)
    })

    it('are gone with a connection that is lost, whose place no answer of now takes', async () => {
      const company = await api.company()
      const answer = await then(company, { revision: 0 }, async (asOf) => {
        const { rows } = await asOf.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
        await api.core.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
        return answerAsOf(asOf, '/customers').catch((error: unknown) => error)
      })
      expect(answer).to.be.instanceOf(Error)
      await until(async () => (await temporary()) === 0)
    })

    it('never mix with those of others who look at other moments at the same time', async () => {
      const company = await api.company()
      for (const name of ['A', 'B', 'C', 'D']) await company.post('/customers', { name })
      const last = await follow(company)
      now = ''
      const counts = await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          then(
            company,
            { revision: last - n },
            async (asOf) => JSON.parse(bodyOf(await answerAsOf(asOf, '/customers'))).data.length,
          ),
        ),
      )
      expect(counts).to.deep.equal([4, 3, 2, 1, 0])
    })
  })
})
