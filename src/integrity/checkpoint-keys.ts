import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Pool, PoolClient } from 'pg'
import * as z from 'zod'
import { fsyncFolder } from '#lib/files.ts'
import { appendLines, readLines } from '#lib/json.ts'
import type { Queryable } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { loadInstallation } from './installation.ts'
import {
  formatVkey,
  hasCheckpoints,
  hashPublicKey,
  makeSigningKey,
  openNote,
  orNothing,
  parseNote,
  readSigningKey,
  type SigningKey,
  signNote,
  type VerifierKey,
  verifierKey,
} from './note.ts'

/** Entry of the ring in `DATA_DIR/seals/keys.jsonl`, `ops.checkpoint_keys` and `GET /proof/keys` (PROOF-20). */
export const RingEntry = z.strictObject({
  /** Its name is `tillbook/{installation id}/keys`. */
  vkey: z.string(),
  /** SPKI, DER, base64. */
  public_key: z.base64(),
  /** UTC; start of use. */
  since: z.iso.datetime({ precision: 3 }),
  /** Id of the former key, which has signed this one; null for the first key, and if the former key was lost. */
  signed_by: z.string().nullable(),
  /** Signed note with the same content. */
  note: z.string(),
})
export type RingEntry = z.infer<typeof RingEntry>

/**
 * How a key became current. `first`: nothing was signed before; `signed`: the former key has signed it; `unsigned`: the
 * former key was lost, and only the operator vouches for this one.
 */
export type Succession = 'first' | 'signed' | 'unsigned'

/** Content of an entry's note. */
export interface KeyStatement {
  /** Position in the ring, from 0. */
  readonly index: number
  readonly vkey: string
  /** UTC. */
  readonly since: string
  readonly succession: Succession
  /** One line: why the former key is lost. Empty unless `unsigned`. */
  readonly reason: string
  /** Vkey of the former key; empty for the first entry. */
  readonly before: readonly string[]
}

/** Name under which a ring's notes are signed. */
const ringNameOf = (installationId: string): string => `tillbook/${installationId}/keys`

export const toRingVkey = (installationId: string, publicKey: string): string =>
  formatVkey(verifierKey(ringNameOf(installationId), publicKey))

/** Creates the entry of the next current key; `former` signs it if the succession is `signed`. */
export function createRingEntry(
  installationId: string,
  key: SigningKey,
  { index, since, succession, reason, before }: Omit<KeyStatement, 'vkey'>,
  former: SigningKey | null,
): RingEntry {
  const name = ringNameOf(installationId)
  const vkey = toRingVkey(installationId, key.publicKey)
  const how = reason === '' ? succession : `${succession} ${reason}`
  const text = [name, index, vkey, since, how, ...before].map((line) => `${line}\n`).join('')
  const signers = former ? [former, key] : [key]
  const note = signNote(
    text,
    signers.map(({ privateKey }) => ({ name, privateKey })),
  )
  return { vkey, public_key: key.publicKey, since, signed_by: former?.keyId ?? null, note }
}

const HOW = /^(?:(first|signed)|(unsigned) (.+))$/

/** Parses an entry's note without verifying it; null if the format is wrong. */
export function parseStatement(note: string): KeyStatement | null {
  const [name, index = '', vkey = '', since = '', how = '', ...before] =
    parseNote(note)?.text.slice(0, -1).split('\n') ?? []
  const found = HOW.exec(how)
  if (!name || !found || !/^\d{1,6}$/.test(index)) return null
  const succession = (found[1] ?? found[2]) as Succession
  return { index: Number(index), vkey, since, succession, reason: found[3] ?? '', before }
}

/**
 * Whether the entry at an index follows the ones before it: signed by itself and, unless declared `unsigned`, by the
 * former key.
 */
