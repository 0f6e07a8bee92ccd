import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import * as z from 'zod'
import { keyIdOf, makeSigningKey, readSigningKey, type SigningKey } from '#integrity/audit/signing-key.ts'
import { fsyncFolder } from '#lib/files.ts'
import { appendLines, readLines } from '#lib/json-lines.ts'
import type { Queryable } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { hasCheckpoints, orNothing } from './checkpoint-files.ts'
import { installationOf } from './installation.ts'
import { entryOf, isEntry, RingEntry } from './key-statement.ts'
import { type VerifierKey, verifierKey } from './note.ts'

/** A present or former signing key. */
export interface KnownKey {
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
}

/** The signing key and all former ones, which still verify their own signatures. */
export interface SealKeyRing {
  /** Names the ring and the logs of companies: of several cells, the first installation (CELL-8). */
  readonly installationId: string
  /** Number of this cell; 0 of the first one. */
  readonly cell: number
  readonly current: SigningKey
  readonly known: readonly KnownKey[]
}

/** The part of the ring that verification needs. */
export type KnownRing = Pick<SealKeyRing, 'installationId' | 'cell' | 'known'>

/** Locations of the ring. */
export interface RingPlace {
  readonly pool: Pool
  /** `DATA_DIR/seals` */
  readonly directory: string
  /** SEAL_KEY_FILE */
  readonly keyFile: string
  /** UTC. */
  readonly now: () => string
}

/** No usable signing key that verifiers could know. Signing stops until an operator repairs the ring (PROOF-22). */
export class WrongSealKey extends Error {
  override readonly name = 'WrongSealKey'
}

/** Advisory lock: exclusive to change the ring, shared to sign. */
const RING_LOCK = 7_106_803

const ADOPT =
  'Put the right key back from your copy; if it is lost, run "tillbook seal-key adopt --lost-old --reason …", which every verifier will see.'

const ringFileOf = (directory: string): string => join(directory, 'keys.jsonl')
/** File of the next key during a rotation. */
export const nextKeyFileOf = (keyFile: string): string => `${keyFile}.next`

/** Keys that verify notes signed under a name by any key of the ring. */
export const verifierKeysOf = ({ known }: Pick<SealKeyRing, 'known'>, name: string): VerifierKey[] =>
  known.map(({ publicKey }) => verifierKey(name, publicKey))

/**
 * Opens the ring and completes changes that a crash interrupted. The first key is the one in the file, or a new one.
 * @throws WrongSealKey
 */
export async function openKeyRing(place: RingPlace): Promise<SealKeyRing> {
  const seen = await readKeyRing(place, place.pool)
  const ring = seen.isSettled ? ringOf(seen) : null
  return ring ?? withRingLocked(place, (client) => settle(place, client))
}

/**
 * Reads the ring on a connection that holds its lock, shared or exclusive. @throws WrongSealKey unless `openKeyRing`
 * has completed it.
 */
export async function lockedKeyRing(place: RingPlace, client: PoolClient): Promise<SealKeyRing> {
  await client.query('select pg_advisory_xact_lock_shared($1)', [RING_LOCK])
  const seen = await readKeyRing(place, client)
  const ring = seen.isSettled ? ringOf(seen) : null
  if (!ring) throw notOurs(place, seen)
  return ring
}

/** All entries for verifiers, oldest first. */
export async function ringEntries(pool: Queryable): Promise<RingEntry[]> {
  const { rows } = await pool.query<RingEntry>(
    `select vkey, public_key, since, signed_by, note from ops.seal_keys order by index`,
  )
  return rows
}

export function withRingLocked<T>({ pool }: RingPlace, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (_, client) => {
    await client.query('select pg_advisory_xact_lock($1)', [RING_LOCK])
    return work(client)
  })
}

/** Stored state: the merged entries of file and database, and the key in the file. */
export interface ObservedRing {
  readonly installationId: string
  readonly cell: number
  readonly entries: readonly RingEntry[]
  /** Whether file and database have the same entries. */
  readonly isSettled: boolean
  readonly inFile: number
  readonly inDatabase: number
  readonly key: SigningKey | null
}

/** @throws WrongSealKey if the entries form no ring, or two. */
export async function readKeyRing({ directory, keyFile }: RingPlace, client: Queryable): Promise<ObservedRing> {
  const [{ family: installationId, cell }, key, file, known] = await Promise.all([
    installationOf(client),
    readSigningKey(keyFile),
    ringIn(ringFileOf(directory)),
    ringEntries(client),
  ])
  const entries = file.length > known.length ? file : known
  const differs = entries.some((entry, at) => [file[at], known[at]].some((each) => each && each.note !== entry.note))
  if (differs) throw new WrongSealKey(`the ring of keys in ${ringFileOf(directory)} is not the one of the database`)
  const isRing = entries.every((_, at) => isEntry(installationId, entries, at))
  if (!isRing) throw new WrongSealKey('the ring of keys was altered')
  const isSettled = file.length === known.length
  return { installationId, cell, entries, isSettled, inFile: file.length, inDatabase: known.length, key }
}

