import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { growTrees } from '#integrity/trees.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { startEmailNotifications } from '#notifications/email-notifications.ts'
import { eraseDuePersons, eraseLateWrites } from '#privacy/due-erasures.ts'
import { eraseRestoredPersons } from '#privacy/erasure-list.ts'
import { refreshAllSalesRollups } from '#projections/sales-rollups.ts'
import type { LeasedDelivery } from '#webhooks/delivery-leases.ts'
import { monitorEndpoints } from '#webhooks/endpoint-health.ts'
import type { TestCompany } from '../support/api.ts'
import { whileBroken } from '../support/broken-company.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

describe('background work of all companies', () => {
  const api = useApi({ log: () => {} })
  const pool = () => api.core.pool
  /** Registered first, and therefore first in every order by id. */
  let first: TestCompany
  let other: TestCompany

  beforeEach(async () => {
    first = await api.company()
    other = await api.company()
  })

  /** Companies in the result of a statement, in its order. */
  async function companiesOf(text: string): Promise<number[]> {
    const { rows } = await pool().query<{ company_id: number }>(text)
    return rows.map(({ company_id }) => company_id).filter((id) => id === first.id || id === other.id)
  }
  /** Writer that refuses one company, and records the requested companies. */
  const refusing = (companyId: number, asked: number[] = []): Writer => ({
    ...api.core.writer,
    async around(request, write) {
      asked.push(request.companyId)
      if (request.companyId === companyId) throw new Error('nothing is recorded')
      return write()
    },
  })
  const due = (companyId: number, count: number) =>
    pool().query(
      `insert into read.forgettings select $1, 'customer/' || n, current_date - 1, false, 'request', 'pedido' from generate_series(1, $2) n`,
      [companyId, count],
    )

  it('e-mails the notice of one company early, however many notices another company has', async () => {
    const notices = (id: number, count: number, age: string) =>
      pool().query(
        `insert into ops.notifications (company_id, id, kind, data, created_at, email_tries, next_email_at)
         select $1, gen_random_uuid(), 'webhook_switched_off', '{"webhook_id":1,"url":"http://x","reason":"gone"}', now(), 0, now() - $3::interval
         from generate_series(1, $2)`,
        [id, count, age],
      )
    await notices(first.id, 20, '1 hour')
    await notices(other.id, 1, '0 s')
    const told: number[] = []
    const warn = (_message: string, details: object) => told.push((details as { company_id: number }).company_id)
    const running = startEmailNotifications({ pool: pool(), mailer: null, publicUrl: '', log: () => {}, warn })
    await until(() => told.length === 21)
    await running.stop()
    expect(told.indexOf(other.id)).to.be.at.most(1)
  })

  it('erases persons of each company in turn on the due day', async () => {
    await due(first.id, 60)
    await due(other.id, 1)
    const asked: number[] = []
    await eraseDuePersons({ pool: pool(), writer: refusing(first.id, asked), retentionYears: 5, onError: () => {} })
    expect(asked.filter((id) => id === first.id)).to.have.length(60)
    expect(asked.indexOf(other.id)).to.be.at.most(25)
  })

  it('grows the trees of other companies if the tree of one fails [OPS-143]', async () => {
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'ops.trees', column: 'log', companyId: first.id }, () =>
      growTrees(api.core, { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf('select log as company_id from ops.trees')).to.deep.equal([other.id])
    expect(errors).to.have.length(1)
  })

  it('refreshes the rollups of other companies if those of one fail [OPS-143]', async () => {
    for (const company of [first, other]) {
      const payments = [{ payment_type_id: await company.paymentType('cash'), amount: '5.00' }]
      const items = [{ description: 'Café', quantity: '1', unit_price: '5.00' }]
      expect((await company.post('/sales', { items, payments })).status).to.equal(201)
    }
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'read.summed_sales', companyId: first.id }, () =>
      refreshAllSalesRollups(pool(), { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf('select distinct company_id from read.sales_sums')).to.deep.equal([other.id])
    expect(errors).to.have.length(1)
  })

  it('erases late writes about persons of other companies if the erasure of one fails [OPS-143]', async () => {
    for (const company of [first, other]) {
      await company.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })
      await company.run(createCustomer, { name: 'Zuleica' })
    }
    await pool().query(
      'update ops.person_keys set wrapped = null, destroyed_at = now() where company_id = any($1::bigint[])',
      [[first.id, other.id]],
    )
    const errors: unknown[] = []
    await whileBroken(api.databaseUrl, { table: 'ops.webhook_messages', companyId: first.id }, () =>
      eraseLateWrites(pool(), { onError: (error) => errors.push(error) }),
    )
    expect(await companiesOf(`select company_id from ops.webhook_messages where body like '%Zuleica%'`)).to.deep.equal([
      first.id,
    ])
    expect(errors).to.have.length(1)
  })

  it('repeats erasures after a restore for other companies if one company cannot record events [OPS-143]', async () => {
    const at = new Date(Date.now() + 60_000).toISOString()
    const listed = await Promise.all(
      [first, other].map(async (company) => {
        const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
        return { company_id: company.id, subject: `customer/${id}`, part: 'identity' as const, key: '', at }
      }),
    )
    const stopping = new AbortController()
    const forgotten: number[] = []
    const errors: unknown[] = []
    await eraseRestoredPersons(
      {
        pool: pool(),
        writer: refusing(first.id),
        list: { read: async () => listed, sync: async () => {}, note: () => {}, idle: async () => {} },
        retentionYears: 5,
        onForgotten: (companyId) => forgotten.push(companyId),
        onError(error) {
          errors.push(error)
          stopping.abort()
        },
      },
      stopping.signal,
    )
    expect([forgotten, errors.length]).to.deep.equal([[other.id], 1])
  })

  it('switches off endpoints of other companies if the endpoint of one fails [OPS-143]', async () => {
    const endpoints = await Promise.all(
      [first, other].map(async ({ id: company_id, post }) => {
        const { id } = (await post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
        return { company_id, webhook_id: id as number }
      }),
    )
    const { rows } = await pool().query<{ company_id: number; watched_since: string }>(
      'select company_id, watched_since::text from webhooks where company_id = any($1::bigint[])',
      [[first.id, other.id]],
    )
    const off: string[] = []
    const watch = monitorEndpoints({
      pool: pool(),
      switchOff: async (companyId, _id, reason) => {
        if (companyId === first.id) throw new Error('nothing is recorded')
        off.push(`${companyId} ${reason}`)
      },
      switchOffHours: 0,
      log: () => {},
    })
    for (const endpoint of endpoints) {
      const { watched_since } = rows.find(({ company_id }) => company_id === endpoint.company_id) as (typeof rows)[0]
      watch.gone({ ...endpoint, watched_since } as LeasedDelivery)
    }
    await pool().query(
      `insert into ops.webhook_health (company_id, webhook_id, no_response_since)
       select company_id, id, now() from read.webhooks where company_id = any($1::bigint[])`,
      [[first.id, other.id]],
    )
    await until(() => off.length >= 2)
    await watch.stop()
    expect(off).to.include.members([`${other.id} gone`, `${other.id} no_response`])
  })
})
