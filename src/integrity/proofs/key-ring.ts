import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import { keyIdOf, makeSigningKey, readSigningKey, type SigningKey } from '#integrity/audit/signing-key.ts'
import { fsyncFolder } from '#lib/files.ts'
import { appendLines, readLines } from '#lib/json-lines.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { hasCheckpoints, orNothing } from './checkpoint-files.ts'
import { installationOf } from './installation.ts'
import { entryOf, isEntry, RingEntry } from './key-statement.ts'
import { type VerifierKey, verifierKey } from './note.ts'

/** A key that has signed, or signs. */
export interface KnownKey {
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
}

/** The key that signs, and all that ever did; former ones still verify what they have signed. */
export interface SealKeyRing {
  readonly installationId: string
  /** Which home this is. */
  readonly home: string
  readonly current: SigningKey
  readonly known: readonly KnownKey[]
}

/** What verifies. */
export type KnownRing = Pick<SealKeyRing, 'installationId' | 'home' | 'known'>

/** Whose seals are kept where. */
export interface RingPlace {
  readonly pool: Pool
  /** `DATA_DIR/seals` */
  readonly directory: string
  /** SEAL_KEY_FILE */
  readonly keyFile: string
  /** UTC. */
  readonly now: () => string
}

/** There is no key to sign with that verifiers could know: nothing is signed until an operator has seen to it (PROOF-22). */
export class WrongSealKey extends Error {
  override readonly name = 'WrongSealKey'
}

/** Exclusive while the ring changes, shared while something is signed. */
export const RING_LOCK = 7_106_803

const ADOPT =
  'Put the right key back from your copy; if it is lost, run "tillbook seal-key adopt --lost-old --reason …", which every verifier will see.'

export const ringFileOf = (directory: string): string => join(directory, 'keys.jsonl')
/** Where the key waits that becomes the next one. */
export const nextKeyFileOf = (keyFile: string): string => `${keyFile}.next`

/** What verifies notes that any key of the ring has signed under a name. */
export const verifierKeysOf = ({ known }: Pick<SealKeyRing, 'known'>, name: string): VerifierKey[] =>
  known.map(({ publicKey }) => verifierKey(name, publicKey))

/**
 * The ring, with what a crash left undone made up for. The first key is the one in the file, or one that is made. @throws WrongSealKey
 */
export async function openKeyRing(place: RingPlace): Promise<SealKeyRing> {
  const seen = await readKeyRing(place, place.pool)
  const ring = seen.isSettled ? ringOf(seen) : null
  return ring ?? withRingLocked(place, (client) => settle(place, client))
}

/** The ring on a connection that holds its lock, shared or not. @throws WrongSealKey where `openKeyRing` has not settled it. */
export async function lockedKeyRing(place: RingPlace, client: PoolClient): Promise<SealKeyRing> {
  await client.query('select pg_advisory_xact_lock_shared($1)', [RING_LOCK])
  const seen = await readKeyRing(place, client)
  const ring = seen.isSettled ? ringOf(seen) : null
  if (!ring) throw notOurs(place, seen)
  return ring
}

/** All entries, the oldest first, for verifiers. */
export async function ringEntries(pool: Pick<Pool, 'query'>): Promise<RingEntry[]> {
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

/** What is there: the entries of file and database together, and the key in the file. */
export interface ObservedRing {
  readonly installationId: string
  readonly home: string
  readonly entries: readonly RingEntry[]
  /** Whether file and database have the same entries. */
  readonly isSettled: boolean
  readonly inFile: number
  readonly inDatabase: number
  readonly key: SigningKey | null
}

/** @throws WrongSealKey when what is there is no ring, or two. */
export async function readKeyRing(
  { directory, keyFile }: RingPlace,
  client: Pick<PoolClient, 'query'>,
): Promise<ObservedRing> {
  const [{ id: installationId, name: home }, key, file, known] = await Promise.all([
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
  return { installationId, home, entries, isSettled, inFile: file.length, inDatabase: known.length, key }
}

/** @throws WrongSealKey where it is none */
async function ringIn(path: string): Promise<RingEntry[]> {
  const lines = await readLines(path).catch(orNothing)
  const entries = z.array(RingEntry).safeParse(lines)
  if (!entries.success) throw new WrongSealKey(`${path} holds no ring of keys`)
  return entries.data
}

/** Every key that is known, whatever key is in the file. @throws WrongSealKey */
export async function knownRing(place: RingPlace): Promise<KnownRing> {
  const { installationId, home, entries } = await readKeyRing(place, place.pool)
  return { installationId, home, known: knownKeys(entries) }
}

/** Null when the key in the file is not the ring's last one. */
function ringOf({ installationId, home, entries, key }: ObservedRing): SealKeyRing | null {
  const last = entries.at(-1)
  if (!key || last?.public_key !== key.publicKey) return null
  return { installationId, home, current: key, known: knownKeys(entries) }
}

/** Of entries, the oldest first. */
const knownKeys = (entries: readonly RingEntry[]): KnownKey[] =>
  entries.map(({ public_key: publicKey }) => ({ keyId: keyIdOf(publicKey), publicKey }))

async function settle(place: RingPlace, client: PoolClient): Promise<SealKeyRing> {
  const seen = await readKeyRing(place, client)
  await evenRing(place, client, seen)
  if (seen.entries.length === 0) return begin(place, client, seen)
  const ring = ringOf(seen)
  if (ring) return ring
  // A rotation that was interrupted between the ring and the key file.
  const next = await readSigningKey(nextKeyFileOf(place.keyFile))
  const isNext = next !== null && next.publicKey === seen.entries.at(-1)?.public_key
  const turned = isNext ? ringOf({ ...seen, key: next }) : null
  if (!turned) throw notOurs(place, seen)
  await installKey(place)
  return turned
}

/** Gives file and database what only the other one has. */
export async function evenRing(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<void> {
  const { entries, inFile, inDatabase } = seen
  if (inFile < entries.length) await appendLines(ringFileOf(place.directory), entries.slice(inFile))
  for (const [at, entry] of entries.entries()) if (at >= inDatabase) await insertEntry(client, at, entry)
}

/** The next key takes the place of the current one. */
export async function installKey({ keyFile }: RingPlace): Promise<void> {
  await rename(nextKeyFileOf(keyFile), keyFile)
  await fsyncFolder(dirname(keyFile))
}

/** The first entry. @throws WrongSealKey where something was signed by a key that is not known any more. */
async function begin(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<SealKeyRing> {
  if (await isKeyLost(place, client, seen)) throw notOurs(place, seen)
  const key = seen.key ?? (await makeSigningKey(place.keyFile))
  const statement = { index: 0, since: place.now(), succession: 'first', reason: '', before: [] } as const
  const entry = entryOf(seen.installationId, key, statement, null)
  await addRingEntry(place, client, 0, entry)
  return ringOf({ ...seen, key, entries: [entry] }) as SealKeyRing
}

/** Whether something was signed by a key that is not there, though there is no ring that would tell which. */
export const isKeyLost = async (
  { directory }: RingPlace,
  client: PoolClient,
  { entries }: ObservedRing,
): Promise<boolean> => entries.length === 0 && hasCheckpoints(directory, client)

/** To the file first: what the database knows is on the disk. */
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
