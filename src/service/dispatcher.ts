import { switchOffWebhook } from '#commands/webhooks.ts'
import { readSchemasOf } from '#ledger/rebuild/version.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { newId } from '#lib/ids.ts'
import { startEmailNotifications } from '#notifications/email-notifications.ts'
import { createMailer } from '#notifications/mailer.ts'
import { startRenewals } from '#payments/renew-connections.ts'
import { startSweep } from '#payments/sweep.ts'
import { countRefusedConnections } from '#queries/stores.ts'
import { readBacklog } from '#webhooks/delivery-leases.ts'
import { startWebhooks } from '#webhooks/start.ts'
import type { RunningRole, SharedServices } from './role.ts'

/**
 * Background role for outgoing traffic: delivers webhooks, e-mails notifications, and polls the payment provider for
 * the status of payments.
 */
export function startDispatcher({
  config,
  core,
  databaseUrl,
  provider,
  connector,
  metrics,
  logger,
  log,
}: SharedServices): RunningRole {
  const webhooks = startWebhooks({
    databaseUrl,
    core,
    vault: core.vault,
    readSchemas: readSchemasOf(core.model),
    notifier: core.deliveryNotifier,
    switchOff: (companyId, id, reason) => runAsSystem(core.writer, companyId, switchOffWebhook, { id, reason }),
    retrySeconds: config.WEBHOOK_RETRY_SECONDS,
    switchOffHours: config.WEBHOOK_SWITCH_OFF_HOURS,
    allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
    clock: Date.now,
    random: Math.random,
    newId,
    onRecorded: metrics.onAttempts,
    log,
  })
  const notices = startEmailNotifications({
    pool: core.pool,
    mailer: config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM),
    publicUrl: config.PUBLIC_URL,
    log,
    warn: (message, details) => logger.warn(details, message),
  })
  const renewals = connector && startRenewals({ ...core, connector, log })
  const sweep = startSweep({ ...core, provider, schedule: config.PAYMENT_SWEEP_SECONDS, log })
  const backlog = metrics.oncePerScrape(() => readBacklog(core.pool))
  metrics.gauge(
    'tillbook_deliveries_pending',
    'Deliveries still to be made, of all processes; counted up to 100,000',
    async () => (await backlog()).pending,
  )
  metrics.gauge(
    'tillbook_store_connections_refused',
    'Connected stores of which the payment provider refused to renew the access token',
    () => countRefusedConnections(core.pool),
  )
  metrics.gauge(
    'tillbook_deliveries_oldest_due_seconds',
    'How long the delivery that has waited longest has been due',
    async () => (await backlog()).oldest_due_seconds,
  )
  return {
    async stop() {
      await Promise.all([webhooks.stop(), notices.stop(), sweep.stop(), renewals?.stop()])
    },
  }
}
