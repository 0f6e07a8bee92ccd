import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import type { LookUpResult } from './directory-cache.ts'

/** Keys by which a company is found without its id. Each belongs to one company, except e-mail addresses. */
export type EntryKind = 'api_key' | 'session' | 'sync_token' | 'invitation' | 'store_alias' | 'email'

/** SHA-256 of keys and tokens; the text of aliases and addresses. */
export type EntryKey = Buffer | string

export interface DirectoryEntry {
  readonly kind: EntryKind
  readonly key: EntryKey
  readonly companyId: number
}

/** A session or token; it ends with the password it was issued for. */
export interface LoginEntry extends DirectoryEntry {
  readonly kind: 'session' | 'sync_token'
  readonly email: string
  /** Of the person's password. */
  readonly generation: number
}

/** A company and its shard. */
export interface CompanyPlacement {
  readonly companyId: number
  readonly shard: string
}

/** A unique key belongs to another company. */
export class EntryTaken extends Error {
  override readonly name = 'Taken'
  constructor(readonly entry: DirectoryEntry) {
    super(`${entry.kind} is of another company`)
  }
}

/** A key reserved for a registration that was given up is free at the next attempt. */
const RESERVE_ATTEMPTS = 3

export const entryKeyBytes = (key: EntryKey): Buffer => (typeof key === 'string' ? Buffer.from(key) : key)

/** Keys are `company ID`, or a kind and its key in base64. */
export async function lookUpEntries(
  pool: Pool,
  keys: readonly string[],
): Promise<readonly (readonly LookUpResult[])[]> {
  const parts = keys.map((key) => key.split(' ') as [string, string])
  const { rows } = await pool.query<LookUpResult & { readonly position: number }>({
    ...LOOK_UP,
    values: [
      parts.map(([kind]) => kind),
      parts.map(([kind, key]) => (kind === 'company' ? null : Buffer.from(key, 'base64'))),
      parts.map(([kind, key]) => (kind === 'company' ? Number(key) : null)),
    ],
  })
  const answers: LookUpResult[][] = keys.map(() => [])
  for (const { position, ...found } of rows) answers[position - 1]?.push(found)
  return answers
}

export async function reserveEntries(pool: Pool, entries: readonly DirectoryEntry[]): Promise<void> {
  const columns = columnsOf(entries)
  for (let attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++) {
    await pool.query({ ...RESERVE, values: columns })
    // A second statement, because the first may have waited for a concurrent reservation.
    const { rows } = await pool.query<{ position: number; is_own: boolean | null }>({ ...HOLDERS, values: columns })
    const taken = rows.find(({ is_own }) => is_own === false)
    if (taken) throw new EntryTaken(entries[taken.position - 1] as DirectoryEntry)
    if (rows.every(({ is_own }) => is_own)) return
  }
  throw new Unavailable('directory: keys are being released; the reservation failed')
}

export const columnsOf = (entries: readonly DirectoryEntry[]): unknown[] => [
  entries.map(({ kind }) => kind),
  entries.map(({ key }) => entryKeyBytes(key)),
  entries.map(({ companyId }) => companyId),
]

const LOOK_UP = {
  name: 'look_up_in_directory',
  text: `select asked.position::int, e.company_id as "companyId", h.shard, encode(e.account, 'base64') as account
         from unnest($1::text[], $2::bytea[]) with ordinality as asked(kind, key, position)
         join ops.directory_entries e on e.kind = asked.kind and e.key = asked.key
         join ops.company_shards h on h.company_id = e.company_id
         union all
         select asked.position::int, h.company_id, h.shard, null
         from unnest($3::bigint[]) with ordinality as asked(company_id, position)
         join ops.company_shards h on h.company_id = asked.company_id`,
}

const ASKED = 'unnest($1::text[], $2::bytea[], $3::bigint[]) with ordinality as asked(kind, key, company_id, position)'

/** An existing entry of the company counts as new: the sweep spares it for the same time. */
const RESERVE = {
  name: 'reserve_in_directory',
  text: `with renewed as (
           update ops.directory_entries e set created_at = clock_timestamp() from ${ASKED}
           where e.kind = asked.kind and e.key = asked.key and e.company_id = asked.company_id
           returning asked.position
         )
         insert into ops.directory_entries (kind, key, company_id)
         select kind, key, company_id from ${ASKED} where position not in (select position from renewed) order by kind, key, company_id
         on conflict do nothing`,
}

/** Null: free. */
const HOLDERS = {
  name: 'holders_in_directory',
  text: `select asked.position::int, (
           select bool_or(e.company_id = asked.company_id) from ops.directory_entries e where e.kind = asked.kind and e.key = asked.key
         ) as is_own
         from ${ASKED}`,
}

/** Serialises with a concurrent change of the person's password. */
export const RESERVE_LOGIN = {
  name: 'reserve_login_in_directory',
  text: `insert into ops.directory_entries (kind, key, company_id, account)
         select $1, $2, $3, $4 from (select from ops.persons where email = $5 and generation = $6 for share) as person
         on conflict do nothing`,
}

export const RELEASE = {
  name: 'release_in_directory',
  text: `delete from ops.directory_entries e using ${ASKED}
         where e.kind = asked.kind and e.key = asked.key and e.company_id = asked.company_id`,
}
