import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { switchOffWebhook } from '#commands/webhook-commands.ts'
import { readBacklog } from '#webhooks/delivery-leases.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

describe('backlog of deliveries', () => {
  const database = useDatabase()
  let api: TestApi

  before(async () => {
    api = await startApi(database.url)
  })
  after(() => api.close())

  it('counts pending deliveries, reports the longest wait, and excludes disabled endpoints', async () => {
    const read = () => readBacklog(api.core.pool)
    expect(await read()).to.deep.equal({ pending: 0, oldest_due_seconds: 0 })
    const company = await api.company()
    const { id } = (await company.post('/webhooks', { url: 'https://erp.example/x', events: ['basic'] })).body.data
    for (const name of ['Ana', 'Bia']) await company.run(createCustomer, { name, person_type: 'PF' }, 'pdv')
    const due = await read()
    expect(due.pending).to.equal(2)
    expect(due.oldest_due_seconds).to.be.within(0, 60)
    const wait = (interval: string) =>
      api.core.pool.query(`update ops.webhook_deliveries set next_attempt_at = now() + $1::interval`, [interval])
    await wait('-1 hour')
    expect((await read()).oldest_due_seconds).to.be.within(3_600, 3_660)
    await wait('1 hour')
    expect(await read()).to.deep.equal({ pending: 2, oldest_due_seconds: 0 })
    await wait('-1 hour')
    await company.run(switchOffWebhook, { id, reason: 'gone' })
    expect((await read()).oldest_due_seconds).to.equal(0)
  })
})
