import { z } from 'zod'
import type { Config } from '#config/config.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'
import type { Core } from '#service/core.ts'
import type { COMMANDS, Flags, Name } from './commands.ts'

/** What was given for the flags of a verb. */
type Values<F extends Flags> = {
  readonly [N in keyof F]: F[N]['required'] extends true ? string : string | undefined
}

/** What a verb works with. */
export interface Context {
  readonly config: Config
  /**
   * The service's own data, opened when it is first asked for and closed by whoever runs the verb. A database of another
   * version is brought up to date only by a verb that says so (OPS-38).
   */
  core(options?: { readonly upgrades: boolean }): Promise<Core>
}

/** What is behind the words that name a verb. */
export interface Verb<N extends Name = Name> {
  /** Does it. What it returns is printed: a record, a list of records, or nothing. */
  run(context: Context, values: Values<(typeof COMMANDS)[N]['flags']>): Promise<object | undefined>
  /** How a person sees it, where a table of its members would not do. */
  show?(result: object): string
  /** Whether what was found makes the command end with 1. */
  isBad?(result: object): boolean
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
export function idOf(text: string): number {
  const id = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(id)) throw new Refused(refuse('not_found'))
  return id
}

/** The company that a command is for. @throws Refused when there is none. */
export async function companyOf({ pool }: Core, text: string): Promise<number> {
  const id = idOf(text)
  const { rowCount } = await pool.query('select from companies where company_id = $1', [id])
  if (rowCount === 0) throw new Refused(refuse('not_found', { company_id: id }))
  return id
}

/** Only the members that were given: a command tells what is absent from what is empty. */
export function given<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}
