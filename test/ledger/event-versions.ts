import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { v7 } from 'uuid'
import * as z from 'zod'
import { createCategory } from '#commands/catalog-commands.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { createUpcaster, newVersion, text } from '#events/event-definitions.ts'
import { withPastCompany } from '#integrity/as-of.ts'
import { exportLines, verifyExport, verifyLedger } from '#integrity/verify.ts'
import { accept, command, type Envelope, hashEnvelope, isRefusal, streamName } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { type Note, type OutsideStore, searchNewest } from '#ledger/port.ts'
import type { Reactor, ReadModel } from '#ledger/projection.ts'
import { NEXT_SCHEMA } from '#ledger/rebuild/build.ts'
import { rebuild } from '#ledger/rebuild/rebuild.ts'
import { copyLedgers } from '#ledger/stores/copy-ledgers.ts'
import { catchUpCompany } from '#ledger/write/attempt.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { readModel } from '#projections/index.ts'
import { listEvents } from '#queries/event-queries.ts'
import { fullReader, Reader, WHOLE } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import type { Core } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { openTestCore } from '../support/test-core.ts'
import { appendOf, collect } from './event-store-contract.ts'

/** Next version of the category: its name is renamed to label. */
const CategoryCreated = newVersion(
  EVENT_TYPES.CategoryCreated,
  { external_id: text.nullable(), label: z.strictObject({ text }) },
  ({ name, ...rest }) => ({ ...rest, label: { text: name } }),
)

/** Read model of the next version; its projections accept the new event only. */
const tomorrow: ReadModel = {
  ...readModel,
  version: `${readModel.version}-tomorrow`,
  upcast: createUpcaster({ ...EVENT_TYPES, CategoryCreated }),
  projections: readModel.projections.map((projection) => {
    const today = projection.on.CategoryCreated
    if (!today) return projection
    const asToday = (event: Envelope): Envelope => {
      expect(event.version).to.equal(2)
      const { label, ...rest } = CategoryCreated.data.parse(event.data)
      return { ...event, data: { ...rest, name: label.text } }
    }
    const handler: typeof today = {
      refs: (event) => today.refs(asToday(event)),
      apply: (rows, event) => today.apply(rows, asToday(event)),
    }
    return { ...projection, on: { ...projection.on, CategoryCreated: handler } }
  }),
}

const labelled = (id: number, label: string) => ({
  type: 'CategoryCreated',
  version: CategoryCreated.version,
  subject: `category/${id}`,
  data: { id, external_id: null, label: { text: label } },
})

/** Command of the next version. */
const labelCategory = command<string>({
  needs: () => [],
  decide(_rows, label, { nextId }) {
    const event = labelled(nextId('category'), label)
    return accept('created', event.subject, [event])
  },
})

/** Separate part of a store that current programs do not read, because they cannot read events of the next version. */
function cornerOf(store: OutsideStore): OutsideStore {
  const corner = `corner-${randomUUID()}-`
  const log: Note[] = []
  return {
    ...store,
    async append(appends, tx) {
      await store.append(
        appends.map((append) => ({ ...append, stream: `${corner}${append.stream}` })),
        tx,
      )
      for (const { stream, revision } of appends.flatMap(({ commands }) => commands.flat()))
        log.push({ stream, revision, position: String(log.length) })
    },
    read: (stream, from) => store.read(`${corner}${stream}`, from),
    pick: (stream, revisions) => store.pick(`${corner}${stream}`, revisions),
    async *streams() {
      yield* new Set(log.map(({ stream }) => stream))
    },
    async *notes(after) {
      yield* log.slice(after === null ? 0 : Number(after) + 1)
    },
    // The store outlives the programs of a test.
    close: async () => {},
  }
}

