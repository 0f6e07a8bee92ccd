import fc from 'fast-check'
import * as z from 'zod'
import { Id } from '#domain/text.ts'
import type { Command } from '#ledger/command.ts'

/** A possible action in a company, with an arbitrary of its inputs. */
export interface Act {
  /** Kind of the record that it creates, updates or deletes. */
  readonly kind: string
  readonly weight: number
  // biome-ignore lint/suspicious/noExplicitAny: a table of acts mixes input types; each schema fits its command
  readonly command: Command<any>
  readonly schema: z.ZodType
  readonly input: fc.Arbitrary<Readonly<Record<string, unknown>>>
}

/** Position in the list of known records: a shrunk history stays valid. */
export const place = fc.nat({ max: 6 })

/** Input of an action on one record. */
export const byId = fc.record({ id: place })
export const ById = z.strictObject({ id: Id })

/** Absent in half of the cases. */
export const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

/** Absent or null more often than not. */
export const nullable = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constantFrom(null, undefined) }, { weight: 1, arbitrary: value })
