import { expect } from 'chai'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { useDispatchers } from './harness.ts'
import { addEndpoint, queue, storedDeliveries } from './outbox.ts'

describe('endpoints of API keys', () => {
  const used = useDispatchers(useDatabase('withoutReadModel'))
  const set = (text: string, ...values: unknown[]) => used.pool.query(text, values)

  beforeEach(async () => {
    await set('truncate read.companies, read.api_keys')
    await set(`insert into read.api_keys values (1, 7, null, null, '{"scopes":["sales:read"]}')`)
  })

  /** Endpoint of key 7, with a pending delivery. */
  async function ofKey(url: string) {
    const endpoint = await addEndpoint(used.pool, url)
    await set('update read.webhooks set api_key_id = 7 where id = $1', endpoint.id)
    await queue(used.pool, endpoint)
    return endpoint
  }

  /** Waits for a later delivery to another endpoint, then checks that nothing was sent to this one. */
  async function passedOver(receiver: { url: string; received: readonly unknown[] }): Promise<void> {
    const other = await used.receiver()
    await set(`insert into read.companies values (2, 'api') on conflict do nothing`)
    await queue(used.pool, await addEndpoint(used.pool, other.url, 2))
    used.dispatcher().wake()
    await until(() => other.received.length === 1)
    expect(receiver.received).to.have.length(0)
    const waiting = (await storedDeliveries(used.pool)).filter(({ status }) => status === 'pending')
    for (const { attempts } of waiting) expect(attempts).to.have.length(0)
  }

  for (const [why, pause, end] of [
    ['is revoked', 'update read.api_keys set revoked_at = now()', 'update read.webhooks set api_key_id = null'],
    [
      'expires',
      `update read.api_keys set expires_at = now() - interval '1 second'`,
      'update read.api_keys set expires_at = null',
    ],
    [
      'lost its plan',
      `update read.companies set plan = 'basic' where company_id = 1`,
      `update read.companies set plan = 'api'`,
    ],
  ] as const) {
    it(`pause while the key or company ${why}, and resume from the same point [HOOK-53, HOOK-54]`, async () => {
      const receiver = await used.receiver()
      await ofKey(receiver.url)
      await set(pause)
      await passedOver(receiver)
      await set(end)
      await until(() => receiver.received.length === 1)
      await used.allAre('delivered')
    })
  }

  it('receive no records that the key may not read: pending deliveries are cancelled [HOOK-55]', async () => {
    const receiver = await used.receiver()
    const endpoint = await ofKey(receiver.url)
    await set(`update read.api_keys set doc = '{"scopes":["catalog:read"]}'`)
    await queue(used.pool, endpoint, 1, { test: true })
    used.dispatcher().wake()
    const [kept] = await used.allAre('cancelled', 'delivered')
    expect(kept).to.include({ status: 'cancelled', next_attempt_at: null })
    expect(kept?.attempts[0]).to.include({ status: null, error: 'insufficient_scope' })
    expect(receiver.received.map(({ headers }) => headers['x-service-event'])).to.deep.equal(['webhook.test'])
    expect(await used.healthOf(endpoint)).to.equal(null)
  })
})
