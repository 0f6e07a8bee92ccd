import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { loginAccountOf } from '#access/login-limits.ts'
import { type Repetition, repeat } from '#background/repeat.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import type { EntryKind } from './directory-entries.ts'
import { ENTRY_KINDS, filterLive, type PendingEntry, pendingEntryPage } from './pending-entries.ts'
import { comparePersons } from './person-sweep.ts'
import { eraseFormerLogins, type PersonDirectory } from './persons.ts'
import type { Shards } from './shards.ts'

export interface DirectorySweep extends PersonDirectory {
  readonly shards: Shards<{ readonly pool: Pool; health(): Promise<Readonly<Record<string, string>>> }>
}

/** Entries added and removed. */
export interface SweepReport {
  readonly added: number
  readonly removed: number
}

/** Rows per step. */
const SWEEP_STEP_ROWS = 1_000
const STEP_PAUSE_MS = 250
/** Pause between sweeps. */
const EVERY_MS = 600_000

/** Sweeps repeatedly, step by step, until stopped. Several processes may sweep. */
export function sweepOnSchedule(over: DirectorySweep, onError: (error: unknown) => void): Repetition {
  return repeat(
    async (signal) => {
      for await (const _step of sweepInSteps(over)) await pause(STEP_PAUSE_MS, undefined, { signal })
    },
    EVERY_MS,
    onError,
  )
}

/**
 * A complete sweep, for example when a shard is added: afterwards the directory has all companies and keys of reachable
 * shards.
 */
export async function sweepDirectory(over: DirectorySweep): Promise<SweepReport> {
  let [added, removed] = [0, 0]
  for await (const step of sweepInSteps(over)) {
    added += step.added
    removed += step.removed
  }
  return { added, removed }
}

/**
 * Adds what shards have and the directory lacks, then removes what no shard has (SHARD-28). Skips shards with pending
 * events.
 */
async function* sweepInSteps(over: DirectorySweep): AsyncGenerator<SweepReport> {
  const level: string[] = []
  for (const { name, shard } of over.shards.present()) {
    if (Object.values(await shard.health()).every((state) => state === 'up')) level.push(name)
  }
  const swept = new Set(level)
  const failures: unknown[] = []
  for (const name of level) {
    try {
      yield* addMissing(over, name)
    } catch (error) {
      // The other shards are swept; what the directory has of this one stays.
      failures.push(error)
      swept.delete(name)
    }
  }
  yield* removeOrphans(over, swept)
  if (failures.length > 0) throw failures[0]
}

async function* addMissing(over: DirectorySweep, name: string): AsyncGenerator<SweepReport> {
  yield* addCompanies(over, name)
  if (name !== DEFAULT_SHARD) for await (const _page of comparePersons(over, name)) yield { added: 0, removed: 0 }
  for (const kind of ENTRY_KINDS) yield* addEntries(over, name, kind)
}

async function* addCompanies({ directory, shards }: DirectorySweep, shard: string): AsyncGenerator<SweepReport> {
  for (let after = 0; ; ) {
    const { rows } = await shards.at(shard).pool.query<{ company_id: number }>({
      ...LEDGERS,
      values: [after, SWEEP_STEP_ROWS],
    })
    const last = rows.at(-1)
    if (!last) return
    const { rowCount } = await directory.pool.query({
      ...ADD_COMPANIES,
      values: [rows.map(({ company_id }) => company_id), shard],
    })
    const living = rows
    const { rows: misplaced } = await directory.pool.query<MisplacedCompany>({
      ...MISPLACED,
      values: [living.map(({ company_id }) => company_id), shard],
    })
    for (const company of misplaced) await correctPlacement({ directory, shards }, company, shard)
    yield { added: rowCount ?? 0, removed: 0 }
    after = last.company_id
  }
}

/** A company on one shard by that shard's word and on another by the directory's. */
interface MisplacedCompany {
  readonly company_id: number
  readonly shard: string
}

/** After a restore of the directory from before a migration: the source shard names the target. */
async function correctPlacement(
  { directory, shards }: Pick<DirectorySweep, 'directory' | 'shards'>,
  misplaced: MisplacedCompany,
  shard: string,
): Promise<void> {
  if (!shards.present().some(({ name }) => name === misplaced.shard)) return
  const { rows } = await shards
    .at(misplaced.shard)
    .pool.query<{ is_here: boolean }>({ ...IS_HERE, values: [misplaced.company_id] })
  if (!rows.some(({ is_here }) => is_here)) await directory.moveTo(misplaced.company_id, shard)
}

async function* addEntries(
  { directory, shards }: DirectorySweep,
  shard: string,
  kind: EntryKind,
): AsyncGenerator<SweepReport> {
  const { pool } = shards.at(shard)
  let after: PendingEntry | null = null
  for (;;) {
    const page: readonly PendingEntry[] = await pendingEntryPage(pool, kind, after, SWEEP_STEP_ROWS)
    const last = page.at(-1)
    if (!last) return
    const live = page.filter(({ is_live }) => is_live)
    const { rowCount } = await directory.pool.query({
      ...ADD_ENTRIES,
      values: [
        kind,
        live.map(({ key }) => Buffer.from(key)),
        live.map(({ company_id }) => company_id),
        live.map(({ email }) => email && loginAccountOf(email)),
        live.map(({ email }) => email),
        live.map(({ person_generation }) => person_generation),
        shard,
      ],
    })
    yield { added: rowCount ?? 0, removed: 0 }
    after = last
  }
}

