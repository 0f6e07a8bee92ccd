import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { isGenuine, Seal } from '#audit/seal.ts'
import type { Config } from '#config/config.ts'
import { lastLine } from '#lib/json-lines.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { isOutage } from '#postgres/outage.ts'

/** Where a process keeps what it has signed. */
export const sealDirectoryOf = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'seals')

/** Files that seals of 0.1 are in, a line each. */
const SEAL_FILE = /^company-([1-9]\d*)\.jsonl$/
/** Of whatever the key of 0.1 has signed. */
const SIGNED_FILE = /^(?:resealed-)?company-[1-9]\d*\.jsonl$/
const CHECKPOINT_FILE = /^company-([1-9]\d*)\.checkpoints$/

export const checkpointFileOf = (directory: string, companyId: number | null): string =>
  join(directory, `${companyId === null ? 'installation' : `company-${companyId}`}.checkpoints`)

/** What was sealed last is not what a known key has signed, or is not there: nothing is built upon it (PROOF-24). */
export class SealAltered extends Error {
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

/** What would vouch for a ledger is not in this folder: nothing is sealed for the first time without it. */
export class SealMissing extends SealAltered {}

/** The company's last seal of 0.1, by the key that it names; null when it has none. @throws SealAltered */
export async function lastSeal(directory: string, companyId: number): Promise<Seal | null> {
  const line = await lastLine(join(directory, `company-${companyId}.jsonl`)).catch(orNothing)
  if (line === null) return null
  const seal = Seal.safeParse(line)
  if (seal.success && seal.data.company_id === companyId && isGenuine(seal.data, seal.data.public_key)) return seal.data
  throw new SealAltered(`the last seal of company ${companyId} is none, or was altered`)
}

/** A line that is no JSON was altered too. */
export function orNothing(error: unknown): object {
  if (error instanceof SyntaxError) return {}
  throw error
}

/** Companies of which the folder has seals or checkpoints. */
export async function companiesOfFiles(directory: string): Promise<number[]> {
  const found = (await namesIn(directory)).map((name) => (SEAL_FILE.exec(name) ?? CHECKPOINT_FILE.exec(name))?.[1])
  return [...new Set(found.flatMap((id) => (id === undefined ? [] : Number(id))))]
}

/** Whether anything was ever signed here. */
export async function hasSeals(directory: string, client: Pick<PoolClient, 'query'>): Promise<boolean> {
  if ((await namesIn(directory)).some((name) => SIGNED_FILE.test(name))) return true
  if (await hasCheckpoints(directory, client)) return true
  return (await client.query('select from ops.resealed_ledgers limit 1')).rowCount === 1
}

/** Whether a key of a ring has signed: there are none in 0.1. */
export async function hasCheckpoints(directory: string, client: Pick<PoolClient, 'query'>): Promise<boolean> {
  if ((await namesIn(directory)).some((name) => name.endsWith('.checkpoints'))) return true
  const { rows } = await client.query<{ found: boolean }>(
    'select exists (select from ops.ledger_checkpoints) or exists (select from ops.installation_checkpoints) as found',
  )
  return rows[0]?.found ?? false
}

/** Public keys, other than one, by which ledgers were last sealed in 0.1. */
export async function foreignKeys(directory: string, publicKey: string): Promise<string[]> {
  const keys = new Set<string>()
  for (const name of await namesIn(directory)) {
    const companyId = Number(SEAL_FILE.exec(name)?.[1])
    const seal = companyId ? await lastSeal(directory, companyId) : null
    if (seal && seal.public_key !== publicKey) keys.add(seal.public_key)
  }
  return [...keys]
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
