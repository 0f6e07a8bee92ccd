import type { Pool } from 'pg'
import { type EndpointNotification, endpointEmail, type Mailer } from '#access/email.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isOpenCompany, isRecordingCompany } from '#ledger/ledgers.ts'
import { parseSubject, type Reactor } from '#ledger/projection.ts'
import { table } from '#ledger/table.ts'
import { createRoundRobin, type Repetition, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import { companyRef, MASKED_NAME } from '#projections/companies.ts'
import { webhookById } from '#projections/webhooks.ts'
import { endpointKey, type LeasedDelivery, OPEN_ENDPOINTS, WAITING_ENDPOINTS } from './delivery-leases.ts'

type DueNotice = EndpointNotification & {
  readonly company_id: number
  readonly id: string
  readonly next_email_at: string | null
  readonly users: readonly string[]
}

interface NoticeOptions {
  readonly pool: Pool
  /** Null: notifications are logged instead. */
  readonly mailer: Mailer | null
  /** Base URL of the panel. */
  readonly publicUrl: string
  readonly log: (message: string, error: unknown) => void
  readonly warn: (message: string, details: object) => void
  /** Seconds before each retry. */
  readonly retrySeconds?: readonly number[]
}

/** Lease of a notification; sending takes less, so a longer hold means that the process has died. */
const LEASE_SECONDS = 100
/** The first exceeds the lease. */
const RETRY_SECONDS = [120, 600, 1_800, 7_200, 21_600, 43_200, 86_400]
const EVERY_MS = 2_000

/**
 * E-mails notifications to the users of their companies, at least once each. Processes share the work. After the last
 * retry the panel alone shows the notification.
 */
export function startEmailNotifications({
  pool,
  mailer,
  publicUrl,
  log,
  warn,
  retrySeconds = RETRY_SECONDS,
}: NoticeOptions) {
  const companies = createRoundRobin()

  async function email(mailer: Mailer, notice: DueNotice): Promise<void> {
    const { company_id, id, users } = notice
    const about = { company_id, notice: id }
    if (users.length === 0) {
      await close(pool, notice, false)
      return warn('notifications: not e-mailed, the company has no user', about)
    }
    try {
      const refused = await mailer.send({ id, to: users, ...endpointEmail(notice, publicUrl) })
      await close(pool, notice, true)
      if (refused.length > 0)
        warn('notifications: e-mail refused for some recipients', { ...about, refused: refused.length })
    } catch (error) {
      log(
        notice.next_email_at ? 'notifications: e-mail failed, will retry' : 'notifications: e-mail failed, giving up',
        error,
      )
      await pool.query({ ...GIVE_BACK_NOTICE, values: [company_id, id] })
    }
  }

  async function emailDue(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const [notice] = await companies.take<DueNotice>(pool, TAKE_NOTICE, [retrySeconds])
      if (!notice) return
      await (mailer ? email(mailer, notice) : logOnly(notice))
    }
  }

  async function logOnly(notice: DueNotice): Promise<void> {
    const { company_id, kind, data } = notice
    const { url: _, ...about } = data
    warn('notifications: SMTP_URL is not set; nothing is e-mailed', { company_id, kind, ...about })
    await close(pool, notice, false)
  }

  const repetition = repeat(emailDue, EVERY_MS, (error) =>
    log('notifications: reading due notifications failed, will retry', error),
  )
  return {
    /** Resolves when the message under way was sent or has failed. */
    async stop() {
      await repetition.stop()
      mailer?.close()
    },
  }
}

async function close(pool: Pool, { company_id, id }: DueNotice, emailed: boolean): Promise<void> {
  await pool.query({ ...CLOSE_NOTICE, values: [company_id, id, emailed] })
}

/**
 * Leases a due notification; if the process dies, it is due again at the next retry. An index beyond the array yields
 * null: no more retries.
 */
const TAKE_NOTICE = {
  name: 'take_notice',
  text: `
with due as (
  select company_id, id from notifications where next_email_at <= clock_timestamp() and ${isOpenCompany('company_id')}
  order by ${roundRobinOrder('company_id', '$2')}, next_email_at limit 1 for update skip locked
), taken as (
  update notifications n set email_tries = email_tries + 1, leased_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}),
    next_email_at = clock_timestamp() + make_interval(secs => ($1::float8[])[email_tries + 1])
  from due where n.company_id = due.company_id and n.id = due.id
  returning n.company_id, n.id, n.kind, n.data, n.created_at, n.next_email_at
)
select taken.*, ${MASKED_NAME} as name, c.doc ->> 'logo_url' as logo_url, c.doc ->> 'brand_color' as brand_color, c.timezone, array(
    select u.doc ->> 'email' from users u
    where u.company_id = taken.company_id and u.doc ->> 'status' = 'active' order by 1) as users
from taken join companies c on c.company_id = taken.company_id`,
}

const CLOSE_NOTICE = {
  name: 'close_notice',
  text: `update notifications set next_email_at = null, leased_until = null, emailed_at = case when $3::bool then clock_timestamp() else emailed_at end
         where company_id = $1 and id = $2`,
}

