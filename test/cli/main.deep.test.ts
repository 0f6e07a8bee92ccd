import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import pg from 'pg'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { startEmbedded } from '#postgres/embedded.ts'
import { useDatabase } from '../support/database.ts'
import { findEmbedded, serverPid } from '../support/find-embedded.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { type Service, startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS, testProgramOf } from '../support/program.ts'
import { administer } from '../support/server.ts'
import { snippetsOf } from '../support/snippets.ts'
import { useCompany } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { tillbook } from './tillbook.ts'

const HOLDER = 'test/support/embedded-holder.ts'
const FAST = { fsync: 'off', full_page_writes: 'off' }

const CREATE = ['company', 'create', '--name', 'Loja Azul', '--cnpj', '11222333000181', '--json']

describe('tillbook', () => {
  const database = useDatabase()

  it('prints exactly one JSON document with --json [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({ DATABASE_URL: database.url }, ...CREATE)
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
    expect(stdout.trimEnd()).not.to.include('\n')
    expect(JSON.parse(stdout)).to.include({ name: 'Loja Azul', plan: 'basic' })
  })

  it('reports a refusal on stderr, as JSON with --json, and exits with 1 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook(
      { DATABASE_URL: database.url },
      ...['key', 'list', '--company', '999', '--json'],
    )
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(JSON.parse(stderr)).to.deep.equal({
      error: { code: 'not_found', message: 'No such record.', details: { company_id: 999 } },
    })
  })

  it('names the flag and its value, what is wrong and what is right, in English [OPS-14]', async () => {
    const words = ['user', 'create', '--company', '1', '--name', 'Ana', '--email', 'ana@', '--role', 'owner']
    const { stderr } = await tillbook({ DATABASE_URL: database.url }, ...words, '--password', 'short')
    expect(stderr.trimEnd().split('\n')).to.deep.equal([
      'Invalid values; nothing was changed. (validation_failed)',
      '--email "ana@": must be an e-mail address, such as ana@example.com',
      '--password: must have 8 to 200 characters',
    ])
  })

  it('shows its usage for an unknown command, and exits with 2 [OPS-14]', async () => {
    const { code, stdout, stderr } = await tillbook({}, 'company', 'destroy')
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.include('unknown verb "company destroy"').and.include('  company create ')
  })

  it('names an invalid setting [OPS-2]', async () => {
    const { code, stderr } = await tillbook({ DATABASE_URL: 'localhost' }, 'company', 'list')
    expect(code).to.equal(1)
    expect(stderr).to.include('DATABASE_URL should be')
  })

  describe('without an installation', () => {
    let parent: string
    let DATA_DIR: string

    before(async () => {
      parent = await mkdtemp(join(tmpdir(), 'tillbook-none-'))
      DATA_DIR = join(parent, 'data')
    })
    after(() => rm(parent, { recursive: true, force: true }))

    for (const words of [
      CREATE.slice(0, -1),
      ['company', 'list'],
      ['ledger', 'verify'],
      ['ledger', 'public-key'],
      ['master-key', 'rotate'],
      ['seal-key', 'rotate'],
      ['database', 'prepare'],
      ['restored', '--copy', '--lost-after', '2026-11-21T10:00:00Z', '--reason', 'teste'],
    ])
      it(`refuses "${words.slice(0, 2).join(' ')}", and makes none [OPS-154]`, async () => {
        const { code, stdout, stderr } = await tillbook({ DATA_DIR, MASTER_KEY: '' }, ...words)
        expect(stderr.trim()).to.equal(
          `no installation in ${DATA_DIR}; set DATA_DIR or start the service (no_installation)`,
        )
        expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
        expect(await readdir(parent)).to.deep.equal([])
      })

    it('names a folder below the present one as a relative path, and the code with --json [OPS-154]', async () => {
      const { code, stderr } = await tillbook({ DATA_DIR: './no-such-folder' }, 'company', 'list', '--json')
      expect(code).to.equal(1)
      expect(JSON.parse(stderr)).to.deep.equal({
        error: {
          code: 'no_installation',
          message: 'no installation in ./no-such-folder; set DATA_DIR or start the service',
        },
      })
    })

    it('takes the database of DATABASE_URL as the installation [OPS-154]', async () => {
      const { code, stderr } = await tillbook({ DATA_DIR, DATABASE_URL: database.url }, 'company', 'list')
      expect(code, stderr).to.equal(0)
    })

    it('needs none for files, help and other services [OPS-154]', async () => {
      const outcomes = {
        help: await tillbook({ DATA_DIR }, '--help'),
        file: await tillbook({ DATA_DIR }, 'ledger', 'verify', '--file', join(parent, 'missing.jsonl')),
        listen: await tillbook(
          { DATA_DIR },
          ...['listen', '--url', 'http://127.0.0.1:9', '--key', 'x', '--forward-to', 'http://127.0.0.1:9/'],
        ),
        witness: await tillbook({ DATA_DIR }, 'witness', '--url', 'http://127.0.0.1:9'),
      }
      for (const [what, { stdout, stderr }] of Object.entries(outcomes))
        expect(stdout + stderr, what)
          .not.to.include('no installation')
          .and.not.equal('')
      expect(outcomes.help.code).to.equal(0)
      expect(outcomes.file.stderr).to.include('missing.jsonl')
      expect(await readdir(parent)).to.deep.equal([])
    })
  })

  describe('with the embedded Postgres', function () {
    this.timeout(180_000)
    let dataDir: string

    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'tillbook-cli-'))
    })
    after(() => rm(dataDir, { recursive: true, force: true }))

    it('uses the server of a running service, else starts and stops one [OPS-14] [OPS-152]', async () => {
      const service = await startEmbedded({ dataDir, settings: FAST })
      const beside = await tillbook({ DATA_DIR: dataDir }, ...CREATE)
      expect(beside.code, beside.stderr).to.equal(0)
      expect(await findEmbedded(dataDir)).to.equal(service.ownerUrl)
      await service.stop()
      const alone = await tillbook({ DATA_DIR: dataDir }, 'company', 'list', '--json')
      expect(alone.code, alone.stderr).to.equal(0)
      expect(JSON.parse(alone.stdout)).to.deep.equal([JSON.parse(beside.stdout)])
      expect(await findEmbedded(dataDir)).to.equal(null)
    })

    it('stops its own server on Ctrl-C [OPS-152]', async () => {
      const killed = spawn(process.execPath, [...testProgramOf(HOLDER), dataDir], { stdio: 'ignore' })
      const url = await until(() => findEmbedded(dataDir), { timeout_ms: 60_000, what: 'the server' })
      killed.kill('SIGKILL')
      await once(killed, 'exit')
      const locked = new pg.Client({ connectionString: url })
      locked.on('error', () => {})
      await locked.connect()
      await locked.query('begin; lock table read.companies')
      const command = spawn(process.execPath, programOf('src/cli/main.ts', 'company', 'list'), {
        env: { PATH: process.env.PATH, ...TEST_SETTINGS, DATA_DIR: dataDir },
        stdio: 'ignore',
      })
      const ended = once(command, 'exit')
      const waits = async () => {
        const { rowCount } = await administer(url, (client) =>
          client.query(
            `select from pg_stat_activity where application_name = 'tillbook command' and wait_event_type = 'Lock'`,
          ),
        )
        return rowCount === 1
      }
      await until(waits, { timeout_ms: 60_000, what: 'the command' })
      command.kill('SIGINT')
      expect(await ended).to.deep.equal([130, null])
      expect(await serverPid(dataDir)).to.equal(undefined)
    })
  })
})

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

