import { expect } from 'chai'
import type { Pool } from 'pg'
import { event } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { createPool } from '#postgres/pool.ts'
import { transactionOn } from '#postgres/transaction.ts'
import { readModel } from '#projections/index.ts'
import { useDatabase } from '../support/database.ts'
import { EVERY_EVENT } from '../support/every-event.ts'
import { companyRegistered, customerCreated, itemCreated, paymentTypeCreated } from '../support/facts.ts'
import { COMPANY_ID, ledgerOf } from '../support/given.ts'
import { openTwoCompanies } from '../support/two-companies.ts'

/** Tables of the company after a replay in batches of a size; rolled back. */
async function tablesAfter(pool: Pool, size: number, events = EVERY_EVENT): Promise<Record<string, string>> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const tables = readModel.projections.flatMap((projection) => projection.tables)
    await client.query(`truncate ${tables.map(({ name }) => name).join(', ')}`)
    for (let start = 0; start < events.length; start += size) {
      const piece = events.slice(start, start + size)
      await replay(transactionOn(client), readModel, COMPANY_ID, stream(piece), events.length)
    }
    const dumps: Record<string, string> = {}
    for (const { name, keys } of tables) {
      const { rows } = await client.query(`select t::text as line from ${name} t order by ${keys.pk.join(', ')}`)
      dumps[name] = rows.map(({ line: text }) => text).join('\n')
    }
    return dumps
  } finally {
    await client.query('rollback')
    client.release()
  }
}

async function* stream(events: readonly Envelope[]): AsyncIterable<Envelope> {
  yield* events
}

describe('read model', () => {
  const database = useDatabase()
  let pool: Pool
  before(async () => {
    const shop = await openTwoCompanies(database.url)
    await shop.core.close()
    pool = createPool(database.url, { max: 1, pipeline: true })
  })
  after(() => pool.end())

  it('is tested with every event type that a projection handles', () => {
    const handled = new Set(readModel.projections.flatMap((projection) => Object.keys(projection.on)))
    expect([...new Set(EVERY_EVENT.map(({ type }) => type))]).to.have.members([...handled])
  })

  it('is equal, byte for byte, for any batch size: each event names all rows that it changes [LEDGER-10]', async () => {
    const atOnce = await tablesAfter(pool, EVERY_EVENT.length)
    const grown = readModel.projections.flatMap(({ tables, grown }) => (grown ? tables.map(({ name }) => name) : []))
    for (const [name, dump] of Object.entries(atOnce)) expect(dump === '', name).to.equal(grown.includes(name))
    for (const size of [1, 3]) expect(await tablesAfter(pool, size), `in pieces of ${size}`).to.deep.equal(atOnce)
  })

  it('has no earlier records after a test company was erased, for any batch size [KIT-36]', async () => {
    const emptied = event('TestDataErased', { id: COMPANY_ID })
    const renamed = Array.from({ length: 40 }, (_, n) =>
      event('CustomerUpdated', { id: 1, changes: { name: `Ana ${n}` } }),
    )
    const made = (id: number) => customerCreated({ id, external_id: 'a', name: 'Ana' })
    const [head, tail] = [companyRegistered({ test: true }), paymentTypeCreated()]
    const twice = ledgerOf(head, tail, made(1), ...renamed, itemCreated({ id: 3 }), emptied, made(2), emptied, made(4))
    const atOnce = await tablesAfter(pool, twice.length, twice)
    expect(atOnce.customers?.match(/""id"":\d+/g)).to.deep.equal(['""id"":4'])
    expect(atOnce).to.include({ catalog_items: '', row_histories: '' })
    expect(atOnce.payment_types).not.to.equal('')
    for (const size of [1, 2, 44, 45]) expect(await tablesAfter(pool, size, twice), `${size}`).to.deep.equal(atOnce)
  })
})
