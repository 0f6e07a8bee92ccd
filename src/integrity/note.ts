import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '#config/config.ts'
import { Unavailable } from '#lib/errors.ts'
import { createFileAtomically } from '#lib/files.ts'
import { isOutage, type Queryable } from '#postgres/database.ts'
import type { TreeHead } from './merkle.ts'

/**
 * Signed notes of C2SP (signed-note.md): a text that ends in a line feed, an empty line, and one line per signature.
 * Texts are strings; hashes and signatures are bytes; public keys are SPKI as DER in base64.
 */
export interface SignedNote {
  /** The signed text with its final line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export interface NoteSignature {
  /** Name of the key. */
  readonly name: string
  /** Eight hex digits. */
  readonly keyId: string
  readonly signature: Buffer
}

const NOTE_SIGNATURE = 0x01
/** Signature type of a witness, with the time at which it saw the checkpoint (tlog-cosignature.md). */
export const COSIGNATURE = 0x04
export type SignatureType = typeof NOTE_SIGNATURE | typeof COSIGNATURE

/** Key that verifies signatures with its name and id. */
export interface VerifierKey {
  readonly name: string
  readonly type: SignatureType
  readonly keyId: string
  readonly publicKey: string
}

export interface NoteSigner {
  readonly name: string
  readonly privateKey: KeyObject
}

/** Well above the number in genuine notes. */
const MAX_SIGNATURES = 100
/** Prefix of the 32 bytes of an Ed25519 key in SPKI. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const ED25519_KEY_BYTES = 32
const ED25519_SIGNATURE_BYTES = 64
const TIME_BYTES = 8
const ID_BYTES = 4

// biome-ignore lint/suspicious/noControlCharactersInRegex: a note must not hold them, as its specification says.
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const NAME = /^[^\s+]+$/u
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u

/** Signs a text, which must end in a line feed, once per signer. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ name, privateKey }) => {
    const keyId = noteKeyId(name, NOTE_SIGNATURE, publicKeyOf(privateKey))
    return signatureLine({ name, keyId, signature: sign(null, Buffer.from(text), privateKey) })
  })
  return `${text}\n${lines.join('')}`
}

/**
 * Signature line of a witness that saw a checkpoint at a time (Unix seconds); it follows the note's other signatures.
 */
export function cosignatureLine(text: string, { name, privateKey }: NoteSigner, seconds: number): string {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeBigUInt64BE(BigInt(seconds))
  const signature = sign(null, cosigned(text, time), privateKey)
  const keyId = noteKeyId(name, COSIGNATURE, publicKeyOf(privateKey))
  return signatureLine({ name, keyId, signature: Buffer.concat([time, signature]) })
}

const signatureLine = ({ name, keyId, signature }: NoteSignature): string =>
  `— ${name} ${Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64')}\n`

/** Parses a note without verifying it; null if the format is wrong. */
export function parseNote(note: string): SignedNote | null {
  if (CONTROL.test(note) || Buffer.from(note).toString() !== note) return null
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) return null
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) return null
  const signatures = lines.map(parseSignatureLine)
  return signatures.every((signature) => signature !== null) ? { text: note.slice(0, end + 1), signatures } : null
}

/** Parses one signature line, without its line feed; null if the format is wrong. */
export function parseSignatureLine(line: string): NoteSignature | null {
  const [, name, base64] = SIGNATURE_LINE.exec(line) ?? []
  const bytes = decodeBase64(base64 ?? '')
  if (!name || !bytes || bytes.length <= ID_BYTES) return null
  return { name, keyId: bytes.toString('hex', 0, ID_BYTES), signature: bytes.subarray(ID_BYTES) }
}

/** A note with at least one valid signature of a known key, and no invalid one. */
export interface OpenedNote {
  readonly text: string
  /** Known keys that signed; for a cosignature with the time in Unix seconds. */
  readonly signedBy: readonly { readonly key: VerifierKey; readonly seconds: number | null }[]
}

/** Ignores signatures of unknown keys. @returns null without a signature of a known key, or if one is invalid. */
export function openNote(note: string, keys: readonly VerifierKey[]): OpenedNote | null {
  const parsed = parseNote(note)
  if (!parsed) return null
  const signedBy: { key: VerifierKey; seconds: number | null }[] = []
  for (const signature of parsed.signatures) {
    const known = keys.filter(({ name, keyId }) => name === signature.name && keyId === signature.keyId)
    const key = known.find((each) => isValidSignature(each, parsed.text, signature.signature))
    if (known.length > 0 && !key) return null
    if (key && !signedBy.some((before) => before.key === key))
      signedBy.push({ key, seconds: key.type === COSIGNATURE ? secondsOf(signature.signature) : null })
  }
  return signedBy.length > 0 ? { text: parsed.text, signedBy } : null
}

