import type { Pool } from 'pg'
import { dateInZone } from '#domain/instant.ts'
import { type AccessTerms, hasAccessOn, type Role } from '#domain/rights.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import { hashPassword } from './passwords.ts'

export interface CompanyUser {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly company_id: number
}

/** Holder of a token or session. */
export interface SessionHolder {
  readonly userId: number
  readonly companyId: number
  /**
   * Generations of user and person when the password was verified. A token issued after a change is invalid from the
   * start.
   */
  readonly generation: number
  readonly personGeneration: number
}

/** A company of a person, and the person's user there. */
export interface Membership {
  readonly companyName: string
  readonly logoUrl: string | null
  /** `#rrggbb`, or null. */
  readonly brandColor: string | null
  readonly user: CompanyUser
  readonly role: Role
  readonly holder: SessionHolder
}

export interface FoundPerson {
  readonly password_hash: string
  readonly generation: number
  /** Ordered by company name. */
  memberships(): Promise<readonly Membership[]>
}

/** Persons with a login, and their companies. */
export interface People {
  /** `email` in the format of `Email`. */
  find(email: string): Promise<FoundPerson | null>
  /** Ids of all companies that have a user with the address, invited and former ones included. */
  companiesOf(email: string): Promise<ReadonlySet<number>>
  /**
   * Sets the first password of an invited person. False if the person exists or must have existed; then the existing
   * password applies.
   */
  begin(invited: { readonly email: string }, password: string): Promise<boolean>
}

export function createPeople(pool: Pool): People {
  return {
    async find(email) {
      const { rows } = await pool.query<Pick<FoundPerson, 'password_hash' | 'generation'> & FoundUsers>({
        ...FIND_PERSON,
        values: [email],
      })
      const [found] = rows
      if (!found) return null
      const { password_hash, generation } = found
      return { password_hash, generation, memberships: async () => membershipsOf(found, email, generation) }
    },
    async companiesOf(email) {
      const { rows } = await pool.query<{ company_id: number }>({ ...COMPANIES_OF, values: [email] })
      return new Set(rows.map(({ company_id }) => company_id))
    },
    async begin({ email }, password) {
      const known = await pool.query({ ...PERSON_EXISTS, values: [email] })
      if (known.rowCount !== 0) return false
      const { rowCount } = await pool.query({ ...BEGIN_PERSON, values: [email, await hashPassword(password)] })
      return rowCount === 1
    },
  }
}

/** A user of a company as selected from the database. */
interface FoundUser extends Omit<CompanyUser, 'email'>, AccessTerms {
  readonly generation: number
  readonly company_name: string
  readonly logo_url: string | null
  readonly brand_color: string | null
  readonly timezone: string
}

interface FoundUsers {
  readonly users: readonly FoundUser[]
  readonly now: string
}

function membershipsOf({ users, now }: FoundUsers, email: string, personGeneration: number): readonly Membership[] {
  // A login ignores companies in which the user's access has expired.
  const letIn = users.filter((user) => hasAccessOn(user, dateInZone(now, user.timezone)))
  return letIn.map(({ id, name, company_id, company_name, logo_url, brand_color, generation, role }) => ({
    companyName: company_name,
    logoUrl: logo_url,
    brandColor: brand_color,
    user: { id, name, email, company_id },
    role,
    holder: { userId: id, companyId: company_id, generation, personGeneration },
  }))
}

const USERS = `array(
  select json_build_object('id', u.id, 'name', u.doc->'name', 'company_id', u.company_id,
    'company_name', ${MASKED_NAME}, 'logo_url', c.doc->'logo_url', 'brand_color', c.doc->'brand_color', 'timezone', c.timezone, 'generation', u.generation,
    'role', u.doc->'role', 'access_until', u.doc->'access_until')
  from users u join companies c on c.company_id = u.company_id
  where u.email = $1 and u.doc->>'status' = 'active'
  order by c.doc->>'name', c.company_id) as users, clock_timestamp() as now`

const FIND_PERSON = {
  name: 'find_person',
  text: `select p.password_hash, p.generation, ${USERS} from ops.persons p where p.email = $1`,
}

const COMPANIES_OF = {
  name: 'companies_of_person',
  text: 'select company_id from users where email = $1',
}

const PERSON_EXISTS = { name: 'knows_person', text: 'select from ops.persons where email = $1' }

/**
 * If an address has belonged to a user but its password was lost with its Postgres, an invitation does not set a new
 * one: the inviting user could then enter the person's former companies. The share lock excludes a person who is being
 * erased.
 */
const BEGIN_PERSON = {
  name: 'begin_person',
  text: `insert into ops.persons (email, password_hash, generation)
         select $1, $2, 0 from (select from users where email = $1 limit 1 for share) as invited where not exists (
           select from users where email = $1 and doc ->> 'status' in ('active', 'inactive'))
         on conflict do nothing`,
}
