import { createInterface } from 'node:readline'
import * as z from 'zod'
import type { Addresses, Config } from '#config/config.ts'
import { type Refusal, refuse, refuseInvalid } from '#domain/refusals.ts'
import type { ReadingCore } from '#service/command-reader.ts'
import type { Core } from '#service/core.ts'
import type { FlagValues } from './arguments.ts'
import type { COMMANDS, Flags, Name } from './commands.ts'

/** Formats a record with one line per member, or a list with one line per record. */
export function formatAsText(result: object): string {
  if (!Array.isArray(result)) return columns(Object.entries(result).map(([name, value]) => [name, textOf(value)]))
  const [first] = result as object[]
  if (!first) return '(none)'
  // The first record may lack optional members.
  const names = [...new Set(result.flatMap((record: object) => Object.keys(record)))]
  const rows = result.map((record: Record<string, unknown>) => names.map((name) => textOf(record[name])))
  return columns([names, ...rows])
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function columns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** State of a long step of a command. */
export interface ProgressState {
  /** What is counted: `events`. */
  readonly unit: string
  readonly done: number
  /** Null if unknown. */
  readonly total: number | null
  readonly elapsed_ms: number
}

const SECOND_MS = 1_000

/** `events: 120,000 of 1,000,000 (12 %), 8,400 a second, 1 min 45 s left`. */
export function formatProgress({ unit, done, total, elapsed_ms }: ProgressState): string {
  const rate = elapsed_ms > 0 ? (done * SECOND_MS) / elapsed_ms : 0
  const parts = [`${unit}: ${groupDigits(done)}`, `${groupDigits(rate)} a second`]
  if (total === null) return parts.join(', ')
  // Events that arrive meanwhile are done too.
  const all = Math.max(done, total)
  parts[0] += ` of ${groupDigits(all)} (${all === 0 ? 100 : Math.floor((done / all) * 100)} %)`
  if (rate > 0) parts.push(`${formatDuration(((all - done) * SECOND_MS) / rate)} left`)
  return parts.join(', ')
}

/** A total with the time that it takes at a rate per second. */
export const formatEstimate = (unit: string, total: number, rate: number): string =>
  `${unit}: ${groupDigits(total)}, about ${formatDuration((total * SECOND_MS) / rate)} at an estimated ${groupDigits(rate)} a second`

/** A whole number, in English as all output of commands: `1,000,000`. */
const groupDigits = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ',')

/** The two largest units: `45 s`, `1 min 45 s`, `2 h 5 min`. */
function formatDuration(ms: number): string {
  const seconds = Math.ceil(ms / SECOND_MS)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Shows the progress of a command, one step after another. */
export interface Progress {
  /** Begins a step. `rate` per second estimates its time beforehand. */
  begin(unit: string, total: number | null, rate?: number): void
  /** Counts finished work. */
  add(count: number): void
  /** Prints a line of text above the progress. */
  tell(line: string): void
  /** Ends the step. */
  end(): void
}

interface ProgressOptions {
  readonly stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
  /** False for JSON output: only `tell` prints. */
  readonly isShown: boolean
  /** Monotonic, in ms. */
  readonly clock: () => number
}

/** Time before a step shows anything: shorter steps need no progress. */
const SILENT_MS = 2_000
/** Interval of a line that replaces the one before, and of lines that stay. */
const EVERY_MS = { terminal: 250, file: 10_000 }
const ERASE_LINE = '\r\u001b[K'

/** One line that changes on a terminal; elsewhere a line now and then. */
export function createProgress({ stream, isShown, clock }: ProgressOptions): Progress {
  const isTerminal = stream.isTTY === true
  let step: { readonly unit: string; readonly total: number | null; readonly since: number } | null = null
  let done = 0
  let nextAt = 0
  let isDrawn = false
  const draw = () => {
    if (!step) return
    const line = formatProgress({ ...step, done, elapsed_ms: clock() - step.since })
    stream.write(isTerminal ? `${ERASE_LINE}${line}` : `${line}\n`)
    isDrawn = true
  }
  const progress: Progress = {
    begin(unit, total, rate) {
      progress.end()
      step = { unit, total, since: clock() }
      done = 0
      nextAt = step.since + SILENT_MS
      if (isShown && rate && total !== null && (total * SECOND_MS) / rate > SILENT_MS)
        progress.tell(formatEstimate(unit, total, rate))
    },
    add(count) {
      done += count
      if (!isShown || clock() < nextAt) return
      nextAt = clock() + EVERY_MS[isTerminal ? 'terminal' : 'file']
      draw()
    },
    tell(line) {
      stream.write(isTerminal && isDrawn ? `${ERASE_LINE}${line}\n` : `${line}\n`)
    },
    end() {
      // The last line has the totals.
      if (isDrawn) draw()
      if (isDrawn && isTerminal) stream.write('\n')
      isDrawn = false
      step = null
    },
  }
  return progress
}

/** Flag values of a verb. */
type Values<F extends Flags> = {
  readonly [N in keyof F]: F[N]['required'] extends true ? string : string | undefined
}

/** Resources of a verb. */
export interface Context {
  readonly config: Config
  /** Whether the output is JSON. */
  readonly json: boolean
  /** Shows how far a long command is, on standard error. */
  readonly progress: Progress
  /**
   * Opened at the first call and closed after the verb. A database of another version is upgraded only if `upgrades` is
   * set.
   */
  core(options?: { readonly upgrades: boolean }): Promise<Core>
  /** For a verb that only reads: it opens in a fraction of the time of a core. */
  reader(): Promise<ReadingCore>
  /** Of the database. */
  addresses(): Promise<Addresses>
}

/** Implementation of a verb. */
export interface Verb<N extends Name = Name> {
  /** Runs the verb. The returned record or list of records is printed. */
  run(context: Context, values: Values<(typeof COMMANDS)[N]['flags']>): Promise<object | undefined>
  /** Text output, if a table of the members is unsuitable. */
  show?(result: object): string
  /** Whether the result makes the command exit with 1. */
  isBad?(result: object): boolean
  /** Runs with low process priority, so that a service on the same machine goes first. */
  readonly yields?: true
}

/** All verbs of a group such as `company`, or verbs by full name. */
export type Verbs<Words extends string> = {
  readonly [N in Extract<Name, Words | `${Words} ${string}`>]: Verb<N>
}

/** The command was valid but refused. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(readonly refusal: Refusal) {
    super(refusal.refused)
  }
}

/** Validates values with a command's schema. @throws Refused that names each invalid value */
export function validateInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new Refused(refuseInvalid(result.error))
}

