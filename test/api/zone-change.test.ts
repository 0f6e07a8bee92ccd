import { expect } from 'chai'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { readAsOf } from '#api/read-as-of.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { inZone } from '#domain/instant.ts'
import { SIDES, settle } from '../support/accounts.ts'
import { LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, Reply } from '../support/api.ts'
import { contract } from '../support/contract.ts'
import { useCompany } from '../support/use-api.ts'

/** Offsets -02:00, -05:00 with and without daylight saving time, +01:00 with it, and +05:45. */
const ZONES = ['America/Noronha', 'America/Rio_Branco', 'America/New_York', 'Europe/Lisbon', 'Asia/Kathmandu'] as const
const FIRST = 'America/Sao_Paulo'

/** Text of a caller that looks like a member; it must stay unchanged. */
const QUOTED = '"created_at":"2026-07-01T12:00:00.000-03:00"'
const INSTANT_AS_ID = '2026-07-01T12:00:00.000-03:00'

const utc = (instant: string) => new Date(instant).toISOString()

/** All members of a value, at any depth: [name, value]. */
function membersOf(value: Json): [string, Json][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries<Json>(value).flatMap(([name, member]) => [[name, member], ...membersOf(member)])
}

const instantsOf = (body: Json) =>
  membersOf(body).filter(([name, value]) => name !== 'external_id' && LOCAL_TIME.test(value))

/** Body without offsets, `synced_at` (follows the ledger) and `server_time` (follows the clock). */
const meaning = (body: Json) =>
  JSON.parse(JSON.stringify(body), (name, value) => {
    if (name === 'synced_at' || name === 'server_time') return null
    return name !== 'external_id' && LOCAL_TIME.test(value) ? utc(value) : value
  })

function expectZone(reply: Reply, zone: string, what: string): void {
  expect(reply.status, what).to.be.oneOf([200, 201])
  for (const [name, shown] of instantsOf(reply.body))
    expect(shown, `${what}: ${name}`).to.equal(inZone(utc(shown), zone))
}

