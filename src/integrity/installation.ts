import { join } from 'node:path'
import * as z from 'zod'
import { type Envelope, GENESIS_HASH, hashEnvelope } from '#ledger/command.ts'
import { type OutsideStore, WrongExpectedRevision } from '#ledger/port.ts'
import { eachLine } from '#lib/json.ts'
import type { Queryable } from '#postgres/database.ts'
import { openNote, parseNote, type SigningKey, signNote, type VerifierKey } from './note.ts'

type Client = Queryable

/**
 * Installation id of this database: a uuid, created with the database. It is part of the origin of every checkpoint.
 */
export async function loadInstallationId(client: Client): Promise<string> {
  return (await loadInstallation(client)).id
}

/** Row of `ops.installation`. */
export interface Installation {
  readonly id: string
  /** The first of several installations with one ring of keys; names the ring and the logs of companies. */
  readonly family: string
  /** Number of this cell; 0 of the first one. */
  readonly cell: number
  /** Hosts of the EventStoreDB with the ledgers; null if they are in this Postgres or none was recorded. */
  readonly event_store: string | null
  readonly identity: string | null
  /** A deliberate copy, which sends nothing to the outside. */
  readonly is_copy: boolean
  /** State of an unfinished restore (src/integrity/restore.ts). */
  readonly restoring: unknown
  /** Whether the database has any event. */
  readonly has_ledgers: boolean
}

export async function loadInstallation(client: Client): Promise<Installation> {
  const { rows } = await client.query<Installation>({
    name: 'installation',
    text: `select id, coalesce(family, id) as family, cell, event_store, identity, is_copy, restoring,
             exists (select from ops.ledgers where revision >= 0) as has_ledgers from ops.installation`,
  })
  const [row] = rows
  if (!row) throw new Error('the database has no installation id')
  return row
}

/** Companies that are open in another installation, and have left this one. */
export async function departedCompanies(client: Client): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ company_id: number }>(
    `select company_id from ops.company_moves where state in ('confirmed', 'removed')`,
  )
  return new Set(rows.map(({ company_id }) => company_id))
}

interface Claiming {
  /** UUID version 7. */
  readonly newId: () => string
  /** UTC. */
  readonly now: () => string
}

/** Stream beside those of companies; its last event names the installation that owns the store. */
const STREAM = 'tillbook-installation'

const Claim = z.object({ installation: z.uuid() })

export async function lastClaim(store: OutsideStore): Promise<{ installation: string; event: Envelope } | null> {
  let last: Envelope | null = null
  for await (const event of store.read(STREAM, 0)) last = event
  return last && { installation: Claim.parse(last.data).installation, event: last }
}

/** Records the installation that owns a store. Of two concurrent claims the first wins. */
export async function claimStore({ newId, now }: Claiming, store: OutsideStore, installation: string): Promise<void> {
  const last = await lastClaim(store)
  if (last?.installation === installation) return
  const revision = (last?.event.revision ?? -1) + 1
  const head = {
    id: newId(),
    type: 'StoreClaimed',
    version: 1,
    stream: STREAM,
    revision,
    recorded_at: now(),
    subject: `installation/${installation}`,
    origin: 'system',
    actor: null,
    request_id: null,
    idempotency: null,
    previous_hash: last?.event.hash ?? GENESIS_HASH,
  } as const
  const data = { installation }
  const claim: Envelope = { ...head, hash: hashEnvelope({ ...head, data }), data }
  await store
    .append([{ stream: STREAM, expectedRevision: revision - 1, commands: [[claim]] }], NO_TRANSACTION)
    .catch((error: unknown) => {
      if (!(error instanceof WrongExpectedRevision)) throw error
    })
}

const NO_TRANSACTION = { query: () => Promise.reject(new Error('a store outside Postgres has its own transactions')) }

/** A line of `DATA_DIR/seals/restored.jsonl`, and a row of `ops.restored_ledgers`. */
export const KeptStatement = z.strictObject({
  company_id: z.int().positive(),
  /** UTC. */
  restored_at: z.iso.datetime({ precision: 3 }),
  /** Signed note. */
  note: z.string(),
})
export type KeptStatement = z.infer<typeof KeptStatement>

/** Head of a log; its last event has revision `size - 1`. */
export interface StatedHead {
  readonly origin: string
  readonly size: number
  /** Base64, as in checkpoints. */
  readonly root: string
}

