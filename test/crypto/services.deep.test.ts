import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { rotateMasterKey } from '#crypto/master-key-registry.ts'
import { masterKeysInFile } from '#crypto/master-keys.ts'
import { tillbook } from '../cli/tillbook.ts'
import { expectSigned } from '../ops/belongings.ts'
import { useDatabase } from '../support/database.ts'
import { MASTER_KEY, masterKeys } from '../support/master-key.ts'
import { startService } from '../support/process.ts'
import { until } from '../support/wait.ts'
import { startDelivering } from '../webhooks/delivering-service.ts'

describe('services and their master key', function () {
  this.timeout(90_000)
  const database = useDatabase()
  let folder: string
  let path: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-keys-'))
    path = join(folder, 'master.key')
    await writeFile(path, `${MASTER_KEY}\n`, { mode: 0o600 })
  })
  after(() => rm(folder, { recursive: true }))

  it('keep signing and registering during a rotation, and work without the former key [OPS-73]', async () => {
    const service = await startDelivering(database.url, {}, { masterKeys: masterKeysInFile(path) })
    try {
      const secrets = new Map<string, string>()
      const register = async (name: string) => {
        const { id, secret } = await service.register(['customer.created'], `${service.receiver.url}/${name}`)
        secrets.set(`/hooks/${name}`, secret)
        return id
      }
      await register('before')
      let customers = 0
      const create = async () => {
        await service.company.run(createCustomer, { name: `Cliente ${++customers}`, person_type: 'PF' as const }, 'pdv')
      }
      let isRotating = true
      const rotating = rotateMasterKey(service.api.core.pool, masterKeysInFile(path)).finally(() => {
        isRotating = false
      })
      while (isRotating || customers < 20) await create()
      const { master_key, former } = await rotating
      expect(former).to.deep.equal([masterKeys.current().id])
      await register('after')
      await create()
      expect(masterKeysInFile(path).current().id).to.equal(master_key)
      await until(() => service.receiver.received.length === customers + 1, { what: 'every delivery' })
      for (const received of service.receiver.received) expectSigned(received, secrets.get(received.path) as string)
      expect(service.errors).to.deep.equal([])
    } finally {
      await service.close()
    }
  })

  it('processes do not start without the key, and name it and its location [OPS-71]', async () => {
    const expected = masterKeysInFile(path).current().id
    const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
    const missing = join(folder, 'missing')
    const failure = await startService({ ...env, MASTER_KEY: '', DATA_DIR: missing }).catch((error: Error) => error)
    const { message, cause } = failure as Error
    expect(message).to.include(`sealed by master key ${expected}; in ${join(missing, 'master.key')} there is none`)
    expect(String(cause)).to.include('ended with 1')
    const { code, stderr } = await tillbook(env, 'company', 'list', '--json')
    expect(code).to.equal(1)
    const { error } = JSON.parse(stderr)
    expect(error.code).to.equal('wrong_master_key')
    expect(error.message).to.include(expected).and.include(`in MASTER_KEY there is ${masterKeys.current().id}`)
  })
})