/** Verifies a signature (without the four bytes of its id) of a text. */
export function isValidSignature(key: VerifierKey, text: string, signature: Buffer): boolean {
  const time = signature.subarray(0, key.type === COSIGNATURE ? TIME_BYTES : 0)
  const ed25519 = signature.subarray(time.length)
  if (ed25519.length !== ED25519_SIGNATURE_BYTES || secondsOf(time) > Number.MAX_SAFE_INTEGER) return false
  const signed = key.type === COSIGNATURE ? cosigned(text, time) : Buffer.from(text)
  return verify(
    null,
    signed,
    createPublicKey({ key: Buffer.from(key.publicKey, 'base64'), format: 'der', type: 'spki' }),
    ed25519,
  )
}

const secondsOf = (signature: Buffer): number =>
  signature.length < TIME_BYTES ? 0 : Number(signature.readBigUInt64BE(0))

const cosigned = (text: string, time: Buffer): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${time.readBigUInt64BE(0)}\n${text}`)

/** Eight hex digits that distinguish keys and signature types under one name. */
function noteKeyId(name: string, type: SignatureType, publicKey: string): string {
  const hash = createHash('sha256').update(`${name}\n`).update(Buffer.of(type)).update(toRawKey(publicKey))
  return hash.digest('hex').slice(0, 2 * ID_BYTES)
}

export const verifierKey = (name: string, publicKey: string, type: SignatureType = NOTE_SIGNATURE): VerifierKey => ({
  name,
  type,
  keyId: noteKeyId(name, type, publicKey),
  publicKey,
})

/** `name+id+base64`, the format of verifier keys. */
export const formatVkey = ({ name, type, keyId, publicKey }: VerifierKey): string =>
  `${name}+${keyId}+${Buffer.concat([Buffer.of(type), toRawKey(publicKey)]).toString('base64')}`

/** Parses a vkey; null if the format is wrong, the key is not Ed25519, or the id does not match name and key. */
export function parseVkey(vkey: string): VerifierKey | null {
  const [name = '', keyId, ...base64] = vkey.split('+')
  const bytes = decodeBase64(base64.join('+'))
  const type = bytes?.[0]
  if (!NAME.test(name) || !bytes || bytes.length !== 1 + ED25519_KEY_BYTES) return null
  if (type !== NOTE_SIGNATURE && type !== COSIGNATURE) return null
  const key = verifierKey(name, Buffer.concat([SPKI_PREFIX, bytes.subarray(1)]).toString('base64'), type)
  return key.keyId === keyId ? key : null
}

/** Decodes base64; null unless it is the canonical encoding. */
export function decodeBase64(base64: string): Buffer | null {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes : null
}

/** The 32 bytes of an Ed25519 key from its SPKI. */
export function toRawKey(publicKey: string): Buffer {
  const spki = Buffer.from(publicKey, 'base64')
  if (
    spki.length !== SPKI_PREFIX.length + ED25519_KEY_BYTES ||
    !spki.subarray(0, SPKI_PREFIX.length).equals(SPKI_PREFIX)
  )
    throw new Error('this is no Ed25519 key')
  return spki.subarray(SPKI_PREFIX.length)
}

const publicKeyOf = (privateKey: KeyObject): string =>
  createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')

/** Ed25519 signing key of the service. */
export interface SigningKey {
  /** First 16 hex digits of the SHA-256 of the public key. */
  readonly keyId: string
  /** SPKI, DER, base64. */
  readonly publicKey: string
  readonly privateKey: KeyObject
}

/** Reads the key in a PEM file; null if the file does not exist. @throws if it is not Ed25519. */
export async function readSigningKey(path: string): Promise<SigningKey | null> {
  const pem = await readIfThere(path)
  if (pem === null) return null
  const privateKey = createPrivateKey(pem)
  const publicKey = textOf(createPublicKey(privateKey), path)
  return { keyId: hashPublicKey(publicKey), publicKey, privateKey }
}

/** Reads the key in a PEM file, or creates it with mode 0600. Concurrent processes all use the first one created. */
export async function makeSigningKey(path: string): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ed25519')
  await mkdir(dirname(path), { recursive: true })
  await createFileAtomically(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  return (await readSigningKey(path)) as SigningKey
}

const PEM = /-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g

/** Public keys in a PEM file, one or more; accepts private keys too. @throws if one is not Ed25519. */
export async function readPublicKeys(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  return (text.match(PEM) ?? [text]).map((pem) => textOf(createPublicKey(pem), path))
}

/** PEM for other tools. */
export const toPem = (publicKey: string): string =>
  `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`

export const hashPublicKey = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 16)

function textOf(key: KeyObject, path: string): string {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${path} holds no Ed25519 key`)
  return key.export({ type: 'spki', format: 'der' }).toString('base64')
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** A tree head in the form that is signed: a C2SP checkpoint (tlog-checkpoint.md) without extension lines. */
export interface Checkpoint extends TreeHead {
  /** Permanent, globally unique name of the log; also the name of the key that signs it. */
  readonly origin: string
}

const HASH_BYTES = 32
const DECIMAL = /^(?:0|[1-9]\d{0,15})$/

