import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { purge } from '#background/retention.ts'
import { createRoundRobin } from '#background/round-robin.ts'
import { checkTablesOnSchedule, tableCheckFigures } from '#integrity/audit/table-checks.ts'
import { knownCompanies } from '#integrity/proofs/known-companies.ts'
import { growTrees } from '#integrity/proofs/tree-growth.ts'
import { startEmailNotifications } from '#notifications/email-notifications.ts'
import { claimSweeps } from '#payments/sweep-claims.ts'
import { eraseDuePersons } from '#privacy/due-erasures.ts'
import { eraseLateWrites } from '#privacy/late-writes.ts'
import { RETENTION } from '#service/retention.ts'
import { closeWrites, markLeft, openWrites, pauseBackgroundWork } from '#sharding/write-fence.ts'
import { LONGEST_LEASE_MS, leaseDue } from '#webhooks/delivery-leases.ts'
import { cancelWaiting, monitorEndpoints } from '#webhooks/endpoint-health-monitor.ts'
import { stepReplay } from '#webhooks/replays.ts'
import type { TestCompany } from '../support/api.ts'
import { vault } from '../support/master-key.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

/**
 * All files with background or delayed work, and how each skips companies under migration (SHARD-44). A missing file
 * must be reviewed: if it searches the database for work of companies, it needs `isNotMigrating`.
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
  'panel/rights-under-way.ts': 'ends by itself',
  'payments/renew-connections.ts': 'asks',
  'payments/sweep.ts': 'its parts ask',
  'postgres/embedded.ts': 'is of no company',
  'postgres/servers.ts': 'is of no company',
  'postgres/statistics.ts': 'is of no company',
  'privacy/due-erasures.ts': 'asks',
  'integrity/proofs/tree-growth.ts': 'asks',
  'integrity/attestors/attestation-requests.ts': 'is of no company',
  'integrity/proofs/checkpoint-schedule.ts': 'asks',
  'service/additional-shard.ts': 'is of no company',
  'service/attestors.ts': 'is of no company',
  'service/installation.ts': 'is of no company',
  'service/projector.ts': 'its parts ask',
  'service/retention.ts': 'its parts ask',
  'webhooks/dispatcher.ts': 'its parts ask',
  'webhooks/replays.ts': 'asks',
  'webhooks/stock-changes.ts': 'asks',
  'webhooks/endpoint-health-monitor.ts': 'asks',
  'privacy/restored-persons.ts': 'asks',
}
const BEGINS = /(?<!\.)\b(?:repeat|setInterval|retry)\(/
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

  it('use `repeat`, so that a stop waits for the work under way; only those of a connection use a timer', () => {
    const withTimer = files.filter(([, text]) => /\bsetInterval\(/.test(text)).map(([name]) => name)
    expect(withTimer.filter((name) => BY_THEMSELVES[name] !== 'ends by itself')).to.deep.equal([])
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

    /** Companies in a result, limited to the two of the test. */
    async function companiesOf(sql: string): Promise<number[]> {
      const { rows } = await pool().query<{ company_id: number }>(sql)
      const ids = new Set(rows.map(({ company_id }) => company_id))
      return [company.id, other.id].filter((id) => ids.has(id))
    }

    /** Rows of both companies with due work. */
    async function makeDue(): Promise<void> {
      for (const each of [company, other]) {
        const { id } = (await each.post('/webhooks', { url: 'http://127.0.0.1:9/', events: ['basic'] })).body.data
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
        `insert into read.forgettings select id, 'customer/1', current_date - 1, false, 'request', 'pedido' ${OF_BOTH}`,
      )
    }

    /** Companies processed by each loop. */
    const loops: Readonly<Record<string, () => Promise<readonly number[]>>> = {
      deliveries: async () => {
        const taking = { pool: pool(), vault, log: (_: string, error: unknown) => fail(error) }
        const { claims } = await leaseDue(taking, { sound: 256, strained: 64, busy: {} }, LONGEST_LEASE_MS)
        return claims.map(({ company_id }) => company_id)
      },
      replays: async () => {
        while ((await stepReplay({ pool: pool(), core: api.core, newId: uuidv7 })) !== null);
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
        // Deliveries under way stay with their sender.
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

    it('delete rows of every table of companies, and none of its rows [SHARD-44]', async () => {
      const { rows } = await pool().query<{ table: string }>(
        `select 'ops.' || table_name as table from information_schema.columns where table_schema = 'ops' and column_name = 'company_id'`,
      )
      const ofCompanies = new Set(rows.map(({ table }) => table))
      for (const { table, ofNoCompany } of RETENTION) expect(ofCompanies.has(table), table).to.equal(!ofNoCompany)
      const tables = new Set(RETENTION.filter((rule) => !rule.ofNoCompany).map(({ table }) => table))
      expect(OLD.map(([table]) => `ops.${table}`)).to.have.members([...tables])
      for (const [table, columns, values] of OLD)
        await forBoth(`insert into ops.${table} (company_id, ${columns}) select id, ${values} ${OF_BOTH}`)
      await pauseBackgroundWork(pool(), company.id)
      await purge(pool(), RETENTION, { onError: fail })
      for (const [table] of OLD)
        expect(await companiesOf(`select company_id from ops.${table}`), table).to.deep.equal([company.id])
      await openWrites(pool(), company.id)
      await purge(pool(), RETENTION, { onError: fail })
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

/** Share of the due work. */
const share = { limit: 8, companies: createRoundRobin(), isTest: false, failing: [] }

const LONG_AGO = `now() - interval '10 years'`

/** Tables with an expired row. */
const OLD: readonly (readonly [table: string, columns: string, values: string])[] = [
  ['idempotent_answers', 'key, request_hash, outcome, body, created_at', `'k', '', 'updated', '', ${LONG_AGO}`],
  [
    'sync_tokens',
    'hash, user_id, role, generation, person_generation, created_at, last_used_at, revoked_at',
    `sha256(id::text::bytea), 1, 'clerk', 0, 0, ${LONG_AGO}, ${LONG_AGO}, ${LONG_AGO}`,
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
  [
    'imports',
    'user_id, kind, file, uploaded_at',
    `1, 'items', (select '\\x01'::bytea || k.id from ops.master_keys k limit 1), ${LONG_AGO}`,
  ],
  ['downloads', 'user_id, what, begun_at', `1, 'audit_pack', ${LONG_AGO}`],
]
