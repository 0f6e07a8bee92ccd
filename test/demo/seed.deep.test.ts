import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  type AuthenticatedCall,
  createApiAuthenticator,
  hashKey,
  KEY_BYTES,
  newKey,
} from '#access/api-authenticator.ts'
import { verifyPassword } from '#access/passwords.ts'
import { CreateCategoryInput } from '#commands/catalog-commands.ts'
import { RegisterCompanyInput, registerCompany } from '#commands/company-commands.ts'
import { ReplaceItemInput, replaceItem } from '#commands/item-commands.ts'
import { ReplaceCustomerInput, replaceCustomer } from '#commands/person-commands.ts'
import { CreatePaymentTypeInput, CreateStoreInput, updateStore } from '#commands/store-commands.ts'
import { createApiKey, MAX_ACTIVE_KEYS, revokeApiKey } from '#commands/webhook-commands.ts'
import { DEMO_COMPANIES, monthOfSales } from '#demo/companies/demo-companies.ts'
import { type DemoFile, seedDemo } from '#demo/companies/demo-seed.ts'
import { SCOPES } from '#domain/rights.ts'
import { PAYMENT_KINDS } from '#events/company-events.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { findStore } from '#queries/company-queries.ts'
import type { Core } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { openTestCore } from '../support/test-core.ts'

const RECORDS = {
  items: [{ id: 1, external_id: 'leite-1l', price: '5.29', unit: 'UN' }],
  customers: [1],
  types: { cash: 1, debit: 2, credit: 3, pix: 4, account: 5 },
}

const DAY_MS = 86_400_000
const BASE_URL = 'http://127.0.0.1:3000'

