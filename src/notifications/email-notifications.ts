import type { Pool } from 'pg'
import type { DataOf } from '#events/catalogue.ts'
import { parseSubject, type Reactor } from '#ledger/projection.ts'
import { table } from '#ledger/table.ts'
import { createRoundRobin, isOpen, repeat, roundRobinOrder } from '#lib/background-loops.ts'
import { companyRef, MASKED_NAME } from '#projections/companies.ts'
import { webhookById } from '#projections/webhooks.ts'
import { type EndpointNotification, endpointEmail, type Mailer } from './email.ts'

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
  select company_id, id from notifications where next_email_at <= clock_timestamp() and ${isOpen('company_id')}
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
