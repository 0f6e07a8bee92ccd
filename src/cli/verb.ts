import { z } from 'zod'
import type { Addresses, Config } from '#config/config.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'
import type { Core } from '#service/core.ts'
import type { Directory } from '#sharding/directory.ts'
import type { COMMANDS, Flags, Name } from './commands.ts'

/** What was given for the flags of a verb. */
type Values<F extends Flags> = {
  readonly [N in keyof F]: F[N]['required'] extends true ? string : string | undefined
}

/** A home as a verb works on it. */
export interface NamedShard {
  readonly name: string
  readonly core: Core
}

/** What a verb works with. */
export interface Context {
  readonly config: Config
  /** Whether what is printed is read by a program. */
  readonly json: boolean
  /**
   * The service's own data, those of `main` unless another home is named, opened when they are first asked for and closed by
   * whoever runs the verb. A database of another version is brought up to date only by a verb that says so (OPS-38).
   */
  core(options?: { readonly upgrades?: boolean; readonly home?: string | undefined }): Promise<Core>
  /** Of the home that a company lives in; of `main` where it lives nowhere. */
  coreOf(companyId: number): Promise<Core>
  /** How a home is reached. */
  addresses(home: string): Promise<Addresses>
  /** Which company lives where; empty as long as there is one home. */
  directory(): Promise<Directory>
  /** All homes, `main` first (HOME-12). @throws Unavailable where one cannot be reached */
  homes(options?: { readonly upgrades: boolean }): Promise<readonly NamedShard[]>
}

/** What is behind the words that name a verb. */
export interface Verb<N extends Name = Name> {
  /** Does it. What it returns is printed: a record, a list of records, or nothing. */
  run(context: Context, values: Values<(typeof COMMANDS)[N]['flags']>): Promise<object | undefined>
  /** How a person sees it, where a table of its members would not do. */
  show?(result: object): string
  /** Whether what was found makes the command end with 1. */
  isBad?(result: object): boolean
  /** It leaves the processor to a service that wants it: its process has low priority. Alone it is as fast as any. */
  readonly yields?: true
}

/** All verbs of a group, as `company`, or those named in full. */
export type Verbs<Words extends string> = {
  readonly [N in Extract<Name, Words | `${Words} ${string}`>]: Verb<N>
}

/** The command was understood and refused. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(readonly refusal: Refusal) {
    super(refusal.refused)
  }
}

/** Values checked by a command's own schema. @throws Refused naming each that is wrong. */
export function checked<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new Refused(refuse('validation_failed', { ...describeIssues(result.error) }))
}

const PORT = 'deve ser uma porta de 0 a 65535'
const Port = z
  .string()
  .regex(/^\d{1,5}$/, PORT)
  .transform(Number)
  .refine((port) => port <= 65_535, PORT)

/** A port as typed. @throws Refused */
export const portOf = (port: string): number => checked(z.object({ port: Port }), { port }).port

/** What a command answered. @throws Refused */
export function accepted<R extends object>(answer: R | Refusal): R {
  if ('refused' in answer) throw new Refused(answer as Refusal)
  return answer
}

/** An id as typed. @throws Refused: what is no id belongs to no record. */
export function parseIdArgument(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id)) throw new Refused(refuse('not_found'))
  return id
}

/** The company that a command is for, and the home that it lives in. @throws Refused when there is none. */
export async function companyIdFrom(
  context: Context,
  text: string,
): Promise<{ core: Core; companyId: number; isTest: boolean }> {
  const companyId = parseIdArgument(text)
  const core = await context.coreOf(companyId)
  const { rows } = await core.pool.query<{ is_test: boolean }>('select is_test from companies where company_id = $1', [
    companyId,
  ])
  if (!rows[0]) throw new Refused(refuse('not_found', { company_id: companyId }))
  return { core, companyId, isTest: rows[0].is_test }
}

/** What is done in one home after the other; of several each answer tells which. */
export async function onEachShard<T extends object>(
  homes: readonly NamedShard[],
  work: (core: Core) => Promise<T>,
): Promise<T | T[]> {
  const [{ core: only }, ...others] = homes as [NamedShard, ...NamedShard[]]
  if (others.length === 0) return work(only)
  const answers: T[] = []
  for (const { name, core } of homes) answers.push({ home: name, ...(await work(core)) })
  return answers
}

/** Only the members that were given: a command tells what is absent from what is empty. */
export function givenFlags<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}
