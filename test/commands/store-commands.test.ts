import { expect } from 'chai'
import {
  CreateStoreInput,
  connectStore,
  createStore,
  disableStore,
  enableStore,
  refuseStoreConnection,
  renewStoreConnection,
  UpdateStoreInput,
  updateStore,
} from '#commands/store-commands.ts'
import { event } from '#events/catalogue.ts'
import type { Changes } from '#ledger/working-set.ts'
import { type StoreSecrets, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { companyRegistered, paymentTypeCreated, storeCreated } from '../support/facts.ts'
import { COMPANY_ID, FIRST_NEW_ID, given, minute, recorded } from '../support/given.ts'

const input = (rest: object = {}): CreateStoreInput =>
  CreateStoreInput.parse({ alias: 'padaria-ipe', commission_percentage: '5', ...rest })

const onlineType = (name = 'Loja online') => paymentTypeCreated({ id: FIRST_NEW_ID, name, kind: 'online' })

describe('create store', () => {
  it('records the store without its secrets, which are stored separately [STORE-2]', async () => {
    const secrets = { access_token: 'APP_USR-token', notification_secret: 'segredo-da-loja' }
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createStore, input({ sandbox: true, ...secrets }))
    decided.accepts('created', storeCreated({ id: FIRST_NEW_ID, registers_sales: true }), onlineType())
    expect(JSON.stringify(recorded(decided).events)).not.to.match(/APP_USR|segredo/)
    const row = { store_id: FIRST_NEW_ID, company_id: COMPANY_ID, alias: 'padaria-ipe', secrets, renew_at: null }
    expect(recorded(decided).privateRows).to.deep.equal([{ table: storeSecrets, row }])
    expect(await scenario.show(`store/${FIRST_NEW_ID}`)).to.deep.include({
      alias: 'padaria-ipe',
      enabled: true,
      commission_percentage: '5.00',
      sandbox: true,
      has_access_token: true,
      has_notification_secret: true,
    })
  })

  it('refuses a used alias, and gives the id only of the company’s own store', async () => {
    const own = await (await given(companyRegistered(), storeCreated())).when(createStore, input())
    own.refuses('duplicate_resource', { field: 'alias', conflicting_id: 1 })
    const scenario = await given(companyRegistered())
    const rows = (await scenario.rows(storeSecretsByAlias('padaria-ipe'))) as Changes
    const secrets = { access_token: null, notification_secret: null }
    rows.put(storeSecrets, { store_id: 9, company_id: COMPANY_ID + 1, alias: 'padaria-ipe', secrets, renew_at: null })
    const theirs = await scenario.when(createStore, input())
    theirs.refuses('duplicate_resource', { field: 'alias' })
  })

  it('makes the payment type of orders once, under another name if that one is taken [STORE-9]', async () => {
    const scenario = await given(companyRegistered(), paymentTypeCreated({ id: 3, name: 'LOJA ONLINE', kind: 'pix' }))
    const first = await scenario.when(createStore, input())
    expect(recorded(first).events[1]).to.deep.equal(onlineType('Pagamento online'))
    const second = await scenario.when(createStore, input({ alias: 'outra-loja' }))
    expect(recorded(second).events.map(({ type }) => type)).to.deep.equal(['StoreCreated'])
    expect(await scenario.show(`payment_type/${FIRST_NEW_ID}`)).to.deep.equal({
      id: FIRST_NEW_ID,
      name: 'Pagamento online',
      kind: 'online',
      is_cash: false,
      fee_percentage: '0.00',
      acquirer_rate: null,
      acquirer_rate_2_6: null,
      acquirer_rate_7_12: null,
      acquirer_fee_refunded: false,
      settles_in_days: null,
      accepts_api: false,
      reason: 'Pedido da loja online: o serviço registra a venda junto com o pagamento.',
      due_days: 30,
    })
  })

  it('refuses while all names of that payment type are taken [STORE-9]', async () => {
    const names = ['Loja online', 'Pagamento online', 'Pedido da loja online']
    const taken = names.map((name, at) => paymentTypeCreated({ id: at + 1, name, kind: 'other' }))
    const decided = await (await given(companyRegistered(), ...taken)).when(createStore, input())
    decided.refuses('validation_failed', {
      fields: { payment_types: ['dê outro nome à forma de pagamento "Loja online"'] },
      unknown_fields: [],
    })
  })

  it('registers sales of paid orders unless told otherwise [STORE-9]', async () => {
    for (const [registers_sales, shown] of [
      [undefined, true],
      [true, true],
      [false, false],
    ] as const) {
      const scenario = await given(companyRegistered())
      await scenario.when(createStore, input({ registers_sales }))
      expect(await scenario.show(`store/${FIRST_NEW_ID}`)).to.include({ registers_sales: shown })
    }
  })

  it('requires no secret, and defaults to production', async () => {
    const decided = await (await given(companyRegistered())).when(createStore, input())
    decided.accepts(
      'created',
      storeCreated({ id: FIRST_NEW_ID, sandbox: false, secrets: [], registers_sales: true }),
      onlineType(),
    )
  })

  it('accepts secrets of any length up to the limit', async () => {
    const secrets = { access_token: 'T', notification_secret: 'curto' }
    const decided = await (await given(companyRegistered())).when(createStore, input(secrets))
    expect(recorded(decided).privateRows).to.have.nested.property('[0].row.secrets.notification_secret', 'curto')
  })

  it('accepts only valid aliases, percentages up to 100, and secrets without blanks', () => {
    for (const alias of ['a', 'A-loja', 'loja_1', '-loja', 'loja-', 'lo--ja', 'loja/1', 'açaí', 'x'.repeat(61), '']) {
      expect(CreateStoreInput.safeParse({ alias, commission_percentage: '5' }).success, alias).to.equal(false)
    }
    for (const alias of ['a1', 'loja-2', '24-horas', 'x'.repeat(60)]) {
      expect(CreateStoreInput.safeParse({ alias, commission_percentage: '100' }).success, alias).to.equal(true)
    }
    for (const wrong of [
      { commission_percentage: '100.01' },
      { commission_percentage: '-1' },
      { access_token: 'with a blank' },
      { notification_secret: '' },
      { notification_secret: 'x'.repeat(501) },
    ]) {
      expect(CreateStoreInput.safeParse({ alias: 'ab', commission_percentage: '5', ...wrong }).success).to.equal(false)
    }
  })
})