interface ListedEntry {
  readonly kind: EntryKind
  readonly key: Buffer
  readonly company_id: number
  readonly shard: string | null
}

async function* removeOrphans(over: DirectorySweep, level: ReadonlySet<string>): AsyncGenerator<SweepReport> {
  const { directory } = over
  let after: Pick<ListedEntry, 'kind' | 'key' | 'company_id'> = { kind: 'api_key', key: Buffer.alloc(0), company_id: 0 }
  for (;;) {
    const { rows } = await directory.pool.query<ListedEntry>({
      ...LIST_ENTRIES,
      values: [after.kind, after.key, after.company_id, SWEEP_STEP_ROWS],
    })
    const last = rows.at(-1)
    if (!last) return
    let removed = 0
    for (const shard of level)
      removed += await removeOrphansOf(
        over,
        shard,
        rows.filter((row) => row.shard === shard),
      )
    yield { added: 0, removed }
    after = last
  }
}

/** Skips companies without a ledger on the shard, as during its rebuild. */
async function removeOrphansOf(over: DirectorySweep, shard: string, listed: readonly ListedEntry[]): Promise<number> {
  const { pool } = over.shards.at(shard)
  const companies = await pool.query<{ company_id: number }>({
    ...WITH_LEDGER,
    values: [[...new Set(listed.map(({ company_id }) => company_id))]],
  })
  const known = new Set(companies.rows.map(({ company_id }) => company_id))
  const orphans: ListedEntry[] = []
  for (const kind of ENTRY_KINDS) {
    const asked = listed.filter((entry) => entry.kind === kind && known.has(entry.company_id))
    const live = await filterLive(pool, kind, asked)
    orphans.push(...asked.filter((entry) => !live.has(entry)))
  }
  if (orphans.length === 0) return 0
  const { rows } = await over.directory.pool.query<ListedEntry>({
    ...REMOVE,
    values: [
      orphans.map(({ kind }) => kind),
      orphans.map(({ key }) => key),
      orphans.map(({ company_id }) => company_id),
      shard,
    ],
  })
  await eraseFormerLogins(
    over,
    rows.filter(({ kind }) => kind === 'email').map(({ key }) => key.toString()),
  )
  return rows.length
}

const LEDGERS = {
  name: 'ledgers_of_shard',
  text: 'select company_id from ops.ledgers where company_id > $1 and revision >= 0 order by company_id limit $2',
}

/** A company arriving elsewhere still belongs here unless it has left. */
const IS_HERE = {
  name: 'is_on_shard',
  text: `select true as is_here from ops.ledgers where company_id = $1 and revision >= 0`,
}

const MISPLACED = {
  name: 'companies_of_other_shards',
  text: 'select company_id, shard from ops.company_shards where company_id = any($1::bigint[]) and shard <> $2',
}

const WITH_LEDGER = {
  name: 'companies_with_ledger',
  text: 'select company_id from ops.ledgers where company_id = any($1::bigint[]) and revision >= 0',
}

const ADD_COMPANIES = {
  name: 'add_companies_of_shard',
  text: `insert into ops.company_shards (company_id, shard) select company_id, $2 from unnest($1::bigint[]) as company_id
         order by company_id on conflict do nothing`,
}

/** Only companies of the shard and passwords in force; serialises with password changes. */
const ADD_ENTRIES = {
  name: 'add_entries_of_shard',
  text: `insert into ops.directory_entries (kind, key, company_id, account)
         select $1, held.key, held.company_id, held.account
         from unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::text[], $6::int[]) as held(key, company_id, account, email, generation)
         join ops.company_shards h on h.company_id = held.company_id and h.shard = $7
         where not exists (
           select from ops.directory_entries e where e.kind = $1 and e.key = held.key and e.company_id = held.company_id)
         and (held.email is null or exists (select from ops.persons p where p.email = held.email and p.generation = held.generation for share))
         order by held.email, held.key
         on conflict do nothing`,
}

const LIST_ENTRIES = {
  name: 'list_directory',
  text: `select e.kind, e.key, e.company_id, h.shard
         from ops.directory_entries e left join ops.company_shards h on h.company_id = e.company_id
         where (e.kind, e.key, e.company_id) > ($1, $2, $3)
         order by e.kind, e.key, e.company_id limit $4`,
}

/** Unless the company has migrated or reserved the entry again since the shard was read. */
const REMOVE = {
  name: 'remove_orphans',
  text: `delete from ops.directory_entries e
         using unnest($1::text[], $2::bytea[], $3::bigint[]) as orphan(kind, key, company_id)
         join ops.company_shards h on h.company_id = orphan.company_id and h.shard = $4
         where e.kind = orphan.kind and e.key = orphan.key and e.company_id = orphan.company_id
           and e.created_at < now() - interval '1 hour'
         returning e.kind, e.key`,
}
