import { randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { createMailer, type Mailer } from '#access/email.ts'
import { startMorningMails } from '#access/morning-mails.ts'
import { tellTailsOnSchedule } from '#access/till-access.ts'
import { switchOffWebhook } from '#commands/webhook-commands.ts'
import type { Config } from '#config/config.ts'
import { purgeExcessRequests, purgeOldRequests } from '#http/request-log.ts'
import {
  type AttestationRequests,
  type AttestationStatus,
  noteAttestors,
  requestAttestations,
} from '#integrity/attestations.ts'
import { attestorNames, createAttestors } from '#integrity/attestor-settings.ts'
import { checkpointFigures, scheduleCheckpoints } from '#integrity/checkpoint-schedule.ts'
import { checkTablesOnSchedule, tableCheckFigures } from '#integrity/table-checks.ts'
import { growTreesOnSchedule } from '#integrity/trees.ts'
import { ANSWER_RETENTION_MS } from '#ledger/command.ts'
import { listReadSchemas, purgeFormer } from '#ledger/rebuild/version.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { purge, type Repetition, type RetentionRule, repeat } from '#lib/background-loops.ts'
import type { LogError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { writeMorningEmail } from '#panel/pages/good-morning.tsx'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { type ProviderConnector, startRenewals } from '#payments/store-connections.ts'
import { startSweep } from '#payments/sweep.ts'
import { keepStatistics } from '#postgres/requirements.ts'
import {
  createErasureList,
  type ErasureList,
  eraseLateWrites,
  eraseRestoredPersons,
  LATE_WRITES_EVERY_MS,
  scheduleDueErasures,
} from '#privacy/erasures.ts'
import { refreshAllSalesRollups } from '#projections/sales-rollups.ts'
import { countRefusedConnections } from '#queries/company-queries.ts'
import { readBacklog } from '#webhooks/delivery-leases.ts'
import { startEmailNotifications } from '#webhooks/endpoint-health.ts'
import { startWebhooks } from '#webhooks/webhook-loops.ts'
import type { Core } from './core.ts'
import { applyDuePricesOnSchedule } from './due-prices.ts'
import type { Metrics } from './metrics.ts'

/** Creates the demonstration companies. Returns whether the file holds credentials. */
export type SeedDemo = (core: Core, files: { readonly baseUrl: string; readonly demoFile: string }) => Promise<boolean>

/** Shared by the roles of a process. Available before they start and until they have stopped. */
export interface SharedServices {
  readonly config: Config
  readonly databaseUrl: string
  readonly core: Core
  readonly forgottenList: ErasureList
  readonly provider: PaymentProvider
  /** Null without credentials of the service at the provider. */
  readonly connector: ProviderConnector | null
  readonly metrics: Metrics
  readonly seedDemo: SeedDemo
  readonly logger: Logger
  readonly log: LogError
}

/** A running role. */
export interface RunningRole {
  /** Accepts nothing new; resolves when work in progress has ended. */
  stop(): Promise<void>
}

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
    readSchemas: listReadSchemas(core.model),
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
  const mailer = config.SMTP_URL === undefined ? null : createMailer(config.SMTP_URL, config.SMTP_FROM)
  const mornings =
    mailer &&
    startMorningMails({
      ...{ pool: core.pool, mailer, log },
      write: (subscriber) => writeMorningEmail(core.pool, subscriber, config.PUBLIC_URL),
    })
  const notices = startEmailNotifications({
    pool: core.pool,
    mailer,
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
      await Promise.all([webhooks.stop(), mornings?.stop(), notices.stop(), sweep.stop(), renewals?.stop()])
    },
  }
}

const HOUR_MS = 3_600_000

/** What is deleted by age. docs/privacy.md shows it to people. */
export const RETENTION: readonly RetentionRule[] = [
  { table: 'ops.idempotent_answers', olderThan: 'created_at', keep: `${ANSWER_RETENTION_MS / HOUR_MS} hours` },
  // Tills upload for 30 days under an ended token; ended sessions are kept for investigations.
  {
    table: 'ops.sync_tokens',
    olderThan: 'least(revoked_at, expires_at)',
    keep: '31 days',
    where: '(revoked_at is not null or expires_at is not null)',
  },
  { table: 'ops.sessions', olderThan: 'expires_at', keep: '7 days' },
  { table: 'ops.panel_request_counts', olderThan: 'minute_ends_at', keep: '1 hours' },
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
  { table: 'ops.unverified_notifications', olderThan: 'received_at', keep: '30 days' },
  { table: 'ops.payment_notification_hours', olderThan: 'hour', keep: '400 days' },
  { table: 'ops.payment_sweeps', olderThan: 'attempted_at', keep: '30 days' },
  // Owners can list downloads for as long as most claims can be made.
  { table: 'ops.downloads', olderThan: 'begun_at', keep: `${5 * 366} days` },
  { table: 'ops.imports', olderThan: 'uploaded_at', keep: '1 hours' },
  // Resolved ones only. A till that keeps sending one must not reopen it.
  {
    table: 'ops.refused_sales',
    olderThan: 'greatest(resolved_at, last_refused_at)',
    keep: '90 days',
    where: 'resolved_at is not null',
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

/** Hours of failures after which an operator is told. */
const TOLD_AFTER_HOURS = 24

type Failing = Pick<AttestationStatus, 'source' | 'kind' | 'host' | 'failing_since' | 'problem' | 'detail'>

/** Attestors that have failed for a day. */
export const failingForADay = (states: readonly AttestationStatus[], now: number): readonly AttestationStatus[] =>
  states.filter(
    ({ failing_since }) => failing_since !== null && now - Date.parse(failing_since) >= TOLD_AFTER_HOURS * 3_600_000,
  )

/** `witness.example/w1 (witness.example) since 2026-11-22T20:00:01.906Z: unreachable, answered 503` */
export const failureText = ({ source, host, failing_since, problem, detail }: Failing): string =>
  `${source}${host === null ? '' : ` (${host})`} since ${failing_since}: ${problem}, ${detail}`

/** Sends the operator one e-mail for each attestor that has failed for a day; a failed one is sent again. */
export async function tellOperator(pool: Pool, mailer: Mailer, to: string): Promise<void> {
  const { rows } = await pool.query<Failing>(
    `update ops.attestors set emailed_at = clock_timestamp()
     where emailed_at is null and failing_since <= clock_timestamp() - make_interval(hours => $1)
     returning source, kind, host, failing_since, problem, detail`,
    [TOLD_AFTER_HOURS],
  )
  for (const failing of rows) {
    const subject = `Tillbook: no confirmation of ${failing.source}`
    const text = `No confirmation of ${failureText(failing)}\n\nIt is asked again. \`ledger attestors\` shows its state.\n`
    try {
      await mailer.send({ id: randomUUID(), to: [to], subject, text })
    } catch (error) {
      await pool.query('update ops.attestors set emailed_at = null where source = $1', [failing.source])
      throw error
    }
  }
}

const NONCE_BYTES = 16
/** Between looks for attestors of which the operator has to be told. */
const TOLD_EVERY_MS = 60_000

const NONE: AttestationRequests = { now: () => {}, stop: async () => {} }

/** Sends attestation requests for checkpoints to the configured attestors and exports metrics of their status. */
export function startAttestors({
  config,
  core,
  metrics,
  logger,
  log,
}: Pick<SharedServices, 'config' | 'core' | 'metrics' | 'logger' | 'log'>): AttestationRequests {
  const { pool, sealing } = core
  const attestors = createAttestors(config, { pool, newNonce: () => randomBytes(NONCE_BYTES) })
  if (!sealing) return NONE
  const noted = noteAttestors(pool, attestorNames(config)).catch((error) =>
    log('attestors: configuration not recorded', error),
  )
  if (attestors.length === 0) return { ...NONE, stop: () => noted }
  void noted.then(warn).catch((error) => log('attestors: state not read', error))
  const statuses = metrics.oncePerScrape(() => core.proof.attestors())
  const gauge = (name: string, help: string, figureOf: (state: AttestationStatus) => number | null) =>
    metrics.gauges(name, help, 'attestor', async () => {
      const states = (await statuses()).map((state) => [state.source, figureOf(state)] as const)
      return new Map(states.filter((each): each is readonly [string, number] => each[1] !== null))
    })
  gauge('tillbook_attestor_token_age_seconds', 'Age of the newest token of an attestor', ({ age }) => age)
  gauge(
    'tillbook_attestor_waiting_seconds',
    'For how long the oldest checkpoint that an attestor has not vouched for has been waiting',
    ({ waiting_seconds }) => waiting_seconds,
  )
  gauge('tillbook_attestor_failures', 'How often in a row an attestor was asked in vain', ({ failures }) => failures)
  async function warn(): Promise<void> {
    for (const state of failingForADay(await core.proof.attestors(), Date.now()))
      logger.warn(state, 'attestors: no token for a day')
  }

  const { OPERATOR_EMAIL: operator, SMTP_URL, SMTP_FROM } = config
  const mailer = operator === undefined || SMTP_URL === undefined ? null : createMailer(SMTP_URL, SMTP_FROM)
  const tell = async () => {
    if (mailer && operator !== undefined) await tellOperator(pool, mailer, operator)
  }
  const telling = repeat(tell, TOLD_EVERY_MS, (error) =>
    log('attestors: e-mail to the operator failed, will retry', error),
  )
  const requests = requestAttestations(sealing, attestors, {
    onToken: ({ source, kind }, { size }) => logger.info({ source, kind, size }, 'proofs: checkpoint attested'),
    onError: ({ source }, error) => log('attestors: request failed, will retry', error, { source }),
  })
  return {
    now: requests.now,
    async stop() {
      await Promise.all([requests.stop(), telling.stop(), noted])
      mailer?.close()
    },
  }
}

/** Opening a page refreshes missing sums. A longer interval recomputes the current hour less often. */
const SUMS_EVERY_MS = 15 * 60_000

/**
 * Background role for tables and ledgers. Keeps the read model level with an external event store, analyzes growing
 * tables, purges expired data, refreshes rollups and ledger trees, creates checkpoints on schedule, erases persons on
 * their due date, applies scheduled prices, erases personal data that was written after an erasure, and compares each company's tables with its
 * ledger.
 */
export function startProjector(shared: SharedServices): RunningRole {
  const { config, core, metrics, log } = shared
  const follower = core.follow()
  if (follower)
    metrics.gauge('tillbook_projection_companies_behind', 'Companies whose rows stay behind their events', follower.lag)
  metrics.gauge(
    'tillbook_ledgers_ahead_of_clock',
    'Ledgers that take no writes, because their last event lies ahead of the clock',
    core.ledgersAhead,
  )
  metrics.gauge(
    'tillbook_companies_without_keys',
    'Companies that are read-only, because keys of their persons are missing',
    async () => (await core.missingKeys()).length,
  )
  const roles = [
    purgeOnSchedule(core.pool, (error) => log('purge: failed, will retry', error)),
    keepStatistics(core.pool, (error) => log('statistics: analyze failed, will retry', error)),
    startSealing(shared),
    growTreesOnSchedule(core, (error) => log('trees: extension failed, will retry', error)),
    growSumsOnSchedule(shared),
    startTableChecks(shared, () => (follower?.lag() ?? 0) > 0),
    scheduleDueErasures({
      ...core,
      retentionYears: config.RETENTION_YEARS,
      onError: (error) => log('privacy: erasure failed, will retry', error),
    }),
    applyDuePricesOnSchedule({
      ...core,
      onError: (error) => log('prices: scheduled change failed, will retry', error),
    }),
    wipeOnSchedule(shared),
    tellTailsOnSchedule({ ...core, onError: (error) => log('till sync: event of a gap failed, will retry', error) }),
  ]
  return {
    async stop() {
      await Promise.all([follower?.stop(), ...roles.map((role) => role.stop())])
    },
  }
}

function growSumsOnSchedule({ core, log }: SharedServices): RunningRole {
  const onError = (error: unknown) => log('rollups: refresh failed, will retry', error)
  return repeat((stopping) => refreshAllSalesRollups(core.pool, { stopping, onError }), SUMS_EVERY_MS, onError)
}

function wipeOnSchedule({ core, forgottenList, log }: SharedServices): RunningRole {
  const onError = (error: unknown) => log('privacy: repeated erasure failed, will retry', error)
  return repeat(
    async (stopping) => {
      await forgottenList.sync().catch(onError)
      await eraseLateWrites(core.pool, { stopping, onError })
    },
    LATE_WRITES_EVERY_MS,
    onError,
  )
}

/** Comparisons of tables with ledgers, and their metrics. */
function startTableChecks({ core, metrics, logger, log }: SharedServices, isBehind: () => boolean): RunningRole {
  const figures = metrics.oncePerScrape(() => tableCheckFigures(core.pool))
  metrics.gauge(
    'tillbook_tables_unequal_companies',
    'Companies whose tables differed from a replay of their ledger when they were last compared',
    async () => (await figures()).unequal,
  )
  metrics.gauge(
    'tillbook_tables_check_overdue_seconds',
    'For how long the longest awaited comparison of tables with a ledger has been due',
    async () => (await figures()).overdue_seconds,
  )
  return checkTablesOnSchedule(core, {
    isBehind,
    onDifferent: (company_id, revision, differences) =>
      logger.error({ company_id, revision, differences }, 'projections: tables differ from the ledger'),
    onError: (error) => log('projections: comparison failed, will retry', error),
  })
}

/** Checkpoint schedule and its metrics. */
function startSealing({
  config,
  core,
  metrics,
  logger,
  log,
}: Pick<SharedServices, 'config' | 'core' | 'metrics' | 'logger' | 'log'>) {
  const { sealing, pool } = core
  if (!sealing) return { stop: async () => {} }
  const figures = metrics.oncePerScrape(() => checkpointFigures(pool, sealing.now()))
  metrics.gauge(
    'tillbook_checkpoint_faults',
    'Ledgers, and the installation itself, that could not be sealed when that was last tried',
    async () => (await figures()).faults,
  )
  metrics.gauge('tillbook_checkpoint_run_age_seconds', 'Time since ledgers were last sealed on schedule', async () =>
    ageOf((await figures()).roundAge),
  )
  metrics.gauge('tillbook_checkpoint_age_seconds', 'Age of the newest checkpoint of the installation log', async () =>
    ageOf((await figures()).sealAge),
  )
  const attestors = startAttestors({ config, core, metrics, logger, log })
  const rounds = scheduleCheckpoints(sealing, config.SEAL_EVERY_HOURS, {
    onSealed({ origin, size, root }) {
      logger.info({ origin, size, root: root.toString('base64') }, 'checkpoints: ledgers signed')
      attestors.now()
    },
    onError: (error) => log('checkpoints: ledger not signed', error),
  })
  return {
    async stop() {
      await Promise.all([rounds.stop(), attestors.stop()])
    },
  }
}

/** @throws if there is none; the metric is then omitted. */
function ageOf(seconds: number | null): number {
  if (seconds === null) throw new Error('nothing was sealed yet')
  return seconds
}

/** Opens the list of erased persons before the database is open; the first `sync` finds entries noted until then. */
export function openErasureList({ DATA_DIR: dataDir }: Pick<Config, 'DATA_DIR'>, log: LogError) {
  let list: ErasureList | null = null
  const onError = (error: unknown) => log('privacy: list of erased persons not written, will retry', error)
  return {
    note: () => list?.note(),
    open(pool: Pool): ErasureList {
      list = createErasureList({ pool, dataDir, onError })
      return list
    },
  }
}

/**
 * Repeats erasures that a restored backup has undone, before any request is answered. Stops with the rest of
 * `background`.
 */
export function eraseRestoredOnStart(
  { config, core, forgottenList: list, logger, log }: SharedServices,
  background: RunningRole[],
): Promise<void> {
  const stopping = new AbortController()
  background.push({ stop: async () => stopping.abort() })
  const { pool, writerAfterRestore: writer, installationCheck } = core
  // The list belongs to another installation, where the same ids denote other persons.
  if (installationCheck.inconsistency() === 'directory_of_another') return Promise.resolve()
  const retentionYears = config.RETENTION_YEARS
  const onForgotten = (company_id: number, subject: string) =>
    logger.warn({ company_id, subject }, 'privacy: person from a restored backup erased again')
  const onError = (error: unknown) => log('privacy: persons from a restored backup not erased yet, will retry', error)
  return eraseRestoredPersons({ pool, writer, list, retentionYears, onForgotten, onError }, stopping.signal)
}
