import { expect } from 'chai'
import { handOverWebhook, registerWebhook, rotateSecret, updateWebhook } from '#commands/webhook-commands.ts'
import { event, readScopeOf, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { ownCompany } from '#projections/companies.ts'
import { apiKeyCreated, companyRegistered, webhookRegistered } from '../../support/facts.ts'
import { by, COMPANY_ID, FIRST_NEW_ID, given, minute } from '../../support/given.ts'

const address = { url: 'https://erp.example/eventos', description: null }

/** Key 1 has all scopes; key 2 manages webhooks and reads customers; key 3 has expired. */
const shop = [
  companyRegistered(),
  apiKeyCreated(),
  apiKeyCreated({ id: 2, scopes: ['customers:read', 'webhooks:manage'] }),
  apiKeyCreated({ id: 3, expires_at: minute(4) }),
]
const WIDE = 'api_key/1'
const CLERK = 'api_key/2'
const PERSON = 'user/9'

const shownBy = async (scenario: Awaited<ReturnType<typeof given>>, id: number) =>
  (await scenario.show(`webhook/${id}`)) as Record<string, unknown>

describe('webhooks of a key', () => {
  it('require the scope that reads each event [HOOK-50]', () => {
    const scopes = WEBHOOK_EVENTS.map((name) => [name.split('.')[0], readScopeOf(name)])
    expect(new Map(scopes as [string, string][])).to.deep.equal(
      new Map([
        ['customer', 'customers:read'],
        ['catalog_item', 'catalog:read'],
        ['receivable', 'finance:read'],
        ['payable', 'finance:read'],
        ['sale', 'sales:read'],
        ['supplier', 'suppliers:read'],
        ['category', 'catalog:read'],
        ['order', 'orders:read'],
        ['cash_session', 'sales:read'],
      ]),
    )
  })

  it('cannot be registered for unreadable events; `*` covers the readable ones [HOOK-50]', async () => {
    const scenario = await given(...shop)
    const named = { ...address, events: ['customer.created', 'sale.completed'], secret: 'whsec_x' }
    const refused = await scenario.when(registerWebhook, named, 'api', CLERK)
    refused.refuses('insufficient_scope', { missing_scope: 'sales:read' })
    const all = await scenario.when(registerWebhook, { ...address, events: ['basic'], secret: 'whsec_x' }, 'api', CLERK)
    all.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address, events: ['basic'] }))
    expect(await shownBy(scenario, FIRST_NEW_ID)).to.include({ api_key_id: 2, status: 'active', pause_reason: null })
  })

  it('belong to the company if a person registers them, and receive everything', async () => {
    const scenario = await given(...shop)
    const events = ['sale.completed']
    const made = await scenario.when(registerWebhook, { ...address, events, secret: 'whsec_x' }, 'pdv', PERSON)
    made.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address, events }))
    expect(await shownBy(scenario, FIRST_NEW_ID)).to.include({ api_key_id: null })
  })

  it('can be changed only by a key that may read their events [HOOK-52]', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1, events: ['basic'] }))
    const url = 'https://evil.example/'
    const refusal = ['insufficient_scope', { missing_scope: 'catalog:read' }] as const
    const led = await scenario.when(updateWebhook, { id: 1, url }, 'api', CLERK)
    led.refuses(...refusal)
    const widened = await scenario.when(updateWebhook, { id: 1, events: ['*', 'customer.deleted'] }, 'api', CLERK)
    widened.refuses(...refusal)
    const rotated = await scenario.when(rotateSecret, { id: 1, overlap_hours: 0, secret: 'whsec_n' }, 'api', CLERK)
    rotated.refuses(...refusal)
    const described = await scenario.when(updateWebhook, { id: 1, description: 'ERP' }, 'api', CLERK)
    described.accepts('updated', event('WebhookUpdated', { id: 1, changes: { description: 'ERP' } }))
  })

  it('cannot request events unreadable for their owning key, even when a person changes them [HOOK-52]', async () => {
    const scenario = await given(...shop, by(CLERK, webhookRegistered({ id: 1, events: ['basic'] })))
    const events = ['sale.completed']
    const decided = await scenario.when(updateWebhook, { id: 1, events }, 'pdv', PERSON)
    const message = '"sale.completed" exige que a chave do endereço tenha sales:read'
    decided.refuses('validation_failed', { fields: { events: [message] }, unknown_fields: [] })
  })

  it('can be handed over to a key that may read their events, or to the company [HOOK-54]', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1, events: ['sale.completed'] }))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses('insufficient_scope', { missing_scope: 'sales:read' })
    const cannot = (message: string) =>
      ['validation_failed', { fields: { api_key_id: [message] }, unknown_fields: [] }] as const
    const narrow = await scenario.when(handOverWebhook, { id: 1, api_key_id: 2 }, 'pdv', PERSON)
    narrow.refuses(...cannot('a chave não tem o escopo sales:read'))
    for (const api_key_id of [3, 99]) {
      const gone = await scenario.when(handOverWebhook, { id: 1, api_key_id }, 'pdv', PERSON)
      gone.refuses(...cannot('não é uma chave ativa'))
    }
    const given1 = await scenario.when(handOverWebhook, { id: 1 })
    given1.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: 1 }))
    expect(await shownBy(scenario, 1)).to.include({ api_key_id: 1 })
    const again = await scenario.when(handOverWebhook, { id: 1, api_key_id: 1 }, 'pdv', PERSON)
    again.accepts('unchanged')
    const back = await scenario.when(handOverWebhook, { id: 1, api_key_id: null }, 'pdv', PERSON)
    back.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: null }))
    expect((await scenario.rows(ownCompany)).get(ownCompany)?.webhooks[0]).to.include({
      api_key_id: null,
      scopes: null,
    })
    const none = await scenario.when(handOverWebhook, { id: 7 })
    none.refuses('not_found')
  })
})

