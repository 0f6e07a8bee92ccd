import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { purge, type RetentionRule } from '#background/retention.ts'
import { purgeExcessRequests, purgeOldRequests } from '#http/request-log/purge.ts'
import { ANSWER_RETENTION_MS } from '#ledger/command.ts'
import { purgeFormer } from '#ledger/rebuild/version.ts'

const HOUR_MS = 3_600_000

/** What is deleted by age. docs/privacy.md shows it to people. */
export const RETENTION: readonly RetentionRule[] = [
  { table: 'ops.idempotent_answers', olderThan: 'created_at', keep: `${ANSWER_RETENTION_MS / HOUR_MS} hours` },
  // Ended tokens and sessions are kept for investigations.
  {
    table: 'ops.sync_tokens',
    olderThan: 'least(revoked_at, expires_at)',
    keep: '7 days',
    where: '(revoked_at is not null or expires_at is not null)',
  },
  { table: 'ops.sessions', olderThan: 'expires_at', keep: '7 days' },
  { table: 'ops.panel_calls', olderThan: 'minute_ends_at', keep: '1 hours' },
  { table: 'ops.second_steps', olderThan: 'expires_at', keep: '0 hours' },
  { table: 'ops.login_failures', olderThan: 'hour_ends_at', keep: '0 hours' },
  { table: 'ops.login_origins', olderThan: 'seen_at', keep: '400 days' },
  // The reach of redelivery, of a replay and of the end of a pause. What has waited for so long is of a paused endpoint.
  {
    table: 'ops.webhook_deliveries',
    olderThan: 'created_at',
    keep: '30 days',
    where: `(status <> 'pending' or next_attempt_at < now() - interval '30 days')`,
  },
  // After the deliveries: a message goes with its last one.
  {
    table: 'ops.webhook_messages',
    olderThan: 'created_at',
    keep: '30 days',
    where: `not exists (select from ops.webhook_deliveries d
      where d.company_id = webhook_messages.company_id and d.message_id = webhook_messages.id)`,
  },
  { table: 'ops.webhook_replays', olderThan: 'finished_at', keep: '30 days', where: `status <> 'running'` },
  // The window of endpoint health, and a day.
  { table: 'ops.webhook_hours', olderThan: 'hour', keep: '8 days' },
  // Of orders for claims and chargebacks; refused ones, and those of unknown orders, to detect attacks.
  { table: 'ops.payment_notifications', olderThan: 'received_at', keep: '400 days' },
  { table: 'ops.payment_notifications', olderThan: 'received_at', keep: '90 days', where: `outcome = 'refused'` },
  { table: 'ops.stranger_notifications', olderThan: 'received_at', keep: '30 days' },
  { table: 'ops.payment_notification_hours', olderThan: 'hour', keep: '400 days' },
  { table: 'ops.payment_sweeps', olderThan: 'attempted_at', keep: '30 days' },
  // Owners can list downloads for as long as most claims can be made.
  { table: 'ops.downloads', olderThan: 'begun_at', keep: `${5 * 366} days` },
  { table: 'ops.imports', olderThan: 'uploaded_at', keep: '1 hours' },
  // Resolved ones only. A till that keeps sending one must not reopen it.
  {
    table: 'ops.refused_sales',
    olderThan: 'greatest(settled_at, last_refused_at)',
    keep: '90 days',
    where: 'settled_at is not null',
  },
]

const EVERY_MS = 10 * 60_000

/** Purges periodically until stopped. */
export const purgeOnSchedule = (pool: Pool, onError: (error: unknown) => void): Repetition =>
  repeat(
    (stopping) =>
      purge(pool, [...RETENTION, purgeOldRequests, purgeExcessRequests, purgeFormer], { stopping, onError }),
    EVERY_MS,
    onError,
  )
