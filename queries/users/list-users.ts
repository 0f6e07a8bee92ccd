import type { Pool } from 'pg'
import { inZone } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { UserObject } from '#projections/users.ts'
import { BY_ID, type Listing, listInOrder, type Page, type Paging } from '../list.ts'

/** Users as the panel shows them: {id, name, email, role, status, created_at, updated_at}, also inactive ones. */
export const userListing: Listing<object> = {
  resource: 'users',
  from: 'users t',
  record: 't.doc::text',
  filters: {},
  present(record, timezone) {
    const { company_id: _, created_at, updated_at, ...user } = record as UserObject
    return { ...user, created_at: inZone(created_at, timezone), updated_at: inZone(updated_at, timezone) }
  },
}

/** The users of a company by id. */
export function listUsers(pool: Pool, companyId: number, query: Paging): Promise<Page | Refusal> {
  return listInOrder(pool, userListing, BY_ID, companyId, query)
}
