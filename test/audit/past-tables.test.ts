import { expect } from 'chai'
import type { Pool } from 'pg'
import { type CompanyAsOf, withCompanyAsOf } from '#audit/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { streamOf } from '#ledger/envelope.ts'
import { advance, ensureLedger, lock, open } from '#ledger/ledgers.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { type AnyTable, LINEAGE } from '#ledger/table.ts'
import { inTransaction } from '#ledger/transaction.ts'
import { readModel } from '#projections/index.ts'
import { type Look, looking } from '#queries/looking.ts'
import { type Core, openCore } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { EVERY_EVENT } from '../support/every-event.ts'
import { COMPANY_ID } from '../support/given.ts'
import { withReplayedPast } from '../support/replayed-past.ts'

const TABLES = readModel.projections.flatMap(({ tables }) => tables).filter(({ past }) => past)

/** Columns that a past state has. */
const columnsOf = ({ columns, past }: AnyTable): string[] =>
  Object.keys(columns).filter((name) => !(name in LINEAGE) && !past?.without?.includes(name))

/** Rows as Postgres prints them. */
async function dump(pool: Pool, table: AnyTable, columns: readonly string[], look?: Look): Promise<unknown[]> {
  const id = table.past?.id
  const { rows } = await pool.query(
    looking({
      text: `select row(${columns.join(', ')})::text as line, ${id} as key_id from ${table.name} where company_id = $1 order by ${id}`,
      values: [COMPANY_ID],
      looks: look === undefined ? {} : { [table.name]: look },
    }),
  )
  return rows
}

describe('a table as of a revision', () => {
  const database = useDatabase()
  let core: Core

  before(async () => {
    core = await openCore({ databaseUrl: database.url, queryConnections: 4, log: console.error, onOutdated: () => {} })
    await ensureLedger(core.pool, COMPANY_ID)
    await inTransaction(core.pool, async (tx) => {
      const row = (await lock(tx, [COMPANY_ID])).get(COMPANY_ID)
      if (!row) throw new Error('there is no ledger')
      const commands = [EVERY_EVENT]
      await core.store.append([{ stream: streamOf(COMPANY_ID), expectedRevision: -1, commands }], tx)
      async function* all() {
        yield* EVERY_EVENT
      }
      await replay(tx, readModel, COMPANY_ID, all(), EVERY_EVENT.length)
      const last = EVERY_EVENT.at(-1)
      if (!last) throw new Error('there is no event')
      const ledger = { ...open(row, last.recorded_at), revision: last.revision, hash: last.hash }
      await advance(tx, [ledger])
    })
  })
  after(() => core.close())

  async function visit<T>(revision: number, work: (asOf: CompanyAsOf) => Promise<T>): Promise<T> {
    const done = await withCompanyAsOf(core, COMPANY_ID, { revision }, async (asOf) => ({ value: await work(asOf) }))
    if (isRefusal(done)) throw new Error(JSON.stringify(done))
    return done.value
  }

  it('has the rows that a replay of all events makes, after each event of each type, however much of it is looked at [ASOF-4]', async () => {
    // Of changes of the same kind in a row the first and some others.
    const moments = EVERY_EVENT.filter(({ type }, n) => n % 10 === 0 || type !== EVERY_EVENT[n - 1]?.type)
    for (const { revision } of moments) {
      await withReplayedPast(core, COMPANY_ID, revision, async (replayed) => {
        const rows = new Map<AnyTable, unknown[]>()
        for (const table of TABLES) rows.set(table, await dump(replayed.pool, table, columnsOf(table)))
        const expectRows = async (pool: Pool, look?: Look) => {
          for (const table of TABLES) {
            const name = `${table.name} at ${revision}, looked at: ${look ?? 'all'}`
            expect(await dump(pool, table, columnsOf(table), look), name).to.deep.equal(rows.get(table))
          }
        }
        await visit(revision, ({ pool }) => expectRows(pool, 'answered'))
        await visit(revision, async ({ pool }) => {
          for (const table of TABLES) {
            const some = columnsOf(table).filter((name) => !['doc', 'revision', 'changed_at'].includes(name))
            const expected = await dump(replayed.pool, table, some)
            expect(await dump(pool, table, some, 'columns'), table.name).to.deep.equal(expected)
            // One of them alone, and then what was looked at by columns only, as it was.
            const [one] = (rows.get(table) ?? []) as { key_id: number }[]
            if (!one) continue
            const found = (await dump(pool, table, columnsOf(table), [one.key_id])) as { key_id: number }[]
            expect(found.find(({ key_id }) => key_id === one.key_id)).to.deep.equal(one)
          }
          await expectRows(pool, 'answered')
          await expectRows(pool)
        })
      })
    }
  }).timeout(180_000)
})
