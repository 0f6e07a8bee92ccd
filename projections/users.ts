import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companies, companyOf } from './companies.ts'
import { type Changed, changedColumns, docView, existing, projection, stamp } from './define.ts'

/** A person who logs in at the counter or in the panel. */
export type UserObject = DataOf<'UserCreated'> & {
  status: 'active' | 'inactive'
  company_id: number
  created_at: string
  updated_at: string
}

interface UserRow extends Changed {
  company_id: number
  id: number
  /** Tokens and sessions belong to the generation in which they were given out; those of an earlier one have ended. */
  generation: number
  doc: UserObject
}

export const users = table<UserRow>('users', {
  columns: { company_id: 'bigint', id: 'bigint', generation: 'integer', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'] },
  past: { id: 'id' },
})

export const userById = (id: number) => byPk(users, id)

/** What a user logs in with: `ops`; the password is never in an event. E-mails are unique in the whole service. */
export interface UserCredentials {
  user_id: number
  company_id: number
  email: string
  password_hash: string
}

export const userCredentials = table<UserCredentials>('user_credentials', {
  global: true,
  columns: { user_id: 'bigint', company_id: 'bigint', email: 'text', password_hash: 'text' },
  keys: { pk: ['user_id'], email: ['email'] },
})

export const credentialsById = (id: number) => byPk(userCredentials, id)
export const credentialsByEmail = (email: string) => byKey(userCredentials, 'email', email)

export const usersProjection = projection('users', [users], {
  UserCreated: {
    apply(rows, event) {
      const { company_id } = companyOf(rows)
      const { id, name, email, role } = event.data
      const at = event.recorded_at
      const doc: UserObject = { id, name, email, role, status: 'active', company_id, created_at: at, updated_at: at }
      rows.add(users, { company_id, id, generation: 0, ...stamp(event), doc })
      noteOwner(rows, doc)
    },
  },
  UserUpdated: changed((user, { data }: EventOf<'UserUpdated'>) => ({ doc: { ...user.doc, ...data.changes } })),
  UserDeactivated: changed((user) => ({
    doc: { ...user.doc, status: 'inactive' },
    generation: user.generation + 1,
  })),
  UserReactivated: changed((user) => ({ doc: { ...user.doc, status: 'active' } })),
  UserPasswordChanged: changed((user) => ({ doc: user.doc, generation: user.generation + 1 })),
})

function changed<E extends Pick<Envelope, 'recorded_at' | 'revision'> & { data: { id: number } }>(
  change: (user: Readonly<UserRow>, event: E) => Pick<UserRow, 'doc'> & Partial<UserRow>,
) {
  return {
    refs: (event: E) => [userById(event.data.id)],
    apply(rows: Changes, event: E) {
      const before = existing(rows, userById(event.data.id))
      const after = { ...before, ...stamp(event), ...change(before, event) }
      const doc = { ...after.doc, updated_at: event.recorded_at }
      rows.put(users, { ...after, doc })
      noteOwner(rows, doc)
    },
  }
}

/** Keeps the company's list of active owners, by which a command knows the last one: here, where role and status meet. */
function noteOwner(rows: Changes, { id, role, status }: UserObject): void {
  const company = companyOf(rows)
  const isOne = role === 'owner' && status === 'active'
  if (company.active_owners.includes(id) === isOne) return
  const others = company.active_owners.filter((owner) => owner !== id)
  rows.put(companies, { ...company, active_owners: isOne ? [...others, id] : others })
}

export const userView = docView(userById)