/** @throws WrongSealKey if the file is no ring */
async function ringIn(path: string): Promise<RingEntry[]> {
  const lines = await readLines(path).catch(orNothing)
  const entries = z.array(RingEntry).safeParse(lines)
  if (!entries.success) throw new WrongSealKey(`${path} holds no ring of keys`)
  return entries.data
}

/** All known keys, independent of the key in the file. @throws WrongSealKey */
export async function knownRing(place: RingPlace): Promise<KnownRing> {
  const { installationId, cell, entries } = await readKeyRing(place, place.pool)
  return { installationId, cell, known: knownKeys(entries) }
}

/** Null if the key in the file is not the last one of the ring. */
function ringOf({ installationId, cell, entries, key }: ObservedRing): SealKeyRing | null {
  const last = entries.at(-1)
  if (!key || last?.public_key !== key.publicKey) return null
  return { installationId, cell, current: key, known: knownKeys(entries) }
}

/** Keys of the entries, oldest first. */
const knownKeys = (entries: readonly RingEntry[]): KnownKey[] =>
  entries.map(({ public_key: publicKey }) => ({ keyId: keyIdOf(publicKey), publicKey }))

async function settle(place: RingPlace, client: PoolClient): Promise<SealKeyRing> {
  const seen = await readKeyRing(place, client)
  await evenRing(place, client, seen)
  if (seen.entries.length === 0) return begin(place, client, seen)
  const ring = ringOf(seen)
  if (ring) return ring
  // A rotation was interrupted between the ring and the key file.
  const next = await readSigningKey(nextKeyFileOf(place.keyFile))
  const isNext = next !== null && next.publicKey === seen.entries.at(-1)?.public_key
  const turned = isNext ? ringOf({ ...seen, key: next }) : null
  if (!turned) throw notOurs(place, seen)
  await installKey(place)
  return turned
}

/** Copies missing entries between file and database. */
export async function evenRing(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<void> {
  const { entries, inFile, inDatabase } = seen
  if (inFile < entries.length) await appendLines(ringFileOf(place.directory), entries.slice(inFile))
  for (const [at, entry] of entries.entries()) if (at >= inDatabase) await insertEntry(client, at, entry)
}

/** Replaces the current key by the next one. */
export async function installKey({ keyFile }: RingPlace): Promise<void> {
  await rename(nextKeyFileOf(keyFile), keyFile)
  await fsyncFolder(dirname(keyFile))
}

/** Creates the first entry. @throws WrongSealKey if a key that is now unknown has signed something. */
async function begin(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<SealKeyRing> {
  if (await isKeyLost(place, client, seen)) throw notOurs(place, seen)
  const key = seen.key ?? (await makeSigningKey(place.keyFile))
  const statement = { index: 0, since: place.now(), succession: 'first', reason: '', before: [] } as const
  const entry = entryOf(seen.installationId, key, statement, null)
  await addRingEntry(place, client, 0, entry)
  return ringOf({ ...seen, key, entries: [entry] }) as SealKeyRing
}

/** Whether checkpoints exist, but neither their key nor a ring. */
export const isKeyLost = async (
  { directory }: RingPlace,
  client: PoolClient,
  { entries }: ObservedRing,
): Promise<boolean> => entries.length === 0 && hasCheckpoints(directory, client)

/** Writes to the file first, so that every entry in the database is on disk. */
export async function addRingEntry(
  place: RingPlace,
  client: PoolClient,
  index: number,
  entry: RingEntry,
): Promise<void> {
  await appendLines(ringFileOf(place.directory), [entry])
  await insertEntry(client, index, entry)
}

const insertEntry = (client: PoolClient, index: number, entry: RingEntry) =>
  client.query(
    'insert into ops.seal_keys (index, vkey, public_key, since, signed_by, note) values ($1, $2, $3, $4, $5, $6)',
    [index, entry.vkey, entry.public_key, entry.since, entry.signed_by, entry.note],
  )

function notOurs({ keyFile }: RingPlace, { entries, key }: ObservedRing): WrongSealKey {
  const last = entries.at(-1)
  const wanted = last ? keyIdOf(last.public_key) : 'that made the seals that are there'
  return new WrongSealKey(`${keyFile} holds ${key ? `key ${key.keyId}` : 'no key'}, not the key ${wanted}. ${ADOPT}`)
}
