import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { readDemoFile } from '#demo/companies/demo-seed.ts'
import { freePort } from '#postgres/embedded.ts'
import { deliveryHeaders } from '#webhooks/sender.ts'
import { type Json, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { type Service, startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { snippetsOf } from '../support/snippets.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from '../webhooks/delivering-service.ts'

const run = promisify(execFile)
const scripts = snippetsOf('docs/online-store.md').filter(({ language }) => language === 'bash')

const ROOT = process.cwd()

/** Expected output by section. */
const EXPECTED: Readonly<Record<string, string>> = {
  'A store': '{"alias":"minha-loja","enabled":true,"has_notification_secret":true}\n{"delivery":"send","signs":true}\n',
  'An order': '{"status":"pending","total":"99.90","payment":null}\n',
  'The page for the buyer': 'Aguardando pagamento\n303\nPague com Pix\n',
  'A payment':
    '{"status":"pending","payment":{"status":"pending","status_detail":"Aguardando o pagamento do comprador.",' +
    '"pix":["expires_at","qr_code","qr_code_base64","ticket_url"]}}\n' +
    '[["pix","card","boleto"],"visa",{"installments":2,"installment_amount":"51.45","total_amount":"102.90"}]\n',
  'The buyer pays':
    '{"processed":true,"status":"paid","message":"Notificação processada."}\n' +
    '{"status":"paid","released":true,"commission":{"percentage":"5.00","amount":"5.00","store_amount":"94.90"}}\n',
  'The sale': '[true,"system","99.90","Loja online"]\n"managed_by_order"\n',
  'Goods and alarms': '{"status":"paid","delivered":true}\n[]\n',
  'Giving back':
    '{"status":"paid","refunded_total":"30.00","partially_refunded":true,"commission":"1.50"}\n' +
    '["paid","open"]\n["paid","won"]\n',
  'Repeated, forged and lost':
    '[true,true,true]\n[401,"invalid_signature"]\n[400,"invalid_notification"]\n' +
    '[200,"O modo da notificação (live_mode) não é o da loja."]\n{"status":"paid","payments":1}\n' +
    '[200,"applied"]\n[200,"duplicate"]\n[200,"ignored"]\n[400,"refused"]\n[401,"refused"]\n' +
    '{"delivery":"lose","signs":true}\n["charged_back",null]\n',
}

describe('online store guide', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let directory: string
  let service: Service
  let sandbox: ChildProcess
  let printed = ''
  let env: NodeJS.ProcessEnv

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-store-'))
    const port = await freePort(null)
    const settings = { ...TEST_SETTINGS, DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent' }
    const SANDBOX = `http://127.0.0.1:${port}`
    service = await startService({ ...settings, SEED_DEMO: 'true', PAYMENT_PROVIDER_URL: SANDBOX })
    sandbox = spawn(process.execPath, programOf('src/cli/main.ts', 'provider-sandbox', '--port', String(port)), {
      env: { ...process.env, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    sandbox.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text))
    await until(() => printed.includes(`answers on ${SANDBOX}`), { what: 'the sandbox', timeout_ms: 60_000 })
    const demo = JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8'))
    const { id, api_key } = demo.companies[0]
    const { PATH, HOME } = process.env
    env = { PATH, HOME, ...settings, BASE: service.url, SANDBOX, KEY: api_key, COMPANY: String(id) }
  })
  after(async () => {
    const exit = once(sandbox, 'exit')
    sandbox.kill('SIGTERM')
    expect(await exit).to.deep.equal([0, null])
    await service.stop()
    await rm(directory, { recursive: true })
  })

  it('starts with a sandbox that signs with the secrets of the demonstration stores [OPS-18]', async () => {
    const { companies } = JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8'))
    for (const { store } of companies.filter(({ store }: Json) => store)) {
      const { body } = await send(`${env.SANDBOX}/sandbox/settings`, 'PUT', { store: store.alias })
      expect(body).to.deep.equal({ delivery: 'send', signs: true })
    }
  })

  it('has snippets in exactly the expected sections', () => {
    expect([...new Set(scripts.map(({ heading }) => heading))]).to.deep.equal(Object.keys(EXPECTED))
  })

  it('has snippets that produce the documented results in order [OPS-17]', async () => {
    const script = scripts.map(({ heading, text }) => `echo '# ${heading}'\n${text}`).join('\n')
    const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: ROOT, env })
    const output: Record<string, string> = {}
    for (const part of stdout.split(/^# /m).slice(1)) {
      const [heading = '', ...lines] = part.split('\n')
      output[heading] = (output[heading] ?? '') + lines.join('\n')
    }
    expect(output).to.deep.equal(EXPECTED)
    expect(printed).to.match(/notification \d+ → http.*"status":"paid"/)
  })
})