/** Tests of event versions on any store; `open` returns one outside Postgres, or null for the one in Postgres. */
export function describeEventVersions(name: string, open: () => OutsideStore | null): void {
  describe(`versions of events: ${name}`, () => {
    const database = useDatabase()
    let outside: OutsideStore | null = null
    let core: Core
    let companyId: number
    /** Ledger as the current program wrote it. */
    let written: string

    const start = (model?: ReadModel) =>
      openTestCore(database.url, { log: console.error, ...(outside && { store: cornered }), ...(model && { model }) })
    let cornered: OutsideStore

    const lines = async () => (await collect(exportLines(core.store, companyId, 0))).join('')
    const names = async (reader = fullReader(core.pool, companyId)): Promise<string[]> => {
      const text = `select doc->>'name' as name from ${t.categories} where company_id = $1 order by id`
      const { rows } = await reader.query({ text })
      return rows.map((row) => row.name)
    }
    const head = async () => {
      const { rows } = await core.pool.query('select revision, hash from ledgers where company_id = $1', [companyId])
      return rows[0]
    }

    before(async function () {
      this.timeout(120_000)
      outside = open()
      if (outside) cornered = cornerOf(outside)
      core = await start()
      const { rows } = await core.pool.query(`select nextval('ops.company_ids') as id`)
      companyId = rows[0].id
      await ensureLedger(core.pool, companyId)
      await runAsSystem(core.writer, companyId, registerCompany, companyRegistered({ id: companyId }).data as never)
      for (const category of ['Pães', 'Doces'])
        await runAsSystem(core.writer, companyId, createCategory, { name: category })
      written = await lines()
      await core.close()
      core = await start(tomorrow)
    })
    after(async () => {
      await core.close()
      await outside?.close()
    })

    /** Leftovers of a process that ended between append and COMMIT: an event of each version. */
    async function leave(
      events: readonly { readonly version: number; readonly subject: string; readonly data: object }[],
    ) {
      let last = (await collect(core.store.read(streamName(companyId), 0))).at(-1) as Envelope
      const left = events.map(({ version, subject, data }) => {
        const { hash: previous_hash, ...rest } = last
        const head = {
          ...rest,
          id: v7(),
          revision: last.revision + 1,
          type: 'CategoryCreated',
          version,
          subject,
          previous_hash,
        }
        last = { ...head, data, hash: hashEnvelope({ ...head, data }) }
        return last
      })
      await inTransaction(core.pool, (tx) => core.store.append([appendOf(left)], tx))
    }

    /** Catches up with a read model. Returns the events that its reactors saw. */
    async function catchUp(model: ReadModel): Promise<Pick<Envelope, 'version' | 'data'>[]> {
      const seen: Pick<Envelope, 'version' | 'data'>[] = []
      const reactor: Reactor = {
        refs: () => [],
        react: (_rows, { version, data }) => seen.push({ version, data }),
      }
      const { pool, store, keys } = core
      const told = { onCommitted: () => {}, onOutdated: () => {} }
      const version = tomorrow.version
      const options = {
        pool,
        store,
        keys,
        model: { ...model, version },
        reactors: [reactor],
        newId: v7,
      }
      await catchUpCompany({ ...options, ...told }, companyId, { waits: true })
      return seen
    }

    it('a rebuild reads the former version in the shape of the newest [LEDGER-17]', async () => {
      expect(await names()).to.deep.equal(['Pães', 'Doces'])
    })

    it('the writer stores the newest version', async () => {
      const made = await runAsSystem<{ id: number; name: string }>(core.writer, companyId, labelCategory, 'Bolos')
      expect(made).to.include({ name: 'Bolos' })
      expect(await names()).to.deep.equal(['Pães', 'Doces', 'Bolos'])
      const stored = await collect(core.store.read(streamName(companyId), 1))
      expect(stored.map(({ version }) => version)).to.deep.equal([1, 1, 2])
    })

    it('catch-up applies both versions; reactors see only the newest [LEDGER-17]', async () => {
      await leave([
        { version: 1, subject: 'category/1001', data: { id: 1001, external_id: null, name: 'Tortas' } },
        labelled(1002, 'Cafés'),
      ])
      expect(await catchUp(tomorrow)).to.deep.equal([
        { version: 2, data: { id: 1001, external_id: null, label: { text: 'Tortas' } } },
        { version: 2, data: { id: 1002, external_id: null, label: { text: 'Cafés' } } },
      ])
      expect(await names()).to.deep.equal(['Pães', 'Doces', 'Bolos', 'Tortas', 'Cafés'])
    })

    it('a rebuild produces the same tables', async () => {
      const { parity } = await core.rebuild()
      expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
      expect(await names()).to.deep.equal(['Pães', 'Doces', 'Bolos', 'Tortas', 'Cafés'])
    })

    it('as-of reads show every past revision', async () => {
      for (const [revision, count] of [0, 1, 2, 3, 4, 5].entries()) {
        const then = await withPastCompany(core, companyId, { revision }, async ({ source }) =>
          names(new Reader(companyId, source, WHOLE)),
        )
        expect(then).to.deep.equal(['Pães', 'Doces', 'Bolos', 'Tortas', 'Cafés'].slice(0, count))
      }
    })

    it('stored events stay unchanged in the export, the feed and verification [LEDGER-17]', async () => {
      expect(await lines()).to.satisfy((all: string) => all.startsWith(written))
      expect(await verifyLedger(core, companyId)).to.include({ valid: true, checked: 6 })
      const folder = await mkdtemp(join(tmpdir(), 'versions-'))
      try {
        const path = join(folder, 'export.jsonl')
        await writeFile(path, await lines())
        expect(await verifyExport(path, () => ({}))).to.include({ valid: true, checked: 6 })
      } finally {
        await rm(folder, { recursive: true })
      }
      const page = await listEvents({ ...core, reader: fullReader(core.pool, companyId) }, { limit: 10 })
      if (isRefusal(page)) throw new Error(page.refused)
      expect(`[${page.data}]`).to.equal(`[${(await lines()).trim().replaceAll('\n', ',')}]`)
    })

    it('a copy of the ledger equals the ledger', async () => {
      const copy = createOutsideStore()
      await copyLedgers(core.store, copy)
      expect(await collect(copy.read(streamName(companyId), 0))).to.deep.equal(
        await collect(core.store.read(streamName(companyId), 0)),
      )
    })

    it('the history of a record shows the newest version with the hash of the stored event', async () => {
      const stored = (await collect(core.store.read(streamName(companyId), 0))).at(1) as Envelope
      const { type, subject, revision } = stored
      const wanted = { fromRevision: 0, toRevision: 5, types: [type], subject, limit: 10 }
      const { events } = await searchNewest({ ...core, model: tomorrow }, streamName(companyId), wanted)
      const { id } = stored.data as { id: number }
      expect(events.map(({ json }) => JSON.parse(json))).to.deep.equal([
        { ...stored, version: 2, data: { id, external_id: null, label: { text: 'Pães' } } },
      ])
      expect(events[0]?.revision).to.equal(revision)
    })

    it('an older program reports that it is outdated, and changes nothing [LEDGER-17]', async () => {
      const before = await head()
      await leave([labelled(1003, 'Sucos')])
      const isOlder = (error: unknown) =>
        expect(error)
          .to.be.instanceOf(Unavailable)
          .with.property('message')
          .that.includes('this program is older than the ledger: it does not know version 2 of CategoryCreated')
      isOlder(await catchUp(readModel).catch((error: unknown) => error))
      expect(await head()).to.deep.equal(before)
      const past = withPastCompany({ ...core, model: readModel }, companyId, { revision: 5 }, async () => {})
      expect(await past.catch((error: unknown) => error))
        .to.be.instanceOf(Unavailable)
        .with.property('message', 'the read model has another version')
      const buildPool = createPool(database.url, { max: 4, pipeline: true, read_schemas: [NEXT_SCHEMA] })
      const { pool, store, keys } = core
      isOlder(await rebuild({ pool, buildPool, store, keys, model: readModel }).catch((error: unknown) => error))
      await buildPool.end()
      await catchUp(tomorrow)
      expect(await names()).to.deep.equal(['Pães', 'Doces', 'Bolos', 'Tortas', 'Cafés', 'Sucos'])
    })
  })
}
