import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFileAtomically, writeFileAtomically } from '#lib/files.ts'
import { MASTER_KEY_BYTES, type MasterKey, type MasterKeyRing, toMasterKey } from './vault.ts'

/** The master key is missing, or is not the database's. The message is for operators. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey'
}

/** Source of a process's master keys. */
export interface MasterKeys extends MasterKeyRing {
  /** Description for operators. */
  readonly source: string
  /** All keys, the current one first; empty if none was created yet. */
  all(): readonly MasterKey[]
  /** Null if the settings provide the keys. */
  readonly file: KeyFile | null
}

/** A file of keys. Changes are atomic, so it can be read, and the process killed, at any time. */
interface KeyFile {
  /** Creates the first key unless one exists: of two concurrent calls the first wins. */
  create(): Promise<void>
  /** Inserts a key as the current one. */
  renew(secret: Buffer): Promise<void>
  /** Removes all keys except the current one. */
  dropFormer(): Promise<void>
}

interface Settings {
  readonly MASTER_KEY?: Buffer | undefined
  readonly MASTER_KEY_FORMER?: readonly Buffer[] | undefined
  readonly DATA_DIR: string
}

/** Parses a key in base64 (either alphabet) or hexadecimal. Null for any other text. */
export function parseMasterKey(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null
}

/** Keys from the settings, the current one first. */
export function configuredMasterKeys(secrets: readonly Buffer[], source: string): MasterKeys {
  const keys = secrets.map(toMasterKey)
  return {
    source,
    all: () => keys,
    current: () => currentOf(keys, source),
    find: (id) => keys.find((key) => key.id === id) ?? null,
    file: null,
  }
}

/** Keys of a file, one per line, the current one first. The file may change while the process runs. */
export function masterKeysInFile(path: string): MasterKeys {
  let keys: readonly MasterKey[] = []
  let known = ''
  /** Takes microseconds unless the file has changed. If the file is missing, a running process keeps its keys. */
  const look = () => {
    const found = statSync(path, { throwIfNoEntry: false })
    const state = found ? `${found.ino} ${found.mtimeMs} ${found.size}` : known
    if (state !== known) keys = secretsIn(path).map(toMasterKey)
    known = state
    return keys
  }
  const find = (among: readonly MasterKey[], id: string) => among.find((key) => key.id === id)
  return {
    source: path,
    all: look,
    current: () => currentOf(look(), path),
    find: (id) => find(keys, id) ?? find(look(), id) ?? null,
    file: fileAt(path),
  }
}

const fileAt = (path: string): KeyFile => ({
  async create() {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await createFileAtomically(path, textOf([randomBytes(MASTER_KEY_BYTES)]))
  },
  renew: (secret) => writeFileAtomically(path, textOf([secret, ...secretsIn(path)])),
  dropFormer: () => writeFileAtomically(path, textOf(secretsIn(path).slice(0, 1))),
})

/** Keys of the settings, or of a file that is created at the first start. */
export const loadMasterKeys = ({ MASTER_KEY, MASTER_KEY_FORMER = [], DATA_DIR }: Settings): MasterKeys =>
  MASTER_KEY
    ? configuredMasterKeys([MASTER_KEY, ...MASTER_KEY_FORMER], 'MASTER_KEY')
    : masterKeysInFile(join(DATA_DIR, 'master.key'))

const textOf = (secrets: readonly Buffer[]) => secrets.map((secret) => `${secret.toString('base64')}\n`).join('')

/** @throws WrongMasterKey */
function secretsIn(path: string): Buffer[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  const texts = lines.map((line) => line.trim()).filter((text) => text !== '')
  return texts.map((text) => {
    const secret = parseMasterKey(text)
    if (!secret)
      throw new WrongMasterKey(`${path} should have a key on each line: 32 random bytes, as base64 or hexadecimal`)
    return secret
  })
}

function currentOf(keys: readonly MasterKey[], source: string): MasterKey {
  const [current] = keys
  if (!current) throw new WrongMasterKey(`there is no master key in ${source}`)
  return current
}
