import { expect } from 'chai'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { useDispatchers } from './harness.ts'
import { addAddress, queue, type StoredDelivery, storedDeliveries } from './outbox.ts'

describe('the dispatcher', () => {
  const database = useDatabase()
  const tests = useDispatchers(database)

  const allAre = (status: StoredDelivery['status']) =>
    until(
      async () => {
        const deliveries = await storedDeliveries(tests.pool)
        return deliveries.every((delivery) => delivery.status === status) && deliveries
      },
      { what: `${status} for all deliveries` },
    )

  it('posts the message byte for byte and records the success', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.end('obrigado')
    const address = await addAddress(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, address)
    tests.dispatcher()
    const [delivery] = await allAre('delivered')
    expect(receiver.received).to.have.length(1)
    const [received] = receiver.received
    expect(received).to.include({
      method: 'POST',
      path: '/hooks',
      body: '{"event":"sale.completed","data":{"note":"ação"}}',
    })
    expect(received!.headers).to.include({
      'x-service-delivery': id!,
      'x-service-event': 'sale.completed',
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Tillbook-Webhooks/1',
    })
    expect(delivery).to.deep.include({ id, tries: 1, next_attempt_at: null })
    expect(delivery!.attempts).to.have.length(1)
    expect(delivery!.attempts[0]).to.include({ status: 200, error: null, response: 'obrigado' })
  })

  it('sends a thousand to several addresses, each once', async () => {
    const receiver = await tests.receiver()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(...(await queue(tests.pool, await addAddress(tests.pool, receiver.url), 200)))
    tests.dispatcher()
    await allAre('delivered')
    expect(receiver.received.map(({ headers }) => headers['x-service-delivery'])).to.have.members(ids)
  })
})
