import { expect } from 'chai'
import type * as z from 'zod'
import {
  deleteWebhook,
  enableWebhook,
  handOverWebhook,
  RotationFields,
  registerWebhook,
  rotateSecret,
  switchOffWebhook,
  updateWebhook,
  WebhookFields,
} from '#commands/webhook-commands.ts'
import { inZone } from '#domain/instant.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event, getReadScope, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { readModel } from '#projections/index.ts'
import { type WebhookSecrets, webhookSecrets } from '#projections/webhooks.ts'
import { apiKeyCreated, companyRegistered, webhookRegistered } from '../support/facts.ts'
import { by, COMPANY_ID, type Decided, FIRST_NEW_ID, given, minute, type Scenario } from '../support/given.ts'

/** Acting key 1 has all scopes; key 2 manages webhooks and reads customers. */
const shop = [
  companyRegistered(),
  apiKeyCreated(),
  apiKeyCreated({ id: 2, scopes: ['customers:read', 'webhooks:manage'] }),
]

const address = { url: 'https://erp.example/eventos', events: ['sale.completed'], description: null }

/** Secret stored by a decision outside the ledger. */
function secretLeftBy({ decision }: { decision: object }) {
  if (isRefusal(decision)) throw new Error('refused')
  const { privateRows } = decision as { privateRows: { table: unknown; row: WebhookSecrets }[] }
  expect(privateRows.map((row) => row.table)).to.deep.equal([webhookSecrets])
  const { secrets, ...row } = privateRows[0]!.row
  return { ...row, ...secrets }
}

describe('register webhook', () => {
  it('records the endpoint, and stores its secret outside the ledger', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(registerWebhook, { ...address, secret: 'whsec_x' })
    decided.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address }))
    expect(secretLeftBy(decided)).to.include({ webhook_id: FIRST_NEW_ID, secret: 'whsec_x', next_secret: null })
    expect(await scenario.show(`webhook/${FIRST_NEW_ID}`)).to.include({
      url: address.url,
      status: 'active',
      last_success_at: null,
      failing_since: null,
    })
  })

  it('is limited per company; a deleted endpoint makes room', async () => {
    const many = Array.from({ length: 50 }, (_, index) => webhookRegistered({ id: index + 1 }))
    const scenario = await given(...shop, ...many)
    const refused = await scenario.when(registerWebhook, { ...address, secret: 'whsec_x' })
    refused.refuses('webhook_limit_reached')
    await scenario.when(deleteWebhook, { id: 3 })
    const accepted = await scenario.when(registerWebhook, { ...address, secret: 'whsec_x' })
    accepted.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address }))
  })
})

describe('input of a webhook', () => {
  const parse = (fields: object) => WebhookFields.safeParse({ ...address, ...fields })

  for (const [sent, stored] of [
    [
      ['sale.cancelled', 'customer.created', 'sale.cancelled'],
      ['customer.created', 'sale.cancelled'],
    ],
    [['*', '*'], ['*']],
    [
      ['supplier.deleted', '*', 'supplier.created'],
      ['*', 'supplier.created', 'supplier.deleted'],
    ],
    [
      ['supplier.deleted', 'basic', 'supplier.created'],
      ['basic', 'supplier.created', 'supplier.deleted'],
    ],
  ] as const)
    it(`deduplicates and sorts the events ${sent.join(', ')}`, () =>
      expect(parse({ events: sent }).data?.events).to.deep.equal(stored))

  for (const [what, fields, wrong] of [
    ['an unknown event', { events: ['sale.deleted'] }, 'events[0]'],
    ['no event', { events: [] }, 'events'],
    ['`*` together with a basic event', { events: ['*', 'sale.completed'] }, 'events'],
    ['`basic` together with a basic event', { events: ['basic', 'sale.completed'] }, 'events'],
    ['both groups', { events: ['basic', '*'] }, 'events'],
    ['a test event', { events: ['webhook.test'] }, 'events[0]'],
    ['no list', { events: 'sale.completed' }, 'events'],
    ['no URL', { url: undefined }, 'url'],
    ['a number as URL', { url: 7 }, 'url'],
    ['a description of more than 200 characters', { description: 'x'.repeat(201) }, 'description'],
    ['an unknown field', { secret: 'whsec_mine' }, 'secret'],
  ] as const) {
    it(`refuses ${what}, naming ${wrong}`, () => {
      const { error } = parse(fields)
      const { fields: named, unknown_fields } = describeIssues(error as z.ZodError)
      expect([...Object.keys(named), ...unknown_fields]).to.deep.equal([wrong])
    })
  }
})

