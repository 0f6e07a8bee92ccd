import type { Pool } from 'pg'
import { addDays, addMilliseconds, type Calendar, dateInZone, localInstant } from '#domain/instant.ts'
import {
  type AccessTerms,
  type AdjustedRoles,
  hasAccessOn,
  type RolePermissions,
  seesPersons,
  toRolePermissions,
} from '#domain/rights.ts'
import { isOpenCompany } from '#ledger/ledgers.ts'
import { createRoundRobin, type Repetition, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import { companysTimeSql, MASKED_NAME } from '#projections/companies.ts'
import type { EmailMessage, Mailer, ShopBrand } from './email.ts'
import type { SessionsOf } from './open-sessions.ts'

/** Hours of the company's day at which users are sent the morning by e-mail. */
export interface MorningMails {
  /** Whether the service sends e-mails. */
  readonly areSent: boolean
  /** Null: it was not asked for. */
  hourOf(user: SessionsOf): Promise<number | null>
  /** Null ends it. */
  ask(user: SessionsOf, hour: number | null, clock: CompanysClock): Promise<void>
}

/** The time of Postgres and that of the company, which may be ahead of it. */
interface CompanysClock extends Calendar {
  readonly now: string
  readonly companysTime: string
}

export const createMorningMails = (pool: Pool, mailer: Mailer | null): MorningMails => ({
  areSent: mailer !== null,
  async hourOf({ companyId, userId }) {
    const { rows } = await pool.query<{ hour: number | null }>({ ...HOUR, values: [companyId, userId] })
    return rows[0]?.hour ?? null
  },
  async ask({ companyId, userId }, hour, clock) {
    await pool.query({ ...ASK, values: [companyId, userId, hour, hour === null ? null : nextAt(hour, clock)] })
  },
})

const HOUR = {
  name: 'morning_mail_hour',
  text: 'select hour from ops.morning_mails where company_id = $1 and user_id = $2',
}

/** A row that ends stays, so that a user who asks again on the same day has one mail. */
const ASK = {
  name: 'ask_morning_mail',
  text: `insert into ops.morning_mails (company_id, user_id, hour, next_at, tries)
    select $1::bigint, $2::bigint, $3::smallint, $4::timestamptz, 0 where $3::smallint is not null or exists (
      select from ops.morning_mails where company_id = $1::bigint and user_id = $2::bigint)
    on conflict (company_id, user_id) do update set hour = excluded.hour, next_at = excluded.next_at, tries = 0`,
}

const hourOn = (day: string, hour: number, timezone: string): string =>
  localInstant(`${day}T${String(hour).padStart(2, '0')}:00`, timezone) as string

/** When the company's day has the hour next, by the clock of Postgres. */
function nextAt(hour: number, { timezone, today, now, companysTime }: CompanysClock): string {
  const at = hourOn(today, hour, timezone)
  const next = at > companysTime ? at : hourOn(addDays(today, 1), hour, timezone)
  return addMilliseconds(next, Date.parse(now) - Date.parse(companysTime))
}

/** A user whose mail is due, and what the user may see now. */
export interface MorningSubscriber extends SessionsOf {
  readonly name: string
  readonly hour: number
  readonly calendar: Calendar
  readonly permissions: RolePermissions
  readonly seesPersonalData: boolean
  readonly shop: ShopBrand
}

interface DueMail {
  readonly company_id: number
  readonly user_id: number
  readonly hour: number
  readonly tries: number
  readonly sent_day: string | null
  readonly leased_until: string
  /** Null unless the user is active. */
  readonly terms: (AccessTerms & { readonly name: string; readonly email: string }) | null
  readonly roles: AdjustedRoles
  readonly shop: ShopBrand
  readonly timezone: string
  readonly now: string
  readonly companys_time: string
}

/** Sending takes less, so a longer hold means that the process has died. */
const LEASE_SECONDS = 300

/** Leases a due mail; if the process dies, it is due again after the lease. */
const TAKE = {
  name: 'take_morning_mail',
  text: `
with due as (
  select company_id, user_id from ops.morning_mails
  where next_at <= clock_timestamp() and (leased_until is null or leased_until <= clock_timestamp()) and ${isOpenCompany('company_id')}
  order by ${roundRobinOrder('company_id', '$1')}, next_at limit 1 for update skip locked
), taken as (
  update ops.morning_mails m set leased_until = clock_timestamp() + interval '${LEASE_SECONDS} seconds', tries = m.tries + 1
  from due where m.company_id = due.company_id and m.user_id = due.user_id
  returning m.company_id, m.user_id, m.hour, m.tries, m.sent_day::text, m.leased_until::text
)
select taken.*, u.doc as terms, c.roles, c.timezone, clock_timestamp() as now, ${companysTimeSql('clock_timestamp()')} as companys_time,
  json_build_object('name', ${MASKED_NAME}, 'logoUrl', c.doc -> 'logo_url', 'color', c.doc -> 'brand_color') as shop
from taken join companies c on c.company_id = taken.company_id
left join users u on u.company_id = taken.company_id and u.id = taken.user_id and u.doc ->> 'status' = 'active'`,
}

/** False if another process has taken the mail since. */
const HOLD = {
  name: 'hold_morning_mail',
  text: `select from ops.morning_mails where company_id = $1 and user_id = $2 and leased_until = $3::timestamptz
    and leased_until > clock_timestamp()`,
}

/** Due again then. A user who has chosen another hour meanwhile keeps the time of that. */
const SETTLE = {
  name: 'settle_morning_mail',
  text: `update ops.morning_mails set leased_until = null, sent_day = coalesce($4::date, sent_day),
      tries = case when $6::bool then tries else 0 end,
      next_at = case when hour = $5::smallint then $7::timestamptz else next_at end
    where company_id = $1 and user_id = $2 and leased_until = $3::timestamptz`,
}

/** A mail that is later than this waits for the next day. */
const LATEST_MS = 6 * 3_600_000
/** Pause before the first retry; it doubles. */
const RETRY_MS = 60_000
const EVERY_MS = 30_000

interface MorningOptions {
  readonly pool: Pool
  readonly mailer: Mailer
  /** Null if there is nothing to say. */
  write(subscriber: MorningSubscriber): Promise<EmailMessage | null>
  readonly log: (message: string, error: unknown) => void
}

/**
 * Sends each user who asked for it one mail a day, in turns of companies, at the hour of the company's day. Any number of
 * processes may do it. After a crash it is sent again with the same Message-ID.
 */
export function startMorningMails({ pool, mailer, write, log }: MorningOptions): Repetition {
  const companies = createRoundRobin()

  async function send(due: DueMail): Promise<void> {
    const { company_id, user_id, hour, leased_until, now, companys_time, timezone, tries } = due
    const calendar = { timezone, today: dateInZone(companys_time, timezone) }
    const settle = (sentDay: string | null, isRetry = false) => {
      const next = isRetry
        ? addMilliseconds(now, RETRY_MS * 2 ** Math.min(tries - 1, 6))
        : nextAt(hour, { ...calendar, now, companysTime: companys_time })
      return pool.query({ ...SETTLE, values: [company_id, user_id, leased_until, sentDay, hour, isRetry, next] })
    }
    const subscriber = isDue(due, calendar) ? toSubscriber(due, calendar) : null
    if (subscriber === null || due.terms === null) return void (await settle(null))
    try {
      const message = await write(subscriber)
      const held = await pool.query({ ...HOLD, values: [company_id, user_id, leased_until] })
      if (held.rowCount === 0) return
      const id = `bom-dia-${company_id}-${user_id}-${calendar.today}`
      if (message) await mailer.send({ id, to: [due.terms.email], ...message })
    } catch (error) {
      log('morning: e-mail failed, will retry', error)
      return void (await settle(null, true))
    }
    await settle(calendar.today)
  }

  return repeat(
    async (stopping) => {
      while (!stopping.aborted) {
        const [due] = await companies.take<DueMail>(pool, TAKE, [])
        if (!due) return
        await send(due)
      }
    },
    EVERY_MS,
    (error) => log('morning: reading due e-mails failed, will retry', error),
  )
}

/** Not if it was sent today, or if its hour is not yet, as in another time zone than before, or long ago. */
function isDue({ hour, sent_day, companys_time }: DueMail, { timezone, today }: Calendar): boolean {
  const at = hourOn(today, hour, timezone)
  const isLate = companys_time > addMilliseconds(at, LATEST_MS)
  return (sent_day === null || sent_day < today) && at <= companys_time && !isLate
}

/** Null for a user who may no longer enter. */
function toSubscriber(due: DueMail, calendar: Calendar): MorningSubscriber | null {
  const { company_id: companyId, user_id: userId, hour, terms, roles, shop } = due
  if (terms === null || !hasAccessOn(terms, dateInZone(due.now, calendar.timezone))) return null
  const permissions = toRolePermissions(terms.role, roles)
  return {
    companyId,
    userId,
    name: terms.name,
    hour,
    calendar,
    permissions,
    seesPersonalData: seesPersons(terms),
    shop,
  }
}
