import { handOverWebhook, MAX_WEBHOOKS, revokeApiKey, switchOffWebhook } from '#commands/webhook-commands.ts'
import type { Case, Cases } from './case.ts'
import type { World } from './world.ts'

const address = { url: 'https://erp.example/eventos', events: ['sale.completed', 'customer.created'] }

/** Deletes the endpoints of the previous case, because their number per company is limited. */
async function registered({ company }: World, count = 1): Promise<number> {
  const before = await company.get('/webhooks?limit=200')
  for (const { id } of before.body.data) await company.call('DELETE', `/webhooks/${id}`)
  const replies = await Promise.all(Array.from({ length: count }, () => company.post('/webhooks', address)))
  return replies[0]?.body.data.id
}

/** Call about an endpoint. */
const about =
  (body?: object): Case =>
  async (world) => ({ params: { id: await registered(world) }, ...(body && { body }) })

/** Call about a disabled endpoint. */
const off: Case = async (world) => {
  const id = await registered(world)
  await world.company.run(switchOffWebhook, { id, reason: 'no_response' })
  return { params: { id } }
}

/** Call about an endpoint that is paused because its key was revoked. */
const paused =
  (call: Case): Case =>
  async (world) => {
    const made = await call(world)
    const { id: api_key_id } = await world.company.newKey(['sales:read', 'customers:read'])
    await world.company.run(handOverWebhook, { id: Number(made.params?.id), api_key_id })
    await world.company.run(revokeApiKey, { id: api_key_id })
    return made
  }

const delivered: Case = async (world) => {
  const id = await registered(world)
  const test = await world.company.post(`/webhooks/${id}/test`)
  return { params: { id, delivery_id: test.body.data.id } }
}

/** Call about an endpoint during a replay. */
const replaying: Case = async (world) => {
  const id = await registered(world)
  await world.company.post(`/webhooks/${id}/replay`, {})
  return { params: { id } }
}

export const webhookCases: Cases = {
  listWebhooks: {
    200: async (world) => {
      await registered(world)
      return { query: { limit: '1' } }
    },
  },
  registerWebhook: {
    201: async (world) => {
      await registered(world)
      return { body: { ...address, description: 'ERP' } }
    },
    webhook_limit_reached: async (world) => {
      await registered(world, MAX_WEBHOOKS)
      return { body: address }
    },
  },
  getWebhook: { 200: about() },
  updateWebhook: { 200: about({ events: ['basic'], description: null }) },
  deleteWebhook: { 204: about() },
  enableWebhook: { 200: off },
  disableWebhook: { 200: about() },
  rotateWebhookSecret: {
    200: about({ overlap_hours: 2 }),
    async rotation_running(world) {
      const id = await registered(world)
      await world.company.post(`/webhooks/${id}/rotate-secret`)
      return { params: { id }, body: { overlap_hours: 2 } }
    },
  },
  listWebhookDeliveries: {
    200: async (world) => ({ ...(await delivered(world)), query: { status: 'pending', event: 'webhook.test' } }),
  },
  getWebhookDelivery: { 200: delivered },
  takeOverWebhook: { 200: paused(about()) },
  testWebhook: { 200: about(), webhook_disabled: off, webhook_paused: paused(about()) },
  redeliverWebhook: {
    200: delivered,
    async webhook_disabled(world) {
      const call = await delivered(world)
      await world.company.post(`/webhooks/${call.params?.id}/disable`)
      return call
    },
    webhook_paused: paused(delivered),
  },
  getWebhookHealth: { 200: about() },
  replayWebhook: {
    200: about({ after: -1 }),
    webhook_disabled: async (world) => ({ ...(await off(world)), body: {} }),
    replay_running: async (world) => ({ ...(await replaying(world)), body: {} }),
    webhook_paused: paused(about({ after: -1 })),
  },
  getWebhookReplay: { 200: replaying },
}