/** The operator's statement about a ledger restored from a backup, signed with the sealing key (PROOF). */
export interface RestoredStatement {
  readonly company_id: number
  /** UTC. */
  readonly restored_at: string
  /** UTC: events recorded after it may be lost. */
  readonly lost_after: string
  /** The last checkpoint before the restore. */
  readonly before: StatedHead
  /**
   * The ledger including `InstallationRestored`. Same origin if no sealed event was lost, else the next one. Null if
   * nothing of the ledger is left.
   */
  readonly since: StatedHead | null
  /** Hash of `InstallationRestored`, the last event of `since`, in hex; null without one. */
  readonly hash: string | null
  readonly reason: string
}

export const restoredPath = (directory: string): string => join(directory, 'restored.jsonl')

/** Name under which statements are signed; also their first line. */
export const restoredName = (installationId: string): string => `tillbook/${installationId}/restored`

const NONE = '-'

const textOf = (head: StatedHead | null) => (head ? `${head.origin} ${head.size} ${head.root}` : NONE)

/** Signed note of eight lines: name, `company-{id}`, restored at, lost after, head before, head since, hash, reason. */
export function signStatement(
  installationId: string,
  key: Pick<SigningKey, 'privateKey'>,
  said: RestoredStatement,
): string {
  const name = restoredName(installationId)
  const { company_id, restored_at, lost_after, before, since, hash, reason } = said
  const lines = [
    name,
    `company-${company_id}`,
    restored_at,
    lost_after,
    textOf(before),
    textOf(since),
    hash ?? NONE,
    reason,
  ]
  const text = lines.map((line) => `${line}\n`).join('')
  return signNote(text, [{ name, privateKey: key.privateKey }])
}

const HEAD = /^(\S+) ([1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)$/
const COMPANY = /^company-([1-9]\d{0,15})$/
const HASH = /^[0-9a-f]{64}$/
const Instant = z.iso.datetime({ precision: 3 })

/** Parses a note without verifying it; null if the format is wrong. */
export function parseRestored(note: string): RestoredStatement | null {
  const lines = parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  if (lines.length !== 8) return null
  const [name = '', company = '', restored_at, lost_after, before = '', since = '', hash = '', reason = ''] = lines
  const [companyId, heads] = [COMPANY.exec(company)?.[1], [headOf(before), headOf(since)]]
  const [first, second] = heads
  const isGone = since === NONE && hash === NONE
  const isSound = name.startsWith('tillbook/') && name.endsWith('/restored') && (isGone || (second && HASH.test(hash)))
  const times = z.tuple([Instant, Instant]).safeParse([restored_at, lost_after])
  if (!isSound || !companyId || !first || !times.success) return null
  const [at, after] = times.data
  const said = { company_id: Number(companyId), restored_at: at, lost_after: after, before: first, reason }
  return isGone ? { ...said, since: null, hash: null } : { ...said, since: second as StatedHead, hash }
}

function headOf(text: string): StatedHead | null {
  const [, origin, size, root] = HEAD.exec(text) ?? []
  return origin && size && root ? { origin, size: Number(size), root } : null
}

/** Parses and verifies a note; null unless a known key has signed it for this installation. */
export function openRestored(note: string, keys: readonly VerifierKey[]): RestoredStatement | null {
  const said = parseRestored(note)
  return said && openNote(note, keys) !== null ? said : null
}

/** The last statement of each company in a folder of seals. */
export async function lastStatements(directory: string): Promise<Map<number, KeptStatement>> {
  const kept = z.array(KeptStatement).parse(await linesOf(directory))
  return new Map(kept.map((line) => [line.company_id, line]))
}

/**
 * A company's statements, oldest first, from folder or database, whichever has more: a database may be older than the
 * folder.
 */
export async function loadStatements(
  client: Queryable,
  directory: string,
  companyId: number,
): Promise<KeptStatement[]> {
  const lines = z.array(KeptStatement).parse(await linesOf(directory))
  const { rows } = await client.query<KeptStatement>(
    'select company_id, restored_at, note from ops.restored_ledgers where company_id = $1 order by restored_at',
    [companyId],
  )
  const inFile = lines.filter(({ company_id }) => company_id === companyId)
  return inFile.length > rows.length ? inFile : rows
}

async function linesOf(directory: string): Promise<unknown[]> {
  const lines: unknown[] = []
  for await (const line of eachLine(restoredPath(directory))) lines.push(line)
  return lines
}