export function isEntry(installationId: string, entries: readonly RingEntry[], at: number): boolean {
  const [entry, former] = [entries[at], entries[at - 1]]
  const said = entry && parseStatement(entry.note)
  if (!said || said.index !== at || said.vkey !== entry.vkey || said.since !== entry.since) return false
  if (entry.vkey !== toRingVkey(installationId, entry.public_key)) return false
  if (entries.slice(0, at).some(({ vkey }) => vkey === entry.vkey)) return false
  if (said.before.length !== (former ? 1 : 0) || said.before[0] !== former?.vkey) return false
  const name = ringNameOf(installationId)
  const hasSigned = (publicKey: string) => openNote(entry.note, [verifierKey(name, publicKey)]) !== null
  if (!entry.note.startsWith(`${name}\n`) || !hasSigned(entry.public_key)) return false
  if (said.succession === 'unsigned') return entry.signed_by === null
  if (said.succession === 'first') return entry.signed_by === null && at === 0
  return former !== undefined && entry.signed_by === hashPublicKey(former.public_key) && hasSigned(former.public_key)
}

/** A present or former signing key. */
export interface KnownKey {
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
}

/** The signing key and all former ones, which still verify their own signatures. */
export interface SealKeyRing {
  /** Names the ring and the logs of companies: of several cells, the first installation. */
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

/** No usable signing key that verifiers could know. Signing stops until an operator repairs the ring. */
export class WrongSealKey extends Error {
  override readonly name = 'WrongSealKey'
}

/** Advisory lock: exclusive to change the ring, shared to sign. */
const RING_LOCK = 7_106_803

const ADOPT =
  'Put the right key back from your copy; if it is lost, run "tillbook seal-key adopt --lost-old --reason …", which every verifier will see.'

const ringFileOf = (directory: string): string => join(directory, 'keys.jsonl')
/** File of the next key during a rotation. */
const nextKeyFileOf = (keyFile: string): string => `${keyFile}.next`

/** Keys that verify notes signed under a name by any key of the ring. */
export const toVerifierKeys = ({ known }: Pick<SealKeyRing, 'known'>, name: string): VerifierKey[] =>
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
    `select vkey, public_key, since, signed_by, note from ops.checkpoint_keys order by index`,
  )
  return rows
}

function withRingLocked<T>({ pool }: RingPlace, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (_, client) => {
    await client.query('select pg_advisory_xact_lock($1)', [RING_LOCK])
    return work(client)
  })
}