const snippets = snippetsOf('docs/pos-sync.md')
const programs = snippets.filter(({ language }) => language === 'ts')

describe('till guide', () => {
  const scripts = snippets.filter(({ language }) => language === 'bash')

  /** Expected output of each script, by section. */
  const EXPECTED: Readonly<Record<string, RegExp>> = {
    'Logging in': /^\{"id":\d+,"name":"[^"]+","email":"[^"]+","company_id":\d+\}$/m,
    'Am I connected': /^\{"success":true,"server_time":"[^"]+Z","company_id":\d+,.*"version":"1\.0","till":null\}$/,
    Configuration: /"company": \{[\s\S]*"payment_types": \[[\s\S]*"role": "clerk"/,
    'First download': /^4$/m,
    'What changed since': /^\{"changed":\d,"deleted":\[\d+\]\}$/m,
    'Uploading sales':
      /^\{"status":"created","sale_id":(\d+),"warnings":\["price_differs"\]\}\n\{"status":"duplicate","sale_id":\1,"warnings":\["price_differs"\]\}$/m,
    'Cash sessions':
      /^(\{"offline_id":"caixa1-41-\d","status":"created"\}\n){3}(\{"offline_id":"caixa1-41-\d","status":"duplicate"\}\n?){3}$/,
    Conflicts: /^\{"has_conflicts":true,"conflicts":\[\{"id":\d+,"reason":"updated",.*"reason":"deleted",/m,
    Errors: /^\{"success":false,"message":"Há dados inválidos[^"]*","errors":\{"last_sync":\["deve ser/m,
  }

  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let till: TestTill
  let workplace: Workplace
  let items: number[]

  before(async () => {
    api = await startApi(database.url)
    company = await api.company({ plan: 'api' })
    await company.paymentType('cash')
    await company.paymentType('credit_account')
    items = []
    for (const name of ['Café', 'Pão', 'Leite', 'Arroz']) {
      items.push((await company.post('/catalog/items', { name, price: '5.90', stock: '10' })).body.data.id)
    }
    till = await openTill(api.url, company)
    const { email, password } = till.user
    workplace = await openWorkplace({ BASE: api.url, EMAIL: email, PASSWORD: password, TOKEN: till.token })
  })
  after(async () => {
    await api.close()
    await workplace.close()
  })

  describe('with curl', () => {
    for (const [position, { heading, text }] of scripts.entries()) {
      it(`${position + 1}. ${heading} [OPS-17]`, async () => {
        if (heading === 'What changed since') {
          await company.call('PATCH', `/catalog/items/${items[0]}`, { price: '6.90' })
          await company.call('DELETE', `/catalog/items/${items[1]}`)
        }
        const { stdout } = await workplace.bash(text)
        expect(stdout).to.match(EXPECTED[heading] ?? /./)
      })
    }
  })

  describe('with TypeScript', () => {
    before(() => workplace.write(programs))

    const namesInCopy = async (): Promise<string[]> => {
      const { products } = await workplace.readJson<{ products: { name: string }[] }>('till.json')
      return products.map(({ name }) => name)
    }

    it('compiles strictly [OPS-17]', () => workplace.compile())

    it('copies all products, then created, changed and deactivated ones', async () => {
      expect((await workplace.runProgram('sync.ts')).stdout).to.match(/^3 products as of \d{4}-/)
      expect(await namesInCopy()).to.have.members(['Café', 'Leite', 'Arroz'])
      await company.call('DELETE', `/catalog/items/${items[2]}`)
      await company.post('/catalog/items', { name: 'Novo', price: '1.00' })
      expect((await workplace.runProgram('sync.ts')).stdout).to.match(/^3 products as of /)
      expect(await namesInCopy()).to.have.members(['Café', 'Novo', 'Arroz'])
    })

    it('uploads offline sales once', async () => {
      const sold = async () => (await company.get('/sales?origin=pdv&limit=200')).body.data.length as number
      const before = await sold()
      expect((await workplace.runProgram('upload.ts')).stdout).to.equal(
        '3 vendas processadas: 3 registradas, 0 com erro.\n',
      )
      expect(await sold()).to.equal(before + 3)
      expect(await workplace.readJson('queue.json')).to.deep.equal([])
    })
  })
})

/** Response with the secret. */
interface Shown {
  readonly data: { readonly secret: string }
}

describe('webhook guide', () => {
  const snippets = snippetsOf('docs/webhooks.md')
  const scripts = snippets.filter(({ language }) => language === 'bash')
  const programs = snippets.filter(({ language }) => language === 'ts')

  const database = useDatabase()
  let service: DeliveringService
  let guide: Workplace
  let port: number
  let receiver: ChildProcess | undefined
  let output = ''
  let secret: string

  before(async () => {
    service = await startDelivering(database.url)
    port = await freePort(null)
    guide = await openWorkplace({ BASE: service.api.url, KEY: service.company.key, URL: `http://127.0.0.1:${port}/` })
    await guide.write(programs)
  })
  after(async () => {
    receiver?.kill('SIGKILL')
    await service.close()
    await guide.close()
  })

  const script = async (index: number): Promise<string> => (await guide.bash(scripts[index]?.text ?? 'false')).stdout
  const post = (body: string, changed: Record<string, string> = {}, now = Date.now()) => {
    const delivery = { id: 'copied', event: 'customer.created', revision: 1, sequence: 1, body }
    const headers = deliveryHeaders(delivery, { secret, next_secret: null, switch_at: null }, now)
    return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { ...headers, ...changed }, body })
  }

  it('has programs that compile strictly [OPS-17]', () => guide.compile())

  it('registers an endpoint', async () => {
    expect(await script(0)).to.match(/^\{"id":\d+,"status":"active","events":\["basic"\]\}$/m)
    secret = (await guide.readJson<Shown>('webhook.json')).data.secret
  })

  it('has a receiver that accepts a test and an event [HOOK-15]', async () => {
    const args = ['--import', import.meta.resolve('tsx'), 'receiver.ts']
    const env = { PATH: process.env.PATH, SECRET: secret, PORT: String(port) }
    receiver = spawn(process.execPath, args, { cwd: guide.directory, env, stdio: ['ignore', 'pipe', 'inherit'] })
    receiver.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    await until(() => output.includes('ready'))
    expect(await script(1)).to.equal('{"event":"webhook.test","status":"pending"}\n')
    await until(() => output.includes('webhook.test'))
    const { id } = await service.company.run(createCustomer, { name: 'Maria', person_type: 'PF' }, 'pdv')
    await until(() => output.includes(`customer.created ${id}\n`))
    await until(async () => (await script(2)).match(/"event":"customer.created","status":"delivered","attempts":1/))
  })

  it('has a receiver that refuses forged, altered and expired deliveries [HOOK-15]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    const second = String(Math.floor(Date.now() / 1000) - 1)
    expect((await post(body, { 'webhook-signature': `v1,${'A'.repeat(43)}=` })).status).to.equal(401)
    expect((await post(body, { 'webhook-timestamp': second })).status).to.equal(401)
    expect((await post(body, {}, Date.now() - 302_000)).status).to.equal(401)
    expect((await post(body, {}, Date.now() + 302_000)).status).to.equal(401)
    expect(output).not.to.include('customer.created 9')
  })

  it('has a receiver that refuses a delivery under another id [HOOK-81]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    expect((await post(body, { 'webhook-id': 'outra' })).status).to.equal(401)
    expect(output).not.to.include('customer.created 9')
  })

  it('has a receiver that detects duplicates and gaps [HOOK-15]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    expect((await post(body, { 'X-Service-Sequence': '7' })).status).to.equal(204)
    expect((await post(body, { 'X-Service-Sequence': '7' })).status).to.equal(204)
    await until(() => output.includes('copied came again'))
    expect(output.match(/customer\.created 9/g)).to.have.length(1)
    expect(output).to.include('missing 2 to 6')
  })

  it('shows the health of an endpoint [HOOK-71]', async () => {
    const { attempts, success_rate } = JSON.parse(await script(3))
    expect(attempts).to.be.at.least(1)
    expect(success_rate).to.equal('100.00')
  })

  it('catches up by a replay [HOOK-26]', async () => {
    expect(JSON.parse(await script(4))).to.include({ status: 'running', after: -1 })
  })

  it('verifies with either secret during a rotation, by headers of any class and case [HOOK-15]', async () => {
    expect(await script(5)).to.equal('whsec_\n')
    const next = (await guide.readJson<Shown>('rotated.json')).data.secret
    const { isAuthentic } = await import(pathToFileURL(join(guide.directory, 'verify.ts')).href)
    const now = Date.now()
    const secrets = { secret, next_secret: next, switch_at: new Date(now + 60_000).toISOString() }
    const delivery = { id: 'x', event: 'customer.created', revision: 1, sequence: 1, body: '{"ação":1}' }
    const signed = Object.entries(deliveryHeaders(delivery, secrets, now)).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ])
    const body = Buffer.from(delivery.body)
    const verify = (own: string) => isAuthentic(Object.fromEntries(signed), body, own)
    const sent = deliveryHeaders(delivery, secrets, now)
    const signatures = sent['webhook-signature']?.split(' ')
    for (const headers of [
      sent,
      new Headers(sent),
      new Map(Object.entries(sent)),
      Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toUpperCase(), value])),
      { ...sent, 'webhook-signature': signatures },
    ])
      expect([secret, `${next}\n`].map((own) => isAuthentic(headers, body, own))).to.deep.equal([true, true])
    expect([secret, next, `whsec_${Buffer.alloc(32).toString('base64')}`].map(verify)).to.deep.equal([
      true,
      true,
      false,
    ])
  })
})

