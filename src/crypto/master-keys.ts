import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MASTER_KEY_BYTES, type MasterKey, type MasterKeyRing, toMasterKey } from '#crypto/vault.ts'
import { createFileAtomically, writeFileAtomically } from '#lib/files.ts'

/** No master key, or another one than the database's; the message is for whoever runs the service. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey'
}

/** Where a process has its master keys from. */
export interface MasterKeys extends MasterKeyRing {
  /** For operators. */
  readonly source: string
  /** All of them, the current one first; none where none was made yet. */
  all(): readonly MasterKey[]
  /** Null where keys are given by the settings. */
  readonly file: KeyFile | null
}

/** A file of keys, which is changed at once and completely: it may be read, and the process killed, at any moment. */
interface KeyFile {
  /** Makes the first key, unless there is one: of two processes that do, the first wins. */
  create(): Promise<void>
  /** Puts a key before the present ones. */
  renew(secret: Buffer): Promise<void>
  /** Leaves only the current key. */
  dropFormer(): Promise<void>
}

interface Settings {
  readonly MASTER_KEY?: Buffer | undefined
  readonly MASTER_KEY_FORMER?: readonly Buffer[] | undefined
  readonly DATA_DIR: string
}

/** A key as operators write it: base64 (with either alphabet) or hexadecimal. Null for anything else. */
export function masterKeySecretOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null
}

/** Keys as the environment gives them, the current one first. */
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

/** A key on each line of a file, the current one first. It may change while the process runs. */
export function masterKeysInFile(path: string): MasterKeys {
  let keys: readonly MasterKey[] = []
  let known = ''
  /** Some microseconds, unless the file was changed. One that is gone takes no key from a running process. */
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

/** The keys that the settings name, or those of a file that is made on the first start. */
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
    const secret = masterKeySecretOf(text)
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
