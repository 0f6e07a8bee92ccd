import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import type { Config } from '#config/config.ts'
import { Unavailable } from '#lib/errors.ts'
import { isOutage } from '#postgres/outage.ts'

/** Where a process keeps what it has signed. */
export const sealDirectoryOf = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

const CHECKPOINT_FILE = /^company-([1-9]\d*)\.checkpoints$/

export const checkpointFileOf = (directory: string, companyId: number | null): string =>
  join(directory, `${companyId === null ? 'installation' : `company-${companyId}`}.checkpoints`)

/** What was sealed last is not what a known key has signed, or is not there: nothing is built upon it (PROOF-24). */
export class CheckpointAltered extends Error {
  override readonly name = 'SealAltered'
}

/** A checkpoint cannot be kept in its folder, which is full, read-only or gone: none is signed until it can (PROOF-91). */
export class SealsUnwritable extends Unavailable {}

/** Errors of files become SealsUnwritable, others stay what they are; those of connections have an errno as well. */
export function sealingError(directory: string, error: unknown): unknown {
  const { errno, message } = error as NodeJS.ErrnoException
  if (typeof errno !== 'number' || isOutage(error)) return error
  return new SealsUnwritable(`seals cannot be written to ${directory}: ${message}`, { cause: error })
}

/** A line that is no JSON was altered too. */
export function orNothing(error: unknown): object {
  if (error instanceof SyntaxError) return {}
  throw error
}

/** Companies of which the folder has checkpoints. */
export async function companiesOfFiles(directory: string): Promise<number[]> {
  const found = (await namesIn(directory)).map((name) => CHECKPOINT_FILE.exec(name)?.[1])
  return found.flatMap((id) => (id === undefined ? [] : Number(id)))
}

/** Whether a key has signed anything here. */
export async function hasCheckpoints(directory: string, client: Pick<PoolClient, 'query'>): Promise<boolean> {
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
