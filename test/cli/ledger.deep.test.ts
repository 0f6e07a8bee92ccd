import { generateKeyPairSync } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import { readConfig } from '#config/config.ts'
import type { Refusal } from '#domain/refusals.ts'
import { loadInstallationId } from '#integrity/installation.ts'
import { companyOrigin, formatCheckpoint, makeSigningKey, signNote } from '#integrity/note.ts'
import { streamName } from '#ledger/command.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { appendOf, collect } from '../ledger/event-store-contract.ts'
import { ordinary, sealedAfter } from '../ledger/sealed-events.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { sealsOf } from '../support/seals.ts'
import { tamperBy } from '../support/tamper.ts'
import { tillbook } from './tillbook.ts'

describe('ledger commands', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let other: TestCompany
  let directory: string
  let customer: number

  before(async () => {
    directory = join(sealsOf(database.url).directory, '..')
    await mkdir(directory, { recursive: true })
    api = await startApi(database.url)
    company = await api.company()
    other = await api.company()
    customer = (await company.post('/customers', { name: 'Ana' })).body.data.id
    await company.call('PATCH', `/customers/${customer}`, { notes: 'Ana\u2028Maria' })
    await company.call('DELETE', `/customers/${customer}`)
  })
  after(async () => {
    await api.close()
    await rm(directory, { recursive: true })
  })

  async function run(...words: string[]): Promise<Json> {
    const { name, values } = parseCommandLine(words)
    const verb = await load(name)
    const config = readConfig({ DATA_DIR: directory })
    return verb.run(contextOf(api.core, config), values as Parameters<typeof verb.run>[1])
  }

  async function refused(...words: string[]): Promise<Refusal> {
    const error = await run(...words).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(Refused)
    return (error as Refused).refusal
  }

  const fieldsOf = ({ details }: Refusal) => Object.keys((details as Json).fields)
  const id = () => String(company.id)

  async function fileOf(name: string, content: unknown): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  it('verify one ledger or all, and exit with 1 only if something is wrong [AUDIT-3]', async () => {
    const one = await run('ledger', 'verify', '--company', id())
    expect(one).to.include({
      company_id: company.id,
      valid: true,
      first_error: null,
      checkpoints: 0,
      trusted_key: null,
    })
    const all = await run('ledger', 'verify')
    expect(all.map((each: Json) => each.company_id)).to.include.members([company.id, other.id])
    expect(all).to.deep.include(one)
    const { isBad } = await load('ledger verify')
    expect([isBad?.(one), isBad?.(all)]).to.deep.equal([false, false])
    expect(isBad?.([one, { ...one, valid: false }])).to.equal(true)
    expect(await refused('ledger', 'verify', '--company', '999999')).to.include({ refused: 'not_found' })
  })

  const keyFile = async () => {
    const keys = await run('ledger', 'public-key')
    return fileOf('public.pem', keys.map(({ pem }: Json) => pem).join(''))
  }

  /** Text output of a verb. */
  async function printed(...words: string[]): Promise<string> {
    const { show } = await load(parseCommandLine(words).name)
    return `${show?.(await run(...words))}\n`
  }

  /** Checkpoint of a ledger that the service never had, signed with the service's own key. */
  const forgedOf = async (size: number, companyId = company.id) => {
    const { privateKey } = await makeSigningKey(join(directory, 'seal-key.pem'))
    const origin = companyOrigin(await loadInstallationId(api.core.pool), companyId)
    return signNote(formatCheckpoint({ origin, size, root: Buffer.alloc(32, 1) }), [{ name: origin, privateKey }])
  }

  it('create checkpoints, against which verify compares ledgers, with the trusted keys [AUDIT-4]', async () => {
    const made = await run('ledger', 'seal', '--company', id())
    expect(made.origin).to.match(new RegExp(`^tillbook/[0-9a-f-]{36}/company-${id()}$`))
    const stranger = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string
    const keys = [await keyFile(), await fileOf('stranger.pem', stranger)] as const
    const file = await fileOf('checkpoint.txt', await printed('ledger', 'seal', '--company', id()))
    for (const trust of [[], ['--public-key', keys[1], '--public-key', keys[0]]]) {
      const held = await run('ledger', 'verify', '--company', id(), '--checkpoint', file, ...trust)
      expect(held).to.include({ valid: true, checkpoints: 1, revision: made.size - 1 })
      expect(held.trusted_key).to.equal(trust.length > 0)
    }
    const all = await printed('ledger', 'seal', '--all')
    expect(JSON.parse(all.split('\n').at(-2) ?? '').note).to.match(/^tillbook\/[0-9a-f-]{36}\n/)
    const everything = await run('ledger', 'verify', '--checkpoint', await fileOf('all.jsonl', all))
    expect(everything.every((each: Json) => each.valid && each.checkpoints === 1)).to.equal(true)
    expect(fieldsOf(await refused('ledger', 'seal'))).to.deep.equal(['company'])
    expect(fieldsOf(await refused('ledger', 'seal', '--all', '--company', id()))).to.deep.equal(['company'])
    const verify = async (text: string, ...more: string[]) => {
      const path = await fileOf('bad.txt', text)
      return fieldsOf(await refused('ledger', 'verify', '--company', id(), '--checkpoint', path, ...more))
    }
    const theirs = await printed('ledger', 'seal', '--company', String(other.id))
    for (const bad of [made.note.replace(`\n${made.size}\n`, `\n${made.size + 1}\n`), 'nope', '', '{"note":1}', theirs])
      expect(await verify(bad)).to.deep.equal(['checkpoint'])
    expect(await verify(made.note, '--public-key', keys[1])).to.deep.equal(['checkpoint'])
  })

  it('list the attestors of checkpoints, and exit with 1 if an attestation is missing', async () => {
    expect(await run('ledger', 'attestors')).to.deep.equal([])
    const { isBad, show } = await load('ledger attestors')
    const state = { source: 'witness.example', kind: 'cosignature', size: 7, problem: null, detail: null, waiting: 1 }
    expect(isBad?.([state])).to.equal(false)
    expect(isBad?.([state, { ...state, problem: 'unreachable' }])).to.equal(true)
    expect(show?.([state])).to.match(/^source .*\nwitness\.example +cosignature +7 /)
  })

  it('rotate the signing key, and replace a key only if it was lost [PROOF-21] [PROOF-23]', async () => {
    const made = await run('ledger', 'seal', '--company', id())
    const [first] = await run('ledger', 'public-key')
    const next = await run('seal-key', 'rotate')
    expect(next).to.include({ succession: 'signed', signed_by: first.key_id })
    const file = await fileOf('checkpoint.txt', made.note)
    const held = await run('ledger', 'verify', '--company', id(), '--checkpoint', file, '--public-key', await keyFile())
    expect(held).to.include({ valid: true, checkpoints: 1 })
    const adopt = ['seal-key', 'adopt', '--lost-old', '--reason']
    expect(fieldsOf(await refused(...adopt, 'why\nnot'))).to.deep.equal(['reason'])
    expect(fieldsOf(await refused(...adopt, 'nothing is lost'))).to.deep.equal(['seal-key'])
    const keys = await fetch(`${api.url}/proof/keys`)
    expect(keys.status).to.equal(200)
    expect((await fetch(`${api.url}/proof/keys`, { method: 'POST' })).status).to.equal(405)
    expect(((await keys.json()) as Json).keys.map(({ vkey }: Json) => vkey)).to.deep.equal([first.vkey, next.vkey])
  })

  it('report a company with missing events and row [PROOF-25]', async () => {
    const victim = await api.company()
    const { size } = await run('ledger', 'seal', '--company', String(victim.id))
    const { pool } = api.core
    await tamperBy(pool, 'delete from ledger.events where stream = $1', [`company-${victim.id}`])
    await pool.query('delete from ops.ledgers where company_id = $1', [victim.id])
    const found = (await run('ledger', 'verify')).find((each: Json) => each.company_id === victim.id)
    expect(found).to.deep.include({ valid: false, first_error: { revision: 0, reason: 'truncated' } })
    expect(size).to.equal(2)
    expect(fieldsOf(await refused('ledger', 'seal', '--all'))).to.deep.equal(['company'])
    // Other tests verify the other companies.
    await tamperBy(pool, 'delete from ops.ledger_checkpoints where company_id = $1', [victim.id])
    await rm(join(directory, 'seals', `company-${victim.id}.checkpoints`))
  })

  it('find a ledger that is shorter than its checkpoint, differs from it, or is missing [AUDIT-5]', async () => {
    for (const [size, reason] of [
      [2, 'other_root'],
      [5_000, 'truncated'],
    ] as const) {
      const path = await fileOf('forged.txt', await forgedOf(size))
      const found = await run('ledger', 'verify', '--company', id(), '--checkpoint', path)
      expect(found.valid).to.equal(false)
      expect(found.first_error.reason).to.equal(reason)
    }
    const gone = await run('ledger', 'verify', '--checkpoint', await fileOf('gone.txt', await forgedOf(4, 777_777)))
    expect(gone.find((each: Json) => each.company_id === 777_777)).to.deep.include({
      valid: false,
      first_error: { revision: 0, reason: 'truncated' },
    })
  })

  it('refuse unreadable files and keys [AUDIT-4]', async () => {
    const checkpoint = await fileOf('checkpoint.txt', await printed('ledger', 'seal', '--company', id()))
    const verify = async (...words: string[]) => fieldsOf(await refused('ledger', 'verify', ...words))
    const missing = join(directory, 'missing')
    for (const key of [await fileOf('junk.pem', 'junk'), missing])
      expect(await verify('--checkpoint', checkpoint, '--public-key', key)).to.deep.equal(['public-key'])
    expect(await verify('--checkpoint', missing)).to.deep.equal(['checkpoint'])
    expect(await verify('--file', missing)).to.deep.equal(['file'])
    expect(await verify('--public-key', await keyFile())).to.deep.equal(['public-key'])
  })

  it('do not seal an altered ledger [AUDIT-6]', async () => {
    const victim = await api.company()
    await tamperBy(
      api.core.pool,
      `update ledger.events set subject = 'company/1000' where stream = $1 and revision = 0`,
      [`company-${victim.id}`],
    )
    expect(fieldsOf(await refused('ledger', 'seal', '--company', String(victim.id)))).to.deep.equal(['company'])
    const found = await run('ledger', 'verify', '--company', String(victim.id))
    expect(found.first_error).to.deep.equal({ revision: 0, reason: 'columns_differ' })
    await tamperBy(api.core.pool, `update ledger.events set subject = envelope->>'subject' where stream = $1`, [
      `company-${victim.id}`,
    ])
  })

  it('list the history of a record, deleted records included, and refuse a record that never existed', async () => {
    const events = await run('ledger', 'history', '--company', id(), '--subject', `customer/${customer}`)
    expect(events.map(({ type }: Json) => type)).to.deep.equal([
      'CustomerCreated',
      'CustomerUpdated',
      'CustomerDeleted',
    ])
    expect(events[0]).to.include.keys('hash', 'previous_hash', 'data')
    expect((await load('ledger history')).show?.(events)).to.match(/^revision +recorded_at +type/)
    const own = await run('ledger', 'history', '--company', id(), '--subject', `company/${id()}`)
    expect(own[0].type).to.equal('CompanyRegistered')
    for (const subject of ['customer/999999', `company/${other.id}`])
      expect(await refused('ledger', 'history', '--company', id(), '--subject', subject)).to.include({
        refused: 'not_found',
      })
    const wrong = await refused('ledger', 'history', '--company', id(), '--subject', 'nope/1')
    expect(fieldsOf(wrong)).to.deep.equal(['subject'])
  })

  it('exports a ledger that verifies without the service [AUDIT-8]', async function () {
    this.timeout(60_000)
    const env = { DATABASE_URL: database.url, DATA_DIR: directory }
    const exported = await tillbook(env, 'ledger', 'export', '--company', id())
    expect(exported).to.include({ code: 0, stderr: '' })
    const feed = await company.get('/events?limit=200')
    const lines = exported.stdout.split('\n').slice(0, -1)
    expect(lines.map((line) => JSON.parse(line))).to.deep.equal(feed.body.data)

    const file = await fileOf('export.jsonl', exported.stdout)
    const sealed = await tillbook(env, 'ledger', 'seal', '--company', id())
    const checkpoint = ['--checkpoint', await fileOf('one.txt', sealed.stdout), '--public-key', await keyFile()]
    // No reachable database.
    const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/none', DATA_DIR: directory }
    const good = await tillbook(nowhere, 'ledger', 'verify', '--file', file, ...checkpoint, '--json')
    expect(good.code, good.stderr).to.equal(0)
    expect(JSON.parse(good.stdout)).to.deep.include({ company_id: company.id, from: 0, valid: true, checkpoints: 1 })

    const cut = await fileOf('cut.jsonl', exported.stdout.split('\n').slice(0, 2).join('\n'))
    const bad = await tillbook(nowhere, 'ledger', 'verify', '--file', cut, ...checkpoint, '--json')
    expect(bad.code).to.equal(1)
    expect(JSON.parse(bad.stdout)).to.deep.include({ valid: false, first_error: { revision: 2, reason: 'truncated' } })

    const middle = await tillbook(env, 'ledger', 'export', '--company', id(), '--from', '2')
    expect(middle.stdout).to.equal(
      lines
        .slice(2)
        .map((line) => `${line}\n`)
        .join(''),
    )
  })

  it('refuse an export of another company', async () => {
    const path = await fileOf('theirs.jsonl', `${JSON.stringify((await other.get('/events')).body.data[0])}\n`)
    const held = await run('ledger', 'verify', '--file', path, '--company', String(other.id))
    expect(held).to.include({ company_id: other.id, valid: true, checked: 1 })
    expect(fieldsOf(await refused('ledger', 'verify', '--file', path, '--company', id()))).to.deep.equal(['file'])
    expect(fieldsOf(await refused('ledger', 'export', '--company', id(), '--from', 'x'))).to.deep.equal(['from'])
  })

  it('read as of a revision or a time, and refuse anything else [ASOF-1]', async () => {
    const events = (await company.get(`/customers/${customer}/history`)).body.data
    const asOf = (at: string, get: string) => ['ledger', 'as-of', '--company', id(), '--at', at, '--get', get]
    const path = `/customers/${customer}`
    expect((await run(...asOf(String(events[0].revision), path))).data.name).to.equal('Ana')
    const list = await run(...asOf(events[1].recorded_at, `/api/v1/customers?limit=1`))
    expect(list.data).to.have.length(1)
    expect((await load('ledger as-of')).show?.(list)).to.equal(JSON.stringify(list, null, 2))
    expect((await run(...asOf(String(events[2].revision), path))).data).to.include({ name: null })
    expect(await refused(...asOf('0', path))).to.include({ refused: 'not_found' })
    for (const at of ['yesterday', '-1', '2026-11-21', '999999'])
      expect(fieldsOf(await refused('ledger', 'as-of', '--company', id(), `--at=${at}`, '--get', path))).to.deep.equal([
        'at',
      ])
    expect(fieldsOf(await refused(...asOf('0', '/webhooks/1')))).to.deep.equal(['get'])
  })
})