describe('transfer of webhooks with `*`', () => {
  const refusal = ['insufficient_scope', { missing_scope: 'catalog:read' }] as const

  it('is refused to a key that reads less than the owning key [HOOK-82]', async () => {
    const scenario = await given(...shop, by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
    expect(await shownBy(scenario, 1)).to.include({ api_key_id: 1 })
  })

  it('is refused from the company to a key that reads less than all basic events [HOOK-82]', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1, events: ['basic'] }))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
  })

  it('is refused from a revoked key to a key that reads less [HOOK-82]', async () => {
    const scenario = await given(
      ...shop,
      by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })),
      event('ApiKeyRevoked', { id: 1 }),
    )
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
  })

  it('is accepted by a key that reads all events of the webhook [HOOK-82]', async () => {
    const scenario = await given(...shop, by(CLERK, webhookRegistered({ id: 1, events: ['basic'] })))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', WIDE)
    taken.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: 1 }))
  })

  it('is accepted from an owner in the panel to a key that reads less [HOOK-82]', async () => {
    const scenario = await given(...shop, by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })))
    const given2 = await scenario.when(handOverWebhook, { id: 1, api_key_id: 2 }, 'pdv', PERSON)
    given2.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: 2 }))
  })
})

describe('pauses of webhooks', () => {
  const ofKey = (id: number) => by(`api_key/${id}`, webhookRegistered({ id, events: ['basic'] }))

  it('start when the key expires [HOOK-53]', async () => {
    const scenario = await given(...shop, ofKey(3))
    expect(await scenario.show('webhook/3', minute(3))).to.include({ status: 'active', pause_reason: null })
    expect(await scenario.show('webhook/3', minute(4))).to.include({ status: 'paused', pause_reason: 'key_expired' })
  })

  it('start when the key is revoked, for its endpoints only [HOOK-53]', async () => {
    const revoked = await given(...shop, ofKey(1), webhookRegistered({ id: 7 }), event('ApiKeyRevoked', { id: 1 }))
    expect(await shownBy(revoked, 1)).to.include({ status: 'paused', pause_reason: 'key_revoked' })
    expect(await shownBy(revoked, 7)).to.include({ status: 'active', pause_reason: null })
  })

  it('start when the plan ends, for all endpoints [HOOK-53]', async () => {
    const lapsed = event('CompanyUpdated', { id: COMPANY_ID, changes: { plan: 'basic' } })
    const unpaid = await given(...shop, ofKey(1), webhookRegistered({ id: 7 }), lapsed)
    for (const id of [1, 7])
      expect(await shownBy(unpaid, id)).to.include({ status: 'paused', pause_reason: 'plan_required' })
  })

  it('do not affect a disabled endpoint', async () => {
    const off = event('WebhookSwitchedOff', { id: 1, reason: 'requested' })
    const scenario = await given(...shop, ofKey(1), off, event('ApiKeyRevoked', { id: 1 }))
    expect(await shownBy(scenario, 1)).to.include({ status: 'disabled', pause_reason: null })
  })
})
