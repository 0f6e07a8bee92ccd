import {
  type CipherKey,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { Unavailable } from '#lib/errors.ts'
import { drawRandomBytes } from '#lib/ids.ts'

const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const KEY_ID_AT = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Bytes before the nonce: the version and the id of the key. */
const headBytes = (idBytes: number): number => KEY_ID_AT + idBytes

/**
 * Encrypts and authenticates: version (1 byte), id of the key, nonce (12), ciphertext (length of `plain`), tag (16). It
 * opens only in the same context. Random nonces are safe for 2^32 seals per key (NIST SP 800-38D).
 */
function sealEnvelope(plain: Buffer, keyId: Buffer, key: CipherKey, context: string): Buffer {
  const nonce = drawRandomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  cipher.setAAD(Buffer.from(context))
  // GCM is a stream mode: `final` returns no bytes.
  const ciphertext = cipher.update(plain)
  cipher.final()
  return Buffer.concat([Buffer.of(VERSION), keyId, nonce, ciphertext, cipher.getAuthTag()])
}

/** Id of the key of an envelope, or of its head; null for other bytes. */
const envelopeKeyId = (sealed: Buffer, idBytes: number): Buffer | null =>
  sealed[0] === VERSION && sealed.length >= headBytes(idBytes) ? sealed.subarray(KEY_ID_AT, headBytes(idBytes)) : null

/** @throws Error if the envelope was altered, or was sealed in another context or with another key */
function openEnvelope(sealed: Buffer, idBytes: number, key: CipherKey, context: string): Buffer {
  const nonceAt = headBytes(idBytes)
  const ciphertextAt = nonceAt + NONCE_BYTES
  if (sealed.length < ciphertextAt + TAG_BYTES) throw new Error('not a sealed value: too short')
  const nonce = sealed.subarray(nonceAt, ciphertextAt)
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const plain = decipher.update(sealed.subarray(ciphertextAt, -TAG_BYTES))
  decipher.final()
  return plain
}

/** Stored in place of a personal value. */
export interface SealedValue {
  /** Base64url of the value's JSON in an envelope with a key's id of 16 bytes. */
  readonly sealed: string
}

/** A 256-bit key in clear. */
export interface PersonSecret {
  /** A uuid. */
  readonly id: string
  readonly secret: Buffer
}

const MASTER_KEY_ID_BYTES = 16

/** No personal field is an object with this as its only member. */
export const isSealed = (value: unknown): value is SealedValue =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<SealedValue>).sealed === 'string' &&
  Object.keys(value).length === 1

/** Seals a JSON value. It can be opened only at the same place. */
export function sealValue(value: unknown, { id, secret }: PersonSecret, place: string): SealedValue {
  const plain = Buffer.from(JSON.stringify(value))
  return { sealed: sealEnvelope(plain, Buffer.from(plainId(id), 'hex'), secret, place).toString('base64url') }
}

/** Key id as in sealed values: hexadecimal digits without hyphens. */
export const plainId = (id: string): string => id.replaceAll('-', '')

/** Id of the key that sealed a value, without hyphens; null if the value is not sealed. */
export function sealedKeyId({ sealed }: SealedValue): string | null {
  const head = Buffer.from(sealed.slice(0, HEAD_CHARACTERS), 'base64url')
  return envelopeKeyId(head, MASTER_KEY_ID_BYTES)?.toString('hex') ?? null
}

/** Four characters carry three bytes. */
const HEAD_CHARACTERS = Math.ceil(headBytes(MASTER_KEY_ID_BYTES) / 3) * 4

/** @throws Error if the value was altered, or was sealed for another place or with another key */
export const openValue = ({ sealed }: SealedValue, secret: Buffer, place: string): unknown =>
  JSON.parse(openEnvelope(Buffer.from(sealed, 'base64url'), MASTER_KEY_ID_BYTES, secret, place).toString())

/**
 * Seals secrets for storage. The context names the row, such as `webhook_secrets/1/7`: a value opens only in
 * its own context, so that writing to the database cannot pass one value off as another.
 */
export interface Vault {
  /** An envelope with the master key's id of 8 bytes. */
  seal(plain: Buffer, context: string): Buffer
  /** @throws UnknownMasterKey; Error if the value was altered or belongs to another context */
  open(sealed: Buffer, context: string): Buffer
}