describe('stored webhook of the first version', () => {
  const { upcast } = readModel
  const stored = (name: 'WebhookRegistered' | 'WebhookUpdated', data: object) =>
    upcast({ type: name, version: 1, data } as never).data

  it('subscribed to `*` stays subscribed to the basic events', () => {
    expect(stored('WebhookRegistered', { id: 1, ...address, events: ['*', 'category.created'] })).to.deep.equal({
      id: 1,
      ...address,
      events: ['basic', 'category.created'],
    })
    expect(stored('WebhookUpdated', { id: 1, changes: { events: ['*'] } })).to.deep.equal({
      id: 1,
      changes: { events: ['basic'] },
    })
    const others = { id: 1, changes: { url: 'https://erp.example/' } }
    expect(stored('WebhookUpdated', others)).to.deep.equal(others)
  })
})

describe('update webhook', () => {
  it('records changes, and nothing for equal values', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1 }))
    const changed = await scenario.when(updateWebhook, { id: 1, events: ['basic'], url: address.url })
    changed.accepts('updated', event('WebhookUpdated', { id: 1, changes: { events: ['basic'] } }))
    const same = await scenario.when(updateWebhook, { id: 1, events: ['basic'] })
    same.accepts('unchanged')
  })

  it('refuses a deleted endpoint', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1 }), event('WebhookDeleted', { id: 1 }))
    for (const id of [1, 2]) {
      const decided = await scenario.when(updateWebhook, { id, events: ['basic'] })
      decided.refuses('not_found')
    }
    expect(await scenario.show('webhook/1')).to.equal(null)
  })
})

describe('switching a webhook', () => {
  it('disables with a reason and enables again, once each', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1 }))
    const off = await scenario.when(switchOffWebhook, { id: 1, reason: 'gone' })
    off.accepts('updated', event('WebhookSwitchedOff', { id: 1, reason: 'gone' }))
    expect(await scenario.show('webhook/1')).to.include({ status: 'disabled' })
    const again = await scenario.when(switchOffWebhook, { id: 1, reason: 'no_response' })
    again.accepts('unchanged')
    const on = await scenario.when(enableWebhook, { id: 1 })
    on.accepts('updated', event('WebhookEnabled', { id: 1 }))
    const still = await scenario.when(enableWebhook, { id: 1 })
    still.accepts('unchanged')
    expect(await scenario.show('webhook/1')).to.include({ status: 'active' })
  })

  const { id, reason } = { id: 1, reason: 'requested' } as const
  const missing: [what: string, run: (scenario: Scenario) => Promise<Decided>][] = [
    ['enabling', (scenario) => scenario.when(enableWebhook, { id })],
    ['disabling', (scenario) => scenario.when(switchOffWebhook, { id, reason })],
    ['deleting', (scenario) => scenario.when(deleteWebhook, { id })],
    ['rotating', (scenario) => scenario.when(rotateSecret, { id, overlap_hours: 0, secret: 'whsec_n' })],
  ]
  for (const [what, run] of missing)
    it(`refuses ${what} a missing endpoint`, async () => (await run(await given(...shop))).refuses('not_found'))
})