const NO_TRANSACTION = { query: () => Promise.reject(new Error('has no transaction')) }

describe('tillbook ledger copy', function () {
  this.timeout(60_000)
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let server: FakeEventStoreDb

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await company.post('/customers/batch', {
      items: Array.from({ length: 300 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` })),
    })
  })
  beforeEach(async () => {
    server = await startFakeEventStoreDb()
  })
  afterEach(() => server.close())
  after(() => api.close())

  const copy = (to = server.url) => tillbook({ DATABASE_URL: database.url }, 'ledger', 'copy', '--to', to, '--json')
  const problemOf = (stderr: string): Json => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error

  it('copies the ledgers unchanged, ends by itself, and adds later events when repeated [LEDGER-15]', async () => {
    const events = await collect(api.core.store.read(streamName(company.id), 0))
    const first = await copy()
    expect(first.code, first.stderr).to.equal(0)
    expect(JSON.parse(first.stdout)).to.deep.equal({ streams: 1, events: events.length, known: 0 })
    expect(first.stderr).to.equal('')
    const target = createEventStoreDb(server.url)
    expect(await collect(target.read(streamName(company.id), 0))).to.deep.equal(events)
    await target.close()
    await company.post('/customers', { name: 'Mais tarde' })
    const again = await copy()
    expect(JSON.parse(again.stdout)).to.deep.equal({ streams: 1, events: events.length + 1, known: events.length })
  })

  it('refuses a target with other events, and leaves it unchanged [LEDGER-15]', async () => {
    for (const stream of [streamName(company.id), streamName(987_654)]) {
      const target = createEventStoreDb(server.url)
      await target.append([appendOf(sealedAfter(stream, null, ordinary(2)))], NO_TRANSACTION)
      await target.close()
      const length = server.all.length
      const { code, stdout, stderr } = await copy()
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      expect(problemOf(stderr).details.fields.to[0]).to.include(
        'o destino tem outro evento na revisão 0 do livro company-',
      )
      expect(server.all).to.have.length(length)
    }
  })

  it('reports an unreachable or malformed target without its password', async () => {
    await server.kill()
    const unreachable = await copy()
    expect(unreachable.code).to.equal(1)
    expect(problemOf(unreachable.stderr).code).to.equal('unavailable')
    for (const address of ['http://admin:segredo@127.0.0.1', 'esdb://admin:segredo@127.0.0.1:porta']) {
      const { code, stderr } = await copy(address)
      expect(code).to.equal(1)
      expect(problemOf(stderr)).to.include({ code: 'validation_failed' })
      expect(stderr).to.not.include('segredo')
    }
  })
})
