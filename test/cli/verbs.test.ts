import { expect } from 'chai'
import { registerSale } from '../../commands/sales/register-sale.ts'
import { hashKey } from '../../src/access/api-keys.ts'
import { runAsSystem } from '../../src/access/as-system.ts'
import { verifyPassword } from '../../src/access/passwords.ts'
import { createGate } from '../../src/access/quota.ts'
import { SCOPES } from '../../src/access/scopes.ts'
import { understand } from '../../src/cli/arguments.ts'
import { Refused } from '../../src/cli/verb.ts'
import { readConfig } from '../../src/config.ts'
import { type Core, openCore } from '../../src/core.ts'
import type { Refusal } from '../../src/domain/refusal.ts'
import { useDatabase } from '../support/database.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
type Json = any

const CNPJ = '11222333000181'

describe('commands of the command line', () => {
  const database = useDatabase()
  let core: Core
  let company: string

  before(async () => {
    core = await openCore({ databaseUrl: database.url, queryConnections: 2, log: () => {}, onOutdated: () => {} })
    company = String((await run('company', 'create', '--name', 'Loja Azul', '--cnpj', CNPJ, '--plan', 'api')).id)
  })
  after(() => core.close())

  async function run(...words: string[]): Promise<Json> {
    const { command, values } = understand(words)
    return command.verb.run({ config: readConfig({}), core: async () => core }, values)
  }

  async function refused(...words: string[]): Promise<Refusal> {
    const error = await run(...words).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(Refused)
    return (error as Refused).refusal
  }

  it('register, change and list companies', async () => {
    const created = await run('company', 'create', '--name=Loja Verde', `--cnpj=${CNPJ}`, '--timezone=America/Manaus')
    expect(created).to.include({
      cnpj: '11.222.333/0001-81',
      plan: 'basic',
      timezone: 'America/Manaus',
      logo_url: null,
    })
    const id = String(created.id)
    const logo_url = 'https://verde.example/logo.png'
    expect(await run('company', 'update', id, '--logo-url', logo_url)).to.deep.equal({ ...created, logo_url })
    expect(await run('company', 'update', '--company', id, '--logo-url=')).to.deep.equal(created)
    const listed = (await run('company', 'list')) as Json[]
    expect(listed.map((each) => each.name)).to.deep.equal(['Loja Azul', 'Loja Verde'])
  })

  it('refuse a wrong value by the name of its field, before anything is touched', async () => {
    const refusal = await refused('company', 'create', '--name', 'X', '--cnpj', '123', '--plan', 'gold')
    expect(refusal.refused).to.equal('validation_failed')
    expect(refusal.details?.fields).to.have.all.keys('cnpj', 'plan')
  })

  it('define, change and list payment types', async () => {
    const card = await run(
      'payment-type',
      'create',
      '--company',
      company,
      '--name',
      'Cartão',
      '--kind',
      'card',
      '--fee',
      '2.5',
    )
    expect(card).to.include({ fee_percentage: '2.50', due_days: 30, accepts_api: true })
    const account = ['--company', company, '--name', 'Fiado', '--kind', 'credit_account', '--due-days', '15']
    expect(await run('payment-type', 'create', ...account)).to.include({ due_days: 15, accepts_api: false })
    const byId = await run('payment-type', 'update', String(card.id), '--company', company, '--name', 'Crédito')
    expect(byId).to.include({ id: card.id, name: 'Crédito', fee_percentage: '2.50' })
    const byName = await run('payment-type', 'update', '--company', company, '--name', 'CRÉDITO', '--fee', '3')
    expect(byName).to.include({ id: card.id, name: 'Crédito', fee_percentage: '3.00' })
    const listed = (await run('payment-type', 'list', '--company', company)) as Json[]
    expect(listed.map((type) => type.name)).to.deep.equal(['Crédito', 'Fiado'])
  })

  it('do not guess which payment type is meant', async () => {
    const flags = ['--company', company, '--name', 'Vale', '--kind', 'other']
    await run('payment-type', 'create', ...flags)
    await run('payment-type', 'create', ...flags)
    for (const name of ['Vale', 'Cheque']) {
      const refusal = await refused('payment-type', 'update', '--company', company, '--name', name, '--fee', '1')
      expect(refusal).to.deep.equal({ refused: 'not_found', details: { name } })
    }
    expect((await refused('payment-type', 'update', '--company', company, '--due-days', 'x')).refused).to.equal(
      'validation_failed',
    )
  })

  it('create users, whose password is kept hashed and shown nowhere', async () => {
    const flags = ['--company', company, '--name', 'Ana', '--email', 'Ana@azul.example', '--role', 'owner']
    const user = await run('user', 'create', ...flags, '--password', 'segredo-1')
    expect(user).to.have.all.keys('id', 'name', 'email', 'role', 'status', 'company_id', 'created_at', 'updated_at')
    const { rows } = await core.pool.query('select password_hash from ops.user_credentials where user_id = $1', [
      user.id,
    ])
    expect(await verifyPassword(rows[0].password_hash, 'segredo-1')).to.equal(true)
    const again = await refused('user', 'create', ...flags, '--password', 'segredo-2')
    expect(again).to.deep.equal({ refused: 'duplicate_resource', details: { field: 'email', conflicting_id: user.id } })
    const short = await refused('user', 'create', ...flags, '--password', 'curta')
    expect(short.details?.fields).to.have.all.keys('password')
  })

  it('change, list, shut out and let in users, named by their address', async () => {
    const email = 'bia@azul.example'
    const named = ['--company', company, '--email', ' Bia@azul.example']
    const created = await run('user', 'create', ...named, '--name', 'Bia', '--role', 'clerk', '--password', 'segredo-3')
    const status = async () => {
      const listed = (await run('user', 'list', '--company', company)) as Json[]
      return listed.find((user) => user.email === email).status
    }
    expect(await run('user', 'update', ...named, '--name', 'Beatriz')).to.include({ name: 'Beatriz', role: 'clerk' })
    expect(await run('user', 'deactivate', ...named)).to.include({ id: created.id, status: 'inactive' })
    expect(await status()).to.equal('inactive')
    expect(await run('user', 'reactivate', ...named)).to.include({ status: 'active' })
    expect(await status()).to.equal('active')
    const changed = await run('user', 'set-password', ...named, '--password', 'segredo-4')
    expect(JSON.stringify(changed)).not.to.include('segredo').and.not.include('argon2')
    const { rows } = await core.pool.query('select password_hash from ops.user_credentials where email = $1', [email])
    expect(await verifyPassword(rows[0].password_hash, 'segredo-4')).to.equal(true)
  })

  it('refuse what would leave a company without an owner, an unknown address, and a short password', async () => {
    const ana = ['--company', company, '--email', 'ana@azul.example']
    for (const words of [
      ['deactivate', ...ana],
      ['update', ...ana, '--role', 'clerk'],
    ]) {
      expect(await refused('user', ...words)).to.deep.equal({ refused: 'last_owner' })
    }
    const unknown = ['--company', company, '--email', 'x@azul.example']
    const details = { email: 'x@azul.example' }
    expect(await refused('user', 'deactivate', ...unknown)).to.deep.equal({ refused: 'not_found', details })
    const short = await refused('user', 'set-password', ...ana, '--password', 'curta')
    expect(short.details?.fields).to.have.all.keys('password')
    expect((await refused('user', 'update', ...ana, '--role', 'chef')).details?.fields).to.have.all.keys('role')
  })

  it('make a key that opens the API with its scopes, list it without its secret, and revoke it', async () => {
    const created = await run(
      'key',
      'create',
      '--company',
      company,
      '--name',
      'ERP',
      '--scopes',
      'sales:write,sales:read',
    )
    expect(Object.keys(created).slice(0, 2)).to.deep.equal(['id', 'key'])
    const gate = createGate(core.pool, { perMinute: 100, perDay: 100 })
    expect(await gate.admit(hashKey(created.key))).to.deep.include({
      kind: 'admitted',
      companyId: Number(company),
      keyId: created.id,
      scopes: ['sales:read', 'sales:write'],
    })
    const [listed] = (await run('key', 'list', '--company', company)) as Json[]
    expect(listed).to.include({ id: created.id, prefix: created.key.slice(0, 12), revoked_at: null })
    expect(listed.last_used_at).to.be.a('string')
    expect(JSON.stringify(listed)).not.to.include(created.key)
    const revoked = await run('key', 'revoke', String(created.id))
    expect(revoked.revoked_at).to.be.a('string')
    expect(await run('key', 'revoke', String(created.id))).to.deep.equal(revoked)
    expect(await gate.admit(hashKey(created.key))).to.deep.equal({ kind: 'invalid' })
  })

  it('refuse a sixth active key, an unknown scope and an end in the past', async () => {
    const key = (scopes: string, ...rest: string[]) => [
      'key',
      'create',
      '--company',
      company,
      '--name',
      'k',
      '--scopes',
      scopes,
      ...rest,
    ]
    expect((await refused(...key('sales'))).details?.fields).to.have.all.keys('scopes')
    expect((await refused(...key('all', '--expires-at', '2020-01-01T00:00:00Z'))).details?.fields).to.have.all.keys(
      'expires_at',
    )
    const full = await run(...key('all', '--expires-at', '2999-01-01T00:00:00-03:00'))
    expect(full).to.deep.include({ scopes: [...SCOPES], expires_at: '2999-01-01T03:00:00.000Z' })
    for (let n = 1; n < 5; n++) await run(...key('read'))
    expect(await refused(...key('read'))).to.deep.equal({ refused: 'key_limit_reached' })
  })

  it('note the fiscal document of a sale', async () => {
    const cash = await run('payment-type', 'create', '--company', company, '--name', 'Dinheiro', '--kind', 'cash')
    const input = {
      items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
      payments: [{ payment_type_id: cash.id, amount: '10.00' }],
    }
    const sale = (await runAsSystem(core.writer, Number(company), registerSale, input)) as Json
    const noted = await run(
      'sale',
      'fiscal-document',
      '--company',
      company,
      '--sale',
      String(sale.id),
      '--number',
      'NFC-e 7',
    )
    expect(noted.fiscal_document).to.include({ status: 'authorized', number: 'NFC-e 7' })
  })

  it('run a sandbox of the payment provider on a port that is one, or not at all', async () => {
    for (const port of ['abc', '65536', '-1'])
      expect((await refused('provider-sandbox', `--port=${port}`)).details?.fields).to.have.all.keys('port')
  })

  it('open, change, switch and list stores, and never show their secrets', async () => {
    const secrets = ['--access-token', 'APP_USR-1234', '--notification-secret', 'segredo-da-loja']
    const flags = ['--company', company, '--commission', '5']
    const store = await run('store', 'create', ...flags, '--alias', 'loja-azul', '--sandbox', ...secrets)
    expect(store).to.deep.include({
      alias: 'loja-azul',
      enabled: true,
      commission_percentage: '5.00',
      sandbox: true,
      has_access_token: true,
      has_notification_secret: true,
    })
    const plain = await run('store', 'create', ...flags, '--alias', 'loja-azul-2')
    expect(plain).to.include({ sandbox: false, has_access_token: false, has_notification_secret: false })
    const updated = await run('store', 'update', 'loja-azul', '--commission=7.5', '--access-token', 'APP_USR-5678')
    expect(updated).to.include({ commission_percentage: '7.50' })
    const { rows } = await core.pool.query('select * from ops.store_secrets where store_id = $1', [store.id])
    expect(rows).to.deep.equal([
      {
        store_id: store.id,
        company_id: Number(company),
        alias: 'loja-azul',
        access_token: 'APP_USR-5678',
        notification_secret: 'segredo-da-loja',
      },
    ])
    expect(await run('store', 'disable', 'loja-azul')).to.include({ enabled: false })
    expect(await run('store', 'disable', 'loja-azul')).to.include({ enabled: false })
    const enabled = await run('store', 'enable', '--alias', 'loja-azul')
    expect(enabled).to.include({ enabled: true })
    const listed = await run('store', 'list', '--company', company)
    expect(listed).to.deep.equal([enabled, plain])
    expect(JSON.stringify([store, updated, listed])).not.to.match(/APP_USR|segredo/)
  })

  it('refuse an alias that is taken or none, and a store that is not there', async () => {
    const create = (alias: string) => ['store', 'create', '--company', company, '--alias', alias, '--commission', '5']
    const { id } = await run(...create('loja-rosa'))
    expect(await refused(...create('loja-rosa'))).to.deep.equal({
      refused: 'duplicate_resource',
      details: { field: 'alias', conflicting_id: id },
    })
    expect((await refused(...create('Loja Rosa'))).details?.fields).to.have.all.keys('alias')
    const wrong = await refused('store', 'update', 'loja-rosa', '--commission', '101', '--access-token', 'a b')
    expect(wrong.details?.fields).to.have.all.keys('commission_percentage', 'access_token')
    for (const verb of ['enable', 'disable', 'update']) {
      expect(await refused('store', verb, 'nenhuma')).to.deep.equal({
        refused: 'not_found',
        details: { alias: 'nenhuma' },
      })
    }
  })

  it('rebuild the read model to the same rows', async () => {
    const before = await run('company', 'list')
    const { events } = await run('projections', 'rebuild')
    expect(events).to.be.greaterThan(10)
    expect(await run('company', 'list')).to.deep.equal(before)
  })

  it('do not know a company, key or sale that is not there', async () => {
    expect(await refused('payment-type', 'list', '--company', '999')).to.include({ refused: 'not_found' })
    expect(await refused('payment-type', 'list', '--company', '1x')).to.include({ refused: 'not_found' })
    expect(await refused('company', 'update', '999', '--name', 'X')).to.include({ refused: 'not_found' })
    expect(await refused('key', 'revoke', '999')).to.include({ refused: 'not_found' })
    const sale = await refused('sale', 'fiscal-document', '--company', company, '--sale', '999', '--number', '1')
    expect(sale).to.include({ refused: 'not_found' })
  })
})