describe('update store', () => {
  const shop = [companyRegistered(), storeCreated({ secrets: ['access_token'] })] as const
  const row = {
    store_id: 1,
    company_id: COMPANY_ID,
    alias: 'padaria-ipe',
    secrets: { access_token: 'APP_USR-old', notification_secret: null },
    renew_at: null,
  }
  const update = (changes: object) => UpdateStoreInput.parse({ alias: 'padaria-ipe', ...changes })

  async function open() {
    const scenario = await given(...shop)
    const rows = (await scenario.rows(storeSecretsByAlias('padaria-ipe'))) as Changes
    rows.put(storeSecrets, row)
    return scenario
  }

  it('changes whether paid orders become sales, and makes the payment type that they need [STORE-9]', async () => {
    const scenario = await given(companyRegistered(), storeCreated())
    const on = await scenario.when(updateStore, { alias: 'padaria-ipe', registers_sales: true })
    on.accepts('updated', event('StoreUpdated', { id: 1, changes: { registers_sales: true } }), onlineType())
    const same = await scenario.when(updateStore, { alias: 'padaria-ipe', registers_sales: true })
    same.accepts('unchanged')
    const off = await scenario.when(updateStore, { alias: 'padaria-ipe', registers_sales: false })
    off.accepts('updated', event('StoreUpdated', { id: 1, changes: { registers_sales: false } }))
  })

  it('changes the commission, and replaces secrets without recording them', async () => {
    const scenario = await open()
    const changes = { commission_percentage: '7.5', access_token: 'APP_USR-new', notification_secret: 'um-segredo' }
    const decided = await scenario.when(updateStore, update(changes))
    decided.accepts(
      'updated',
      event('StoreUpdated', { id: 1, changes: { commission_percentage: '7.50' } }),
      event('StoreSecretsReplaced', { id: 1, secrets: ['access_token', 'notification_secret'] }),
    )
    const secrets = { access_token: 'APP_USR-new', notification_secret: 'um-segredo' }
    expect(recorded(decided).privateRows).to.deep.equal([{ table: storeSecrets, row: { ...row, secrets } }])
    expect(await scenario.show('store/1')).to.include({ commission_percentage: '7.50', has_notification_secret: true })
  })

  it('sets lost secrets again, unless another store has the alias now', async () => {
    const lost = await given(...shop)
    const decided = await lost.when(updateStore, update({ access_token: 'APP_USR-new' }))
    decided.accepts('updated', event('StoreSecretsReplaced', { id: 1, secrets: ['access_token'] }))
    const secrets = { ...row.secrets, access_token: 'APP_USR-new' }
    expect(recorded(decided).privateRows).to.deep.equal([{ table: storeSecrets, row: { ...row, secrets } }])
    const taken = await given(...shop)
    const rows = (await taken.rows(storeSecretsByAlias('padaria-ipe'))) as Changes
    rows.put(storeSecrets, { ...row, store_id: 2, company_id: COMPANY_ID + 1 })
    const refused = await taken.when(updateStore, update({ access_token: 'APP_USR-new' }))
    refused.refuses('duplicate_resource', { field: 'alias' })
  })

  it('changes nothing for equal values', async () => {
    const scenario = await open()
    for (const same of [{}, { commission_percentage: '5' }, { access_token: 'APP_USR-old' }]) {
      const decided = await scenario.when(updateStore, update(same))
      decided.accepts('unchanged')
    }
  })

  it('refuses a missing store', async () => {
    const decided = await (await given(companyRegistered())).when(updateStore, update({ commission_percentage: '1' }))
    decided.refuses('not_found')
  })
})

describe('enable and disable store', () => {
  const alias = 'padaria-ipe'

  it('switch once, and change nothing when repeated [RCV-2]', async () => {
    const scenario = await given(companyRegistered(), storeCreated())
    for (const [wanted, name] of [
      [disableStore, 'StoreDisabled'],
      [enableStore, 'StoreEnabled'],
    ] as const) {
      const first = await scenario.when(wanted, { alias })
      first.accepts('updated', event(name, { id: 1 }))
      const second = await scenario.when(wanted, { alias })
      second.accepts('unchanged')
      expect(await scenario.show('store/1')).to.include({ enabled: name === 'StoreEnabled' })
    }
  })

  it('refuse a missing store', async () => {
    const decided = await (await given(companyRegistered())).when(disableStore, { alias })
    decided.refuses('not_found')
  })
})

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
