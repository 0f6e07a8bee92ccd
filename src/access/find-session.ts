import type { Calendar } from '#domain/instant.ts'
import type { AccessTerms, Role } from '#domain/roles.ts'
import type { Move } from '#ledger/move.ts'
import { companysTimeSql } from '#projections/companies.ts'

/** A session ends when it was not used for so long. */
export const IDLE_HOURS = 12

/** A live session as it is found, with its user and its company. */
export interface FoundSession extends Omit<Calendar, 'today'> {
  readonly userId: number
  readonly userName: string
  readonly email: string
  readonly role: Role
  readonly terms: AccessTerms
  readonly generation: number
  readonly personGeneration: number
  readonly companyId: number
  readonly companyName: string
  readonly plan: 'basic' | 'api'
  readonly isTest: boolean
  readonly now: string
  readonly companysTime: string
  readonly isSeenLate: boolean
  readonly move: Move | null
}

/** Selects the live session of a hash; `clock` is that of CLOCK, both parameters are SQL. */
export const findSession = (hash: string, idleHours: string): string => `
  select s.user_id as "userId", u.doc->>'name' as "userName", u.doc->>'email' as email, u.doc->>'role' as role, u.doc as terms, u.generation, p.generation as "personGeneration",
         s.company_id as "companyId", c.doc->>'name' as "companyName", c.plan, c.timezone, c.is_test as "isTest", clock.now, ${companysTimeSql('clock.now')} as "companysTime",
         s.last_seen_at < clock.now - interval '1 minute' as "isSeenLate", l.move
  from clock
  join ops.sessions s on s.hash = ${hash} and s.revoked_at is null and s.expires_at > clock.now
    and s.last_seen_at > clock.now - make_interval(hours => ${idleHours})
  join users u on u.company_id = s.company_id and u.id = s.user_id and u.generation = s.generation
  join ops.persons p on p.email = u.doc->>'email' and p.generation = s.person_generation
  join companies c on c.company_id = s.company_id
  join ops.ledgers l on l.company_id = s.company_id`
