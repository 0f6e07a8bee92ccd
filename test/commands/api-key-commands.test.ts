import { expect } from 'chai'
import { newKey } from '#access/api-authenticator.ts'
import { CreateApiKeyInput, createApiKey, MAX_ACTIVE_KEYS, revokeApiKey } from '#commands/webhook-commands.ts'
import { event } from '#events/catalogue.ts'
import { apiKeySecrets } from '#projections/webhooks.ts'
import { companyRegistered } from '../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given, minute } from '../support/given.ts'

const { key, prefix, hash } = newKey(Buffer.alloc(32, 7))
const input = (body: object = {}) =>
  CreateApiKeyInput.parse({ name: 'ERP', scopes: ['sales:read'], prefix, hash, ...body })

const created = (id: number, expires_at: string | null = null) =>
  event('ApiKeyCreated', { id, name: `chave ${id}`, prefix, scopes: ['sales:read'], expires_at })
const ids = Array.from({ length: MAX_ACTIVE_KEYS }, (_, index) => index + 1)

describe('create API key', () => {
  it('records name, prefix and scopes, deduplicated in fixed order', async () => {
    const scenario = await given(companyRegistered())
    const scopes = ['sales:write', 'catalog:read', 'sales:write']
    const decided = await scenario.when(createApiKey, input({ scopes }), 'system')
    const data = { id: FIRST_NEW_ID, name: 'ERP', prefix, scopes: ['catalog:read', 'sales:write'], expires_at: null }
    decided.accepts('created', event('ApiKeyCreated', data))
  })

  it('stores the hash outside the event; the event contains neither hash nor key [KEY-3]', async () => {
    const scenario = await given(companyRegistered())
    const { decision } = await scenario.when(createApiKey, input(), 'system')
    const row = { company_id: COMPANY_ID, api_key_id: FIRST_NEW_ID, hash }
    expect(decision).to.have.deep.property('privateRows', [{ table: apiKeySecrets, row }])
    const recorded = JSON.stringify('events' in decision && decision.events)
    for (const secret of [key, hash.toString('hex'), hash.toString('base64'), key.slice(prefix.length)]) {
      expect(recorded).not.to.include(secret)
    }
  })

  it('refuses a twenty-first active key [KEY-4]', async () => {
    const scenario = await given(companyRegistered(), ...ids.map((id) => created(id)))
    const decided = await scenario.when(createApiKey, input(), 'system')
    decided.refuses('key_limit_reached')
  })

  it('does not count a revoked key [KEY-4]', async () => {
    const scenario = await given(
      companyRegistered(),
      ...ids.map((id) => created(id)),
      event('ApiKeyRevoked', { id: 2 }),
    )
    const decided = await scenario.when(createApiKey, input(), 'system')
    expect(decided.decision).to.include({ outcome: 'created' })
  })

  it('does not count an expired key, from the moment it expires [KEY-4]', async () => {
    const now = minute(MAX_ACTIVE_KEYS + 1)
    const scenario = await given(companyRegistered(), ...ids.map((id) => created(id, id === 1 ? now : null)))
    const decided = await scenario.when(createApiKey, input(), 'system')
    expect(decided.decision).to.include({ outcome: 'created' })
    const sixth = await scenario.when(createApiKey, input(), 'system')
    sixth.refuses('key_limit_reached')
  })

  it('counts a key with a future expiry', async () => {
    const later = minute(MAX_ACTIVE_KEYS + 2)
    const scenario = await given(companyRegistered(), ...ids.map((id) => created(id, id === 1 ? later : null)))
    const decided = await scenario.when(createApiKey, input(), 'system')
    decided.refuses('key_limit_reached')
  })

  it('refuses an expiry that is not in the future', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createApiKey, input({ expires_at: minute(1) }), 'system')
    decided.refuses('validation_failed', { fields: { expires_at: ['deve estar no futuro'] }, unknown_fields: [] })
  })

  it('records the expiry', async () => {
    const scenario = await given(companyRegistered())
    await scenario.when(createApiKey, input({ expires_at: '2026-03-11T00:00:00-03:00' }), 'system')
    const shown = await scenario.show(`api_key/${FIRST_NEW_ID}`)
    expect(shown).to.include({ expires_at: '2026-03-11T03:00:00.000Z', revoked_at: null })
  })

  for (const scopes of [[], ['sales'], ['sales:read', 'all']]) {
    it(`refuses the scopes ${JSON.stringify(scopes)}`, () => {
      expect(CreateApiKeyInput.safeParse({ ...input(), scopes }).success).to.equal(false)
    })
  }
})

describe('revoke API key', () => {
  const key = event('ApiKeyCreated', {
    id: 3,
    name: 'ERP',
    prefix: 'tb_live_abcd',
    scopes: ['audit:read'],
    expires_at: null,
  })

  it('records the revocation', async () => {
    const scenario = await given(companyRegistered(), key)
    const decided = await scenario.when(revokeApiKey, { id: 3 }, 'system')
    decided.accepts('updated', event('ApiKeyRevoked', { id: 3 }))
    expect(await scenario.show('api_key/3')).to.include({ revoked_at: minute(2) })
  })

  it('changes nothing the second time', async () => {
    const scenario = await given(companyRegistered(), key, event('ApiKeyRevoked', { id: 3 }))
    const decided = await scenario.when(revokeApiKey, { id: 3 }, 'system')
    decided.accepts('unchanged')
  })

  it('does not find a key of another company', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(revokeApiKey, { id: 3 }, 'system')
    decided.refuses('not_found')
  })
})
