import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFile, replaceFile } from '#lib/files.ts'
import { type KeyRing, MASTER_KEY_BYTES, type MasterKey, masterKeyOf } from '#lib/vault.ts'

/** No master key, or another one than the database's; the message is for whoever runs the service. */
export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey'
}

/** Where a process has its master keys from. */
export interface MasterKeys extends KeyRing {
  /** For operators. */
  readonly source: string
  /** All of them, the current one first; none where none was made yet. */
  all(): readonly MasterKey[]
  /** Makes the first one, for a database that has none yet. Of two that do, the first wins. @throws WrongMasterKey where keys are given */
  create(): Promise<void>
}

interface Settings {
  readonly MASTER_KEY?: Buffer | undefined
  readonly MASTER_KEY_FORMER?: readonly Buffer[] | undefined
  readonly DATA_DIR: string
}

/** A key as operators write it: base64 (with either alphabet) or hexadecimal. Null for anything else. */
export function secretOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null
}

/** Keys as the environment gives them, the current one first. */
export function givenKeys(secrets: readonly Buffer[], source: string): MasterKeys {
  const keys = secrets.map(masterKeyOf)
  return {
    source,
    all: () => keys,
    current: () => currentOf(keys, source),
    find: (id) => keys.find((key) => key.id === id) ?? null,
    create: async () => {
      throw new WrongMasterKey(`${source} is empty`)
    },
  }
}

/** Master keys in a file of the operator's, which may change while the process runs. */
export interface KeyFile extends MasterKeys {
  /** Puts a new key before the present ones. */
  renew(): Promise<void>
  /** Leaves only the current key. */
  dropFormer(): Promise<void>
}

/** A key on each line, the current one first. What it was when last read is good for as long as nobody changes it. */
export function createKeyFile(path: string): KeyFile {
  let keys: readonly MasterKey[] = []
  let known = ''

  const lines = () => linesOf(readFileSync(path, 'utf8'), path)
  /** Looks at the file's state only, some microseconds, unless it was changed. A file that is gone takes no key from a running process. */
  const look = () => {
    const found = statSync(path, { throwIfNoEntry: false })
    const state = found ? `${found.ino} ${found.mtimeMs} ${found.size}` : known
    if (state !== known) keys = lines().map(({ secret }) => masterKeyOf(secret))
    known = state
    return keys
  }
  const write = (secrets: readonly string[]) => replaceFile(path, textOf(secrets))
  const newSecret = () => randomBytes(MASTER_KEY_BYTES).toString('base64')
  return {
    source: path,
    all: look,
    current: () => currentOf(look(), path),
    find: (id) => keys.find((key) => key.id === id) ?? look().find((key) => key.id === id) ?? null,
    async create() {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await createFile(path, textOf([newSecret()]))
    },
    renew: () => write([newSecret(), ...lines().map(({ text }) => text)]),
    dropFormer: () =>
      write(
        lines()
          .slice(0, 1)
          .map(({ text }) => text),
      ),
  }
}

/** The keys that the settings name, or those of a file that is made on the first start. */
export const masterKeysOf = ({ MASTER_KEY, MASTER_KEY_FORMER = [], DATA_DIR }: Settings): MasterKeys =>
  MASTER_KEY ? givenKeys([MASTER_KEY, ...MASTER_KEY_FORMER], 'MASTER_KEY') : createKeyFile(join(DATA_DIR, 'master.key'))

const textOf = (secrets: readonly string[]) => secrets.map((secret) => `${secret}\n`).join('')

function linesOf(content: string, path: string) {
  const texts = content.split('\n').map((line) => line.trim())
  return texts
    .filter((text) => text !== '')
    .map((text) => {
      const secret = secretOf(text)
      if (!secret)
        throw new WrongMasterKey(`${path} should have a key of 32 bytes on each line, as base64 or hexadecimal`)
      return { text, secret }
    })
}

function currentOf(keys: readonly MasterKey[], source: string): MasterKey {
  const [current] = keys
  if (!current) throw new WrongMasterKey(`there is no master key in ${source}`)
  return current
}
