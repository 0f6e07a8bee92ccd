import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createApiAuthenticator, hashKey } from '#access/api-authenticator.ts'
import { verifyPassword } from '#access/passwords.ts'
import { createSecondFactors } from '#access/second-factors.ts'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { createReceivable } from '#commands/receivables-payables.ts'
import { registerSale } from '#commands/register-sale.ts'
import type { Refusal } from '#domain/refusals.ts'
import { SCOPES } from '#domain/rights.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Core } from '#service/core.ts'
import type { Json } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { useDatabase } from '../support/database.ts'
import { fiscalDocument } from '../support/facts.ts'
import { openedRows } from '../support/master-key.ts'
import { openTestCore } from '../support/test-core.ts'
import { filesIn } from '../support/zip.ts'

const CNPJ = '11222333000181'

interface Words {
  readonly core: Core
  /** Id of the company "Loja Azul", as text. */
  readonly company: string
  /** Result of a command. */
  run(...words: string[]): Promise<Json>
  /** Refusal of a command; fails if the command succeeds. */
  refused(...words: string[]): Promise<Refusal>
}

/** Runs commands in this process with the argument parser of the command line. */
function useWords(): Words {
  const database = useDatabase()
  let core: Core
  let company: string

  before(async () => {
    core = await openTestCore(database.url)
    company = String(
      (
        await run(
          'company',
          'create',
          '--name',
          'Loja Azul',
          '--cnpj',
          CNPJ,
          '--plan',
          'api',
          '--without-payment-types',
        )
      ).id,
    )
  })
  after(() => core.close())

  async function run(...words: string[]): Promise<Json> {
    const { name, values } = parseCommandLine(words)
    const verb = await load(name)
    return verb.run(contextOf(core), values as Parameters<typeof verb.run>[1])
  }

  return {
    get core() {
      return core
    },
    get company() {
      return company
    },
    run,
    async refused(...words) {
      const error = await run(...words).catch((reason: unknown) => reason)
      expect(error).to.be.instanceOf(Refused)
      return (error as Refused).refusal
    },
  }
}

const OTHER = '12.345.678/0001-95'

