import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { copyKeys } from '../support/person-keys.ts'
import { type Service, startService } from '../support/process.ts'
import { logIn } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { type Belongings, callAs, expectSigned, gather, printed, sell } from './belongings.ts'
import { contentsOf } from './contents.ts'

const STARTING = { timeout_ms: 120_000 }
const NEW_PASSWORD = 'outra senha, bem longa'

/** docs/operations/backup-and-restore.md: loss of Postgres while the ledgers in EventStoreDB are intact. */
describe('ledgers that survive the loss of Postgres', function () {
  this.timeout(240_000)
  const database = useDatabase('withoutReadModel')
  const empty = useDatabase('withoutReadModel')
  let eventStore: FakeEventStoreDb
  let receiver: Receiver
  let dataDir: string
  let service: Service | undefined
  let belongings: Belongings

  const settings = (DATABASE_URL: string) => ({
    DATABASE_URL,
    EVENTSTORE_URL: eventStore.url,
    DATA_DIR: dataDir,
    WEBHOOK_ALLOW_PRIVATE: 'true',
    QUOTA_PER_MINUTE: '100000',
    LOG_LEVEL: 'warn',
  })

  before(async () => {
    eventStore = await startFakeEventStoreDb()
    receiver = await startReceiver()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-ledgers-'))
    service = await startService({ ...settings(database.url), SEED_DEMO: 'true' }, STARTING)
    belongings = await gather(service.url, settings(database.url), receiver)
    expect(await service.stop()).to.equal(0)
    await copyKeys(database.url, empty.url)
    service = await startService(settings(empty.url), STARTING)
  })
  after(async () => {
    await service?.stop()
    await receiver.close()
    await eventStore.close()
    await rm(dataDir, { recursive: true })
  })

  const url = () => service?.url ?? ''
  const command = (...words: string[]) => printed(settings(empty.url), ...words)

  it('restore all derived data, and verify [LEDGER-16]', async () => {
    const isDerived = ([name]: [string, unknown]) => name.startsWith('read.')
    const [kept, made] = await Promise.all([database.url, empty.url].map(contentsOf))
    expect(Object.entries(made ?? {}).filter(isDerived)).to.deep.equal(Object.entries(kept ?? {}).filter(isDerived))
    for (const name of ['idempotent_answers', 'webhook_deliveries', 'store_secrets', 'refused_sales'])
      expect(made?.[`ops.${name}`], name).to.have.property('rows', 0)
    await command('ledger', 'verify')
  })

  it('restore the stores, with new secrets to be set', async () => {
    const { store } = belongings.company
    const updated = await command(
      'store',
      'update',
      store?.alias ?? '',
      '--notification-secret',
      'outro-segredo',
      '--json',
    )
    expect(JSON.parse(updated)).to.include({ alias: store?.alias, has_notification_secret: true })
  })

  it('contain no secrets: old keys, passwords and tokens are invalid, and new ones are created', async () => {
    const { company, tillToken, sale } = belongings
    const refused = [
      await callAs(url(), company)('GET', '/me'),
      await send(`${url()}/api/sync/status`, 'GET', undefined, { authorization: `Bearer ${tillToken}` }),
      await logIn(url(), company.user),
    ]
    expect(refused.map(({ status }) => status)).to.deep.equal([401, 401, 401])
    const id = String(company.id)
    const made = await command('key', 'create', '--company', id, '--name', 'nova', '--scopes', 'all', '--json')
    await command('user', 'set-password', '--company', id, '--email', company.user.email, '--password', NEW_PASSWORD)
    expect((await logIn(url(), { ...company.user, password: NEW_PASSWORD })).status).to.equal(200)
    belongings = { ...belongings, company: { ...company, api_key: JSON.parse(made).key } }
    const again = await callAs(url(), belongings.company)('GET', `/sales/${sale.reply.body.data.id}`)
    expect(again.body.data).to.deep.equal(sale.reply.body.data)
  })

  it('restore webhook endpoints; deliveries wait for a new secret, and are numbered from 1 again', async () => {
    const { company, sale, webhook } = belongings
    receiver.received.splice(0)
    const next = await sell(url(), company, sale.body, 'depois da perda')
    expect(next.body.data.id).to.be.above(sale.reply.body.data.id)
    const call = callAs(url(), company)
    const [waiting] = (await call('GET', `/webhooks/${webhook.id}/deliveries`)).body.data
    expect(waiting).to.include({ status: 'pending', sequence: 1 })
    const rotated = await call('POST', `/webhooks/${webhook.id}/rotate-secret`, { overlap_hours: 0 })
    expect(rotated.status, rotated.text).to.equal(200)
    const [delivery] = await until(() => receiver.received.length > 0 && receiver.received, { timeout_ms: 30_000 })
    expectSigned(delivery as Receiver['received'][number], rotated.body.data.secret)
  })
})
