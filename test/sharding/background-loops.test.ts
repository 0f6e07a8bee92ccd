import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { purgePanelCalls } from '#access/panel-quota.ts'
import { purgeSessions } from '#access/sessions.ts'
import { purgeTokens } from '#access/sync-access.ts'
import { createRoundRobin } from '#background/round-robin.ts'
import { purgeDownloads } from '#integrity/audit/downloads.ts'
import { checkTablesOnSchedule, tableCheckFigures } from '#integrity/audit/table-checks.ts'
import { knownCompanies } from '#integrity/proofs/known-companies.ts'
import { growTrees } from '#integrity/proofs/tree-growth.ts'
import { purgeAnswers } from '#ledger/write/idempotency.ts'
import { startEmailNotifications } from '#notifications/email-notifications.ts'
import { purgeNotificationHours, purgeNotifications } from '#payments/notification-log.ts'
import { claimSweeps, purgeSweeps } from '#payments/sweep.ts'
import { eraseDuePersons } from '#privacy/due-erasures.ts'
import { eraseLateWrites } from '#privacy/late-writes.ts'
import { purgeRefusedSales } from '#refused-sales/refused-sales.ts'
import { closeWrites, markLeft, openWrites, pauseBackgroundWork } from '#sharding/write-fence.ts'
import { LONGEST_LEASE_MS, leaseDue } from '#webhooks/delivery-leases.ts'
import { cancelWaiting, monitorEndpoints } from '#webhooks/endpoint-health-monitor.ts'
import { purgeWebhookHours } from '#webhooks/outages.ts'
import { purgeDeliveries } from '#webhooks/outbox.ts'
import { purgeReplays, stepReplay } from '#webhooks/replays.ts'
import type { TestCompany } from '../support/api.ts'
import { vault } from '../support/master-key.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

/**
 * All files that do something again and again, or later, by themselves, and how each leaves companies in a move alone (SHARD-44).
 * A file that is missing here has to be looked at: does it find work of companies in the database? Then by `isNotMigrating`.
 */
const BY_THEMSELVES: Readonly<
  Record<string, 'asks' | 'its parts ask' | 'is of no company' | 'ends by itself' | 'ends moves'>
