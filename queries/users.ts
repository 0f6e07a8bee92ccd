import { inZone } from '#domain/instant.ts'
import type { LimitedPermission } from '#domain/permissions.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { UserObject } from '#projections/users.ts'
import type { Reader } from './reader.ts'
import { type FoundRecords, getBy, type Listing, listInOrder, ORDER_BY_ID, type Page, type Paging } from './records.ts'
import { t } from './table-names.ts'

/** Users as the panel shows them: {id, name, email, role, status, created_at, updated_at}, inactive ones included. */
const userListing: Listing<object> = {
  resource: 'users',
  from: `${t.users} t`,
  record: 't.doc',
  filters: {},
  present(record, timezone) {
    const { company_id: _, created_at, updated_at, ...user } = record as UserObject
    return { ...user, created_at: inZone(created_at, timezone), updated_at: inZone(updated_at, timezone) }
  },
}

export function listUsers(reader: Reader, query: Paging): Promise<Page | Refusal> {
  return listInOrder(reader, userListing, ORDER_BY_ID, query)
}

export function getUser(reader: Reader, id: number): Promise<FoundRecords> {
  return getBy(reader, userListing, 'id', id)
}

/** Cents that a user gave under a limited permission on a day. */
export async function getUsedOn(
  reader: Reader,
  userId: number,
  permission: LimitedPermission,
  day: string,
): Promise<number> {
  const { rows } = await reader.query<{ cents: number }>({
    name: 'limit_used',
    text: `select coalesce(sum((use ->> $3)::bigint), 0)::bigint as cents
      from ${t.limit_uses}, json_array_elements(days) use
      where company_id = $1 and user_id = $2 and use ->> 'day' = $4`,
    values: [userId, permission, day],
  })
  return rows[0]?.cents ?? 0
}
