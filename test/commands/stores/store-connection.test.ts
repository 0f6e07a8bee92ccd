import { expect } from 'chai'
import { connectStore, refuseStoreConnection, renewStoreConnection, updateStore } from '#commands/store-commands.ts'
import { event } from '#events/catalogue.ts'
import type { Changes } from '#ledger/working-set.ts'
import { type StoreSecrets, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { companyRegistered, storeCreated } from '../../support/facts.ts'
import { COMPANY_ID, given, minute, recorded } from '../../support/given.ts'

const alias = 'padaria-ipe'
const tokens = { access_token: 'APP_USR-2', refresh_token: 'TG-2' }
const ENDS = '2027-03-01T12:00:00.000Z'

const connected = event('StoreConnected', { id: 1, account_id: '77', expires_at: '2026-12-01T12:00:00.000Z' })
const held: StoreSecrets = {
  store_id: 1,
  company_id: COMPANY_ID,
  alias,
  secrets: { access_token: 'APP_USR-1', notification_secret: 'segredo', refresh_token: 'TG-1' },
  renew_at: '2026-11-01T12:00:00.000Z',
}

async function connectedStore(secrets: StoreSecrets | null = held) {
  const scenario = await given(companyRegistered(), storeCreated(), connected)
  const rows = (await scenario.rows(storeSecretsByAlias(alias))) as Changes
  if (secrets) rows.put(storeSecrets, secrets)
  return scenario
}

const savedBy = (decided: Parameters<typeof recorded>[0]) =>
  (recorded(decided).privateRows ?? []).map(({ row }) => row as StoreSecrets)

describe('connection of a store', () => {
  describe('connectStore', () => {
    const input = { alias, account_id: '77', expires_at: ENDS, ...tokens }

    it('replaces the access token, keeps the notification secret, and records neither [PAY-81]', async () => {
      const decided = await (await connectedStore()).when(connectStore, input)
      decided.accepts('updated', event('StoreConnected', { id: 1, account_id: '77', expires_at: ENDS }))
      expect(JSON.stringify(recorded(decided).events)).not.to.match(/APP_USR|TG-|segredo/)
      const [row] = savedBy(decided)
      expect(row?.secrets).to.deep.equal({ ...tokens, notification_secret: 'segredo' })
    })

    it('plans the renewal 30 days before the end of the token [PAY-82]', async () => {
      const [row] = savedBy(await (await connectedStore()).when(connectStore, input))
      expect(row?.renew_at).to.equal('2027-01-30T12:00:00.000Z')
    })

    it('plans it at half of a shorter life [PAY-82]', async () => {
      const decided = await (await connectedStore()).when(connectStore, { ...input, expires_at: minute(63) })
      expect(savedBy(decided)[0]?.renew_at).to.equal(minute(33))
    })

    it('refuses an unknown store', async () => {
      const decided = await (await given(companyRegistered())).when(connectStore, input)
      decided.refuses('not_found')
    })
  })

  describe('renewStoreConnection', () => {
    const input = { alias, used: 'TG-1', expires_at: ENDS, ...tokens }

    it('replaces both tokens [PAY-82]', async () => {
      const decided = await (await connectedStore()).when(renewStoreConnection, input)
      decided.accepts('updated', event('StoreConnectionRenewed', { id: 1, expires_at: ENDS }))
      const [row] = savedBy(decided)
      expect(row?.secrets).to.deep.equal({ ...tokens, notification_secret: 'segredo' })
    })

    it('changes nothing if the store was connected anew meanwhile [PAY-82]', async () => {
      const decided = await (await connectedStore()).when(renewStoreConnection, { ...input, used: 'TG-0' })
      decided.accepts('unchanged')
    })

    it('changes nothing if a token was set by hand meanwhile [PAY-82]', async () => {
      const byHand = { ...held, secrets: { access_token: 'APP_USR-9', notification_secret: null }, renew_at: null }
      const decided = await (await connectedStore(byHand)).when(renewStoreConnection, input)
      decided.accepts('unchanged')
    })
  })

  describe('refuseStoreConnection', () => {
    const input = { alias, used: 'TG-1', reason: 'invalid_grant' }

    it('records the reason, and keeps the token, which is still valid [PAY-83]', async () => {
      const scenario = await connectedStore()
      const decided = await scenario.when(refuseStoreConnection, input)
      decided.accepts('updated', event('StoreConnectionRefused', { id: 1, reason: 'invalid_grant' }))
      expect(savedBy(decided)).to.deep.equal([])
      expect(await scenario.show('store/1')).to.deep.include({
        has_access_token: true,
        connection: { account_id: '77', expires_at: '2026-12-01T12:00:00.000Z', refusal: 'invalid_grant' },
      })
    })

    it('records the same reason once [PAY-83]', async () => {
      const scenario = await connectedStore()
      await scenario.when(refuseStoreConnection, input)
      ;(await scenario.when(refuseStoreConnection, input)).accepts('unchanged')
    })
  })

  it('ends when a token is set by hand [PAY-81]', async () => {
    const scenario = await connectedStore()
    const decided = await scenario.when(updateStore, { alias, access_token: 'APP_USR-9' })
    expect(savedBy(decided)[0]).to.deep.include({
      secrets: { access_token: 'APP_USR-9', notification_secret: 'segredo' },
      renew_at: null,
    })
    expect(await scenario.show('store/1')).to.include({ connection: null })
  })

  it('stays when only the notification secret is replaced [PAY-81]', async () => {
    const scenario = await connectedStore()
    const decided = await scenario.when(updateStore, { alias, notification_secret: 'outro' })
    expect(savedBy(decided)[0]).to.deep.include({
      secrets: { access_token: 'APP_USR-1', notification_secret: 'outro', refresh_token: 'TG-1' },
      renew_at: held.renew_at,
    })
  })
})
