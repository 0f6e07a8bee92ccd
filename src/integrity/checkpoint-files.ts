import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#config/config.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import { isOutage } from '#postgres/outage.ts'

/** Directory of checkpoints, keys and their entries. */
export const sealDirectoryOf = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

const CHECKPOINT_FILE = /^company-([1-9]\d*)\.checkpoints$/

export const checkpointFileOf = (directory: string, companyId: number | null): string =>
  join(directory, `${companyId === null ? 'installation' : `company-${companyId}`}.checkpoints`)

/** The last checkpoint is missing, or no known key has signed it. Nothing is built upon it (PROOF-24). */
export class CheckpointAltered extends Error {
  override readonly name = 'SealAltered'
}

/**
 * A checkpoint cannot be stored because its folder is full, read-only or missing. Signing stops until it can
 * (PROOF-91).
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
