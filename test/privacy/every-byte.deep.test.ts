import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { forgetPerson } from '#commands/forget-person.ts'
import { exportLines } from '#integrity/verify.ts'
import { parseSubject } from '#ledger/projection.ts'
import { createErasureList, eraseLateWrites } from '#privacy/erasures.ts'
import { errorRecord } from '#service/service.ts'
import { startWebhooks } from '#webhooks/webhook-loops.ts'
import { type Json, startApi, type TestApi } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { useDatabase } from '../support/database.ts'
import { createMemoryProvider, type MemoryProvider } from '../support/memory-provider.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { createMarkers, type MarkedCompany, openMarkedCompany } from './marked-company.ts'

/** Locations of a marker: tables, and stores outside of Postgres. */
type Places = Map<string, Set<string>>

/** Contents of all tables of all schemas, as lower-case text. */
async function tablesOf(pool: Pool): Promise<[place: string, text: string][]> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const all: [string, string][] = []
  for (const { name } of rows) {
    const { rows } = await pool.query<{ text: string }>(`select t::text as text from ${name} t`)
    all.push([name, rows.map(({ text }) => text).join('\n')])
  }
  return all
}

const filesOf = async (directory: string): Promise<[place: string, text: string][]> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(files.map(async (file) => [file, await readFile(file, 'latin1')]))
}