/** 32 bytes that seal all other secrets. The id reveals nothing about them. */
export interface MasterKey {
  /** 16 hexadecimal digits. */
  readonly id: string
  readonly cipherKey: KeyObject
}

/** The master keys of a process. */
export interface MasterKeyRing {
  /** The key that seals. */
  current(): MasterKey
  /** A key that opens, current or former; null if unknown. */
  find(id: string): MasterKey | null
}

/** The value was sealed by a master key that this process does not have, for example during a rotation. */
export class UnknownMasterKey extends Unavailable {
  constructor(id: string) {
    super(`sealed by master key ${id}, which this process does not have`)
  }
}

export const MASTER_KEY_BYTES = 32

const ID_BYTES = 8

const derive = (secret: Buffer, use: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, '', `tillbook master key: ${use}`, bytes))

/** The master key of 32 random bytes. */
export const toMasterKey = (secret: Buffer): MasterKey => ({
  id: derive(secret, 'id', ID_BYTES).toString('hex'),
  cipherKey: createSecretKey(derive(secret, 'seal', MASTER_KEY_BYTES)),
})

/** Id of the master key that sealed a value. */
export function getSealingKeyId(sealed: Buffer): string {
  const id = envelopeKeyId(sealed, ID_BYTES)
  if (!id) throw new Error('not a sealed value: wrong version or length')
  return id.toString('hex')
}

export function createVault(keys: MasterKeyRing): Vault {
  return {
    seal(plain, context) {
      const { id, cipherKey } = keys.current()
      return sealEnvelope(plain, Buffer.from(id, 'hex'), cipherKey, context)
    },
    open(sealed, context) {
      const id = getSealingKeyId(sealed)
      const key = keys.find(id)
      if (!key) throw new UnknownMasterKey(id)
      return openEnvelope(sealed, ID_BYTES, key.cipherKey, context)
    },
  }
}

/** Context of a sealed value: the table and primary key of its row. */
export const sealContext = (table: string, pk: readonly (string | number)[]): string => [table, ...pk].join('/')

/** Seals a JSON value. */
export const sealJson = (vault: Vault, value: unknown, context: string): Buffer =>
  vault.seal(Buffer.from(JSON.stringify(value)), context)

/** Opens a JSON value sealed in this context. @throws as the vault does */
export const openJson = <T>(vault: Vault, sealed: Buffer, context: string): T =>
  JSON.parse(vault.open(sealed, context).toString())

/** A sealed column of `ops`. The indexed column `master_key_id` beside it is the key that sealed it. */
interface SealedColumn {
  readonly table: string
  readonly column: string
  /** Primary key of the table; it is part of the seal's context. */
  readonly pk: readonly string[]
  readonly contextOf: (pk: readonly (string | number)[]) => string
}

const sealed = (table: string, column: string, ...pk: string[]): SealedColumn => ({
  table,
  column,
  pk,
  contextOf: (values) => sealContext(table, values),
})

/** All columns sealed by a master key. A rotation reseals them. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  sealed('webhook_secrets', 'secrets', 'company_id', 'webhook_id'),
  sealed('store_secrets', 'secrets', 'company_id', 'store_id'),
  sealed('imports', 'file', 'company_id', 'user_id'),
  sealed('installation_secrets', 'secret', 'name'),
  sealed('second_factors', 'secret', 'id'),
  { table: 'person_keys', column: 'wrapped', pk: ['key_id'], contextOf: (values) => sealContext('person_key', values) },
]

/** Bytes of a signing secret: 256 bits; Standard Webhooks requires 192 to 512. */
export const SECRET_BYTES = 32

/** Text of a secret: `whsec_` and the bytes in base64. The whole text is the key of the HOOK-13 signature. */
export const formatWebhookSecret = (random: Buffer): string => `whsec_${random.toString('base64')}`

/** Secret of an endpoint (`whsec_…`); during a rotation also the next one, which replaces it at `switch_at`. */
export interface SigningSecrets {
  readonly secret: string
  readonly next_secret: string | null
  readonly switch_at: string | null
}

/** Current signing secret, and during the overlap of a rotation the next one; `now` in Unix ms. */
export function secretsAt({ secret, next_secret, switch_at }: SigningSecrets, now: number) {
  if (next_secret === null || switch_at === null) return { secret, next: null }
  return Date.parse(switch_at) <= now ? { secret: next_secret, next: null } : { secret, next: next_secret }
}
