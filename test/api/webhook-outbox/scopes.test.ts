import { expect } from 'chai'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { send } from '../../support/api.ts'
import { useOutbox } from './outbox.ts'

const url = 'https://erp.example/eventos'

describe('webhook outbox: scopes', () => {
  const { api, company, queued, customer } = useOutbox()

  const caller = (key: string) => (method: string, path: string, body?: object) =>
    send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}` })

  it('a key with webhooks:manage only receives nothing, by replay either [HOOK-50, HOOK-26]', async () => {
    await customer('Ana')
    const call = caller((await company.newKey(['webhooks:manage'])).key)
    const { id } = (await call('POST', '/webhooks', { url, events: ['basic'] })).body.data
    await customer('Bia')
    expect((await call('POST', `/webhooks/${id}/replay`, {})).body.data.deliveries).to.equal(0)
    expect(await queued(id)).to.deep.equal([])
  })

  for (const [group, events] of [
    ['*', ['customer.created', 'customer.deleted']],
    ['basic', ['customer.created']],
  ] as const)
    it(`\`${group}\` covers the events that the key may read [HOOK-50]`, async () => {
      const call = caller((await company.newKey(['webhooks:manage', 'customers:read'])).key)
      const { id } = (await call('POST', '/webhooks', { url, events: [group] })).body.data
      const ana = (await company.post('/customers', { name: `Ana ${group}` })).body.data
      await company.post('/catalog/items', { type: 'product', name: 'Pão', price: '1.00' })
      await company.call('DELETE', `/customers/${ana.id}`)
      expect((await queued(id)).map(({ event }) => event)).to.deep.equal(events)
    })

  it('endpoints of a revoked key pause, and continue with a new owner [HOOK-53, HOOK-54]', async () => {
    const first = await company.newKey(['webhooks:manage', 'customers:read'])
    const { id } = (await caller(first.key)('POST', '/webhooks', { url, events: ['basic'] })).body.data
    await company.run(revokeApiKey, { id: first.id })
    await customer('Ana')
    const shown = (await company.get(`/webhooks/${id}`)).body.data
    expect(shown).to.include({ api_key_id: first.id, status: 'paused', pause_reason: 'key_revoked' })
    expect((await company.get('/webhooks')).body.data).to.deep.equal([shown])
    const taken = await company.post(`/webhooks/${id}/take-over`)
    expect(taken.status, taken.text).to.equal(200)
    expect(taken.body.data).to.include({ status: 'active', pause_reason: null })
    expect((await queued(id)).map(({ status, event }) => [status, event])).to.deep.equal([
      ['pending', 'customer.created'],
    ])
    await customer('Bia')
    expect(await queued(id)).to.have.length(1)
  })
})
