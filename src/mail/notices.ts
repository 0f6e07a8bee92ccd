import type { Pool } from 'pg'
import { repeat } from '#lib/repeat.ts'
import { notInMove } from '#postgres/in-move.ts'
import { TOLD_NAME } from '#projections/companies.ts'
import type { Mailer } from './mailer.ts'

/** Of a webhook endpoint that was switched off without anybody asking for it. */
interface SwitchOffNotice {
  readonly webhook_id: number
  readonly url: string
  readonly reason: 'no_response' | 'gone'
}

interface DueNotice {
  readonly company_id: number
  readonly id: string
  readonly kind: 'webhook_switched_off'
  readonly data: SwitchOffNotice
  readonly created_at: string
  readonly next_email_at: string | null
  readonly name: string
  readonly timezone: string
  readonly users: readonly string[]
}

interface NoticeOptions {
  readonly pool: Pool
  /** Null: notices are logged instead. */
  readonly mailer: Mailer | null
  readonly log: (message: string, error: unknown) => void
  readonly warn: (message: string, details: object) => void
  /** Seconds until each of the retries. */
  readonly retrySeconds?: readonly number[]
}

/** A message takes less: a process that has a notice for longer has died. */
const CLAIM_SECONDS = 100
/** The first is longer than that. */
const RETRY_SECONDS = [120, 600, 1_800, 7_200, 21_600, 43_200, 86_400]
const EVERY_MS = 2_000

/**
 * E-mails notices to the users of their companies, at least once each, for as long as the process lives. Processes share
 * the work. After the last retry a notice is given up; the panel still shows it.
 */
export function startNotices({ pool, mailer, log, warn, retrySeconds = RETRY_SECONDS }: NoticeOptions) {
  let stopped = false

  async function email(mailer: Mailer, notice: DueNotice): Promise<void> {
    const { company_id, id, users } = notice
    const about = { company_id, notice: id }
    if (users.length === 0) {
      await close(pool, notice, false)
      return warn('a notice cannot be e-mailed: the company has no user', about)
    }
    try {
      const refused = await mailer.send({ id, to: users, ...switchOffMail(notice.data, notice, notice.created_at) })
      await close(pool, notice, true)
      if (refused.length > 0) warn('a notice was not accepted for every user', { ...about, refused: refused.length })
    } catch (error) {
      log(notice.next_email_at ? 'a notice could not be e-mailed yet' : 'a notice could not be e-mailed', error)
      await pool.query({ ...GIVE_BACK_NOTICE, values: [company_id, id] })
    }
  }

  async function emailDue(): Promise<void> {
    while (!stopped) {
      const notice = await takeDue(pool, retrySeconds)
      if (!notice) return
      await (mailer ? email(mailer, notice) : logOnly(notice))
    }
  }

  async function logOnly(notice: DueNotice): Promise<void> {
    const { company_id, kind, data } = notice
    warn('nobody is e-mailed without SMTP_URL', { company_id, kind, webhook_id: data.webhook_id, reason: data.reason })
    await close(pool, notice, false)
  }

  const repetition = repeat(emailDue, EVERY_MS, (error) => log('notices could not be read', error))
  return {
    /** Resolves when the message under way has been sent or has failed. */
    async stop() {
      stopped = true
      await repetition.stop()
      mailer?.close()
    },
  }
}

/** Takes one notice that is due; when the process dies over it, it is due again at its next time. */
async function takeDue(pool: Pool, retrySeconds: readonly number[]): Promise<DueNotice | null> {
  const { rows } = await pool.query<DueNotice>({ ...TAKE_NOTICE, values: [retrySeconds] })
  return rows[0] ?? null
}

async function close(pool: Pool, { company_id, id }: DueNotice, emailed: boolean): Promise<void> {
  await pool.query({ ...CLOSE_NOTICE, values: [company_id, id, emailed] })
}

const REASONS: Readonly<Record<SwitchOffNotice['reason'], string>> = {
  no_response: 'todas as tentativas de entrega falharam e o endereço continuou sem responder',
  gone: 'o endereço respondeu que não existe mais (HTTP 410)',
}

/** Subject and text in Brazilian Portuguese; `at` (UTC) is shown on the company's clock. */
function switchOffMail(
  { webhook_id, url, reason }: SwitchOffNotice,
  company: { readonly name: string; readonly timezone: string },
  at: string,
): { subject: string; text: string } {
  const when = new Intl.DateTimeFormat('pt-BR', {
    dateStyle: 'short',
    timeStyle: 'short',
    timeZone: company.timezone,
  }).format(new Date(at))
  return {
    subject: `Webhook ${webhook_id} desligado`,
    text: `Olá,

o endereço de webhook ${webhook_id} da empresa ${company.name} foi desligado em ${when}:

${url}

Motivo: ${REASONS[reason]}.

As entregas que esperavam foram canceladas, e novos eventos não são enviados a ele. Quando o endereço voltar a funcionar, ligue-o de novo com POST /api/v1/webhooks/${webhook_id}/enable e peça o que faltou com POST /api/v1/webhooks/${webhook_id}/replay.

Tillbook
`,
  }
}

/** The array's element beyond its end is null: no more retries. */
const TAKE_NOTICE = {
  name: 'take_notice',
  text: `
with due as (
  select company_id, id from notices where next_email_at <= clock_timestamp() and ${notInMove('company_id')}
  order by next_email_at limit 1 for update skip locked
), taken as (
  update notices n set email_tries = email_tries + 1, claimed_until = clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS}),
    next_email_at = clock_timestamp() + make_interval(secs => ($1::float8[])[email_tries + 1])
  from due where n.company_id = due.company_id and n.id = due.id
  returning n.company_id, n.id, n.kind, n.data, n.created_at, n.next_email_at
)
select taken.*, ${TOLD_NAME} as name, c.timezone, array(
    select u.doc ->> 'email' from users u
    where u.company_id = taken.company_id and u.doc ->> 'status' = 'active' order by 1) as users
from taken join companies c on c.company_id = taken.company_id`,
}

const CLOSE_NOTICE = {
  name: 'close_notice',
  text: `update notices set next_email_at = null, claimed_until = null, emailed_at = case when $3::bool then clock_timestamp() else emailed_at end
         where company_id = $1 and id = $2`,
}

/** It is tried again at its next time, if there is one. */
const GIVE_BACK_NOTICE = {
  name: 'give_back_notice',
  text: 'update notices set claimed_until = null where company_id = $1 and id = $2',
}
