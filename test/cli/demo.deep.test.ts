import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-listener.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { TEST_SETTINGS } from '../support/program.ts'
import { tillbook } from './tillbook.ts'

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