/** Stored state: the merged entries of file and database, and the key in the file. */
interface ObservedRing {
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
async function readKeyRing({ directory, keyFile }: RingPlace, client: Queryable): Promise<ObservedRing> {
  const [{ family: installationId, cell }, key, file, known] = await Promise.all([
    loadInstallation(client),
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
  entries.map(({ public_key: publicKey }) => ({ keyId: hashPublicKey(publicKey), publicKey }))

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
async function evenRing(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<void> {
  const { entries, inFile, inDatabase } = seen
  if (inFile < entries.length) await appendLines(ringFileOf(place.directory), entries.slice(inFile))
  for (const [at, entry] of entries.entries()) if (at >= inDatabase) await insertEntry(client, at, entry)
}

/** Replaces the current key by the next one. */
async function installKey({ keyFile }: RingPlace): Promise<void> {
  await rename(nextKeyFileOf(keyFile), keyFile)
  await fsyncFolder(dirname(keyFile))
}

/** Creates the first entry. @throws WrongSealKey if a key that is now unknown has signed something. */
async function begin(place: RingPlace, client: PoolClient, seen: ObservedRing): Promise<SealKeyRing> {
  if (await isKeyLost(place, client, seen)) throw notOurs(place, seen)
  const key = seen.key ?? (await makeSigningKey(place.keyFile))
  const statement = { index: 0, since: place.now(), succession: 'first', reason: '', before: [] } as const
  const entry = createRingEntry(seen.installationId, key, statement, null)
  await addRingEntry(place, client, 0, entry)
  return ringOf({ ...seen, key, entries: [entry] }) as SealKeyRing
}

/** Whether checkpoints exist, but neither their key nor a ring. */
const isKeyLost = async ({ directory }: RingPlace, client: PoolClient, { entries }: ObservedRing): Promise<boolean> =>
  entries.length === 0 && hasCheckpoints(directory, client)

/** Writes to the file first, so that every entry in the database is on disk. */
async function addRingEntry(place: RingPlace, client: PoolClient, index: number, entry: RingEntry): Promise<void> {
  await appendLines(ringFileOf(place.directory), [entry])
  await insertEntry(client, index, entry)
}

const insertEntry = (client: PoolClient, index: number, entry: RingEntry) =>
  client.query(
    'insert into ops.checkpoint_keys (index, vkey, public_key, since, signed_by, note) values ($1, $2, $3, $4, $5, $6)',
    [index, entry.vkey, entry.public_key, entry.since, entry.signed_by, entry.note],
  )

function notOurs({ keyFile }: RingPlace, { entries, key }: ObservedRing): WrongSealKey {
  const last = entries.at(-1)
  const wanted = last ? hashPublicKey(last.public_key) : 'that made the seals that are there'
  return new WrongSealKey(`${keyFile} holds ${key ? `key ${key.keyId}` : 'no key'}, not the key ${wanted}. ${ADOPT}`)
}

/**
 * Creates a new key, signs it with the current one, and makes it current. A crash leaves the ring either
 * unchanged or complete; another run continues with the key that was created. @throws WrongSealKey
 */
export async function rotateKey(place: RingPlace): Promise<RingEntry> {
  await openKeyRing(place)
  const next = await makeSigningKey(nextKeyFileOf(place.keyFile))
  const entry = await withRingLocked(place, async (client) => {
    const seen = await readKeyRing(place, client)
    const former = seen.entries.at(-1)
    if (!seen.key || seen.key.publicKey !== former?.public_key)
      throw new WrongSealKey('another process is turning the key: run this again')
    const statement = {
      index: seen.entries.length,
      since: place.now(),
      succession: 'signed',
      reason: '',
      before: [former.vkey],
    } as const
    const made = createRingEntry(seen.installationId, next, statement, seen.key)
    await evenRing(place, client, seen)
    await addRingEntry(place, client, statement.index, made)
    return made
  })
  // Not earlier: the former key must sign the ring until the ring is on disk.
  await installKey(place)
  return entry
}

/**
 * Makes the key in the file, or a new one if there is none, the current key without the former key's signature. The
 * entry tells verifiers so, with the reason. @throws WrongSealKey if there is nothing to adopt.
 */
export async function adoptKey(place: RingPlace, reason: string): Promise<RingEntry> {
  return withRingLocked(place, async (client) => {
    const seen = await readKeyRing(place, client)
    const last = seen.entries.at(-1)
    if (!last && !(await isKeyLost(place, client, seen)))
      throw new WrongSealKey('nothing was sealed by another key: there is nothing to adopt')
    const key = seen.key ?? (await makeSigningKey(place.keyFile))
    await assertNew(place, seen, key)
    await evenRing(place, client, seen)
    const index = seen.entries.length
    const before = last ? [last.vkey] : []
    const statement = { index, since: place.now(), succession: 'unsigned', reason, before } as const
    const entry = createRingEntry(seen.installationId, key, statement, null)
    await addRingEntry(place, client, index, entry)
    return entry
  })
}

/** @throws WrongSealKey if the ring has the key already. */
async function assertNew(place: RingPlace, { entries }: ObservedRing, key: SigningKey): Promise<void> {
  const last = entries.at(-1)
  if (last?.public_key === key.publicKey) throw new WrongSealKey(`${place.keyFile} holds the key of the ring`)
  if (entries.some(({ public_key }) => public_key === key.publicKey))
    throw new WrongSealKey(`key ${key.keyId} was replaced before: remove ${place.keyFile}, and a new one is made`)
  const next = await readSigningKey(nextKeyFileOf(place.keyFile))
  if (last && next?.publicKey === last.public_key)
    throw new WrongSealKey('the key was being turned: run "tillbook seal-key rotate" again')
}
