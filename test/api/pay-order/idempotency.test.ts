import { expect } from 'chai'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import {
  ProviderConflict,
  ProviderMisconfigured,
  type ProviderPayment,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { startApi } from '../../support/api.ts'

import { lostAnswer } from '../../support/memory-provider.ts'
import { card, useCashier } from './cashier.ts'

describe('payment of an order with an Idempotency-Key', () => {
  const { api, company, provider, place, pay, show, tell } = useCashier()

  it('replays the final response despite later changes, with one provider call', async () => {
    const { id } = await place()
    const first = await pay(id, 'k')
    await tell(id, { ...(provider.payments[0] as ProviderPayment), status: 'approved' })
    const again = await pay(id, 'k')
    expect([again.status, again.text]).to.deep.equal([201, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(provider.calls).to.have.length(1)
  })

  it('charges once if the response was lost and the request is repeated [PAY-3]', async () => {
    const { id } = await place()
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    const second = await pay(id, 'k')
    expect(second.status).to.equal(201)
    expect(second.headers.has('idempotent-replayed')).to.equal(false)
    expect(provider.calls.map((call) => call.attemptId)).to.deep.equal(
      Array(2).fill(second.body.data.payment.attempt_id),
    )
    expect(provider.payments).to.have.length(1)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('finds the existing payment if the provider reports other content for a repetition [PAY-50]', async () => {
    const { id } = await place()
    const conflict = () => {
      throw new ProviderConflict('409')
    }
    provider.twist(conflict)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(conflict)
    const reply = await pay(id, 'k')
    expect([reply.status, reply.body.data?.payment.provider_payment_id]).to.deep.equal([201, provider.payments[0]?.id])
    expect(provider.payments).to.have.length(1)
  })

  it('leaves a possible charge open if the credentials are wrong afterwards [PAY-51]', async () => {
    const { id } = await place()
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(() => {
      throw new ProviderMisconfigured('401')
    })
    expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
    expect((await show(id)).payment).to.include({ status: 'pending', refusal: null })
    expectProblem(await pay(id, 'k', { ...card, token: 'other' }), 409, 'idempotency_key_reuse')
    expect((await pay(id, 'k')).status).to.equal(201)
    expect(provider.payments).to.have.length(1)
  })

  it('returns the paid order if a notification was faster than the repetition [PAY-3]', async () => {
    const { id } = await place()
    provider.status = 'approved'
    provider.twist(lostAnswer)
    await pay(id, 'k')
    const told = await tell(id, provider.payments[0] as ProviderPayment)
    expect(told).to.include({ outcome: 'applied' })
    const reply = await pay(id, 'k')
    expect(reply.status).to.equal(201)
    expect(reply.body.data.status).to.equal('paid')
    expect(provider.calls).to.have.length(1)
  })

  it('charges nothing when repeating a call that never reached the provider after another attempt paid', async () => {
    const { id } = await place()
    provider.twist(() => {
      throw new ProviderUnavailable('provider unreachable')
    })
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.status = 'approved'
    expect((await pay(id, 'other')).status).to.equal(201)
    expectProblem(await pay(id, 'k'), 409, 'order_already_paid')
    expect(provider.payments).to.have.length(1)
  })

  it('charges once for equal concurrent calls on two services [PAY-3]', async () => {
    const { id } = await place()
    const other = await startApi(api.databaseUrl, { provider })
    try {
      const elsewhere = () =>
        fetch(`${other.url}/api/v1/orders/${id}/payments`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${company.key}`,
            'content-type': 'application/json',
            'idempotency-key': 'k',
          },
          body: JSON.stringify(card),
        })
      const replies = await Promise.all([pay(id, 'k'), elsewhere(), pay(id, 'k'), elsewhere(), pay(id, 'k')])
      expect(replies.map(({ status }) => status)).to.deep.equal(Array(5).fill(201))
    } finally {
      await other.close()
    }
    expect(provider.payments).to.have.length(1)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('responds 409 idempotency_key_reuse to another body or order, also while the first call is running', async () => {
    const { id } = await place()
    const another = await place()
    provider.twist(lostAnswer)
    await pay(id, 'k')
    for (const settled of [false, true]) {
      if (settled) expect((await pay(id, 'k')).status).to.equal(201)
      expectProblem(await pay(id, 'k', { ...card, token: 'other' }), 409, 'idempotency_key_reuse')
      expectProblem(await pay(another.id, 'k'), 409, 'idempotency_key_reuse')
    }
    expect(provider.payments).to.have.length(1)
  })

  it('is required: without it nothing is attempted, for concurrent calls too [PAY-15]', async () => {
    const { id } = await place()
    const replies = await Promise.all([pay(id, null), pay(id, null), pay(id, null)])
    for (const reply of replies) expectInvalid(reply, ['Idempotency-Key'])
    expectInvalid(await pay(9_000_001, null), ['Idempotency-Key'])
    expect(provider.calls).to.have.length(0)
    expect((await show(id)).payments).to.deep.equal([])
  })

  it('records the provider’s payment even if the API key was revoked meanwhile [KEY-21]', async () => {
    const { id } = await place()
    const { id: keyId, key } = await company.newKey(['orders:write'])
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'k' }
    provider.twist(async (charge) => {
      await company.run(revokeApiKey, { id: keyId })
      return charge()
    })
    expect((await company.call('POST', `/orders/${id}/payments`, card, headers)).status).to.equal(201)
    expectProblem(await company.call('POST', `/orders/${id}/payments`, card, headers), 401, 'invalid_token')
    expect(provider.payments).to.have.length(1)
  })

  it('responds 409 to a key of another operation before any charge', async () => {
    const { id } = await place()
    await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'k' })
    expectProblem(await pay(id, 'k'), 409, 'idempotency_key_reuse')
    expect(provider.calls).to.have.length(0)
    expect((await show(id)).payments).to.deep.equal([])
  })
})
