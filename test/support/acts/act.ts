import fc from 'fast-check'
import { z } from 'zod'
import { Id } from '#domain/text.ts'
import type { Command } from '#ledger/command.ts'

/** Something that may happen in a company, with what is tried. */
export interface Act {
  /** Of the record that it makes, changes or removes. */
  readonly kind: string
  readonly weight: number
  // biome-ignore lint/suspicious/noExplicitAny: a table of acts mixes input types; each schema fits its command
  readonly command: Command<any>
  readonly schema: z.ZodType
  readonly input: fc.Arbitrary<Readonly<Record<string, unknown>>>
}

/** Where a record stands in the list of those known: a history can be shrunk and still holds. */
export const place = fc.nat({ max: 6 })

/** The input of what is done to one record. */
export const byId = fc.record({ id: place })
export const ById = z.strictObject({ id: Id })

/** Absent half of the time. */
export const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

/** Absent or null more often than not. */
export const nullable = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constantFrom(null, undefined) }, { weight: 1, arbitrary: value })
