import { refuse } from '#domain/refusal.ts'
import type { AnyTable } from '#ledger/table.ts'
import { type NameReserver, NameTaken, type ReservedRow, StaleDecision } from '#ledger/write/name-reservation.ts'
import { type ApiKeySecret, apiKeySecrets } from '#projections/api-keys.ts'
import { type StoreSecrets, storeSecrets } from '#projections/stores.ts'
import { type Invitation, invitations, type PersonLogin, persons, users } from '#projections/users.ts'
import { type DirectoryEntry, type EntryKey, type EntryKind, EntryTaken } from './directory-entries.ts'
import { copyPerson, decidePassword, type PersonDirectory, pushPassword } from './persons.ts'

interface UserName {
  readonly company_id: number
  readonly email: string | null
}

/** Directory keys of rows, by table. */
const KEYS: ReadonlyMap<AnyTable, readonly [EntryKind, (row: never) => EntryKey | null]> = new Map<
  AnyTable,
  readonly [EntryKind, (row: never) => EntryKey | null]
>([
  [apiKeySecrets, ['api_key', ({ hash }: ApiKeySecret) => hash]],
  [storeSecrets, ['store_alias', ({ alias }: StoreSecrets) => alias]],
  [invitations, ['invitation', ({ token_hash }: Invitation) => token_hash]],
  [users, ['email', ({ email }: UserName) => email]],
])

/** Reserves names in the directory before a shard's writer appends (SHARD-24, SHARD-26). */
export function createNameReserver(over: PersonDirectory, shard: string): NameReserver {
  return {
    tables: [...KEYS.keys(), persons],
    async reserve(rows) {
      await reserveEntries(over, rows)
      // Last, because a decision on a password is not undone.
      for (const { table, row } of rows) if (table === persons) await reconcilePassword(over, shard, row as PersonLogin)
    },
  }
}

async function reserveEntries({ directory }: PersonDirectory, rows: readonly ReservedRow[]): Promise<void> {
  const named = rows.flatMap(({ table, row, isNew }) => {
    // Renaming or deactivating a user leaves addresses as they are and does not wait for the directory.
    const entry = table !== users || isNew ? entryOf(table, row) : null
    return entry ? [{ row, entry }] : []
  })
  try {
    await directory.reserve(named.map(({ entry }) => entry))
  } catch (error) {
    const taken = error instanceof EntryTaken ? named.find(({ entry }) => entry === error.entry) : undefined
    if (taken?.entry.kind !== 'store_alias') throw error
    // The same refusal as within one shard (STORE-1): it reveals neither company nor shard.
    throw new NameTaken(taken.row, refuse('duplicate_resource', { field: 'alias' }))
  }
}

function entryOf(table: AnyTable, row: object): DirectoryEntry | null {
  const named = KEYS.get(table)
  if (!named) return null
  const [kind, keyOf] = named
  const key = keyOf(row as never)
  return key === null ? null : { kind, key, companyId: (row as { company_id: number }).company_id }
}

/** @throws StaleDecision if another password is in force, which the shard has by then */
async function reconcilePassword(over: PersonDirectory, shard: string, person: PersonLogin): Promise<void> {
  const inForce = await decidePassword(over, person)
  if (inForce.generation !== person.generation || inForce.password_hash !== person.password_hash) {
    await copyPerson(over.shards.at(shard).pool, inForce)
    throw new StaleDecision('another password is in force')
  }
  if (person.generation > 0) await pushPassword(over, person, shard)
}
