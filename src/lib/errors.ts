import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The event store or Postgres is unreachable, a queue is full, or this process is outdated. Nothing was promised; retry
 * later.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

/** The tenant has used up its share of a common resource; others are still served. */
export class TenantLimitExceeded extends Unavailable {}

/**
 * The database belongs to another version of this program and was not, or cannot be, migrated. The message is for
 * operators.
 */
export class IncompatibleVersion extends Error {
  override readonly name = 'IncompatibleVersion'
}

/** The server of DATABASE_URL cannot keep the service's guarantees. The message is for operators. */
export class UnsupportedPostgres extends Error {
  override readonly name = 'UnsupportedPostgres'
}

/** A step that is refused; nothing was changed. The message is for operators. */
export class StepRefused extends Error {
  override readonly name = 'StepRefused'
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
  ) {
    super(message)
  }
}

/** Logs a failure for the operator: a message like `privacy: erasure failed, will retry`, with identifiers as fields. */
export type LogError = (message: string, error: unknown, fields?: Readonly<Record<string, unknown>>) => void

const PLACE = /(file:\/\/[^\s()]+):(\d+):(\d+)/

/** Source map by compiled file; null if there is none. */
const maps = new Map<string, SourceMap | null>()

/**
 * A stack line with the source position instead of the compiled one. Maps are loaded at the first error of a file:
 * `--enable-source-maps` would hold 13 MiB.
 */
export const inSource = (line: string): string =>
  line.replace(PLACE, (place, url: string, row: string, column: string) => {
    const file = fileURLToPath(url)
    const entry = mapOf(file)?.findEntry(Number(row) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return place
    return `${resolve(dirname(file), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const map = read(file)
  maps.set(file, map)
  return map
}

function read(file: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
  } catch {
    return null
  }
}
