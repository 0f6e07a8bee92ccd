import { byPk, table } from '../src/ledger/table.ts'
import { companyOf } from './companies.ts'
import { type Changed, changedColumns, docView, projection, stamp } from './define.ts'

/** A person who logs in at the counter or in the panel. */
export interface UserObject {
  id: number
  name: string
  email: string
  role: 'owner' | 'clerk'
  company_id: number
  created_at: string
}

export interface UserRow extends Changed {
  company_id: number
  id: number
  doc: UserObject
}

export const users = table<UserRow>('users', {
  columns: { company_id: 'bigint', id: 'bigint', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'] },
})

export const userById = (id: number) => byPk(users, id)

/** Password and address of a user: `ops`, never in an event. Addresses are unique in the whole service. */
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

export const usersProjection = projection('users', [users], {
  UserCreated: {
    apply(rows, event) {
      const { company_id } = companyOf(rows)
      const { id, name, email, role } = event.data
      const doc: UserObject = { id, name, email, role, company_id, created_at: event.recorded_at }
      rows.add(users, { company_id, id, ...stamp(event), doc })
    },
  },
})

export const userView = docView(userById)