for (const where of ['Postgres', 'a store outside'] as const) {
  describe(`an erased person, the ledgers in ${where}`, function () {
    this.timeout(30_000)
    const database = useDatabase()
    const markers = createMarkers()
    const unkept = createMarkers()
    const logged: string[] = []
    const log = (message: string, error: unknown) => logged.push(`${message} ${JSON.stringify(errorRecord(error))}`)
    let store: FaultyStore | undefined
    let provider: MemoryProvider
    let api: TestApi
    let receiver: Receiver
    let webhooks: ReturnType<typeof startWebhooks>
    let dataDir: string
    let shop: MarkedCompany

    before('open a company with persons', async () => {
      store = where === 'Postgres' ? undefined : createOutsideStore()
      provider = createMemoryProvider()
      dataDir = await mkdtemp(join(tmpdir(), 'tillbook-forgotten-'))
      receiver = await startReceiver()
      // Echoes the request, and answers some requests with an error.
      receiver.answer = ({ body }, response) =>
        response.writeHead(body.includes('"order.') ? 500 : 200).end(body.slice(body.indexOf('"data"')))
      api = await startApi(database.url, { provider, log, ...(store && { store }) })
      webhooks = startWebhooks({
        vault: api.core.vault,
        databaseUrl: database.url,
        switchOff: async () => undefined,
        retrySeconds: [3_600],
        switchOffHours: 24,
        allowPrivate: true,
        clock: Date.now,
        random: () => 0,
        newId: uuidv7,
        log,
      })
      shop = await openMarkedCompany({ api, provider, markers, unkept, webhookUrl: receiver.url, run })
      await until(async () => {
        const { rows } = await api.core.pool.query('select from webhook_deliveries where attempts::text = $1', ['[]'])
        return rows.length === 0
      })
    })
    after(async () => {
      await webhooks.stop()
      await receiver.close()
      await api.close()
      await rm(dataDir, { recursive: true })
    })

    async function run(...words: string[]): Promise<Json> {
      const { name, values } = parseCommandLine(words)
      const verb = await load(name)
      return verb.run(contextOf(api.core), values as Parameters<typeof verb.run>[1])
    }

    /** Everything that is stored, and all responses of the interfaces. */
    async function searched(): Promise<Places> {
      const { pool } = api.core
      const streams = store?.events(`company-${shop.company.id}`) ?? []
      const paths = ['/customers', '/suppliers', '/sales', '/orders', '/finance/receivables', '/finance/payables']
      const company = ['--company', String(shop.company.id)]
      const told: [string, string][] = []
      for (const path of [...paths, '/events', '/events?opened=true'])
        told.push([`GET ${path}`, (await shop.company.get(path)).text])
      for (const path of paths) {
        const past = await run('ledger', 'as-of', ...company, '--at', String(shop.revision), '--get', path)
        told.push([`as of then: GET ${path}`, JSON.stringify(past)])
      }
      for (const subject of shop.subjects) {
        const history = await run('ledger', 'history', ...company, '--subject', subject)
        told.push([`history of ${subject}`, JSON.stringify(history)])
      }
      const exported: string[] = []
      for await (const line of exportLines(api.core.store, shop.company.id, 0)) exported.push(line)
      const all = [
        ...(await tablesOf(pool)),
        ...(await filesOf(dataDir)),
        ...told,
        ['streams', JSON.stringify(streams)],
        ['export', exported.join('\n')],
        ['log', logged.join('\n')],
        ['webhooks', receiver.received.map(({ body }) => body).join('\n')],
      ] as const
      const found: Places = new Map()
      for (const [place, text] of all) {
        const searchable = text.toLowerCase()
        const here = [...markers.all, ...markers.shown, ...unkept.all].filter((marker) => searchable.includes(marker))
        if (here.length > 0) found.set(place, new Set(here))
      }
      return found
    }

    it('no byte keeps an erased person [PRIV-30] [PRIV-32] [PRIV-33] [PRIV-34] [PRIV-35] [PRIV-36]', async () => {
      const before = await searched()
      // Proves that the search finds the markers before the erasure.
      const known = new Set([...before.values()].flatMap((here) => [...here]))
      expect(
        markers.all.filter((marker) => !known.has(marker)),
        'markers that are nowhere',
      ).to.deep.equal([])
      const KEPT = [
        'idempotent_answers',
        'webhook_messages',
        'webhook_deliveries',
        'payment_notifications',
        'refused_sales',
      ]
      for (const table of [...KEPT, 'persons', 'password_links'])
        expect(before.has(`ops.${table}`), table).to.equal(true)
      for (const table of ['customers', 'suppliers', 'users', 'orders', 'sales', 'receivables', 'payables'])
        expect(before.has(`read.${table}`), table).to.equal(true)

      const status = await forgetAll()
      expect(status).to.equal(200)
      receiver.received.length = 0
      // Sends pending deliveries, and sent ones again.
      await api.core.pool.query("update webhook_deliveries set status = 'pending', next_attempt_at = now()")
      api.core.deliveryNotifier.notify()
      const { rows } = await api.core.pool.query('select from webhook_deliveries')
      await until(async () => receiver.received.length >= rows.length)
      await until(async () => {
        const { rows } = await api.core.pool.query(
          "select from webhook_deliveries where status = 'pending' and next_attempt_at < now() + interval '50 minutes'",
        )
        return rows.length === 0
      })

      const left = [...(await searched())].map(([place, here]) => `${place}: ${[...here].join(' ')}`)
      expect(left).to.deep.equal([])
    })

    it('is in no repeated response, late till sale, or other late write [PRIV-32] [PRIV-35] [PRIV-37]', async () => {
      const again = await shop.repeat()
      expect(again.status, again.text).to.equal(201)
      expect(JSON.parse(again.text).data).to.include({ name: null, document: null, email: null, person_type: 'PF' })
      await shop.refuse(markers.all[0] as string)
      const { pool } = api.core
      const late = JSON.stringify({ id: JSON.parse(again.text).data.id, person_type: 'PF', name: markers.all[0] })
      await pool.query('update idempotent_answers set body = $2 where company_id = $1', [shop.company.id, late])
      expect([...(await searched()).keys()]).to.deep.equal(['ops.idempotent_answers'])
      await eraseLateWrites(pool, { onError: (error) => expect.fail(String(error)) })
      expect([...(await searched()).keys()]).to.deep.equal([])
    })

    /** Erases one person through the API and the others despite legal retention. Returns the status of the first. */
    async function forgetAll(): Promise<number> {
      const list = createErasureList({ pool: api.core.pool, dataDir, onError: (error) => log('list', error) })
      const byPanel = shop.subjects[3] as string
      const { status } = await shop.company.post(`/customers/${parseSubject(byPanel).id}/forget`, {
        ground: 'holder_request',
      })
      for (const subject of shop.subjects) {
        const { type, id } = parseSubject(subject)
        const kind = type as 'customer'
        await shop.company.run(forgetPerson, { kind, id, ground: 'restored_backup', retention_years: 5 }, 'system')
      }
      await list.sync()
      expect((await list.read()).map(({ subject }) => subject)).to.include.members(shop.subjects)
      return status
    }
  })
}
