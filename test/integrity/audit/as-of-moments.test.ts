import { expect } from 'chai'
import { answerAsOf, readAsOf } from '#api/read-as-of.ts'
import type { AsOfMoment } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { presentSource } from '#queries/reader.ts'
import type { Json, TestCompany } from '../../support/api.ts'
import { until } from '../../support/wait.ts'
import { bodyOf, usePast } from './past.ts'

describe('as-of reads', () => {
  const { api, follow, present, visit } = usePast()

  describe('a moment', () => {
    let company: TestCompany
    let customer: number
    let events: Json[]

    before(async () => {
      present()
      company = await api.company({ timezone: 'Asia/Kolkata' })
      customer = (await company.post('/customers', { name: 'Ana' })).body.data.id
      await company.call('PATCH', `/customers/${customer}`, { name: 'Bia' })
      await company.call('DELETE', `/customers/${customer}`)
      events = (await company.get('/events?limit=200')).body.data
    })

    const nameAt = async (at: AsOfMoment): Promise<string | null> => {
      const answer = await readAsOf(api.core, company.id, at, `/api/v1/customers/${customer}`)
      return isRefusal(answer) ? answer.refused : JSON.parse(String(answer.body)).data.name
    }
    const eventOf = (type: string): Json => events.find((event) => event.type === type)
    const fieldsOf = (answer: object): string[] =>
      isRefusal(answer) ? Object.keys((answer.details?.fields as object) ?? {}) : []

    it('can be a revision, inclusive [ASOF-2]', async () => {
      const created = eventOf('CustomerCreated').revision
      expect(await nameAt({ revision: created - 1 })).to.equal('not_found')
      expect(await nameAt({ revision: created })).to.equal('Ana')
      expect(await nameAt({ revision: created + 1 })).to.equal('Bia')
      // A deleted record stays readable by id, without its personal data.
      expect(await nameAt({ revision: created + 2 })).to.equal(null)
    })

    it('can be a time, inclusive to the millisecond [ASOF-2]', async () => {
      const at = (type: string, ms: number) => ({
        time: new Date(Date.parse(eventOf(type).recorded_at) + ms).toISOString(),
      })
      expect(await nameAt(at('CustomerUpdated', -1))).to.equal('Ana')
      expect(await nameAt(at('CustomerUpdated', 0))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', -1))).to.equal('Bia')
      expect(await nameAt(at('CustomerDeleted', 86_400_000))).to.equal(null)
    })

    it('has its own day, which decides whether accounts were overdue [ASOF-2]', async () => {
      const due_date = '2026-03-10'
      const { id } = (await company.post('/finance/receivables', { description: 'x', amount: '1.00', due_date })).body
        .data
      const { revision } = (await company.get('/events?types=ReceivableCreated')).body.data[0]
      const later = await visit(company, { revision }, async (asOf) => ({
        asOf,
        answer: await answerAsOf(asOf, `/finance/receivables/${id}`),
      }))
      expect(JSON.parse(bodyOf(later.answer)).data.is_overdue).to.equal(later.asOf.calendar.today > due_date)
      const time = '2199-01-01T20:00:00.000Z'
      expect(await visit(company, { time }, async ({ calendar }) => calendar)).to.deep.equal({
        timezone: 'Asia/Kolkata',
        today: '2199-01-02',
      })
    })

    it('is refused before the first event and beyond the last one [ASOF-2]', async () => {
      const head = await follow(company)
      present()
      for (const at of [{ revision: -1 }, { revision: head + 1 }, { time: '2020-01-01T00:00:00.000Z' }]) {
        const answer = await readAsOf(api.core, company.id, at, '/customers')
        expect(fieldsOf(answer), JSON.stringify(at)).to.deep.equal(['at'])
      }
      expect(await readAsOf(api.core, 999_999, { revision: 0 }, '/customers')).to.include({ refused: 'not_found' })
    })

    it('is refused for data outside the ledger, and for anything but GET [ASOF-3]', async () => {
      await company.post('/webhooks', { url: 'https://erp.example/x', events: ['basic'] })
      const revision = await follow(company)
      present()
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

    it('shows one company, and never a record of another one [ASOF-3]', async () => {
      const other = await api.company()
      await other.post('/customers', { name: 'Bia' })
      const { id } = (await other.post('/customers', { name: 'Caio' })).body.data
      const revision = await follow(company)
      present()
      expect(await readAsOf(api.core, company.id, { revision }, `/customers/${id}`)).to.deep.equal({
        refused: 'not_found',
      })
    })
  })

  describe('temporary tables', () => {
    const temporary = async (source = presentSource(api.core.pool)): Promise<number> => {
      const text = `select count(*) from pg_class where relpersistence = 't'`
      const { rows } = await source.send<{ count: number }>({ text, tables: [] })
      return rows[0]?.count ?? -1
    }

    it('are dropped after the work, also after a failure [ASOF-3]', async () => {
      const company = await api.company()
      const during = await visit(company, { revision: 0 }, async (asOf) => {
        await answerAsOf(asOf, '/customers')
        return temporary(asOf.source)
      })
      expect(during).to.be.at.least(3)
      await until(async () => (await temporary()) === 0)
      const failed = visit(company, { revision: 0 }, () => Promise.reject(new Error('the work failed')))
      expect(await failed.catch((error: Error) => error.message)).to.equal('the work failed')
      await until(async () => (await temporary()) === 0)
    })

    it('are dropped with a lost connection, and no current read uses them [ASOF-3]', async () => {
      const company = await api.company()
      const answer = await visit(company, { revision: 0 }, async (asOf) => {
        const { rows } = await asOf.source.send<{ pid: number }>({ text: 'select pg_backend_pid() as pid', tables: [] })
        await api.core.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
        return answerAsOf(asOf, '/customers').catch((error: unknown) => error)
      })
      expect(answer).to.be.instanceOf(Error)
      await until(async () => (await temporary()) === 0)
    })

    it('are separate for concurrent reads of different moments', async () => {
      const company = await api.company()
      for (const name of ['A', 'B', 'C', 'D']) await company.post('/customers', { name })
      const last = await follow(company)
      present()
      const counts = await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          visit(
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
