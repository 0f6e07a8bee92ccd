import type { Changes, Resource } from '@tillbook/client'
import Database from 'libsql'

/** Fields of every record: its id and last change. */
export interface Shown {
  readonly id: number
  readonly updated_at?: string
  readonly stock_updated_at?: string | null
  readonly deleted_at?: string | null
  readonly forgotten_at?: string | null
}

/** Records of a company in an SQLite file, and the read position: both change in one transaction. */
export interface Records {
  readonly database: Database.Database
  /** `since` for the client's `changes`; undefined at first. */
  position(): string | undefined
  /** Stores a batch of changes with its position. Returns the changed records, as `/customers/7`. */
  take(changes: Changes): string[]
  /** Stores a record from a webhook, unless the stored one is as new. */
  put(resource: Resource, record: Shown): void
}

const TABLES = `
  create table if not exists records (
    resource text not null, id integer not null, changed_at integer not null, data text, primary key (resource, id)
  ) without rowid;
  create table if not exists position (only integer primary key check (only = 1), value text not null);`

/** A deleted record stays without `data`, so that older webhooks do not restore it. */
const PUT = `
  insert into records (resource, id, changed_at, data) values (?, ?, ?, ?)
  on conflict do update set changed_at = excluded.changed_at, data = excluded.data
  where excluded.changed_at > records.changed_at or (? and excluded.data is not records.data)`

/** Fields with a person's name outside the person's own record, which an erasure must clear too. */
const NAMES: Partial<Record<Resource, readonly string[]>> = {
  '/customers': [
    `update records set data = json_set(data, '$.customer.name', null) where resource = '/sales' and data->>'$.customer.id' = ?`,
    `update records set data = json_set(data, '$.customer_name', null) where resource = '/finance/receivables' and data->>'customer_id' = ?`,
  ],
  '/suppliers': [
    `update records set data = json_set(data, '$.supplier_name', null) where resource = '/finance/payables' and data->>'supplier_id' = ?`,
  ],
}

export function openRecords(file: string): Records {
  const database = new Database(file)
  // A commit is on disk before the response; a kill leaves a whole transaction or nothing.
  database.exec('pragma journal_mode = wal; pragma synchronous = full;')
  database.exec(TABLES)
  const put = database.prepare(PUT)
  const empty = database.prepare('update records set data = null where resource = ?')
  const keep = database.prepare('insert or replace into position values (1, ?)')

  /** A listed record replaces one from a webhook of the same millisecond. */
  function putOne(resource: Resource, record: Shown, isListed: boolean): boolean {
    const { id, updated_at, stock_updated_at, deleted_at, forgotten_at } = record
    const changedAt = Math.max(...[updated_at, stock_updated_at, deleted_at].map((at) => (at ? Date.parse(at) : 0)))
    const data = deleted_at ? null : JSON.stringify(record)
    const isNew = put.run(resource, id, changedAt, data, isListed ? 1 : 0).changes > 0
    if (forgotten_at) for (const statement of NAMES[resource] ?? []) database.prepare(statement).run(id)
    return isNew
  }

  return {
    database,
    position: () => (database.prepare('select value from position').get() as { value: string } | undefined)?.value,
    take: database.transaction(({ resource, records, deleted, erased, position }: Changes) => {
      // A test company was erased: delete its records.
      if (erased) empty.run(resource)
      const unknown = [...records, ...deleted].filter((record) => putOne(resource, record, true))
      keep.run(position)
      return unknown.map(({ id }) => `${resource}/${id}`)
    }),
    put: (resource, record) => void putOne(resource, record, false),
  }
}