describe('demonstration data', () => {
  it('is the same for the same days, whenever it is asked for [PANEL-126]', () => {
    const until = (now: string) => monthOfSales(RECORDS, now, 'America/Sao_Paulo').flat()
    const noon = until('2026-03-11T15:00:00.000Z')
    const later = new Map(until('2026-03-13T20:00:00.000Z').map((sale) => [sale.offline_id, sale]))
    const common = noon.filter(({ offline_id }) => later.has(offline_id))
    expect(common.length).to.be.within(400, noon.length - 1)
    for (const sale of common) expect(later.get(sale.offline_id)).to.deep.equal(sale)
  })

  it('is valid input', () => {
    for (const { company, paymentTypes, categories, items, customers, store } of DEMO_COMPANIES) {
      if (store) expect(CreateStoreInput.parse(store)).to.include(store)
      expect(RegisterCompanyInput.parse({ id: 1, ...company })).to.deep.equal({ id: 1, ...company })
      for (const type of paymentTypes) expect(CreatePaymentTypeInput.parse(type)).to.deep.equal(type)
      for (const category of categories) expect(CreateCategoryInput.parse(category)).to.deep.equal(category)
      for (const customer of customers) expect(ReplaceCustomerInput.parse(customer)).to.deep.equal(customer)
      for (const { category, ...item } of items) {
        expect(ReplaceItemInput.parse(item)).to.deep.equal(item)
        expect(category === undefined || categories.some(({ external_id }) => external_id === category)).to.equal(true)
      }
    }
    const kinds = DEMO_COMPANIES[0]?.paymentTypes.map(({ kind }) => kind)
    // That of orders is made with the store.
    expect(kinds).to.include.members(PAYMENT_KINDS.filter((kind) => kind !== 'online'))
  })

  describe('in a database', () => {
    const database = useDatabase()
    let core: Core
    let folder: string
    let demoFile: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tillbook-demo-'))
      demoFile = join(folder, 'data', 'demo.json')
      core = await openTestCore(database.url)
    })
    it('is not created beside companies without a seed [OPS-3]', async () => {
      await core.pool.query(`insert into ops.ledgers (company_id, hash) values (900, repeat('0', 64))`)
      const company = { cnpj: '11.222.333/0001-81', plan: 'api', timezone: 'UTC', logo_url: null } as const
      await runAsSystem(core.writer, 900, registerCompany, { id: 900, name: 'Já havia', ...company })
      expect(await seedDemo(core, { baseUrl: BASE_URL, demoFile })).to.equal(false)
      const { rowCount } = await core.pool.query('select from ops.demo_companies')
      expect(rowCount).to.equal(0)
      await core.pool.query('delete from read.companies where company_id = 900')
    })

    after(async () => {
      await core.close()
      await rm(folder, { recursive: true })
    })

    const start = (on: Core = core) => seedDemo(on, { baseUrl: BASE_URL, demoFile })
    const read = async (): Promise<DemoFile> => JSON.parse(await readFile(demoFile, 'utf8'))
    const admit = (key: string) =>
      createApiAuthenticator(core.pool, { perMinute: 1000, perDay: 1000, bytesPerDay: 1_000_000 }).admit(hashKey(key))
    const revisions = async () =>
      (await core.pool.query('select company_id, revision from ops.ledgers order by company_id')).rows
    const hashOf = async (email: string): Promise<string> =>
      (await core.pool.query('select password_hash from ops.persons where email = $1', [email])).rows[0].password_hash

    /** All contents of demo.json. */
    async function expectAccess(): Promise<DemoFile> {
      const file = await read()
      expect(file.base_url).to.equal(BASE_URL)
      expect((await stat(demoFile)).mode & 0o777).to.equal(0o600)
      expect(file.companies.map((company) => company.name)).to.deep.equal(
        DEMO_COMPANIES.map(({ company }) => company.name),
      )
      for (const [index, company] of file.companies.entries()) {
        expect(Object.keys(company)).to.deep.equal(['id', 'name', 'api_key', 'read_only_key', 'user', 'store'])
        const [full, reading] = (await Promise.all([
          admit(company.api_key),
          admit(company.read_only_key),
        ])) as AuthenticatedCall[]
        const plan = index === 2 ? 'basic' : 'api'
        expect(full).to.deep.include({ kind: 'admitted', companyId: company.id, scopes: [...SCOPES], plan })
        expect(reading).to.include({ kind: 'admitted', companyId: company.id })
        expect(reading?.scopes.every((scope) => scope.endsWith(':read'))).to.equal(true)
        expect(await verifyPassword(await hashOf(company.user.email), company.user.password)).to.equal(true)
        await expectStore(company, index === 0)
      }
      return file
    }

    async function expectStore({ id, store }: DemoFile['companies'][number], hasOne: boolean): Promise<void> {
      const { rows } = await core.pool.query('select alias from ops.store_secrets where company_id = $1', [id])
      expect(rows).to.have.length(hasOne ? 1 : 0)
      if (!hasOne) expect(store).to.equal(null)
      if (!store) return
      expect(store).to.have.all.keys('alias', 'notification_secret')
      const found = await findStore(core.pool, core.vault, store.alias)
      expect(found).to.include({
        companyId: id,
        enabled: true,
        sandbox: true,
        notificationSecret: store.notification_secret,
      })
      expect(found?.accessToken).to.match(/^TEST-/)
    }

    async function expectRecordsOnce(): Promise<void> {
      const { companies } = await read()
      for (const [index, { id }] of companies.entries()) {
        const { rows } = await core.pool.query(
          `select (select count(*) from read.payment_types where company_id = $1) as types,
                  (select count(*) from read.categories where company_id = $1) as categories,
                  (select count(*) from read.catalog_items where company_id = $1) as items,
                  (select count(*) from read.customers where company_id = $1) as customers,
                  (select count(*) from read.users where company_id = $1) as users,
                  (select count(*) from read.api_keys where company_id = $1 and revoked_at is null) as keys`,
          [id],
        )
        const { paymentTypes, categories, items, customers, store } = DEMO_COMPANIES[index]!
        expect(rows[0]).to.deep.equal({
          // With a store comes the payment type of its orders.
          types: paymentTypes.length + (store ? 1 : 0),
          categories: categories.length,
          items: items.length,
          customers: customers.length,
          users: 1,
          keys: 2,
        })
      }
    }

    it('is completed by the next start after a crash at any point [OPS-3]', async () => {
      const crashAfter = async (survivors: number): Promise<boolean> => {
        let commands = 0
        const around: Core['writer']['around'] = (_request, write) =>
          commands++ < survivors ? write() : Promise.reject(new Error('crash'))
        const failure = await start({ ...core, writer: { ...core.writer, around } }).catch(
          (error: Error) => error.message,
        )
        await core.writer.queue.idle()
        return failure === 'crash'
      }
      let survivors = 0
      while (await crashAfter(survivors)) survivors += 1
      expect(survivors).to.be.greaterThan(5)
      await expectAccess()
      await expectRecordsOnce()
    })

    it('is unchanged by further starts, concurrent ones included [OPS-3]', async () => {
      const [file, before] = [await read(), await revisions()]
      await Promise.all([start(), start()])
      expect(await read()).to.deep.equal(file)
      expect(await revisions()).to.deep.equal(before)
    })

    it('leaves a company alone that moves to another cell [CELL-3]', async () => {
      const [file, before] = [await read(), await revisions()]
      const first = file.companies[0]?.id
      await core.pool.query('update ops.ledgers set closed_at = now() where company_id = $1', [first])
      const soldUntil = '2026-03-10T15:00:00.000Z'
      expect(await seedDemo(core, { baseUrl: BASE_URL, demoFile, soldUntil })).to.equal(true)
      expect(await read()).to.deep.equal(file)
      await core.pool.query('update ops.ledgers set closed_at = null where company_id = $1', [first])
      expect(await revisions()).to.deep.equal(before)
    })

    it('adds a missing store to demo.json, and keeps the rest', async () => {
      const file = await read()
      const companies = file.companies.map((company) => ({ ...company, store: null }))
      await writeFile(demoFile, JSON.stringify({ ...file, companies }))
      await start()
      expect(await read()).to.deep.equal(file)
    })

    it('writes the new secret of a store with a replaced secret', async () => {
      const { id, store } = (await read()).companies[0]!
      await runAsSystem(core.writer, id, updateStore, { alias: store!.alias, notification_secret: 'outro-segredo' })
      await start()
      expect((await read()).companies[0]!.store).to.deep.equal({ ...store, notification_secret: 'outro-segredo' })
    })

    it('the first company has a month of sales, once [PANEL-126] [OPS-721]', async () => {
      // The sales of a day follow from its date.
      const today = Date.parse('2026-03-11T15:00:00.000Z')
      const startMonth = (soldUntil = new Date(today).toISOString()) =>
        seedDemo(core, { baseUrl: BASE_URL, demoFile, soldUntil })
      await startMonth(new Date(today - DAY_MS).toISOString())
      const { id } = (await read()).companies[0]!
      const count = async () => {
        const { rows } = await core.pool.query(
          `select (select count(*) from read.sales where company_id = $1) as sales,
             (select count(*) from read.sales where company_id = $1 and status = 'cancelled') > 0 as has_cancelled,
             (select count(distinct payment -> 'payment_type_id' #>> '{}') from read.sales, json_array_elements(doc -> 'payments') as payment where company_id = $1)::int as ways,
             (select count(distinct actor)::int from read.sales where company_id = $1) as clerks,
             (select count(*) from read.receivables where company_id = $1) > 0 as is_owed,
             (select count(*)::int from read.orders where company_id = $1) as orders,
             (select array_agg(doc ->> 'total') from read.sales where company_id = $1 and doc ->> 'order_id' is not null) as ordered,
             (select stock::text from read.item_stocks join read.catalog_items using (company_id, id) where company_id = $1 and external_id = 'leite-1l') as milk,
             (select count(*)::int from read.cash_sessions where company_id = $1 and closed_at is null) as open_sessions,
             (select count(*) between 10 and 20 from read.returns where company_id = $1) as has_returns,
             (select count(*)::int from read.returns where company_id = $1 and json_array_length(doc -> 'warnings') > 0) as odd_returns,
             (select count(*)::int from read.cash_sessions where company_id = $1 and difference_cents > 0) as miscounted,
             (select count(*)::int from read.offline_sales where company_id = $1 and json_array_length(warnings) > 0) as odd`,
          [id],
        )
        return rows[0]
      }
      const atFirst = await count()
      await startMonth()
      const { sales, ...rest } = await count()
      expect(sales).to.be.greaterThan(atFirst.sales)
      expect(atFirst).to.include({ orders: 2, milk: '90.000' })
      expect(rest.open_sessions).to.be.within(0, 2)
      expect(sales).to.be.within(500, 900)
      expect(rest).to.include({ has_cancelled: true, ways: 6, clerks: 2, is_owed: true, orders: 2, milk: '96.000' })
      expect(rest).to.include({ has_returns: true, odd_returns: 0 })
      // Of two tills, on four or five days.
      expect(rest.miscounted).to.be.within(1, 10)
      expect(rest.ordered).to.deep.equal(['93.32'])
      await startMonth()
      expect(await count()).to.deep.equal({ sales, ...rest })
      // Other items, customers and prices would make other sales of the same days.
      const item = { external_id: 'novo', name: 'Novo', price: '3.00', unit: 'UN' }
      const accepted = [
        await runAsSystem(core.writer, id, replaceItem, ReplaceItemInput.parse(item)),
        await runAsSystem(core.writer, id, replaceItem, ReplaceItemInput.parse({ ...item, external_id: 'leite-1l' })),
        await runAsSystem(
          core.writer,
          id,
          replaceCustomer,
          ReplaceCustomerInput.parse({ external_id: 'n', name: 'Eva' }),
        ),
      ]
      expect(accepted.filter(isRefusal)).to.deep.equal([])
      const before = await revisions()
      const now = new Date(today).toISOString()
      await startMonth(now)
      expect(await revisions()).to.deep.equal(before)
      await startMonth(new Date(Date.parse(now) + 5 * DAY_MS).toISOString())
      const { rows: later } = await core.pool.query(
        `select min(sold_at) > $2 as is_later, count(*) > 0 as has_sold from read.sales
         where company_id = $1 and (doc -> 'items')::text like '%Novo%'`,
        [id, now],
      )
      expect(later).to.deep.equal([{ is_later: true, has_sold: true }])
      for (const [table, external_id] of [
        ['catalog_items', 'novo'],
        ['customers', 'n'],
      ])
        await core.pool.query(`delete from read.${table} where company_id = $1 and external_id = $2`, [id, external_id])
      const { rows } = await core.pool.query(
        `select min(extract(hour from sold_at at time zone 'America/Sao_Paulo'))::int as opens, max(extract(hour from sold_at at time zone 'America/Sao_Paulo'))::int as closes
         from read.sales where company_id = $1 and origin = 'pdv'`,
        [id],
      )
      expect(rows[0]).to.deep.equal({ opens: 7, closes: 19 })
      await core.pool.query(
        `delete from read.users where company_id = $1 and email like any(array['bruno@%', 'carla@%'])`,
        [id],
      )
    })

    for (const [what, lose] of [
      ['deleted', () => rm(demoFile)],
      ['overwritten', () => writeFile(demoFile, '{"companies": []')],
    ] as const) {
      it(`gets new keys and passwords when demo.json was ${what}; the old ones are invalid [OPS-3]`, async () => {
        const old = await read()
        await lose()
        await start()
        await expectAccess()
        await expectRecordsOnce()
        for (const { api_key, read_only_key, user } of old.companies) {
          expect([await admit(api_key), await admit(read_only_key)].map(({ kind }) => kind)).to.deep.equal([
            'invalid',
            'invalid',
          ])
          expect(await verifyPassword(await hashOf(user.email), user.password)).to.equal(false)
        }
      })
    }

    it('replaces a revoked key, and keeps the others', async () => {
      const old = await read()
      const { id, api_key } = old.companies[0]!
      const { keyId } = (await admit(api_key)) as AuthenticatedCall
      await runAsSystem(core.writer, id, revokeApiKey, { id: keyId })
      await start()
      const file = await expectAccess()
      expect(file.companies[0]!.api_key).not.to.equal(api_key)
      expect(file.companies[0]!.read_only_key).to.equal(old.companies[0]!.read_only_key)
      expect(file.companies.slice(1)).to.deep.equal(old.companies.slice(1))
    })

    it('does not block a start when five other keys use up the limit', async () => {
      const old = await read()
      const { id, read_only_key, api_key } = old.companies[1]!
      for (const key of [api_key, read_only_key]) {
        const { keyId } = (await admit(key)) as AuthenticatedCall
        await runAsSystem(core.writer, id, revokeApiKey, { id: keyId })
      }
      for (let n = 0; n < MAX_ACTIVE_KEYS; n++) {
        const { prefix, hash } = newKey(Buffer.alloc(KEY_BYTES, n))
        await runAsSystem(core.writer, id, createApiKey, { name: 'própria', scopes: ['sales:read'], prefix, hash })
      }
      await start()
      expect(await read()).to.deep.equal(old)
    })
  })
})