describe('rotate secret', () => {
  it('overlaps for 24 hours by default [HOOK-28]', () =>
    expect(RotationFields.parse({})).to.deep.equal({ overlap_hours: 24 }))
  for (const overlap_hours of [0, 168])
    it(`may overlap for ${overlap_hours} hours [HOOK-28]`, () =>
      expect(RotationFields.safeParse({ overlap_hours }).success).to.equal(true))
  for (const overlap_hours of [-1, 0.5, 169, '24'])
    it(`refuses an overlap of ${JSON.stringify(overlap_hours)} hours [HOOK-28]`, () =>
      expect(RotationFields.safeParse({ overlap_hours }).success).to.equal(false))

  /** Scenario in which the first secret of endpoint 1 is whsec_old. */
  async function withSecret(next_secret: string | null = null, switch_at: string | null = null) {
    const scenario = await given(...shop, webhookRegistered({ id: 1 }))
    const keys = { company_id: COMPANY_ID, webhook_id: 1 }
    const before: WebhookSecrets = { ...keys, secrets: { secret: 'whsec_old', next_secret }, switch_at }
    const rows = (await scenario.rows()) as unknown as { put(table: typeof webhookSecrets, row: WebhookSecrets): void }
    rows.put(webhookSecrets, before)
    return scenario
  }

  it('signs with both secrets until the overlap ends [HOOK-28]', async () => {
    const scenario = await withSecret()
    const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours: 24, secret: 'whsec_new' })
    const overlap_ends_at = '2026-03-11T15:04:00.000Z'
    decided.accepts('updated', event('WebhookSecretRotated', { id: 1, overlap_ends_at }))
    expect(secretLeftBy(decided)).to.include({
      secret: 'whsec_old',
      next_secret: 'whsec_new',
      switch_at: overlap_ends_at,
    })
  })

  it('replaces the secret at once without an overlap [HOOK-28]', async () => {
    const scenario = await withSecret()
    const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours: 0, secret: 'whsec_new' })
    decided.accepts('updated', event('WebhookSecretRotated', { id: 1, overlap_ends_at: null }))
    expect(secretLeftBy(decided)).to.include({ secret: 'whsec_new', next_secret: null, switch_at: null })
  })

  for (const overlap_hours of [1, 24, 168])
    it(`is refused during the overlap of another rotation, with ${overlap_hours} hours [HOOK-84]`, async () => {
      const scenario = await withSecret('whsec_next', minute(60))
      const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours, secret: 'whsec_new' })
      decided.refuses('rotation_running', { until: inZone(minute(60), 'America/Sao_Paulo') })
    })

  it('ends all other secrets at once without an overlap, also during one [HOOK-84]', async () => {
    const scenario = await withSecret('whsec_leaked', minute(60))
    const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours: 0, secret: 'whsec_new' })
    decided.accepts('updated', event('WebhookSecretRotated', { id: 1, overlap_ends_at: null }))
    expect(secretLeftBy(decided)).to.include({ secret: 'whsec_new', next_secret: null, switch_at: null })
  })

  it('keeps the secret that is current after the overlap as the signing one', async () => {
    const scenario = await withSecret('whsec_second', minute(1))
    const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours: 1, secret: 'whsec_third' })
    expect(secretLeftBy(decided)).to.include({ secret: 'whsec_second', next_secret: 'whsec_third' })
  })

  it('gives a new secret to an endpoint that lost its own', async () => {
    const scenario = await given(...shop, webhookRegistered({ id: 1 }))
    const decided = await scenario.when(rotateSecret, { id: 1, overlap_hours: 24, secret: 'whsec_new' })
    decided.accepts('updated', event('WebhookSecretRotated', { id: 1, overlap_ends_at: null }))
    expect(secretLeftBy(decided)).to.include({ secret: 'whsec_new', next_secret: null })
  })
})

