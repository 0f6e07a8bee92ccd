import * as z from 'zod'
import type { PersonKind, PersonPart } from '#domain/person-values.ts'
import { limitedText } from '#domain/text.ts'
import type { Envelope } from '#ledger/command.ts'
import { Unavailable } from '#lib/errors.ts'

/** Event type: the kinds of record that it concerns, and the shape of its data in the current version. */
export interface EventType<D> {
  readonly version: number
  /**
   * First half of the subject: `sale` in `sale/981`; the second is `data.id`. If there are several kinds, `data.kind`
   * selects one.
   */
  readonly subject: string | readonly string[]
  readonly data: z.ZodType<D>
  /** Earlier versions, read but no longer written; oldest first. */
  readonly former: readonly FormerVersion[]
}

/** Shape that is no longer written. Ledgers contain it forever. */
export interface FormerVersion {
  readonly data: z.ZodType
  /** Converts data to the next version. Depends only on the event, so that a ledger always gives the same tables. */
  upcast(data: object, event: Envelope): object
}

/** All event data contain the id of their record. */
const dataOf = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ id: z.int().positive(), ...shape })

type DataOf<S extends z.ZodRawShape> = z.infer<ReturnType<typeof dataOf<S>>>

/** Declares the first version of an event type. */
export function eventType<S extends z.ZodRawShape>(subject: EventType<unknown>['subject'], shape: S) {
  const former: readonly FormerVersion[] = []
  return { version: 1, subject, data: dataOf(shape), former } satisfies EventType<DataOf<S>>
}

/** Kinds of record that an event type concerns. */
export const listSubjectKinds = ({ subject }: EventType<unknown>): readonly string[] =>
  typeof subject === 'string' ? [subject] : subject

/** Declares the next version of an event type: its whole shape, and the conversion from the previous version. */
export function newVersion<D, S extends z.ZodRawShape>(
  before: EventType<D>,
  shape: S,
  upcast: (data: D, event: Envelope) => DataOf<S>,
) {
  const last = { data: before.data, upcast: upcast as FormerVersion['upcast'] }
  const { version, subject, former } = before
  return { version: version + 1, subject, data: dataOf(shape), former: [...former, last] } satisfies EventType<
    DataOf<S>
  >
}

/**
 * Converts events of any stored version to the newest one; returns current ones unchanged.
 * @throws Unavailable for a version newer than these types: skipping it would give different tables
 */
export function createUpcaster(types: Readonly<Record<string, EventType<unknown>>>): (event: Envelope) => Envelope {
  const known = new Map(Object.entries(types))
  return (event) => {
    const type = known.get(event.type)
    // An unknown type has no handlers either.
    if (!type || type.version === event.version) return event
    if (!type.former[event.version - 1]) {
      const { stream, revision, version } = event
      throw new Unavailable(
        `this program is older than the ledger: it does not know version ${version} of ${event.type} (${stream}, revision ${revision}); upgrade it`,
      )
    }
    const data = type.former.slice(event.version - 1).reduce((data, { upcast }) => upcast(data, event), event.data)
    return { ...event, version: type.version, data }
  }
}

/**
 * Owner of a personal field: the event's subject, or the record of a kind with its id in a member beside the field, or
 * in an object beside it (`customer.id`).
 */
export type PersonReference = 'subject' | { readonly kind: PersonKind; readonly id: string }

/** Metadata of a personal field. */
export interface PersonalMark {
  readonly part: PersonPart
  readonly person: PersonReference
}

/**
 * Marks personal data (name, document, phone, e-mail, address). The field is stored encrypted with the key of that part
 * of the person, and is null once the part is erased.
 */
export const personal = <T extends z.ZodType>(schema: T, part: PersonPart, person: PersonReference = 'subject') =>
  schema.nullable().meta({ personal: { part, person } satisfies PersonalMark })

/** Stored values are not validated like input: plain text, decimal strings in the API's format, UTC instants. */
export const text = z.string()
export const money = limitedText(40).regex(/^\d+\.\d{2}$/)
export const signedMoney = limitedText(40).regex(/^-?\d+\.\d{2}$/)
export const quantity = limitedText(40).regex(/^-?\d+\.\d{3}$/)
export const percentage = limitedText(40).regex(/^\d+\.\d{2}$/)
export const instant = z.iso.datetime({ precision: 3 })
export const date = z.iso.date()
export const id = z.int().positive()
export const metadata = z.record(z.string(), z.string())