describe('instants after a change of the time zone', () => {
  const { api, company } = useCompany()
  let paths: string[]
  let customer: string
  let zone: string = FIRST

  const move = async (timezone: string) => {
    await company.run(updateCompany, { timezone })
    zone = timezone
  }
  const create = async (path: string, body: object) => {
    const reply = await company.post(path, body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  /** Records of every kind with instants, in summer and winter. */
  before('fill the company', async () => {
    const cash = await company.paymentType('cash')
    const { id } = await create('/customers', { name: QUOTED, external_id: INSTANT_AS_ID })
    customer = `/customers/${id}`
    const gone = await create('/customers', { name: 'Sai' })
    await company.call('DELETE', `/customers/${gone.id}`)
    const supplier = await create('/suppliers', { name: 'Moinho' })
    const category = await create('/catalog/categories', { name: QUOTED, external_id: INSTANT_AS_ID })
    const item = await create('/catalog/items', { name: 'Café', price: '10.00', stock: '9', category_id: category.id })
    const sell = (sold_at: string) =>
      create('/sales', {
        sold_at,
        items: [{ catalog_item_id: item.id, quantity: '1' }],
        payments: [{ payment_type_id: cash, amount: '10.00' }],
      })
    const sale = await sell('2026-07-01T12:00:00Z')
    const cancelled = await sell('2026-01-10T23:59:59.999-03:00')
    await company.post(`/sales/${cancelled.id}/cancel`, { reason: QUOTED })
    const accounts = await Promise.all(
      SIDES.map(async (side) => {
        const account = await create(side.path, { description: 'Aluguel', amount: '1.00', due_date: '2026-12-01' })
        await settle(company, side, account.id, { payment_method: 'pix', paid_at: '2026-07-15T02:30:00Z' })
        return `${side.path}/${account.id}`
      }),
    )
    const { alias } = await company.run(createStore, { alias: 'loja', commission_percentage: '5.00', sandbox: true })
    const order = await create('/orders', {
      store_alias: alias,
      customer: { name: 'Ana' },
      items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    })
    const webhook = await create('/webhooks', { url: 'https://erp.example/', events: ['basic'] })
    await company.post(`/webhooks/${webhook.id}/test`)
    paths = [
      '/me',
      '/customers',
      '/customers?updated_since=2020-01-01T00:00:00Z',
      '/customers/deleted',
      customer,
      `/suppliers/${supplier.id}`,
      '/catalog/categories',
      `/catalog/categories/${category.id}`,
      '/catalog/items',
      `/catalog/items/${item.id}`,
      '/sales',
      `/sales/${sale.id}`,
      `/sales/${cancelled.id}`,
      ...SIDES.map(({ path }) => path),
      ...accounts,
      '/orders',
      `/orders/${order.id}`,
      '/webhooks',
      `/webhooks/${webhook.id}`,
      `/webhooks/${webhook.id}/deliveries`,
    ]
  })

  const readAll = async () =>
    new Map(await Promise.all(paths.map(async (path) => [path, await company.get(path)] as const)))
  const lastMessage = async () => {
    const { rows } = await api.core.pool.query<{ body: string }>(
      'select body from webhook_messages where company_id = $1 and revision is not null order by revision desc limit 1',
      [company.id],
    )
    return JSON.parse(rows[0]?.body ?? '')
  }
  /** Change of the customer: afterwards it has instants in the old and the new zone. */
  const touch = () => company.call('PATCH', customer, { notes: uuidv7() })

  it('times have the offset of the current zone, and stay the same instants [VAL-3] [ACCT-7]', async () => {
    const zones = fc.array(fc.constantFrom(...ZONES, FIRST), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(zones, async (moves) => {
        await touch()
        const before = await readAll()
        for (const each of moves) await move(each)
        for (const [path, reply] of await readAll()) {
          expectZone(reply, zone, path)
          expect(instantsOf(reply.body), path).not.to.deep.equal([])
          expect(meaning(reply.body), path).to.deep.equal(meaning(before.get(path)?.body))
        }
      }),
      { numRuns: 8 },
    )
  })

  it('have the same bytes in responses to commands, batches, GET, and in webhooks [VAL-5] [HOOK-9]', async () => {
    await move('America/Noronha')
    await touch()
    await move('America/New_York')
    const { external_id, name } = (await touch()).body.data
    const batch = await company.post('/customers/batch', { items: [{ external_id, name, notes: 'outra' }] })
    expectZone(batch, zone, 'batch')
    expect(batch.text).to.include(recordText(await company.get(customer)))
    const changed = await touch()
    expectZone(changed, zone, 'PATCH')
    const shown = recordText(await company.get(customer))
    expect(recordText(changed)).to.equal(shown)
    const { event, ...told } = await lastMessage()
    expect(event).to.equal('customer.updated')
    expect(told.occurred_at).to.equal(JSON.parse(shown).updated_at)
    expect(JSON.stringify(told.data)).to.equal(shown)
  })

  it('stay unchanged in stored responses and as of earlier revisions [IDEM-2] [ASOF-1]', async () => {
    await move('America/Rio_Branco')
    const ask = () => company.post('/suppliers', { name: 'Uma vez' }, { 'idempotency-key': 'uma-vez' })
    const first = await ask()
    const path = `/suppliers/${first.body.data.id}`
    const then = Number(first.headers.get('x-ledger-revision'))
    await move('Asia/Kathmandu')
    const again = await ask()
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.text).to.equal(first.text)
    const past = await readAsOf(api.core, company.id, { revision: then }, path)
    expect(past).to.include({ body: first.text })
    const now = await company.get(path)
    expectZone(now, zone, path)
    expect(now.text).not.to.equal(first.text)
  })

  it('do not change their records, and cursors continue [LIST-4] [LIST-3]', async () => {
    const page = (await company.get('/sales?limit=1')).body
    const changes = (await company.get('/sales?limit=1&updated_since=2020-01-01T00:00:00Z')).body
    await touch()
    const { synced_at } = (await company.get('/customers?limit=1')).body.meta
    await move('Europe/Lisbon')
    await move('America/Noronha')
    for (const path of ['/sales', '/orders', '/finance/payables', '/suppliers']) {
      const since = encodeURIComponent(synced_at)
      expect((await company.get(`${path}?updated_since=${since}`)).body.data, path).to.deep.equal([])
    }
    for (const [{ meta }, more] of [
      [page, ''],
      [changes, '&updated_since=2020-01-01T00:00:00Z'],
    ]) {
      const next = await company.get(`/sales?limit=1${more}&cursor=${meta.next_cursor}`)
      expect(next.body.data).to.have.length(1)
      expectZone(next, zone, 'the next page')
    }
  })

  it('are recognised by member names, not in texts', () => {
    const instants = new Set<string>()
    const visit = (node: Json): void => {
      if (typeof node !== 'object' || node === null) return
      for (const [name, field] of Object.entries<Json>(node.properties ?? {})) {
        const kinds = [field, ...(field.oneOf ?? [])]
        if (kinds.some(({ pattern }) => pattern?.endsWith('[+-]\\d{2}:\\d{2}$'))) instants.add(name)
        else if (/_at$|(^|_)since$/.test(name) && kinds.some(({ type }) => [type].flat().includes('string')))
          expect(JSON.stringify(field), name).to.include('"format":"date-time"')
      }
      Object.values(node).forEach(visit)
    }
    visit(contract)
    expect(instants).to.include('stock_updated_at')
    // Computed on request: server time, attempts of a delivery, time of a test company.
    const others = [...instants].filter((name) => !/_at$|(^|_)since$/.test(name))
    expect(others).to.have.members(['server_time', 'at', 'now'])
  })
})
