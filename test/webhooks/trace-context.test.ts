import { expect } from 'chai'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from './delivering-service.ts'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('trace context', () => {
  const database = useDatabase()
  let service: DeliveringService
  let key: string

  before(async () => {
    service = await startDelivering(database.url)
    key = (await service.company.newKey(['customers:write'])).key
  })
  after(() => service.close())

  /** Creates a customer; returns the traceparent of its delivery and of its entry in the request log. */
  async function traced(name: string, traceparent?: string): Promise<readonly [unknown, unknown]> {
    const { api, company, receiver } = service
    const headers = { authorization: `Bearer ${key}`, ...(traceparent !== undefined && { traceparent }) }
    const reply = await send(`${api.url}/api/v1/customers`, 'POST', { name }, headers)
    expect(reply.status, reply.text).to.equal(201)
    const found = () => receiver.received.find(({ body }) => JSON.parse(body).data.name === name)
    await until(() => found() !== undefined)
    const logged = await company.get(`/requests/${reply.headers.get('x-request-id')}`)
    return [found()?.headers.traceparent, logged.body.data.traceparent]
  }

  it('of a request is logged and passed on to its webhooks [HTTP-46]', async () => {
    await service.register(['customer.created'])
    expect(await traced('Ana', TRACE)).to.deep.equal([TRACE, TRACE])
    expect(await traced('Bia', `cc${TRACE.slice(2)}-what-the-future`), 'later version').to.deep.equal([TRACE, TRACE])
    for (const [name, malformed] of [
      ['Caio', undefined],
      ['Davi', 'x'],
      ['Eva', `ff${TRACE.slice(2)}`],
      ['Fábio', TRACE.replace(/[1-9a-f]/g, '0')],
      ['Gil', TRACE.toUpperCase()],
      ['Hugo', `${TRACE}0`],
    ] as const)
      expect(await traced(name, malformed), name).to.deep.equal([undefined, null])
  })
})