> = {
  'api/v1/event-stream.ts': 'ends by itself',
  'integrity/audit/downloads.ts': 'ends by itself',
  'integrity/audit/table-checks.ts': 'asks',
  'public-pages/checkout/stream.ts': 'ends by itself',
  'sharding/migration/abandoned-migrations.ts': 'ends moves',
  'sharding/directory-sweep.ts': 'is of no company',
  'ledger/follow/follower.ts': 'its parts ask',
  'ledger/follow/preparation.ts': 'its parts ask',
  'ledger/rebuild/version.ts': 'is of no company',
  'ledger/replicas/replica-monitor.ts': 'is of no company',
  'notifications/email-notifications.ts': 'asks',
  'panel/live.ts': 'ends by itself',
  'payments/sweep.ts': 'asks',
  'postgres/embedded.ts': 'is of no company',
  'postgres/purge.ts': 'its parts ask',
  'postgres/servers.ts': 'is of no company',
  'postgres/statistics.ts': 'is of no company',
  'privacy/due-erasures.ts': 'asks',
  'integrity/proofs/tree-growth.ts': 'asks',
  'integrity/attestors/attestation-requests.ts': 'is of no company',
  'integrity/proofs/checkpoint-schedule.ts': 'asks',
  'service/additional-shard.ts': 'is of no company',
  'service/installation.ts': 'is of no company',
  'service/projector.ts': 'its parts ask',
  'webhooks/dispatcher.ts': 'its parts ask',
  'webhooks/replays.ts': 'asks',
  'webhooks/endpoint-health-monitor.ts': 'asks',
  'privacy/restored-persons.ts': 'asks',
}
const BEGINS = /(?<!\.)\b(?:repeat|setInterval|retry|schedulePurge)\(|\btimer\.refresh\(/
const ASKS = /isNotMigrating\(|recordsEvents\(|migratingCompanies\(|move is null/
const fail = (error: unknown) => expect.fail(String(error))
const SRC = new URL('../../src/', import.meta.url)

describe('background loops', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/^(?:background|cli|lib|http)\//.test(name))
    .map((name) => [name, readFileSync(new URL(name, SRC), 'utf8')] as const)

  it('are all listed, and check for migrations wherever they process companies [SHARD-44]', () => {
    const found = files.filter(([, text]) => BEGINS.test(text)).map(([name]) => name)
    expect(found).to.include('webhooks/dispatcher.ts')
    expect(found.filter((name) => !(name in BY_THEMSELVES))).to.deep.equal([])
    for (const [name, text] of files) if (BY_THEMSELVES[name] === 'asks') expect(text, name).to.match(ASKS)
  })

  it('purge no table of a company under migration [SHARD-44]', () => {
    // Of these tables no row is a company's.
    const OTHERS = /^(?:ops\.)?(?:login_failures|login_origins|stranger_notifications)$/
    const deletes = files
      .filter(([, text]) => text.includes('deleteInBatches('))
      .flatMap(([name, text]) =>
        [...text.matchAll(/delete from ([\w.]+) where [^`]*\blimit \$\d/g)].map((found) => [name, ...found]),
      )
    expect(deletes.length).to.be.at.least(10)
    for (const [name, text, table = ''] of deletes)
      if (!OTHERS.test(table)) expect(text, `${name}: ${table}`).to.include('isNotMigrating(')
  })

  describe('during the migration of a company', () => {
    const api = useApi({ log: () => {} })
    let company: TestCompany
    let other: TestCompany

    beforeEach(async () => {
      company = await api.company()
      other = await api.company()
    })

    const pool = () => api.core.pool
    const forBoth = (text: string) => pool().query(text, [[company.id, other.id]])
    const OF_BOTH = 'from unnest($1::bigint[]) as id'

    /** Of the two. */
    async function companiesOf(sql: string): Promise<number[]> {
      const { rows } = await pool().query<{ company_id: number }>(sql)
      const ids = new Set(rows.map(({ company_id }) => company_id))
      return [company.id, other.id].filter((id) => ids.has(id))
    }

    /** Rows of both companies for which something is due. */
    async function makeDue(): Promise<void> {
      for (const each of [company, other]) {
        const { id } = (await each.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] })).body.data
        expect((await each.post(`/webhooks/${id}/test`)).status).to.equal(200)
        expect((await each.post('/customers', { name: 'Ana' })).status).to.equal(201)
      }
      await forBoth(
        `insert into ops.webhook_replays (company_id, webhook_id, after_revision, until_revision, last_revision, status, requested_at, next_step_at)
         select id, 1, -1, 1, -1, 'running', now(), now() ${OF_BOTH}`,
      )
      await forBoth(
        `insert into ops.notices (company_id, id, kind, data, created_at, email_tries, next_email_at)
         select id, gen_random_uuid(), 'webhook_switched_off', '{"webhook_id":1,"url":"http://x","reason":"gone"}', now(), 0, now() ${OF_BOTH}`,
      )
      await forBoth(
        `insert into ops.webhook_health (company_id, webhook_id, no_response_since)
         select w.company_id, w.id, now() from read.webhooks w where company_id = any($1)`,
      )
      await forBoth(
        `insert into read.forgettings select id, 'customer/1', current_date - 1, 'request', 'pedido' ${OF_BOTH}`,
      )
    }

    /** What each has done, by company. */
    const loops: Readonly<Record<string, () => Promise<readonly number[]>>> = {
      deliveries: async () => {
        const taking = { pool: pool(), vault, log: (_: string, error: unknown) => fail(error) }
        const { claims } = await leaseDue(taking, { sound: 256, strained: 64, busy: {} }, LONGEST_LEASE_MS)
        return claims.map(({ company_id }) => company_id)
      },
      replays: async () => {
        while ((await stepReplay(pool(), uuidv7)) !== null);
        return companiesOf(`select company_id from ops.webhook_replays where status <> 'running'`)
      },
      'switching off': async () => {
        const off: number[] = []
        const watch = monitorEndpoints({
          pool: pool(),
          switchOff: async (companyId) => off.push(companyId),
          switchOffHours: 0,
          log: fail,
        })
        await until(() => off.includes(other.id))
        await watch.stop()
        return off
      },
      cancelling: async () => {
        await forBoth('update read.webhooks set enabled = false where company_id = any($1)')
        // What is under way is left to whoever sends it.
        await forBoth('update ops.webhook_deliveries set leased_until = null where company_id = any($1)')
        await cancelWaiting(pool())
        return companiesOf(`select company_id from ops.webhook_deliveries where status = 'cancelled'`)
      },
      letters: async () => {
        const notices = startEmailNotifications({
          pool: pool(),
          mailer: null,
          publicUrl: '',
          log: () => {},
          warn: () => {},
        })
        const closed = () => companiesOf('select company_id from ops.notices where next_email_at is null')
        await until(async () => (await closed()).includes(other.id))
        await notices.stop()
        return closed()
      },
      'trees of ledgers': async () => {
        await growTrees(api.core, { onError: fail })
        return companiesOf('select log as company_id from ops.trees')
      },
      'comparisons of tables': async () => {
        const checks = checkTablesOnSchedule(api.core, {
          isBehind: () => false,
          onDifferent: () => {},
          onError: () => {},
          rest_ms: () => 0,
        })
        const checked = () => companiesOf('select company_id from ops.table_checks where checked_at is not null')
        await until(async () => (await checked()).includes(other.id))
        await checks.stop()
        return checked()
      },
      'forgetting on the day': async () => {
        await eraseDuePersons({ pool: pool(), writer: api.core.writer, retentionYears: 5, onError: () => {} })
        return companiesOf('select company_id from ops.person_keys where destroyed_at is not null')
      },
      'late writes': async () => {
        await forBoth('update ops.person_keys set wrapped = null, destroyed_at = now() where company_id = any($1)')
        await forBoth(
          `update ops.webhook_messages set body = replace(body, '"name":null', '"name":"Ana"') where company_id = any($1)`,
        )
        const asked = `select company_id from ops.webhook_messages where event = 'customer.created' and body not like '%Ana%'`
        expect(await companiesOf(asked)).to.deep.equal([])
        await eraseLateWrites(pool(), { onError: fail })
        return companiesOf(asked)
      },
    }

    it('skip it, and serve all others [SHARD-44]', async () => {
      await makeDue()
      await pauseBackgroundWork(pool(), company.id)
      for (const [loop, run] of Object.entries(loops)) {
        const done = await run()
        expect(done, loop).to.include(other.id)
        expect(done, loop).to.not.include(company.id)
      }
      await openWrites(pool(), company.id)
      expect(await loops.replays?.()).to.include(company.id)
    })

    it('delete none of its rows [SHARD-44]', async () => {
      for (const [table, columns, values] of OLD)
        await forBoth(`insert into ops.${table} (company_id, ${columns}) select id, ${values} ${OF_BOTH}`)
      await pauseBackgroundWork(pool(), company.id)
      for (const purge of PURGES) await purge(pool())
      for (const [table] of OLD)
        expect(await companiesOf(`select company_id from ops.${table}`), table).to.deep.equal([company.id])
      await openWrites(pool(), company.id)
      for (const purge of PURGES) await purge(pool())
      for (const [table] of OLD)
        expect(await companiesOf(`select company_id from ops.${table}`), table).to.deep.equal([])
    })

    it('ignore leftovers of a company on another shard, and do not report its ledger missing [SHARD-44]', async () => {
      await forBoth(`insert into ops.table_checks (company_id, is_equal, due_at) select id, false, now() - interval '1 day' ${OF_BOTH}
        on conflict (company_id) do update set is_equal = false, due_at = excluded.due_at`)
      const unequal = async () => (await tableCheckFigures(pool())).unequal
      const before = await unequal()
      await closeWrites(pool(), company.id)
      expect(await knownCompanies(api.core, null)).to.include(company.id)
      await markLeft(pool(), company.id)
      expect(await unequal()).to.equal(before - 1)
      expect(await knownCompanies(api.core, null))
        .to.include(other.id)
        .and.not.include(company.id)
      expect((await claimSweeps(pool(), [0], share)).length).to.equal(0)
    })
  })
})

/** Of the work that is due. */
const share = { limit: 8, companies: createRoundRobin(), isTest: false, failing: [] }

type Purge = (pool: Pool) => Promise<unknown>

const PURGES: readonly Purge[] = [
  purgeAnswers,
  purgeTokens,
  purgeSessions,
  purgePanelCalls,
  purgeDeliveries,
  purgeReplays,
  purgeWebhookHours,
  purgeNotifications,
  purgeNotificationHours,
  purgeSweeps,
  purgeDownloads,
  purgeRefusedSales,
]

const LONG_AGO = `now() - interval '10 years'`

/** Tables with a row that is past its time. */
const OLD: readonly (readonly [table: string, columns: string, values: string])[] = [
  ['idempotent_answers', 'key, request_hash, outcome, body, created_at', `'k', '', 'updated', '', ${LONG_AGO}`],
  [
    'sync_tokens',
    'hash, user_id, generation, person_generation, created_at, last_used_at, revoked_at',
    `sha256(id::text::bytea), 1, 0, 0, ${LONG_AGO}, ${LONG_AGO}, ${LONG_AGO}`,
  ],
  [
    'sessions',
    'hash, user_id, generation, person_generation, created_at, last_seen_at, expires_at',
    `sha256(id::text::bytea), 1, 0, 0, ${LONG_AGO}, ${LONG_AGO}, ${LONG_AGO}`,
  ],
  ['panel_calls', 'user_id, session, minute_ends_at, calls', `1, '', ${LONG_AGO}, 1`],
  ['webhook_messages', 'id, event, body, created_at', `gen_random_uuid(), 'webhook.test', '', ${LONG_AGO}`],
  [
    'webhook_deliveries',
    'id, webhook_id, message_id, event, replay, status, attempts, tries, created_at',
    `gen_random_uuid(), 1, gen_random_uuid(), 'webhook.test', false, 'failed', '[]', 1, ${LONG_AGO}`,
  ],
  [
    'webhook_replays',
    'webhook_id, after_revision, until_revision, last_revision, status, requested_at, finished_at',
    `1, -1, 1, 1, 'finished', ${LONG_AGO}, ${LONG_AGO}`,
  ],
  [
    'refused_sales',
    'user_id, digest, first_refused_at, last_refused_at, times, code, message, errors, settled_at',
    `1, sha256(id::text::bytea), ${LONG_AGO}, ${LONG_AGO}, 1, 'x', 'x', '{}', ${LONG_AGO}`,
  ],
  ['webhook_hours', 'webhook_id, hour, bucket, attempts, failures', `1, ${LONG_AGO}, 0, 1, 0`],
  [
    'payment_notifications',
    'store_alias, order_path, order_id, request_id, received_at',
    `'a', '1', 1, gen_random_uuid(), ${LONG_AGO}`,
  ],
  [
    'payment_notification_hours',
    'store_id, hour, is_signed, kept, kept_bytes, counted, fitted',
    `1, ${LONG_AGO}, true, 1, 1, 0, true`,
  ],
  ['payment_sweeps', 'order_id, attempted_at, claimed_passes', `1, ${LONG_AGO}, 1`],
  ['downloads', 'user_id, what, begun_at', `1, 'audit_pack', ${LONG_AGO}`],
]
