import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/server.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { tillbook } from './tillbook.ts'

describe('demo', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let folder: string
  let service: Service
  let sandbox: Sandbox
  let env: Record<string, string>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-demo-'))
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

  it('asks for the DATA_DIR of the service if there are no demonstration companies', async () => {
    const { code, stderr } = await tillbook({ DATA_DIR: join(folder, 'another') }, 'demo', '--url', service.url)
    expect(stderr).to.match(/^DATA_DIR should be .* \(wrong_setting\)$/m)
    expect(code).to.equal(1)
  })
})
