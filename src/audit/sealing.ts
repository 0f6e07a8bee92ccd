import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#config/config.ts'
import { repeat } from '#lib/repeat.ts'
import { loadSealKey, Seal, type SealKey, signHead } from './seal.ts'
import { type Ledgers, verifyLedger } from './verify.ts'
import type { Verification } from './walk.ts'

/** A ledger that is not what it was is not sealed: a signature would make the forgery the truth. */
export class NotWhole extends Error {
  override readonly name = 'NotWhole'
  constructor(
    readonly companyId: number,
    readonly verification: Verification,
  ) {
    const { revision, reason } = verification.first_error ?? {}
    super(`the ledger of company ${companyId} is not whole: ${reason} at revision ${revision}`)
  }
}

interface Sealing extends Ledgers {
  readonly key: SealKey
  /** Of seal files. */
  readonly directory: string
  /** UTC. */
  readonly now: () => string
}

/**
 * Verifies a ledger and signs its head. What was sealed before must still be there; with `since` only what came after it
 * is verified. Null for an empty ledger, or when it is stopped. @throws NotWhole
 */
export async function sealLedger(
  sealing: Omit<Sealing, 'directory'>,
  companyId: number,
  since: Seal | null,
  isStopped: () => boolean = () => false,
): Promise<Seal | null> {
  const found = await verifyLedger(sealing, companyId, {
    ...(since && { after: { revision: since.revision - 1, hash: null }, anchors: [since] }),
    isEnough: isStopped,
  })
  if (!found.valid) throw new NotWhole(companyId, found)
  if (isStopped() || found.revision < 0) return null
  return signHead(companyId, found, sealing.now(), sealing.key)
}

interface SealRoundOptions {
  readonly onSealed: (seal: Seal) => void
  readonly onError: (error: unknown) => void
  readonly isStopped: () => boolean
}

/** Seals every ledger that has moved since its last seal in the directory. What is wrong with one does not keep the others from theirs. */
export async function sealMoved(sealing: Sealing, { onSealed, onError, isStopped }: SealRoundOptions): Promise<void> {
  const { rows } = await sealing.pool.query<{ company_id: number; revision: number; hash: string }>(
    'select company_id, revision, hash from ledgers where revision >= 0 order by company_id',
  )
  for (const { company_id: companyId, revision, hash } of rows) {
    if (isStopped()) return
    try {
      const last = await lastSeal(sealing.directory, companyId)
      if (last?.revision === revision && last.hash === hash) continue
      const seal = await sealLedger(sealing, companyId, last, isStopped)
      if (!seal) continue
      await appendSeal(sealing.directory, seal)
      onSealed(seal)
    } catch (error) {
      onError(error)
    }
  }
}

/** Longer than any seal. */
const TAIL_BYTES = 4_096
const LINE_FEED = 0x0a

const fileOf = (directory: string, companyId: number): string => join(directory, `company-${companyId}.jsonl`)

/** Where a file of seals ends: its last seal, and how long it is without a line that a crash left unfinished. */
interface Tail {
  readonly last: Seal | null
  readonly bytes: number
}

/** The company's last seal in a directory; null when it has none. @throws when what is there is no seal. */
export async function lastSeal(directory: string, companyId: number): Promise<Seal | null> {
  try {
    const file = await open(fileOf(directory, companyId), 'r')
    try {
      return (await tailOf(file)).last
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Adds a seal as a line of the company's file, on the disk when this resolves. */
export async function appendSeal(directory: string, seal: Seal): Promise<void> {
  await mkdir(directory, { recursive: true })
  const file = await open(fileOf(directory, seal.company_id), 'a+')
  try {
    const { bytes } = await tailOf(file)
    await file.truncate(bytes)
    await file.writeFile(`${JSON.stringify(seal)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  // The file's name as well.
  const folder = await open(directory, 'r')
  await folder.sync().finally(() => folder.close())
}

async function tailOf(file: Awaited<ReturnType<typeof open>>): Promise<Tail> {
  const { size } = await file.stat()
  if (size === 0) return { last: null, bytes: 0 }
  const start = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
  const end = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED)
  if (end < 0 && start > 0) throw new Error('what ends this file is no seal')
  if (end < 0) return { last: null, bytes: 0 }
  const line = buffer.subarray(buffer.lastIndexOf(LINE_FEED, end - 1) + 1, end).toString()
  return { last: Seal.parse(JSON.parse(line)), bytes: start + end + 1 }
}

const HOUR_MS = 3_600_000

/** Where the service keeps its own seals, a file of JSON Lines per company. */
export const sealDirectoryOf = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

/** Seals ledgers that have moved every SEAL_EVERY_HOURS, beginning now; without that setting, never. */
export function sealOnSchedule(
  { pool, store }: Ledgers,
  config: Pick<Config, 'DATA_DIR' | 'SEAL_KEY_FILE' | 'SEAL_EVERY_HOURS'>,
  options: Omit<SealRoundOptions, 'isStopped'>,
): { stop(): Promise<void> } {
  if (config.SEAL_EVERY_HOURS === undefined) return { stop: async () => {} }
  let stopped = false
  const directory = sealDirectoryOf(config)
  const now = () => new Date().toISOString()
  const round = async () => {
    const key = await loadSealKey(config.SEAL_KEY_FILE)
    await sealMoved({ pool, store, key, directory, now }, { ...options, isStopped: () => stopped })
  }
  const repetition = repeat(round, config.SEAL_EVERY_HOURS * HOUR_MS, options.onError)
  return {
    stop() {
      stopped = true
      return repetition.stop()
    },
  }
}