/** Due again at its next retry, if there is one. */
const GIVE_BACK_NOTICE = {
  name: 'give_back_notice',
  text: 'update notifications set leased_until = null where company_id = $1 and id = $2',
}

/** A notification to the users of a company, in the panel and by e-mail. */
interface Notice {
  company_id: number
  /** Id of the causing event. */
  id: string
  kind: 'webhook_switched_off'
  data: { webhook_id: number; url: string; reason: DataOf<'WebhookSwitchedOff'>['reason'] }
  created_at: string
  emailed_at: null
  email_tries: number
  next_email_at: string
}

const notices = table<Notice>('notifications', {
  columns: {
    company_id: 'bigint',
    id: 'uuid',
    kind: 'text',
    data: 'json',
    created_at: 'timestamptz',
    emailed_at: 'timestamptz',
    email_tries: 'integer',
    next_email_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'id'] },
})

const reasonOf = (event: { readonly data: object }) => (event.data as DataOf<'WebhookSwitchedOff'>).reason

/** Notifies a company of endpoints that were switched off automatically (HOOK-20). */
export const switchOffNotifications: Reactor = {
  refs(_rows, event) {
    if (event.type !== 'WebhookSwitchedOff' || reasonOf(event) === 'requested') return null
    return [webhookById(parseSubject(event.subject).id)]
  },
  react(rows, event, _record, { now }) {
    const webhook_id = parseSubject(event.subject).id
    rows.add(notices, {
      company_id: companyRef(rows).company_id,
      id: event.id,
      kind: 'webhook_switched_off',
      data: { webhook_id, url: rows.get(webhookById(webhook_id))?.url ?? '', reason: reasonOf(event) },
      created_at: now,
      emailed_at: null,
      email_tries: 0,
      next_email_at: now,
    })
  },
}

/** Time of uninterrupted failures after which an outage begins; the first retry comes earlier. */
const BEGINS_AFTER_SECONDS = 300
/** Time of health after which an outage ends, so that an unsteady endpoint has one outage, not many. */
const ENDS_AFTER_SECONDS = 600

/**
 * Records beginning and ended outages, each with a notification to the company. Of concurrent processes one
 * writes.
 */
export async function noteOutages(pool: Pool): Promise<void> {
  await pool.query({ ...BEGIN_OUTAGES, values: [BEGINS_AFTER_SECONDS] })
  await pool.query({ ...FOLLOW_OUTAGES, values: [BEGINS_AFTER_SECONDS] })
  await pool.query({ ...END_OUTAGES, values: [ENDS_AFTER_SECONDS] })
}

const NOTICE = `insert into notifications (company_id, id, kind, data, created_at, email_tries, next_email_at)`

const BEGIN_OUTAGES = {
  name: 'begin_webhook_outages',
  text: `
with begun as (
  update webhook_health h set outage_since = h.failing_since, recovering_since = null
  from ${OPEN_ENDPOINTS} w
  where w.company_id = h.company_id and w.id = h.webhook_id
    and h.failing_since <= statement_timestamp() - make_interval(secs => $1) and h.failing_since >= w.watched_since
    and (h.outage_since is null or h.outage_since < w.watched_since)
  returning h.company_id, h.webhook_id, h.outage_since, w.url
)
${NOTICE}
select company_id, gen_random_uuid(), 'webhook_failing', json_build_object('webhook_id', webhook_id, 'url', url, 'since', outage_since),
  date_trunc('milliseconds', statement_timestamp()), 0, statement_timestamp()
from begun`,
}

/** Tracks since when endpoints with an outage have been healthy. */
const FOLLOW_OUTAGES = {
  name: 'follow_webhook_outages',
  text: `
update webhook_health h set recovering_since = case when h.failing_since is null then statement_timestamp() end
where h.outage_since is not null and case when h.recovering_since is null then h.failing_since is null
  else h.failing_since <= statement_timestamp() - make_interval(secs => $1) end`,
}

/** An outage of a former URL, or from before the endpoint was enabled again, ends without a notification. */
const END_OUTAGES = {
  name: 'end_webhook_outages',
  text: `
with over as (
  select h.company_id, h.webhook_id, h.outage_since, w.url
  from webhook_health h join ${OPEN_ENDPOINTS} w on w.company_id = h.company_id and w.id = h.webhook_id
  where h.outage_since is not null and h.failing_since is null
    and h.recovering_since <= statement_timestamp() - make_interval(secs => $1) and h.outage_since >= w.watched_since
  for no key update of h skip locked
), ended as (
  update webhook_health h set outage_since = null, recovering_since = null from over o
  where h.company_id = o.company_id and h.webhook_id = o.webhook_id
)
${NOTICE}
select company_id, gen_random_uuid(), 'webhook_well', json_build_object('webhook_id', webhook_id, 'url', url, 'since', outage_since),
  date_trunc('milliseconds', statement_timestamp()), 0, statement_timestamp()
from over`,
}