describe('commands for companies and users', () => {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  type Json = any

  const words = useWords()
  const { run, refused } = words

  it('register, change and list companies', async () => {
    const created = await run('company', 'create', '--name=Loja Verde', `--cnpj=${OTHER}`, '--timezone=America/Manaus')
    expect(created).to.include({
      cnpj: '12.345.678/0001-95',
      plan: 'basic',
      timezone: 'America/Manaus',
      logo_url: null,
    })
    const id = String(created.id)
    const logo_url = 'https://verde.example/logo.png'
    expect(await run('company', 'update', id, '--logo-url', logo_url)).to.deep.equal({ ...created, logo_url })
    expect(await run('company', 'update', '--company', id, '--logo-url=')).to.deep.equal(created)
    const taxes = { state_registration: '110042490114', tax_regime: 'mei' }
    const taxed = await run('company', 'update', id, '--state-registration=110.042.490.114', '--tax-regime=mei')
    expect(taxed).to.deep.equal({ ...created, ...taxes })
    expect(await run('company', 'update', id, '--state-registration=', '--tax-regime=')).to.deep.equal(created)
    const listed = (await run('company', 'list')) as Json[]
    expect(listed.map((each) => each.name)).to.include.members(['Loja Azul', 'Loja Verde'])
  })

  it('accept a CNPJ for several companies only if that is allowed [OPS-29]', async () => {
    const taken = { refused: 'duplicate_resource', details: { field: 'cnpj', conflicting_id: Number(words.company) } }
    const create = ['company', 'create', '--name=Filial', `--cnpj=${CNPJ}`] as const
    expect(await refused(...create)).to.deep.equal(taken)
    const branch = await run(...create, '--allow-same-cnpj')
    const id = String(branch.id)
    expect(await run('company', 'update', id, '--name=Filial 2', `--cnpj=${CNPJ}`)).to.include({ name: 'Filial 2' })
    await run('company', 'update', id, '--cnpj=56.789.123/0001-08')
    expect(await refused('company', 'update', id, `--cnpj=${CNPJ}`)).to.deep.equal(taken)
    expect(await run('company', 'update', id, `--cnpj=${CNPJ}`, '--allow-same-cnpj')).to.include({ cnpj: branch.cnpj })
    await run('company', 'update', id, '--cnpj=56.789.123/0001-08')
  })

  it('refuse an invalid value naming its field, before any change', async () => {
    const refusal = await refused(
      'company',
      'create',
      '--name',
      'X',
      '--cnpj',
      '123',
      '--plan',
      'gold',
      '--tax-regime',
      'x',
    )
    expect(refusal.refused).to.equal('validation_failed')
    expect(refusal.details?.fields).to.have.all.keys('cnpj', 'plan', 'tax_regime')
  })

  it('define, change and list payment types', async () => {
    const card = await run(
      'payment-type',
      'create',
      '--company',
      words.company,
      '--name',
      'Cartão',
      '--kind',
      'card',
      '--fee',
      '2.5',
    )
    expect(card).to.include({ fee_percentage: '2.50', due_days: 30, accepts_api: true })
    const account = ['--company', words.company, '--name', 'Fiado', '--kind', 'credit_account', '--due-days', '15']
    expect(await run('payment-type', 'create', ...account)).to.include({ due_days: 15, accepts_api: false })
    const byId = await run('payment-type', 'update', String(card.id), '--company', words.company, '--name', 'Crédito')
    expect(byId).to.include({ id: card.id, name: 'Crédito', fee_percentage: '2.50' })
    const byName = await run('payment-type', 'update', '--company', words.company, '--name', 'CRÉDITO', '--fee', '3')
    expect(byName).to.include({ id: card.id, name: 'Crédito', fee_percentage: '3.00' })
    const listed = (await run('payment-type', 'list', '--company', words.company)) as Json[]
    expect(listed.map((type) => type.name)).to.deep.equal(['Crédito', 'Fiado'])
  })

  it('give a new company the usual payment types, which a creation sets up once, or none', async () => {
    const create = (cnpj: string, ...more: string[]) =>
      run('company', 'create', '--name=Loja', `--cnpj=${cnpj}`, '--allow-same-cnpj', ...more)
    const typesOf = async (id: unknown) => (await run('payment-type', 'list', '--company', String(id))) as Json[]
    const { id } = await create(CNPJ)
    const types = await typesOf(id)
    expect(types.map(({ name, kind }) => `${kind}: ${name}`)).to.deep.equal([
      'cash: Dinheiro',
      'pix: Pix',
      'card: Cartão de débito',
      'card: Cartão de crédito',
    ])
    const flags = ['--company', String(id), '--name', 'cartão de crédito', '--kind', 'card', '--acquirer-rate', '3.55']
    const setUp = await run('payment-type', 'create', ...flags, '--settles-in', '30')
    expect(setUp).to.include({ id: types[3]?.id, acquirer_rate: '3.55', settles_in_days: 30 })
    expect((await refused('payment-type', 'create', ...flags)).refused).to.equal('duplicate_resource')
    const otherKind = ['--company', String(id), '--name', 'Pix', '--kind', 'transfer']
    expect((await refused('payment-type', 'create', ...otherKind)).refused).to.equal('duplicate_resource')
    const cleared = await run('payment-type', 'update', String(setUp.id), '--company', String(id), '--acquirer-rate=')
    expect(cleared).to.include({ acquirer_rate: null, settles_in_days: 30 })
    const update = (...terms: string[]) =>
      run('payment-type', 'update', String(setUp.id), '--company', String(id), ...terms)
    const rates = await update('--acquirer-rate-2-6', '3.9', '--acquirer-rate-7-12', '4.5', '--fee-refunded', 'yes')
    expect(rates).to.include({ acquirer_rate_2_6: '3.90', acquirer_rate_7_12: '4.50', acquirer_fee_refunded: true })
    const without = await update('--acquirer-rate-2-6=', '--fee-refunded', 'no')
    expect(without).to.include({ acquirer_rate_2_6: null, acquirer_rate_7_12: '4.50', acquirer_fee_refunded: false })
    const wrong = [String(setUp.id), '--company', String(id), '--fee-refunded', 'constructor']
    expect((await refused('payment-type', 'update', ...wrong)).refused).to.equal('validation_failed')
    expect(await typesOf((await create(CNPJ, '--without-payment-types')).id)).to.deep.equal([])
  })

  it('refuse an ambiguous payment type', async () => {
    const flags = ['--company', words.company, '--name', 'Vale', '--kind', 'other']
    const { id } = await run('payment-type', 'create', ...flags)
    expect(await refused('payment-type', 'create', ...flags)).to.deep.equal({
      refused: 'duplicate_resource',
      details: { field: 'name', conflicting_id: id },
    })
    const unknown = await refused(
      'payment-type',
      'update',
      '--company',
      words.company,
      '--name',
      'Cheque',
      '--fee',
      '1',
    )
    expect(unknown).to.deep.equal({ refused: 'not_found', details: { name: 'Cheque' } })
    expect((await refused('payment-type', 'update', '--company', words.company, '--due-days', 'x')).refused).to.equal(
      'validation_failed',
    )
  })

  it('create users, with the password stored as a hash and never shown', async () => {
    const flags = ['--company', words.company, '--name', 'Ana', '--email', 'Ana@azul.example', '--role', 'owner']
    const user = await run('user', 'create', ...flags, '--password', 'segredo-1')
    expect(user).to.have.all.keys(
      'id',
      'name',
      'email',
      'role',
      'access_until',
      'personal_data',
      'status',
      'company_id',
      'forgotten_at',
      'created_at',
      'updated_at',
    )
    const { rows } = await words.core.pool.query('select password_hash from ops.persons where email = $1', [user.email])
    expect(await verifyPassword(rows[0].password_hash, 'segredo-1')).to.equal(true)
    const again = await refused('user', 'create', ...flags, '--password', 'segredo-2')
    expect(again).to.deep.equal({ refused: 'duplicate_resource', details: { field: 'email', conflicting_id: user.id } })
    const short = await refused('user', 'create', ...flags, '--password', 'curta')
    expect(short.details?.fields).to.have.all.keys('password')
  })

  it('give an auditor access until a day, and change that day [PANEL-82]', async () => {
    const named = ['--company', words.company, '--email', 'ivo@auditoria.example']
    const create = ['user', 'create', ...named, '--name', 'Ivo', '--role', 'auditor', '--password', 'segredo-5']
    expect((await refused(...create)).details?.fields).to.have.all.keys('access_until')
    const odd = await refused(...create, '--access-until', '2099-12-31', '--personal-data', 'talvez')
    expect(odd.details?.fields).to.have.all.keys('personal_data')
    const created = await run(...create, '--access-until', '2099-12-31', '--personal-data', 'yes')
    expect(created).to.include({ role: 'auditor', access_until: '2099-12-31', personal_data: true })
    const changed = await run('user', 'update', ...named, '--personal-data', 'no')
    expect(changed).to.include({ access_until: '2099-12-31', personal_data: false })
  })

  it('write the audit pack of a company to a file, atomically [AUDIT-20]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tillbook-pack-'))
    const file = join(folder, 'pacote.zip')
    const made = await run('audit', 'pack', '--company', words.company, '--to', file)
    const files = await filesIn(await readFile(file))
    expect((files.get('livro.jsonl') ?? '').split('\n')).to.have.length((made.events as number) + 1)
    expect([...files.keys()])
      .to.include.members(['LEIA-ME.txt', 'indice.csv'])
      .and.not.include('dados-abertos.jsonl')
    expect(await readdir(folder)).to.deep.equal(['pacote.zip'])
    await rm(folder, { recursive: true })
  })

  it('change, list, deactivate and reactivate users by their address', async () => {
    const email = 'bia@azul.example'
    const named = ['--company', words.company, '--email', ' Bia@azul.example']
    const created = await run('user', 'create', ...named, '--name', 'Bia', '--role', 'clerk', '--password', 'segredo-3')
    const status = async () => {
      const listed = (await run('user', 'list', '--company', words.company)) as Json[]
      return listed.find((user) => user.email === email).status
    }
    expect(await run('user', 'update', ...named, '--name', 'Beatriz')).to.include({ name: 'Beatriz', role: 'clerk' })
    expect(await run('user', 'deactivate', ...named)).to.include({ id: created.id, status: 'inactive' })
    expect(await status()).to.equal('inactive')
    expect(await run('user', 'reactivate', ...named)).to.include({ status: 'active' })
    expect(await status()).to.equal('active')
    const changed = await run('user', 'set-password', ...named, '--password', 'segredo-4')
    expect(JSON.stringify(changed)).not.to.include('segredo').and.not.include('argon2')
    const { rows } = await words.core.pool.query('select password_hash from ops.persons where email = $1', [email])
    expect(await verifyPassword(rows[0].password_hash, 'segredo-4')).to.equal(true)
    const { pool, vault } = words.core
    const factors = createSecondFactors({ pool, vault, mailer: null, publicUrl: 'http://localhost', log: () => {} })
    const app = { method: 'totp', label: 'Aplicativo', secret: 'A'.repeat(32), credentialId: null, counter: 1 } as const
    await factors.add(email, app)
    expect(await run('user', 'remove-second-factor', ...named)).to.include({ id: created.id })
    expect([await factors.list(email), await factors.recoveryCodes.count(email)]).to.deep.equal([[], 0])
  })

  it('a second invitation has a new link, shown once without mail [PANEL-50]', async () => {
    const named = ['--company', words.company, '--email', 'Caio@azul.example', '--name', 'Caio', '--role', 'clerk']
    const first = await run('user', 'invite', ...named)
    expect(first).to.include({ email: 'caio@azul.example', status: 'invited' })
    expect(first.link).to.match(/\/painel\/convite\?codigo=tb_invite_[\w-]{43}$/)
    const second = await run('user', 'invite', ...named)
    expect(second).to.include({ id: first.id, status: 'invited' })
    expect(second.link).not.to.equal(first.link)
    expect(await run('user', 'deactivate', ...named.slice(0, 4))).to.include({ status: 'cancelled' })
    expect(await run('user', 'invite', ...named)).to.include({ id: first.id, status: 'invited' })
    const ana = ['--company', words.company, '--email', 'ana@azul.example', '--name', 'Ana', '--role', 'clerk']
    expect((await refused('user', 'invite', ...ana)).refused).to.equal('duplicate_resource')
  })

  it('refuse to remove the last owner, an unknown address, and a short password', async () => {
    const ana = ['--company', words.company, '--email', 'ana@azul.example']
    for (const words of [
      ['deactivate', ...ana],
      ['update', ...ana, '--role', 'clerk'],
    ]) {
      expect(await refused('user', ...words)).to.deep.equal({ refused: 'last_owner' })
    }
    const unknown = ['--company', words.company, '--email', 'x@azul.example']
    const details = { email: 'x@azul.example' }
    expect(await refused('user', 'deactivate', ...unknown)).to.deep.equal({ refused: 'not_found', details })
    const short = await refused('user', 'set-password', ...ana, '--password', 'curta')
    expect(short.details?.fields).to.have.all.keys('password')
    expect((await refused('user', 'update', ...ana, '--role', 'chef')).details?.fields).to.have.all.keys('role')
  })

  it('rebuild the read model with equal rows', async () => {
    const before = await run('company', 'list')
    const { events, parity } = await run('projections', 'rebuild')
    expect(events).to.be.greaterThan(10)
    expect(parity).to.match(/^\d+ tables equal$/)
    expect(await run('company', 'list')).to.deep.equal(before)
  })

  it('report a missing company, key or sale', async () => {
    expect(await refused('payment-type', 'list', '--company', '999')).to.include({ refused: 'not_found' })
    expect(await refused('payment-type', 'list', '--company', '1x')).to.include({ refused: 'not_found' })
    expect(await refused('company', 'update', '999', '--name', 'X')).to.include({ refused: 'not_found' })
    expect(await refused('key', 'revoke', '999', '--company', words.company)).to.include({ refused: 'not_found' })
    const sale = await refused('sale', 'fiscal-document', '--company', words.company, '--sale', '999', '--number', '1')
    expect(sale).to.include({ refused: 'not_found' })
  })

  it('erase a person, or report until when the erasure has to wait [PRIV-1, PRIV-4]', async () => {
    const { core, company } = words
    const { id } = (await runAsSystem(core.writer, Number(company), createCustomer, { name: 'Eva' })) as Json
    const account = { description: 'Conta', amount: '1.00', due_date: '2026-12-01', customer_id: id }
    await runAsSystem(core.writer, Number(company), createReceivable, account)
    const forget = ['person', 'forget', '--company', company, '--ground=holder_request', '--reason=P-1']
    const subject = `--subject=customer/${id}`
    expect(await refused(...forget, subject, '--retention=5y')).to.deep.include({ refused: 'retention_required' })
    const queued = await run(...forget, subject, '--queue')
    expect(queued)
      .to.include({ name: 'Eva', forgotten_at: null })
      .and.to.have.property('forgetting_due_on')
      .that.is.a('string')
    for (const other of ['customer/999', 'sale/1', 'customer/x', 'customer'])
      expect((await refused(...forget, `--subject=${other}`)).refused, other).to.equal('not_found')
    const wrong = await refused(...forget, subject, '--retention=long')
    expect(wrong.details).to.have.nested.property('fields.retention')
    await run(
      'user',
      'create',
      '--company',
      company,
      '--name=Rui',
      '--email=rui@azul.example',
      '--role=owner',
      '--password=uma senha longa',
    )
    await run(
      'user',
      'create',
      '--company',
      company,
      '--name=Lia',
      '--email=lia@azul.example',
      '--role=clerk',
      '--password=uma senha longa',
    )
    const users = (await run('user', 'list', '--company', company)) as Json[]
    const lia = users.find(({ email }) => email === 'lia@azul.example')
    expect(await run(...forget, `--subject=user/${lia.id}`)).to.include({ name: null, email: null, status: 'inactive' })
  })
})

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

  it('create a test company with keys of their own prefix, even with the CNPJ of a real company [KIT-32]', async () => {
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

  it('refuse a twenty-first active key, an unknown scope and an expiry in the past [KEY-4]', async () => {
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
    for (let n = 1; n < 20; n++) await run(...key('read'))
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
