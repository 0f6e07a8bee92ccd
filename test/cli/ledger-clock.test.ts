import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import { loadClockCorrections, timeline, withPastCompany } from '#integrity/as-of.ts'
import { verifyLedger } from '#integrity/verify.ts'
import { streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { catchUpCompany } from '#ledger/write/attempt.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { fullReader } from '#queries/reader.ts'
import { outbox } from '#webhooks/outbox.ts'
import { collect } from '../ledger/event-store-contract.ts'
import { sealedAfter } from '../ledger/sealed-events.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { contextOf } from '../support/context.ts'
import { useDatabase } from '../support/database.ts'
import { itemCreated } from '../support/facts.ts'
import { createOutsideStore } from '../support/outside-store.ts'

const YEARS_MS = 10 * 365 * 86_400_000
const NO_FILTERS = { types: null, subject: null, origin: null, actor: null, since: null, until: null }
const AHEAD_ID = 900_001

for (const [name, open] of [
  ['Postgres', () => undefined],
  ['a store outside', createOutsideStore],
] as const) {
  describe(`ledger in ${name} with a last event ahead of the clock`, () => {
    const database = useDatabase(name === 'Postgres' ? 'withReadModel' : 'withoutReadModel')
    let api: TestApi
    let store: EventStore
    let company: TestCompany
    let other: TestCompany
    /** Time of the last event before the clock ran ahead. */
    let beforehand: string
    let stored: Json

    before(async () => {
      const outside = open()
      api = await startApi(database.url, outside ? { store: outside } : {})
      store = api.core.store
      other = await api.company()
      company = await api.company()
      await company.post('/webhooks', { url: 'http://127.0.0.1:1/', events: ['basic'] })
      stored = (await company.post('/customers', { name: 'Ana' }, { 'idempotency-key': 'before' })).body
      beforehand = (await eventsOf()).at(-1)?.recorded_at ?? ''
      await recordAhead()
    })
    after(() => api.close())

    const eventsOf = () => collect(store.read(streamName(company.id), 0))
    const now = () => new Date().toISOString()

    /** Appends events of a clock ten years ahead, applied as by a writer. */
    async function recordAhead(): Promise<void> {
      const { pool, model, keys } = api.core
      const last = (await eventsOf()).at(-1)
      if (!last) throw new Error('nothing was recorded')
      const commands = [sealedAfter(last.stream, last, [itemCreated({ id: AHEAD_ID })], Date.now() + YEARS_MS)]
      await inTransaction(pool, (tx) =>
        store.append([{ stream: last.stream, expectedRevision: last.revision, commands }], tx),
      )
      const told = { onCommitted: () => {}, onOutdated: () => {} }
      const options = {
        pool,
        store,
        model,
        keys,

        reactors: [outbox],
        newId: uuidv7,
        ...told,
      }
      await catchUpCompany(options, company.id, { waits: true })
    }

    async function correct(): Promise<Json> {
      const { name: verbName, values } = parseCommandLine(['ledger', 'correct-clock', String(company.id)])
      const verb = await load(verbName)
      return verb.run(contextOf(api.core), values as Parameters<typeof verb.run>[1])
    }

    it('refuses writes with the reason; other companies of the group are recorded [LEDGER-20]', async () => {
      const [reply, ...others] = await Promise.all([
        company.post('/customers', { name: 'Bia' }),
        other.post('/customers', { name: 'Bia' }),
        other.post('/customers', { name: 'Caio' }),
      ])
      expect(reply?.status).to.equal(503)
      expect(reply?.headers.get('retry-after')).to.equal('60')
      expect(reply?.body.error).to.include({ code: 'unavailable' })
      expect(reply?.body.error.details).to.deep.equal({ reason: 'ledger_ahead_of_clock' })
      expect(others.map(({ status }) => status)).to.deep.equal([201, 201])
      const batch = await company.post('/customers/batch', { items: [{ name: 'Bia' }] }, { 'idempotency-key': 'batch' })
      expect(batch.status).to.equal(503)
    })

    it('serves reads and stored responses [LEDGER-20]', async () => {
      expect((await company.get(`/customers/${stored.data.id}`)).status).to.equal(200)
      const again = await company.post('/customers', { name: 'Ana' }, { 'idempotency-key': 'before' })
      expect(again.body).to.deep.equal(stored)
    })

    it('is counted in health and metrics [LEDGER-20]', async () => {
      expect(await api.core.ledgersAhead()).to.equal(1)
      const health = await (await fetch(`${api.url}/health/ready`)).json()
      expect(health).to.deep.include({ status: 'ready', ledgers_ahead_of_clock: 1 })
    })

    it('makes deliveries due by the real clock [LEDGER-22]', async () => {
      const { rows } = await api.core.pool.query(
        `select count(*) as count, max(next_attempt_at) <= clock_timestamp() as due, max(created_at) <= clock_timestamp() as made
         from webhook_deliveries where company_id = $1`,
        [company.id],
      )
      expect(rows).to.deep.equal([{ count: 1, due: true, made: true }])
    })

    it('follows the real clock once an operator has recorded the clock error [LEDGER-21]', async () => {
      await api.core.pool.query(
        `update webhook_deliveries set next_attempt_at = now() + interval '10 years', created_at = now() + interval '10 years'
         where company_id = $1`,
        [company.id],
      )
      const told = await correct()
      expect(told).to.include({ company_id: company.id, brought_back: 1 })
      expect(Math.abs(Date.parse(told.last_recorded_at) - Date.now())).to.be.below(60_000)
      expect((await company.post('/customers', { name: 'Bia' })).status).to.equal(201)
      const [ahead, corrected, next] = (await eventsOf()).slice(-3)
      expect(corrected).to.deep.include({ type: 'CompanyClockCorrected', origin: 'system' })
      expect(corrected?.data).to.deep.equal({ id: company.id, ahead_until: ahead?.recorded_at })
      expect([beforehand, corrected?.recorded_at, next?.recorded_at, now()]).to.satisfy(isAscending)
      const { rows } = await api.core.pool.query(
        'select from webhook_deliveries where company_id = $1 and greatest(next_attempt_at, created_at) > clock_timestamp()',
        [company.id],
      )
      expect(rows).to.deep.equal([])
    })

    it('verifies with its correction only [LEDGER-21]', async () => {
      const { valid, checked } = await verifyLedger(api.core, company.id, {})
      expect({ valid, checked }).to.deep.equal({ valid: true, checked: (await eventsOf()).length })
    })

    it('has as-of reads by real time, regardless of the times of its events [LEDGER-21]', async () => {
      const revisionAt = (time: string) =>
        withPastCompany(api.core, company.id, { time }, async ({ revision }) => revision)
      const events = await eventsOf()
      expect(await revisionAt(now())).to.equal(events.length - 1)
      expect(await revisionAt(beforehand)).to.equal(events.length - 4)
      const corrections = await loadClockCorrections(fullReader(api.core.pool, company.id))
      const since = async (time: string) => {
        const page = await timeline(store, company.id, corrections, events.length, { ...NO_FILTERS, since: time }, 50)
        return page.events.map(({ type }) => type)
      }
      expect(await since(corrections[0]?.recorded_at ?? '')).to.deep.equal(['CustomerCreated', 'CompanyClockCorrected'])
      expect(await since(beforehand))
        .to.include.members(['CatalogItemCreated', 'CustomerCreated', 'CompanyClockCorrected'])
        .and.have.length(4)
    })

    it('is not corrected if there is nothing to correct [LEDGER-21]', async () => {
      const error = await correct().catch((reason: unknown) => reason)
      expect((error as Refused).refusal.refused).to.equal('validation_failed')
      expect(error).to.be.instanceOf(Refused)
    })
  })
}

const isAscending = (times: readonly (string | undefined)[]): boolean =>
  times.every((time, n) => n === 0 || (times[n - 1] ?? '') <= (time ?? ''))
