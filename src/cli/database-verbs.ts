import { randomBytes, randomUUID } from 'node:crypto'
import { KEY_BYTES, newKey, toKeyMode } from '#access/api-authenticator.ts'
import { RestoreInput } from '#commands/company-commands.ts'
import { CreateApiKeyInput, createApiKey, revokeApiKey } from '#commands/webhook-commands.ts'
import { rotateMasterKey } from '#crypto/master-key-registry.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { refuseField } from '#domain/refusals.ts'
import { parseScopes } from '#domain/rights.ts'
import { WrongSealKey } from '#integrity/checkpoint-keys.ts'
import { prepareLike } from '#integrity/move-company.ts'
import { CheckpointAltered } from '#integrity/note.ts'
import { CannotRestore, restore } from '#integrity/restore.ts'
import { checkTables } from '#integrity/table-checks.ts'
import { ESTIMATED_RATE } from '#ledger/rebuild/build.ts'
import type { RowDifference, TableParity } from '#ledger/rebuild/compare-tables.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { createSlowPace, RESTS } from '#lib/background-loops.ts'
import { newId } from '#lib/ids.ts'
import { assertLeast, loadCurrentRole, migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'
import { readModel } from '#projections/index.ts'
import type { ApiKeyObject } from '#projections/webhooks.ts'
import type { Core } from '#service/core.ts'
import { rebuildDatabase } from '#service/rebuild-database.ts'
import { requireSealing } from './ledger-seal-verbs.ts'
import {
  type Context,
  companyIdFrom,
  countEvents,
  givenFlags,
  parseIdArgument,
  Refused,
  requireAccepted,
  type Verb,
  type Verbs,
  validateInput,
} from './verb.ts'

interface PreparedDatabase {
  readonly role: string
  /** Excess privileges of the role. */
  readonly excess: string
}

export const databaseVerbs: Verbs<'database prepare'> = {
  'database prepare': {
    async run({ config, addresses }, { like }): Promise<PreparedDatabase> {
      const { databaseUrl, ownerUrl } = await addresses()
      return withPool(databaseUrl, { max: 1, application_name: 'tillbook command' }, async (pool) => {
        await migrateAsOwner({ pool, databaseUrl, ownerUrl })
        let excess: readonly string[] = []
        const onExcess = (found: readonly string[]) => {
          excess = found
        }
        await assertLeast(pool, { onExcess })
        const likeness = { masterKeys: loadMasterKeys(config), keyFile: config.SEAL_KEY_FILE }
        if (like !== undefined) await prepareLike(pool, { likeUrl: like, ...likeness })
        return { role: await loadCurrentRole(pool), excess: excess.join(', ') }
      })
    },
    isBad: (result) => (result as PreparedDatabase).excess !== '',
  },
}

/** Data outside the ledgers; docs/operations/eventstoredb.md describes what to do about each. */
const LOSSES = `The database is rebuilt from the event store. Data that only the lost one had is gone:
  - API keys, passwords, sessions, tokens of tills, links of invitations
  - keys of persons, unless ops.person_keys is restored from a backup first: without them names, documents,
    addresses, e-mails and contacts in the ledgers can never be decrypted
  - secrets of webhooks, access tokens and notification secrets of stores
  - pending webhook deliveries and sequence numbers; stored answers of the last 24 hours; refused offline sales; logs`

const CONFIRM = 'confirm by --yes that what only the lost database had is gone'

export const databaseRebuildVerbs: Verbs<'database rebuild'> = {
  'database rebuild': {
    async run({ config, addresses, progress }, { yes, 'without-keys': withoutKeys }) {
      const { EVENTSTORE_URL: eventStoreUrl } = config
      if (eventStoreUrl === undefined)
        throw new Refused(
          refuseField('EVENTSTORE_URL', 'not set: the ledgers are in this Postgres; restore a backup instead'),
        )
      process.stderr.write(`${LOSSES}\n`)
      if (yes === undefined) throw new Refused(refuseField('yes', CONFIRM))
      progress.begin('events', null)
      const { core, report } = await rebuildDatabase({
        ...(await addresses()),
        config,
        eventStoreUrl,
        withoutKeys: withoutKeys !== undefined,
        tell: progress.tell,
        onApplied: progress.add,
      })
      await core.close()
      return report
    },
  },
}

/** Result for one company. */
interface TableVerification {
  readonly company_id: number
  readonly revision: number
  readonly equal: boolean
  readonly differences: readonly RowDifference[]
}

const verifyVerb: Verb<'projections verify'> = {
  async run(context, { company }) {
    if (company !== undefined) {
      const { core, companyId } = await companyIdFrom(context, company)
      context.progress.begin('events', await countEvents(core, companyId))
      return verifyOne(context, core, companyId)
    }
    const core = await context.core()
    context.progress.begin('events', await countEvents(core))
    const { rows } = await core.pool.query<{ company_id: number }>('select company_id from ledgers order by company_id')
    const results: TableVerification[] = []
    for (const { company_id } of rows) results.push(await verifyOne(context, core, company_id))
    return results
  },
  isBad: (result) => [result].flat().some((each) => !(each as TableVerification).equal),
}

/** @throws Error during a rebuild: the tables cannot be compared then. */
async function verifyOne({ progress }: Context, core: Core, companyId: number): Promise<TableVerification> {
  const found = await checkTables(core, companyId, { onApplied: progress.add })
  if (found.kind !== 'verified') throw new Error('the tables are being rebuilt; verify them afterwards')
  const { revision, differences } = found
  return { company_id: companyId, revision, equal: differences.length === 0, differences }
}

/** The comparison of the former tables with the new ones, for people. */
function wordsOf(parity: readonly TableParity[] | null): string {
  if (parity === null) return 'nothing to compare with'
  const differing = parity.filter(({ equal }) => !equal).map(({ table }) => table)
  return differing.length === 0 ? `${parity.length} tables equal` : `differing: ${differing.join(', ')}`
}

const PACED = { parallel: 1, pace: createSlowPace() }

export const projectionVerbs: Verbs<'projections'> = {
  'projections verify': verifyVerb,
  'projections rebuild': {
    yields: true,
    async run(context, { 'at-once': isAtOnce }) {
      const pace = isAtOnce ? {} : PACED
      const core = await context.core({ upgrades: true })
      context.progress.begin(
        'events',
        await countEvents(core),
        isAtOnce ? ESTIMATED_RATE : ESTIMATED_RATE / (1 + RESTS),
      )
      const { events, companies, parity } = await core.rebuild({ onApplied: context.progress.add, ...pace })
      return { version: readModel.version, events, companies, parity: context.json ? parity : wordsOf(parity) }
    },
  },
}

const RestoreReason = RestoreInput.pick({ reason: true })

export const restoredVerbs: Verbs<'restored'> = {
  restored: {
    async run(context, flags) {
      const { reason } = validateInput(RestoreReason, { reason: flags.reason })
      const statement = { lost_after: parsePastInstant(flags['lost-after']), reason, copy: flags.copy !== undefined }
      const core = await context.core()
      const { event_store } = await core.health()
      if (event_store !== undefined && event_store !== 'up')
        throw new CannotRestore('EventStoreDB is unreachable or the service has not caught up with it; retry later')
      const { DATA_DIR: dataDir, EVENTSTORE_URL: eventStoreUrl = null } = context.config
      const place = {
        ...requireSealing(core),
        dataDir,
        eventStoreUrl,
        writer: core.writerAfterRestore,
        asOwner: core.asOwner,
      }
      try {
        return requireAccepted(await restore({ ...place, newId, newInstallationId: randomUUID }, statement))
      } catch (error) {
        if (error instanceof CheckpointAltered || error instanceof WrongSealKey)
          throw new Refused(refuseField('seal-key', error.message))
        throw error
      }
    },
  },
}

/** @throws Refused */
function parsePastInstant(text: string): string {
  const ms = Date.parse(text)
  if (!/[Zz]|[+-]\d\d:\d\d$/.test(text) || Number.isNaN(ms))
    throw new Refused(refuseField('lost-after', 'must be a time with an offset, such as 2026-03-10T12:00:00Z'))
  if (ms > Date.now()) throw new Refused(refuseField('lost-after', 'must not be in the future'))
  return new Date(ms).toISOString()
}

export const keyVerbs: Omit<Verbs<'key'>, 'key list'> = {
  'key create': {
    async run(context, { company, name, scopes: text, 'expires-at': expires_at, ...limits }) {
      const scopes = parseScopes(text)
      if (!scopes)
        throw new Refused(
          refuseField('scopes', 'has an unknown scope: give all, read, or scopes such as sales:read,sales:write'),
        )
      const { core, companyId, isTest } = await companyIdFrom(context, company)
      const { key, prefix, hash } = newKey(randomBytes(KEY_BYTES), toKeyMode(isTest))
      const given = givenFlags({
        expires_at,
        max_amount_per_call: limits['max-amount-per-call'],
        max_amount_per_day: limits['max-amount-per-day'],
      })
      const input = validateInput(CreateApiKeyInput, { name, scopes, prefix, hash, ...given })
      const { id, ...rest } = requireAccepted(
        await runAsSystem<ApiKeyObject>(core.writer, companyId, createApiKey, input),
      )
      return { id, key, ...rest }
    },
  },
  'key revoke': {
    async run(context, { company, key }) {
      const id = parseIdArgument(key)
      const { core, companyId } = await companyIdFrom(context, company)
      return requireAccepted(await runAsSystem<ApiKeyObject>(core.writer, companyId, revokeApiKey, { id }))
    },
  },
}

export const masterKeyVerbs: Verbs<'master-key'> = {
  'master-key rotate': {
    async run(context) {
      const { pool } = await context.core()
      return rotateMasterKey(pool, loadMasterKeys(context.config))
    },
  },
}