/** Runs the command that switches an endpoint off; the ledger serialises concurrent processes. */
export type SwitchOff = (companyId: number, webhookId: number, reason: 'no_response' | 'gone') => Promise<unknown>

interface Watch {
  /** The endpoint answered 410 to a delivery. */
  gone(claim: LeasedDelivery): void
  stop(): Promise<void>
}

interface WatchOptions {
  readonly pool: Pool
  readonly switchOff: SwitchOff
  /** Hours without any answer after which an endpoint is switched off; may be a fraction. */
  readonly switchOffHours: number
  readonly log: (message: string, error: unknown) => void
}
/** Endpoints per round; the next round continues. */
const ENDPOINTS = 100
/** Deliveries cancelled per statement. */
const BATCH = 2_000
/** Beyond the bound, the next delivery of an endpoint reports it again. */
const GONE_ENDPOINTS = 1_000

/**
 * Switches off silent and gone endpoints, records outages, and cancels pending deliveries of switched-off endpoints.
 */
export function monitorEndpoints({ pool, switchOff, switchOffHours, log }: WatchOptions): Watch {
  const gone = new Map<string, LeasedDelivery>()
  const companies = createRoundRobin()

  /**
   * A failure, for example of a company that accepts no writes, is logged and retried; the remaining endpoints are
   * still processed.
   */
  async function tryToSwitchOff(...[companyId, id, reason]: Parameters<SwitchOff>): Promise<boolean> {
    try {
      await switchOff(companyId, id, reason)
      return true
    } catch (error) {
      log('webhooks: switching off an endpoint failed, will retry', error)
      return false
    }
  }

  async function switchOffGone(): Promise<void> {
    for (const [endpoint, claim] of gone) {
      const { company_id, webhook_id } = claim
      const isOver = !(await isCurrent(pool, claim)) || (await tryToSwitchOff(company_id, webhook_id, 'gone'))
      if (isOver && gone.get(endpoint) === claim) gone.delete(endpoint)
    }
  }

  async function switchOffSilent(): Promise<void> {
    const silent = await companies.take<{ company_id: number; id: number }>(pool, FIND_SILENT, [
      switchOffHours,
      ENDPOINTS,
    ])
    for (const { company_id, id } of silent) await tryToSwitchOff(company_id, id, 'no_response')
  }

  const part = (name: string, work: () => Promise<unknown>): Repetition =>
    repeat(work, EVERY_MS, (error) => log(`webhooks: ${name} failed, will retry`, error))
  const parts = {
    gone: part('switching off endpoints that are gone', switchOffGone),
    silent: part('switching off endpoints that do not answer', switchOffSilent),
    outages: part('noting outages of endpoints', () => noteOutages(pool)),
    cancelling: part('cancelling deliveries of endpoints that are off', () => cancelWaiting(pool)),
  }
  return {
    gone(claim) {
      if (gone.size >= GONE_ENDPOINTS) return
      gone.set(endpointKey(claim), claim)
      parts.gone.now()
    },
    async stop() {
      await Promise.all(Object.values(parts).map((each) => each.stop()))
    },
  }
}

/** Answers of a former URL, or from before the endpoint was enabled again, do not count. */
async function isCurrent(pool: Pool, { company_id, webhook_id, watched_since }: LeasedDelivery): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'find_current_webhook',
    text: 'select 1 from webhooks where company_id = $1 and id = $2 and enabled and watched_since = $3::timestamptz',
    values: [company_id, webhook_id, watched_since],
  })
  return rows.length > 0
}

/**
 * Cancels pending deliveries of switched-off and deleted endpoints. Returns how many, up to the bound of a statement.
 */
export async function cancelWaiting(pool: Pool): Promise<number> {
  const { rowCount } = await pool.query({ ...CANCEL_WAITING, values: [ENDPOINTS, BATCH] })
  return rowCount ?? 0
}

const FIND_SILENT = {
  name: 'find_silent_webhooks',
  text: `
select w.company_id, w.id
from webhook_health h join ${OPEN_ENDPOINTS} w on w.company_id = h.company_id and w.id = h.webhook_id
where h.no_response_since >= w.watched_since and ${isRecordingCompany('h.company_id')}
  and h.no_response_since <= statement_timestamp() - make_interval(secs => $1::float8 * 3600)
order by ${roundRobinOrder('w.company_id', '$3')}, h.no_response_since limit $2`,
}

const CANCEL_WAITING = {
  name: 'cancel_waiting_deliveries',
  text: `
with recursive ${WAITING_ENDPOINTS}, off as (
  select a.company_id, a.webhook_id from endpoint a
  join webhooks w on w.company_id = a.company_id and w.id = a.webhook_id and not w.enabled limit $1
)
update webhook_deliveries d set status = 'cancelled', next_attempt_at = null
from off o cross join lateral (
  select id, message_id from webhook_deliveries x where x.status = 'pending' and x.company_id = o.company_id and x.webhook_id = o.webhook_id
  order by x.next_attempt_at limit $2 for no key update skip locked) as one
where d.company_id = o.company_id and d.id = one.id and d.webhook_id = o.webhook_id and d.message_id = one.message_id`,
}
