import { expect } from 'chai'
import { createApiAuthenticator, hashKey } from '#access/api-authenticator.ts'
import { registerSale } from '#commands/register-sale.ts'
import { SCOPES } from '#domain/rights.ts'
import { runAsSystem } from '#ledger/write/run.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
type Json = any

import { fiscalDocument } from '../../support/facts.ts'
import { openedRows } from '../../support/master-key.ts'
import { CNPJ, useWords } from './words.ts'

describe('commands for keys and stores', () => {
  const words = useWords()
  const { run, refused } = words

  it('create a key with scopes for the API, list it without its secret, and revoke it [KEY-3]', async () => {
    const created = await run(
      'key',
      'create',
      '--company',
      words.company,
      '--name',
      'ERP',
      '--scopes',
      'sales:write,sales:read',
    )
    expect(Object.keys(created).slice(0, 2)).to.deep.equal(['id', 'key'])
    const gate = createApiAuthenticator(words.core.pool, { perMinute: 100, perDay: 100, bytesPerDay: 1_000_000 })
    expect(await gate.admit(hashKey(created.key))).to.deep.include({
      kind: 'admitted',
      companyId: Number(words.company),
      keyId: created.id,
      scopes: ['sales:read', 'sales:write'],
    })
    const [listed] = (await run('key', 'list', '--company', words.company)) as Json[]
    expect(listed).to.include({ id: created.id, prefix: created.key.slice(0, 12), revoked_at: null })
    expect(listed.last_used_at).to.be.a('string')
    expect(JSON.stringify(listed)).not.to.include(created.key)
    const revoked = await run('key', 'revoke', String(created.id), '--company', words.company)
    expect(revoked.revoked_at).to.be.a('string')
    expect(await run('key', 'revoke', String(created.id), '--company', words.company)).to.deep.equal(revoked)
    expect(await gate.admit(hashKey(created.key))).to.deep.equal({ kind: 'invalid' })
  })

  it('create a test company with keys of their own prefix, even with the CNPJ of a real company [KIT-30]', async () => {
    const made = await run('company', 'create', '--name=Testes', `--cnpj=${CNPJ}`, '--plan=api', '--test')
    expect(made).to.include({ test: true, erased_at: null })
    const keyOf = (company: string) => run('key', 'create', '--company', company, '--name=a', '--scopes=read')
    expect((await keyOf(String(made.id))).key).to.match(/^tb_test_/)
    const real = await keyOf(words.company)
    expect(real.key).to.match(/^tb_live_/)
    await run('key', 'revoke', String(real.id), '--company', words.company)
    const listed = (await run('company', 'list')) as Json[]
    expect(listed.map(({ test }) => test)).to.deep.equal([false, true])
  })

  it('refuse a sixth active key, an unknown scope and an expiry in the past [KEY-4]', async () => {
    const key = (scopes: string, ...rest: string[]) => [
      'key',
      'create',
      '--company',
      words.company,
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

  it('record the fiscal document of a sale [SALE-20]', async () => {
    const cash = await run('payment-type', 'create', '--company', words.company, '--name', 'Dinheiro', '--kind', 'cash')
    const input = {
      items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
      payments: [{ payment_type_id: cash.id, amount: '10.00' }],
    }
    const sale = (await runAsSystem(words.core.writer, Number(words.company), registerSale, input)) as Json
    const noted = await run(
      'sale',
      'fiscal-document',
      '--company',
      words.company,
      '--sale',
      String(sale.id),
      '--number',
      'NFC-e 7',
    )
    expect(noted.fiscal_document).to.include({ status: 'authorized', number: 'NFC-e 7' })
    const { authorized_at: _, xml_sha256: __, xml_url: ___, ...document } = fiscalDocument
    const flags = Object.entries(document).flatMap(([name, value]) => [`--${name.replace('_', '-')}`, String(value)])
    const whole = await run('sale', 'fiscal-document', '--company', words.company, '--sale', String(sale.id), ...flags)
    expect(whole.fiscal_document).to.include(document)
    const wrong = ['--number', '1', '--access-key', '123', '--status', 'denied']
    const problems = await refused('sale', 'fiscal-document', '--company', words.company, '--sale', '1', ...wrong)
    expect(problems.details?.fields).to.have.all.keys('access_key', 'status')
  })

  it('run a sandbox of the payment provider on a valid port only', async () => {
    for (const port of ['abc', '65536', '-1'])
      expect((await refused('provider-sandbox', `--port=${port}`)).details?.fields).to.have.all.keys('port')
  })

  it('run a witness of the named logs, and a time-stamp authority, for tests of seals [PROOF-69]', async () => {
    const fieldsOf = async (...words: string[]) => Object.keys((await refused(...words)).details?.fields ?? {})
    expect(await fieldsOf('witness', '--port=abc')).to.deep.equal(['port'])
    expect(await fieldsOf('time-stamp-authority', '--port=abc')).to.deep.equal(['port'])
    expect(await fieldsOf('witness', '--log', 'nope')).to.deep.equal(['log'])
    expect(await fieldsOf('witness', '--url', 'http://127.0.0.1:1'), 'no service to ask').to.deep.equal(['log'])
    const log = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
    expect(await fieldsOf('witness', '--log', log, '--name', 'a b')).to.deep.equal(['name'])
  })

  it('create, change, enable, disable and list stores, and never show their secrets [STORE-2]', async () => {
    const secrets = ['--access-token', 'APP_USR-1234', '--notification-secret', 'segredo-da-loja']
    const flags = ['--company', words.company, '--commission', '5']
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
    const stored = await openedRows(words.core.pool, 'store_secrets')
    expect(stored.find(({ store_id }) => store_id === store.id)).to.deep.equal({
      store_id: store.id,
      company_id: Number(words.company),
      alias: 'loja-azul',
      secrets: { access_token: 'APP_USR-5678', notification_secret: 'segredo-da-loja' },
      renew_at: null,
    })
    expect(await run('store', 'disable', 'loja-azul')).to.include({ enabled: false })
    expect(await run('store', 'disable', 'loja-azul')).to.include({ enabled: false })
    const enabled = await run('store', 'enable', '--alias', 'loja-azul')
    expect(enabled).to.include({ enabled: true })
    const listed = await run('store', 'list', '--company', words.company)
    expect(listed).to.deep.equal([enabled, plain])
    expect(JSON.stringify([store, updated, listed])).not.to.match(/APP_USR|segredo/)
  })

  it('decide whether the paid orders of a store become sales: yes, unless told otherwise [STORE-9]', async () => {
    const flags = ['--company', words.company, '--commission', '5']
    expect(await run('store', 'create', ...flags, '--alias', 'loja-sim')).to.include({ registers_sales: true })
    const own = ['--alias', 'loja-nao', '--registers-sales', 'no']
    expect(await run('store', 'create', ...flags, ...own)).to.include({ registers_sales: false })
    const update = (value: string) => ['store', 'update', 'loja-nao', '--registers-sales', value]
    expect(await run(...update('yes'))).to.include({ registers_sales: true })
    expect(await run(...update('no'))).to.include({ registers_sales: false })
    const wrong = await refused(...update('maybe'))
    expect(wrong.details?.fields).to.deep.equal({ registers_sales: ['deve ser sim (yes) ou não (no)'] })
  })

  it('refuse a used or invalid alias, and a missing store', async () => {
    const create = (alias: string) => [
      'store',
      'create',
      '--company',
      words.company,
      '--alias',
      alias,
      '--commission',
      '5',
    ]
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
})
