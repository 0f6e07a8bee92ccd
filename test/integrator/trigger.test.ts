import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { createStore } from '#commands/stores.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { follow, type ToldEvent } from '#integrator/follow.ts'
import { createService } from '#integrator/service.ts'
import { TRIGGERED_EVENTS, trigger } from '#integrator/trigger.ts'
import type { TestCompany } from '../support/api.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { useApi } from '../support/use-api.ts'

/** The stream comes to this event of this record. */
async function expectTold(told: AsyncGenerator<ToldEvent>, event: string, record: string): Promise<void> {
  for (;;) {
    const { messages } = (await told.next()).value as ToldEvent
    const message = messages.find((one) => one.event === event)
    if (!message) continue
    expect(`${event.split('.')[0]}/${JSON.parse(message.body).data.id}`).to.equal(record)
    return
  }
}

describe('a trigger', () => {
  const provider = createMemoryProvider()
  const api = useApi({ provider })
  const serviceOf = ({ key }: TestCompany) => createService(api.url, key, uuidv7)

  it('makes every event happen that a call can cause, so that webhooks are told of the record it names [KIT-17]', async () => {
    const company = await api.company({ test: true })
    await company.paymentType('cash')
    provider.status = 'approved'
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true, access_token: 'TEST-token' })
    const service = serviceOf(company)
    const stop = new AbortController()
    const { revision } = await service.call('GET', '/me')
    const told = follow({ service, from: { after: revision }, onAway: () => {}, signal: stop.signal })
    for (const [place, event] of TRIGGERED_EVENTS.entries()) {
      // The newest order tells the store of the next one.
      const store = event === 'order.created' ? alias : undefined
      const { record } = await trigger(event, { service, tag: `${place}`, store })
      await expectTold(told, event, record)
    }
    expect(WEBHOOK_EVENTS.filter((name) => !TRIGGERED_EVENTS.includes(name))).to.deep.equal(['order.expired'])
    stop.abort()
  })

  it('does nothing in a real company [KIT-17]', async () => {
    const company = await api.company()
    const head = (await company.get('/events')).headers.get('x-ledger-revision')
    const refused = await trigger('customer.created', { service: serviceOf(company), tag: 'x' }).catch((error) => error)
    expect(refused).to.include({ name: 'Ended', code: 'not_test_company' })
    expect((await company.get('/events')).headers.get('x-ledger-revision')).to.equal(head)
  })
})