describe('demo', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let folder: string
  let service: Service
  let sandbox: Sandbox
  let env: Record<string, string>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "tillbook demo's-"))
    sandbox = await startSandbox({ port: 0, secret: null })
    env = {
      PAYMENT_PROVIDER_URL: sandbox.url,
      DATABASE_URL: database.url,
      DATA_DIR: folder,
      SEED_DEMO: 'true',
      WEBHOOK_ALLOW_PRIVATE: 'true',
    }
    service = await startService(env)
  })
  after(async () => {
    await service?.stop()
    await sandbox?.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('runs the main job with real responses, twice, and leaves only its sales behind [OPS-18]', async () => {
    for (let run = 0; run < 2; run++) {
      const { code, stdout, stderr } = await tillbook(env, 'demo', '--url', service.url)
      expect(stderr).to.equal('')
      expect(code).to.equal(0)
      for (const told of [
        '"Idempotent-Replayed":"true"',
        'insufficient_stock',
        'x-service-event: sale.completed',
        'the signature is genuine',
        '"status": "delivered"',
        'OfflineSaleCompleted',
        'WebhookDeleted',
        '/pagar/mercearia-boa-vista/',
        '00020126580014br.gov.bcb.pix',
        'the notification was answered 200 {"processed":true',
        '"refunded_total": "30.00"',
      ]) {
        expect(stdout).to.include(told)
      }
      expect(stdout).to.not.match(/whsec_.{12}|"password":"[^…]/)
    }
  })

  it('asks for the DATA_DIR of the service if there is no installation [OPS-154]', async () => {
    const another = { DATA_DIR: join(folder, 'another') }
    const known = await tillbook({ ...another, DATABASE_URL: database.url }, 'demo', '--url', service.url)
    expect(known.stderr).to.match(/^DATA_DIR should be .* \(wrong_setting\)$/m)
    const { code, stderr } = await tillbook(another, 'demo', '--url', service.url)
    expect(stderr).to.match(/^no installation in .*another; set DATA_DIR or start the service \(no_installation\)$/m)
    expect([known.code, code]).to.deep.equal([1, 1])
  })

  it('is printed at the start with the settings of the service: its commands work as they are', async () => {
    const [, ...commands] = service.output().split(/Try, in another terminal:\n/)
    const script = commands.join('').split('\n\n')[0] ?? ''
    expect(script).to.include('npm run -s demo').and.to.include('/api/v1/me')
    const { PATH = '', HOME = '' } = process.env
    const { ALLOW_UNDURABLE_POSTGRES, MASTER_KEY } = TEST_SETTINGS
    const { DATA_DIR: _, ...others } = env
    const terminal = { PATH, HOME, ALLOW_UNDURABLE_POSTGRES, MASTER_KEY, ...others }
    const { stdout } = await run('sh', ['-ec', script], { cwd: ROOT, env: terminal, maxBuffer: 10_000_000 })
    expect(stdout).to.include('"company":{').and.to.include('"has_more":true').and.to.include('OfflineSaleCompleted')
  })
})

describe('tillbook person export', function () {
  this.timeout(60_000)
  const { api, company } = useCompany()
  let workplace: Workplace | undefined

  after(() => workplace?.close())

  it('writes both files as docs/privacy.md describes, readable by their owner only [PRIV-50]', async () => {
    const { body } = await company.post('/customers', { name: 'Ana', notes: 'prefere de manhã' })
    const settings = { COMPANY: String(company.id), SUBJECT: `customer/${body.data.id}`, FOLDER: 'dados' }
    workplace = await openWorkplace({ ...settings, DATABASE_URL: api.databaseUrl, HOME: process.env.HOME ?? '' })
    const [snippet] = snippetsOf('docs/privacy.md').filter(({ file }) => file === 'export-person')
    const command = [process.execPath, ...programOf('src/cli/main.ts')].map((word) => `'${word}'`).join(' ')
    await workplace.bash(`npm() { shift 4; ${command} "$@"; }\n${snippet?.text}`)
    const path = join(workplace.directory, 'dados', `customer-${body.data.id}`)
    const { record, events } = JSON.parse(await readFile(`${path}.json`, 'utf8'))
    expect(record).to.include({ name: 'Ana', notes: 'prefere de manhã' })
    expect(events).to.have.length(1)
    expect(await readFile(`${path}.html`, 'utf8')).to.include('prefere de manhã')
    for (const ending of ['json', 'html']) expect((await stat(`${path}.${ending}`)).mode & 0o777).to.equal(0o600)
  })

  it('refuses a selector that matches no person [PRIV-50]', async () => {
    const asked = (subject: string) =>
      tillbook(
        { DATABASE_URL: api.databaseUrl },
        'person',
        'export',
        '--company',
        String(company.id),
        '--subject',
        subject,
      )
    const [nobody, nothing] = [await asked('customer/999999999'), await asked('sale/1')]
    expect([nobody.code, nothing.code]).to.deep.equal([1, 1])
    expect(nobody.stderr).to.include('not_found')
    expect(nothing.stderr).to.include('customer/9, supplier/3, user/4 ou order/5')
  })
})
