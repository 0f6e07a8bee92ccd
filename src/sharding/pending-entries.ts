import type { Pool } from 'pg'
import type { EntryKey, EntryKind } from './directory-entries.ts'

/** A row of a shard that belongs in the directory while it is live. */
export interface PendingEntry {
  readonly key: EntryKey
  readonly company_id: number
  /** The account and password generation of a session or token; else null. */
  readonly email: string | null
  readonly person_generation: number | null
  readonly is_live: boolean
}

/** Table and columns of a kind of entry, and the condition under which it is live. */
interface EntrySource {
  readonly table: string
  /** Indexed. */
  readonly key: string
  readonly type: 'bytea' | 'text'
  readonly live: string
  readonly isLogin?: true
}

const LOGIN_LIVE = `t.revoked_at is null and (t.expires_at is null or t.expires_at > now()) and exists (
  select from users u join ops.persons p on p.email = u.doc->>'email' and p.generation = t.person_generation
  where u.company_id = t.company_id and u.id = t.user_id and u.generation = t.generation)`

const ENTRY_SOURCES: Readonly<Record<EntryKind, EntrySource>> = {
  api_key: {
    table: 'ops.api_key_secrets',
    key: 'hash',
    type: 'bytea',
    live: `exists (select from api_keys k where k.company_id = t.company_id and k.id = t.api_key_id
             and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()))`,
  },
  session: { table: 'ops.sessions', key: 'hash', type: 'bytea', live: LOGIN_LIVE, isLogin: true },
  sync_token: { table: 'ops.sync_tokens', key: 'hash', type: 'bytea', live: LOGIN_LIVE, isLogin: true },
  invitation: { table: 'ops.invitations', key: 'token_hash', type: 'bytea', live: 't.expires_at > now()' },
  // Aliases never end (STORE-1).
  store_alias: { table: 'stores', key: 'alias', type: 'text', live: 'true' },
  email: { table: 'users', key: 'email', type: 'text', live: 'true' },
}

export const ENTRY_KINDS = Object.keys(ENTRY_SOURCES) as readonly EntryKind[]

/** A page of entries in the order of their keys. */
export async function pendingEntryPage(
  pool: Pool,
  kind: EntryKind,
  after: PendingEntry | null,
  limit: number,
): Promise<readonly PendingEntry[]> {
  const { table, key, type, live, isLogin } = ENTRY_SOURCES[kind]
  const person = isLogin
    ? `(select u.doc->>'email' from users u where u.company_id = t.company_id and u.id = t.user_id) as email, t.person_generation`
    : 'null as email, null as person_generation'
  const { rows } = await pool.query<PendingEntry>({
    name: `page_of_held_${kind}`,
    text: `select t.${key} as key, t.company_id, ${person}, ${live} as is_live from ${table} t
           where t.${key} is not null and (t.${key}, t.company_id) > ($1::${type}, $2) order by t.${key}, t.company_id limit $3`,
    values: [after?.key ?? (type === 'bytea' ? Buffer.alloc(0) : ''), after?.company_id ?? 0, limit],
  })
  return rows
}

/** Filters the entries that are live on the shard. */
export async function filterLive<T extends { readonly key: Buffer; readonly company_id: number }>(
  pool: Pool,
  kind: EntryKind,
  entries: readonly T[],
): Promise<ReadonlySet<T>> {
  if (entries.length === 0) return new Set()
  const { table, key, type, live } = ENTRY_SOURCES[kind]
  const { rows } = await pool.query<{ position: number }>({
    name: `which_live_${kind}`,
    text: `select asked.position::int from unnest($1::${type}[], $2::bigint[]) with ordinality as asked(key, company_id, position)
           join ${table} t on t.${key} = asked.key and t.company_id = asked.company_id where ${live}`,
    values: [
      entries.map((entry) => (type === 'bytea' ? entry.key : entry.key.toString())),
      entries.map(({ company_id }) => company_id),
    ],
  })
  return new Set(rows.map(({ position }) => entries[position - 1] as T))
}
