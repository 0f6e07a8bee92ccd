import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { freePort } from '#postgres/embedded.ts'
import { type Json, send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { snippetsOf } from '../support/snippets.ts'
import { until } from '../support/wait.ts'

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
