import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useOutbox } from './outbox.ts'

describe('webhook outbox: operations', () => {
  const { api, company, asRegistrar, register, queued, customer } = useOutbox()

  it('test queues one delivery without an event [HOOK-24]', async () => {
    const webhook = await register(['sale.completed'])
    const reply = await asRegistrar('POST', `/webhooks/${webhook}/test`)
    expect(reply.status).to.equal(200)
    expect(reply.body.data).to.deep.include({
      webhook_id: webhook,
      event: 'webhook.test',
      revision: null,
      sequence: null,
    })
    const [test] = await queued(webhook)
    expect(test?.id).to.equal(reply.body.data.id)
    expect(JSON.parse(test?.body ?? '')).to.deep.include({ event: 'webhook.test', origin: 'system' })
    const shown = await asRegistrar('GET', `/webhooks/${webhook}/deliveries/${test?.id}`)
    expect(shown.body.data).to.deep.equal(reply.body.data)
  })

  it('test is delivered before all other pending deliveries of the endpoint', async () => {
    const webhook = await register()
    await customer('Ana')
    await api.core.pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where webhook_id = $1 and company_id = $2`,
      [webhook, company.id],
    )
    const { data } = (await asRegistrar('POST', `/webhooks/${webhook}/test`)).body
    expect(data.next_attempt_at).to.equal(data.created_at)
    const { rows } = await api.core.pool.query(
      'select id from webhook_deliveries where webhook_id = $1 and company_id = $2 order by next_attempt_at limit 1',
      [webhook, company.id],
    )
    expect(rows).to.deep.equal([{ id: data.id }])
  })

  it('run once per key, concurrently too', async () => {
    const webhook = await register()
    const headers = { 'idempotency-key': 'teste' }
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => asRegistrar('POST', `/webhooks/${webhook}/test`, undefined, headers)),
    )
    expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1)
    expect(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true')).to.have.length(9)
    expect(await queued(webhook)).to.have.length(1)
    const other = await asRegistrar('POST', `/webhooks/${webhook}/replay`, {}, headers)
    expectProblem(other, 409, 'idempotency_key_reuse')
  })

  it('redeliver makes a delivery due again, in any state', async () => {
    const webhook = await register()
    await customer('Ana')
    const [first] = await queued(webhook)
    await api.core.pool.query(
      `update webhook_deliveries set status = 'failed', tries = 6, next_attempt_at = null,
                attempts = '[{"at":"2026-11-21T12:00:00Z","status":500,"duration_ms":3,"error":null,"response":"ops"}]'
         where id = $1`,
      [first?.id],
    )
    const reply = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${first?.id}/redeliver`)
    expect(reply.body.data).to.deep.include({ id: first?.id, sequence: 1, status: 'pending' })
    expect(reply.body.data.attempts).to.deep.equal([
      { at: '2026-11-21T09:00:00.000-03:00', status: 500, duration_ms: 3, error: null, response: 'ops' },
    ])
    expect(reply.body.data.next_attempt_at).to.be.a('string')
    const missing = '00000000-0000-7000-8000-000000000000'
    for (const id of [missing, 'x', '7']) {
      const refused = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${id}/redeliver`)
      expectProblem(refused, 404, 'not_found')
    }
  })

  it('list deliveries newest first, in pages, with filters [HOOK-27]', async () => {
    const webhook = await register()
    for (const name of ['Ana', 'Bia', 'Caio', 'Davi', 'Eva']) await customer(name)
    await api.core.pool.query(
      `update webhook_deliveries set status = 'delivered' where webhook_id = $1 and sequence = 2 and company_id = $2`,
      [webhook, company.id],
    )
    const sequences: number[] = []
    let cursor: string | null = ''
    do {
      const page: Json = await asRegistrar(
        'GET',
        `/webhooks/${webhook}/deliveries?limit=2${cursor && `&cursor=${cursor}`}`,
      )
      sequences.push(...page.body.data.map((delivery: Json) => delivery.sequence))
      cursor = page.body.meta.next_cursor
    } while (cursor)
    expect(sequences).to.deep.equal([5, 4, 3, 2, 1])
    const delivered = await asRegistrar(
      'GET',
      `/webhooks/${webhook}/deliveries?status=delivered&event=customer.created`,
    )
    expect(delivered.body.data.map((delivery: Json) => delivery.sequence)).to.deep.equal([2])
    expectInvalid(await asRegistrar('GET', `/webhooks/${webhook}/deliveries?status=lost`), ['status'])
  })
})