/**
 * Origin of a company's ledger. A restore that lost sealed events starts another log:
 * `generation` counts from 1.
 */
export function companyOrigin(installationId: string, companyId: number, generation = 1): string {
  return `tillbook/${installationId}/company-${companyId}${generation === 1 ? '' : `/${generation}`}`
}

/** Origin of the installation log of a cell (CELL-9). */
export function installationOrigin({ installationId, cell }: { installationId: string; cell: number }): string {
  return `tillbook/${installationId}${cell === 0 ? '' : `/cell-${cell}`}`
}

/** The company of an origin (null for an installation log); null if the text is not an origin of Tillbook. */
export function parseOrigin(origin: string): { companyId: number | null } | null {
  const found = /^tillbook\/[^/]+(?:\/cell-[1-9]\d{0,8}|\/company-([1-9]\d{0,14})(?:\/[1-9]\d{0,3})?)?$/.exec(origin)
  return found && { companyId: found[1] === undefined ? null : Number(found[1]) }
}

/** Three lines, each with a line feed: origin, size, root in base64. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** Parses a note's text; null unless it has exactly these three lines. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  const hash = hashOf(root)
  if (origin === '' || rest.length !== 1 || rest[0] !== '') return null
  return hash && isDecimal(size) ? { origin, size: Number(size), root: hash } : null
}

/** Proof that an entry is in the log with this checkpoint: the content of tlog-proof.md. */
export interface LogProof {
  readonly index: number
  /** Describes the entry to readers. The proof does not cover it: compare its hash with the leaf. */
  readonly extra?: Buffer
  /** From the leaf's sibling up to the root's child. */
  readonly hashes: readonly Buffer[]
  /** Signed note. */
  readonly checkpoint: string
}

const PROOF_HEADER = 'c2sp.org/tlog-proof@v1'

export function proofText({ index, extra, hashes, checkpoint }: LogProof): string {
  const told = extra ? [`extra ${extra.toString('base64')}`] : []
  const lines = [PROOF_HEADER, ...told, `index ${index}`, ...hashes.map((hash) => hash.toString('base64'))]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/**
 * Parses a proof without verifying it; null if the format is wrong. Extra data are skipped because the proof does not
 * cover them.
 */
export function parseProof(text: string): LogProof | null {
  const end = text.indexOf('\n\n')
  const [header, ...lines] = text.slice(0, Math.max(end, 0)).split('\n')
  if (lines[0]?.startsWith('extra ')) lines.shift()
  const [, index = ''] = /^index (.+)$/.exec(lines.shift() ?? '') ?? []
  const hashes = lines.map(hashOf)
  if (header !== PROOF_HEADER || !isDecimal(index) || !hashes.every((hash) => hash !== null)) return null
  return { index: Number(index), hashes, checkpoint: text.slice(end + 2) }
}

const isDecimal = (text: string): boolean => DECIMAL.test(text) && Number.isSafeInteger(Number(text))

function hashOf(base64: string): Buffer | null {
  const hash = decodeBase64(base64)
  return hash?.length === HASH_BYTES ? hash : null
}

/** Directory of checkpoints, keys and their entries. */
export const sealDirectory = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

const CHECKPOINT_FILE = /^company-([1-9]\d*)\.checkpoints$/

export const checkpointPath = (directory: string, companyId: number | null): string =>
  join(directory, `${companyId === null ? 'installation' : `company-${companyId}`}.checkpoints`)

/** The last checkpoint is missing, or no known key has signed it. Nothing is built upon it. */
export class CheckpointAltered extends Error {
  override readonly name = 'SealAltered'
}

/**
 * A checkpoint cannot be stored because its folder is full, read-only or missing. Signing stops until it can.
 */
export class SealsUnwritable extends Unavailable {}

/** Converts file errors to SealsUnwritable and returns all others unchanged. Connection errors have an errno too. */
export function sealingError(directory: string, error: unknown): unknown {
  const { errno, message } = error as NodeJS.ErrnoException
  if (typeof errno !== 'number' || isOutage(error)) return error
  return new SealsUnwritable(`seals cannot be written to ${directory}: ${message}`, { cause: error })
}

/** Invalid JSON counts as an altered line. */
export function orNothing(error: unknown): object {
  if (error instanceof SyntaxError) return {}
  throw error
}

/** Companies with checkpoints in the folder. */
export async function companiesOfFiles(directory: string): Promise<number[]> {
  const found = (await namesIn(directory)).map((name) => CHECKPOINT_FILE.exec(name)?.[1])
  return found.flatMap((id) => (id === undefined ? [] : Number(id)))
}

/** Whether the folder or the database has a checkpoint. */
export async function hasCheckpoints(directory: string, client: Queryable): Promise<boolean> {
  if ((await namesIn(directory)).some((name) => name.endsWith('.checkpoints'))) return true
  const { rows } = await client.query<{ found: boolean }>(
    'select exists (select from ops.ledger_checkpoints) or exists (select from ops.installation_checkpoints) as found',
  )
  return rows[0]?.found ?? false
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