/** The scripts of a guide, without the section that opens several terminals. */
const scriptsOf = (guide: string) =>
  snippetsOf(`docs/${guide}.md`).filter(({ language, heading }) => language === 'bash' && heading !== 'Ten minutes')

const GUIDES = ['pos-sync', 'integrators', 'webhooks'] as const

describe('guides in the demonstration companies', function () {
  /** Lines that scripts must print in a demonstration company, by section; unlisted ones must only succeed. */
  const EXPECTED: Readonly<Record<string, RegExp>> = {
    'Uploading sales':
      /^\{"status":"created","sale_id":(\d+),"warnings":\[\]\}\n\{"status":"duplicate","sale_id":\1,"warnings":\[\]\}\n$/,
    Conflicts: /^\{"has_conflicts":false,"conflicts":\[\]\}\n$/,
    'Idempotency and retries': /^(\{"id":\d+,"total":"37\.80","change":"12\.20"\}\n)\1Idempotent-Replayed: true/i,
    Accounts:
      /^(\{"status":"settled","payment_method":"pix"\}\n|(\{"amount":"33\.3[34]","due_date":"[-\d]+"\}\n){3}\{"status":"pending","open_amount":"33\.34"\}\n)$/,
    'Register an address': /^\{"id":\d+,"status":"active"/,
  }

  this.timeout(180_000)
  const database = useDatabase()
  let directory: string
  let service: Service

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-demo-'))
    const settings = { DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent' }
    service = await startService(
      { ...settings, SEED_DEMO: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' },
      { timeout_ms: 120_000 },
    )
  })
  after(async () => {
    await service.stop()
    await rm(directory, { recursive: true })
  })

  // The third company has no API; its tills work all the same.
  for (const guide of GUIDES)
    for (const position of guide === 'pos-sync' ? [0, 1, 2] : [0, 1])
      it(`${guide}: prints no error in company ${position + 1} of demo.json [OPS-17]`, async () => {
        const company = (await readDemoFile(join(directory, 'demo.json')))?.companies[position]
        if (!company) throw new Error('demo.json has fewer companies')
        const { email, password } = company.user
        const { body } = await send(`${service.url}/api/auth/login`, 'POST', { email, password })
        const workplace = await openWorkplace({
          BASE: service.url,
          EMAIL: email,
          PASSWORD: password,
          TOKEN: body.data.token,
          KEY: company.api_key,
          URL: 'http://127.0.0.1:9/',
        })
        try {
          for (const { heading, text } of scriptsOf(guide)) {
            const { stdout } = await workplace.bash(text)
            expect(stdout, heading).to.match(EXPECTED[heading] ?? /^/)
          }
        } finally {
          await workplace.close()
        }
      })

  it('names its three companies', async () => {
    const { companies } = JSON.parse(await readFile(join(directory, 'demo.json'), 'utf8'))
    expect(companies).to.have.length(3)
  })
})