const PORT = 'must be a port from 0 to 65535'
const Port = z
  .string()
  .regex(/^\d{1,5}$/, PORT)
  .transform(Number)
  .refine((port) => port <= 65_535, PORT)

/** Parses a port. @throws Refused */
export const parsePort = (port: string): number => validateInput(z.object({ port: Port }), { port }).port

/** Result of a command. @throws Refused */
export function requireAccepted<R extends object>(answer: R | Refusal): R {
  if ('refused' in answer) throw new Refused(answer as Refusal)
  return answer
}

/** Parses an id. @throws Refused if it is malformed: no record has it */
export function parseIdArgument(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id)) throw new Refused(refuse('not_found'))
  return id
}

/** The company of a command. @throws Refused if it does not exist */
export async function companyIdFrom(
  context: Context,
  text: string,
): Promise<{ core: Core; companyId: number; isTest: boolean }> {
  const companyId = parseIdArgument(text)
  const core = await context.core()
  return { core, companyId, isTest: await isTestCompany(core, companyId) }
}

/** Reader for a command's company. @throws Refused if it does not exist */
export async function readerFrom(
  context: Context,
  text: string,
): Promise<ReadingCore & { readonly companyId: number }> {
  const companyId = parseIdArgument(text)
  const reader = await context.reader()
  await isTestCompany(reader, companyId)
  return { ...reader, companyId }
}

/** @throws Refused if it does not exist */
async function isTestCompany({ pool }: Pick<Core, 'pool'>, companyId: number): Promise<boolean> {
  const { rows } = await pool.query<{ is_test: boolean }>('select is_test from companies where company_id = $1', [
    companyId,
  ])
  if (!rows[0]) throw new Refused(refuse('not_found', { company_id: companyId }))
  return rows[0].is_test
}

/** Number of recorded events of all companies, or of one, for the progress of a command. */
export async function countEvents({ pool }: Pick<Core, 'pool'>, companyId: number | null = null): Promise<number> {
  const { rows } = await pool.query<{ events: number }>(
    `select coalesce(sum(revision + 1), 0)::float8 as events from ops.ledgers where $1::bigint is null or company_id = $1`,
    [companyId],
  )
  return rows[0]?.events ?? 0
}

/** Removes undefined members: commands distinguish absent from empty values. */
export function givenFlags<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Value of a secret that is read from standard input. */
const FROM_INPUT = '-'
const MISSING = 'is missing on standard input'

/**
 * Replaces each secret with the value `-` by a line of the input, in the order of the verb's flags: other users of the
 * machine can see arguments, but not piped input. Without such a secret the input stays unread. @throws Refused if the
 * input ends too early
 */
export async function withSecrets(flags: Flags, values: FlagValues, input: NodeJS.ReadableStream): Promise<FlagValues> {
  const names = Object.keys(flags).filter((name) => flags[name]?.isSecret && values[name] === FROM_INPUT)
  if (names.length === 0) return values
  const read: Record<string, string> = {}
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    read[names.shift() as string] = line
    if (names.length === 0) break
  }
  lines.close()
  if (names.length > 0)
    throw new Refused(refuse('validation_failed', { fields: Object.fromEntries(names.map((name) => [name, MISSING])) }))
  return { ...values, ...read }
}
