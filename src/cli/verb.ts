import { createInterface } from 'node:readline'
import * as z from 'zod'
import type { Addresses, Config } from '#config/config.ts'
import { type Refusal, refuse, refuseInvalid } from '#domain/refusals.ts'
import type { ReadingCore } from '#service/command-reader.ts'
import type { Core } from '#service/core.ts'
import type { FlagValues } from './arguments.ts'
import type { COMMANDS, Flags, Name } from './commands.ts'
import type { Progress } from './terminal.ts'

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
