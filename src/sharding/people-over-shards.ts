import type { Pool } from 'pg'
import { hashPassword } from '#access/passwords.ts'
import { companiesIn, type Membership, membershipsIn, type People } from '#access/people.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { decidePassword, eraseFormerLogins, findPerson, type PersonDirectory } from './persons.ts'

type Database = { readonly pool: Pool }

/** Persons with their companies on all shards; the default shard has the passwords. */
export function peopleOverShards(over: PersonDirectory): People {
  const { directory, shards, log } = over

  /** Shards that may have users with the address. */
  async function shardsOf(email: string): Promise<readonly string[]> {
    const places = await directory.find('email', email)
    return [...new Set([DEFAULT_SHARD, ...places.map(({ shard }) => shard)])]
  }

  /** A company that is leaving, or has left, is listed by one shard only. */
  async function membershipsAt(shard: string, email: string, generation: number): Promise<readonly Membership[]> {
    const found = await membershipsIn(shards.at(shard).pool, email, generation)
    const lives = await Promise.all(
      found.map(async ({ user }) => ((await directory.shardOf(user.company_id)) ?? DEFAULT_SHARD) === shard),
    )
    return found.filter((_membership, position) => lives[position])
  }

  async function membershipsOf(email: string, generation: number): Promise<readonly Membership[]> {
    const found = await Promise.all(
      (await shardsOf(email)).map((shard) =>
        membershipsAt(shard, email, generation).catch((error): readonly Membership[] => {
          // The login continues with the companies on reachable shards.
          log(`sharding: login without the companies of shard ${shard}`, error)
          return []
        }),
      ),
    )
    const [all = [], ...more] = found.filter(({ length }) => length > 0)
    return more.length === 0 ? all : [...all, ...more.flat()].sort(byName)
  }

  return {
    async find(email) {
      const person = await findPerson(over, email)
      if (!person) return null
      const { password_hash, generation } = person
      return { password_hash, generation, memberships: () => membershipsOf(email, generation) }
    },
    async knowsToken(email, hash) {
      try {
        const [place] = await directory.find('sync_token', hash)
        if (!place || place.shard === DEFAULT_SHARD) return false
        const { rowCount } = await shards.at(place.shard).pool.query({ ...KNOWS_TOKEN, values: [hash, email] })
        return rowCount === 1
      } catch {
        // Treated as an unknown device, which has stricter limits but is let in.
        return false
      }
    },
    async companiesOf(email) {
      const [own, places] = await Promise.all([companiesIn(shards.main.pool, email), directory.find('email', email)])
      return new Set([...own, ...places.map(({ companyId }) => companyId)])
    },
    async begin({ email, companyId }, password) {
      if (await findPerson(over, email)) return false
      const statuses = await Promise.all(
        (await shardsOf(email)).map((shard) => loadAddressStatus(shards.at(shard), email)),
      )
      if (statuses.some(({ was_member }) => was_member)) return false
      const password_hash = await hashPassword(password)
      const begun = await decidePassword(over, { email, password_hash, generation: 0 })
      const shard = shards.at((await directory.shardOf(companyId)) ?? DEFAULT_SHARD)
      // No session for a person who is being erased.
      if (!(await loadAddressStatus(shard, email)).is_known) await eraseFormerLogins(over, [email])
      return begun.password_hash === password_hash
    },
  }
}

const NAMES = new Intl.Collator('pt-BR')

const byName = (a: Membership, b: Membership): number =>
  NAMES.compare(a.companyName, b.companyName) || a.holder.companyId - b.holder.companyId

interface AddressStatus {
  /** The address had a user before: the stored password counts, not the invitation's. */
  readonly was_member: boolean
  readonly is_known: boolean
}

async function loadAddressStatus({ pool }: Database, email: string): Promise<AddressStatus> {
  const { rows } = await pool.query<AddressStatus>({ ...ADDRESS_STATUS, values: [email] })
  return rows[0] as AddressStatus
}

const ADDRESS_STATUS = {
  name: 'address_status',
  text: `select coalesce(bool_or(doc ->> 'status' in ('active', 'inactive')), false) as was_member, count(*) > 0 as is_known
         from users where email = $1`,
}

const KNOWS_TOKEN = {
  name: 'knows_token_of_till',
  text: `select from ops.sync_tokens t join users u on u.company_id = t.company_id and u.id = t.user_id
         where t.hash = $1 and u.doc->>'email' = $2`,
}