/** Key 1 has all scopes; key 2 manages webhooks and reads customers; key 3 has expired. */
const companyWithKeys = [
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
  const address = { url: 'https://erp.example/eventos', description: null }

  it('require the scope that reads each event [HOOK-50]', () => {
    const scopes = WEBHOOK_EVENTS.map((name) => [name.split('.')[0], getReadScope(name)])
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
        ['till', 'sales:read'],
      ]),
    )
  })

  it('cannot be registered for unreadable events; `*` covers the readable ones [HOOK-50]', async () => {
    const scenario = await given(...companyWithKeys)
    const named = { ...address, events: ['customer.created', 'sale.completed'], secret: 'whsec_x' }
    const refused = await scenario.when(registerWebhook, named, 'api', CLERK)
    refused.refuses('insufficient_scope', { missing_scope: 'sales:read' })
    const all = await scenario.when(registerWebhook, { ...address, events: ['basic'], secret: 'whsec_x' }, 'api', CLERK)
    all.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address, events: ['basic'] }))
    expect(await shownBy(scenario, FIRST_NEW_ID)).to.include({ api_key_id: 2, status: 'active', pause_reason: null })
  })

  it('belong to the company if a person registers them, and receive everything', async () => {
    const scenario = await given(...companyWithKeys)
    const events = ['sale.completed']
    const made = await scenario.when(registerWebhook, { ...address, events, secret: 'whsec_x' }, 'pdv', PERSON)
    made.accepts('created', event('WebhookRegistered', { id: FIRST_NEW_ID, ...address, events }))
    expect(await shownBy(scenario, FIRST_NEW_ID)).to.include({ api_key_id: null })
  })

  it('can be changed only by a key that may read their events [HOOK-52]', async () => {
    const scenario = await given(...companyWithKeys, webhookRegistered({ id: 1, events: ['basic'] }))
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
    const scenario = await given(...companyWithKeys, by(CLERK, webhookRegistered({ id: 1, events: ['basic'] })))
    const events = ['sale.completed']
    const decided = await scenario.when(updateWebhook, { id: 1, events }, 'pdv', PERSON)
    const message = '"sale.completed" exige que a chave do endereço tenha sales:read'
    decided.refuses('validation_failed', { fields: { events: [message] }, unknown_fields: [] })
  })

  it('can be handed over to a key that may read their events, or to the company [HOOK-54]', async () => {
    const scenario = await given(...companyWithKeys, webhookRegistered({ id: 1, events: ['sale.completed'] }))
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
    const scenario = await given(...companyWithKeys, by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
    expect(await shownBy(scenario, 1)).to.include({ api_key_id: 1 })
  })

  it('is refused from the company to a key that reads less than all basic events [HOOK-82]', async () => {
    const scenario = await given(...companyWithKeys, webhookRegistered({ id: 1, events: ['basic'] }))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
  })

  it('is refused from a revoked key to a key that reads less [HOOK-82]', async () => {
    const scenario = await given(
      ...companyWithKeys,
      by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })),
      event('ApiKeyRevoked', { id: 1 }),
    )
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', CLERK)
    taken.refuses(...refusal)
  })

  it('is accepted by a key that reads all events of the webhook [HOOK-82]', async () => {
    const scenario = await given(...companyWithKeys, by(CLERK, webhookRegistered({ id: 1, events: ['basic'] })))
    const taken = await scenario.when(handOverWebhook, { id: 1 }, 'api', WIDE)
    taken.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: 1 }))
  })

  it('is accepted from an owner in the panel to a key that reads less [HOOK-82]', async () => {
    const scenario = await given(...companyWithKeys, by(WIDE, webhookRegistered({ id: 1, events: ['basic'] })))
    const given2 = await scenario.when(handOverWebhook, { id: 1, api_key_id: 2 }, 'pdv', PERSON)
    given2.accepts('updated', event('WebhookHandedOver', { id: 1, api_key_id: 2 }))
  })
})

describe('pauses of webhooks', () => {
  const ofKey = (id: number) => by(`api_key/${id}`, webhookRegistered({ id, events: ['basic'] }))

  it('start when the key expires [HOOK-53]', async () => {
    const scenario = await given(...companyWithKeys, ofKey(3))
    expect(await scenario.show('webhook/3', minute(3))).to.include({ status: 'active', pause_reason: null })
    expect(await scenario.show('webhook/3', minute(4))).to.include({ status: 'paused', pause_reason: 'key_expired' })
  })

  it('start when the key is revoked, for its endpoints only [HOOK-53]', async () => {
    const revoked = await given(
      ...companyWithKeys,
      ofKey(1),
      webhookRegistered({ id: 7 }),
      event('ApiKeyRevoked', { id: 1 }),
    )
    expect(await shownBy(revoked, 1)).to.include({ status: 'paused', pause_reason: 'key_revoked' })
    expect(await shownBy(revoked, 7)).to.include({ status: 'active', pause_reason: null })
  })

  it('start when the plan ends, for all endpoints [HOOK-53]', async () => {
    const lapsed = event('CompanyUpdated', { id: COMPANY_ID, changes: { plan: 'basic' } })
    const unpaid = await given(...companyWithKeys, ofKey(1), webhookRegistered({ id: 7 }), lapsed)
    for (const id of [1, 7])
      expect(await shownBy(unpaid, id)).to.include({ status: 'paused', pause_reason: 'plan_required' })
  })

  it('do not affect a disabled endpoint', async () => {
    const off = event('WebhookSwitchedOff', { id: 1, reason: 'requested' })
    const scenario = await given(...companyWithKeys, ofKey(1), off, event('ApiKeyRevoked', { id: 1 }))
    expect(await shownBy(scenario, 1)).to.include({ status: 'disabled', pause_reason: null })
  })
})
