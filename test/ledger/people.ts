import type { Pool } from 'pg'
import { type AnyRef, byKey, byPk, table, toDdl } from '#ledger/table.ts'
import { createWorkingSet, type WorkingSet } from '#ledger/working-set.ts'
import { createPool } from '#postgres/pool.ts'
import { type BulkTransaction, inTransaction, type Transaction } from '#postgres/transaction.ts'
import { useDatabase } from '../support/database.ts'

export interface Person {
  company_id: number
  id: number
  /** Null when deleted, which releases the name. */
  name_key: string | null
  external_id: string | null
  born: string | null
  changed_at: string
  secret: Buffer | null
  doc: object | null
}

export const people = table<Person>('people', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    name_key: 'text',
    external_id: 'text',
    born: 'date',
    changed_at: 'timestamptz',
    secret: 'bytea',
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], name: ['company_id', 'name_key'], external: ['company_id', 'external_id'] },
})

interface Email {
  email: string
  company_id: number
}

export const emails = table<Email>('emails', {
  columns: { email: 'text', company_id: 'bigint' },
  keys: { pk: ['email'] },
  global: true,
})

export const byId = (id: number) => byPk(people, id)
export const byName = (name: string) => byKey(people, 'name', name)
export const byExternal = (id: string) => byKey(people, 'external', id)

export const person = (id: number, name: string | null, fields: Partial<Person> = {}): Person => ({
  company_id: 1,
  id,
  name_key: name,
  external_id: null,
  born: null,
  changed_at: '2026-03-10T15:00:00.000Z',
  secret: null,
  doc: { id, name },
  ...fields,
})

/** Tables of people and of e-mail addresses, empty before each test of a `describe`. */
export function usePeople(): { readonly pool: Pool } {
  const database = useDatabase()
  let pool: Pool
  before(async () => {
    pool = createPool(database.url, { max: 2, pipeline: true })
    await pool.query('create schema if not exists read')
    await pool.query(toDdl(people, 'read'))
    await pool.query(toDdl(emails, 'read'))
  })
  beforeEach(() => pool.query('truncate people, emails'))
  after(() => pool?.end())
  return {
    get pool() {
      return pool
    },
  }
}

/** Runs `work` in a transaction, and records the sent statements. */
export const transact = async <T>(pool: Pool, work: (tx: BulkTransaction, sent: string[]) => Promise<T>): Promise<T> =>
  inTransaction(pool, async (tx) => {
    const sent: string[] = []
    const query: Transaction['query'] = (statement, values) => {
      sent.push(statement.name ?? '')
      return tx.query(statement, values)
    }
    const copy: BulkTransaction['copy'] = (statement, lines) => {
      sent.push(statement.slice(0, statement.indexOf(' (')))
      return tx.copy(statement, lines)
    }
    return work({ query, copy }, sent)
  })

export async function load(set: WorkingSet, tx: Transaction, refs: readonly AnyRef[], company = 1): Promise<void> {
  set.queue(company, refs)
  await Promise.all(set.load(tx))
}

/** Writes rows like a working set. */
export const store = (pool: Pool, ...rows: Person[]): Promise<unknown> =>
  transact(pool, (tx) => {
    const set = createWorkingSet()
    for (const row of rows) set.of(row.company_id).put(people, row)
    return Promise.all(set.flush(tx))
  })

/** Stored ids and names. */
export async function names(pool: Pool): Promise<[number, string | null][]> {
  const { rows } = await pool.query<Person>('select id, name_key from people order by company_id, id')
  return rows.map((row) => [row.id, row.name_key])
}
