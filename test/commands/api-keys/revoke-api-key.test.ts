import { expect } from 'chai'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered } from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

const key = event('ApiKeyCreated', {
  id: 3,
  name: 'ERP',
  prefix: 'tb_live_abcd',
  scopes: ['audit:read'],
  expires_at: null,
})

describe('revoke API key', () => {
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
