import { expect } from 'chai'
import type { Pool } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import { hashEnvelope, streamName } from '#ledger/command.ts'
import type { OutsideStore } from '#ledger/port.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { readModel } from '#projections/index.ts'
import { recordText } from '../support/answers.ts'
import { type Json, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { copyKeys } from '../support/person-keys.ts'
import { collect } from './event-store-contract.ts'

const ONE_UNIT = (item: number, payment: number) => ({
  items: [{ catalog_item_id: item, quantity: '1' }],
  payments: [{ payment_type_id: payment, amount: '18.90' }],
})

/**
 * Behaviour of the service over HTTP on any store outside Postgres. `open` opens another connection to the same store.
 */
export function describeServiceOn(name: string, open: () => OutsideStore): void {
  describe(`service on ${name} [LEDGER-13]`, () => {
    const database = useDatabase('withoutReadModel')
    let api: TestApi
    let store: OutsideStore
    let company: TestCompany
    let cash: number

    async function start(databaseUrl = database.url): Promise<TestApi> {
      store = open()
      return startApi(databaseUrl, { store })
    }
    before(async function () {
      this.timeout(120_000)
      api = await start()
    })
    beforeEach(async () => {
      company = await api.company()
      cash = await company.paymentType('cash')
    })
    after(() => api.close())

    const itemWithStock = async (stock: string): Promise<number> =>
      (await company.post('/catalog/items', { name: 'Café', price: '18.90', stock })).body.data.id

    async function expectWholeLedger(): Promise<number> {
      const events = await collect(store.read(streamName(company.id), 0))
      for (const [position, { hash, ...rest }] of events.entries()) {
        expect(rest.revision).to.equal(position)
        expect(hash).to.equal(hashEnvelope(rest))
      }
      const reply = await company.get('/me')
      expect(reply.headers.get('x-ledger-revision')).to.equal(String(events.length - 1))
      return events.length
    }

    it('sells exactly the stock, and records each sale once', async () => {
      const item = await itemWithStock('20')
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          company.post('/sales', ONE_UNIT(item, cash), { 'idempotency-key': `venda-${n % 40}` }),
        ),
      )
      const sold = new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body.data.id))
      expect(sold.size).to.equal(20)
      expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('0.000')
      expect((await company.get('/sales?limit=200')).body.data).to.have.length(20)
      await expectWholeLedger()
    })

    it('answers a retry alike, and shows the same record everywhere', async () => {
      const item = await itemWithStock('5')
      const headers = { 'idempotency-key': 'uma' }
      const [first, second] = [
        await company.post('/sales', ONE_UNIT(item, cash), headers),
        await company.post('/sales', ONE_UNIT(item, cash), headers),
      ]
      expect(second.text).to.equal(first.text)
      expect(second.headers.get('idempotent-replayed')).to.equal('true')
      expect(recordText(await company.get(`/sales/${first.body.data.id}`))).to.equal(recordText(first))
      await expectWholeLedger()
    })

    it('accepts a batch of 500 commands', async () => {
      const items = Array.from({ length: 500 }, (_, n) => ({
        external_id: `c-${n}`,
        name: `Cliente ${n}`,
        notes: 'x'.repeat(1500),
      }))
      const reply = await company.post('/customers/batch', { items })
      expect(reply.body.meta).to.include({ succeeded: 500, failed: 0 })
      await expectWholeLedger()
    })

    it('gives two processes the same ledger', async () => {
      const item = await itemWithStock('30')
      const other = await startApi(database.url, { store: open() })
      try {
        const sell = (url: string, n: number) =>
          send(`${url}/api/v1/sales`, 'POST', ONE_UNIT(item, cash), {
            authorization: `Bearer ${company.key}`,
            'idempotency-key': `dois-${n}`,
          })
        const replies = await Promise.all(
          Array.from({ length: 40 }, (_, n) => sell(n % 2 === 0 ? api.url : other.url, n)),
        )
        expect(replies.filter(({ status }) => status === 201)).to.have.length(30)
        expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal('0.000')
        await expectWholeLedger()
      } finally {
        await other.close()
      }
    })

    describe('with an empty Postgres after a loss', () => {
      const fresh = useDatabase('withoutReadModel')

      it('restores tables with the keys of persons, without deliveries [LEDGER-9, LEDGER-16, LEDGER-42]', async function () {
        this.timeout(120_000)
        const item = await itemWithStock('5')
        await company.post('/webhooks', { url: 'https://erp.example/x', events: ['basic'] })
        await company.post('/sales', ONE_UNIT(item, cash))
        await company.post('/customers', { name: 'Ana' })
        const tables = await tablesOf(api.core.pool, company.id)
        const withoutKeys = await startApi(fresh.url, { store: open() })
        expect(await withoutKeys.core.missingKeys(), 'is not taken for forgotten').to.include(company.id)
        await withoutKeys.close()
        await copyKeys(database.url, fresh.url)
        const rebuilt = await startApi(fresh.url, { store: open() })
        try {
          await rebuilt.core.rebuild()
          expect(await rebuilt.core.unblock(company.id)).to.equal(true)
          expect(await tablesOf(rebuilt.core.pool, company.id)).to.deep.equal(tables)
          const { rows } = await rebuilt.core.pool.query('select from webhook_deliveries')
          expect(rows).to.have.length(0)
          const next = await rebuilt.company()
          expect(next.id).to.be.above(company.id)
          const { rows: given } = await rebuilt.core.pool.query(
            'select max(id) as id from customers where company_id = $1',
            [company.id],
          )
          const made = await runAsSystem<{ id: number }>(rebuilt.core.writer, company.id, createCustomer, {
            name: 'Bia',
          })
          expect(made).to.include({ id: given[0].id + 1 })
        } finally {
          await rebuilt.close()
        }
      })
    })
  })
}

/** All rows of a company, as text. */
export async function tablesOf(pool: Pool, companyId: number): Promise<Json> {
  // Rollups are refreshed on read.
  const tables = readModel.projections.flatMap(({ tables, grown }) => (grown ? [] : tables))
  const dumps = tables.map(async ({ name, keys }) => {
    const { rows } = await pool.query(
      `select t::text as line from ${name} t where company_id = $1 order by ${keys.pk.join(', ')}`,
      [companyId],
    )
    return [name, rows.map(({ line }) => line)]
  })
  return Object.fromEntries(await Promise.all(dumps))
}
