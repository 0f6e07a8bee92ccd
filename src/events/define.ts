import { z } from 'zod'
import type { Part, PersonKind } from '#domain/personal-data.ts'
import type { Envelope } from '#ledger/envelope.ts'

import { Unavailable } from '#lib/unavailable.ts'

/** One type of event: the kinds of record it is about, and the shape of its data in the version that is written. */
export interface EventType<D> {
  readonly version: number
  /** First half of the subject: `sale` of `sale/981`. The second is `data.id`. Of several kinds, `data.kind` names it. */
  readonly subject: string | readonly string[]
  readonly data: z.ZodType<D>
  /** Versions that are only read any more, the first one first. */
  readonly former: readonly FormerVersion[]
}

/** A shape that nobody writes any more, though ledgers hold it for ever. */
export interface FormerVersion {
  readonly data: z.ZodType
  /** Its data in the shape of the version after it. Depends on nothing but the event: the same ledger always gives the same tables. */
  upcast(data: object, event: Envelope): object
}

/** Every event's data carries the id of the record that it is about. */
const dataOf = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ id: z.int().positive(), ...shape })

type DataOf<S extends z.ZodRawShape> = z.infer<ReturnType<typeof dataOf<S>>>

/** Declares an event type, in its first version. */
export function eventType<S extends z.ZodRawShape>(subject: EventType<unknown>['subject'], shape: S) {
  const former: readonly FormerVersion[] = []
  return { version: 1, subject, data: dataOf(shape), former } satisfies EventType<DataOf<S>>
}

/** The kinds of record that a type of event is about. */
export const kindsOf = ({ subject }: EventType<unknown>): readonly string[] =>
  typeof subject === 'string' ? [subject] : subject

/** Declares the next version of an event type: its whole shape, and how data of the version before is read in it. */
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
 * How events of these types are read in their newest version, whichever one they were stored in: what is that already is given
 * back as it is. @throws Unavailable for a version that is newer than these types: whoever left it out would make other tables.
 */
export function upcasterOf(types: Readonly<Record<string, EventType<unknown>>>): (event: Envelope) => Envelope {
  const known = new Map(Object.entries(types))
  return (event) => {
    const type = known.get(event.type)
    // Of a type that is not known, nothing that would act on it is known either.
    if (!type || type.version === event.version) return event
    if (!type.former[event.version - 1]) {
      const { stream, revision, version } = event
      throw new Unavailable(
        `this program is older than the ledger: it does not know version ${version} of ${event.type} (${stream}, revision ${revision})`,
      )
    }
    const data = type.former.slice(event.version - 1).reduce((data, { upcast }) => upcast(data, event), event.data)
    return { ...event, version: type.version, data }
  }
}

/** Whose a personal field is: its event's subject, or the record of a kind whose id is in a member beside the field. */
export type Whose = 'subject' | { readonly kind: PersonKind; readonly id: string }

/** What `personal` says of a field. */
export interface PersonalMark {
  readonly part: Part
  readonly whose: Whose
}

/**
 * Marks a field about a person (name, document, phone, e-mail, address), which is stored sealed with the key of that part of
 * the person, and null once that was forgotten (LEDGER-40).
 */
export const personal = <T extends z.ZodType>(schema: T, part: Part, whose: Whose = 'subject') =>
  schema.nullable().meta({ personal: { part, whose } satisfies PersonalMark })

/** Stored forms are not validated again as input is: plain text, decimal strings as the API shows them, UTC instants. */
export const text = z.string()
export const money = z.string().regex(/^\d+\.\d{2}$/)
export const quantity = z.string().regex(/^-?\d+\.\d{3}$/)
export const percentage = z.string().regex(/^\d+\.\d{2}$/)
export const instant = z.iso.datetime({ precision: 3 })
/** A day of the calendar. */
export const date = z.iso.date()
export const id = z.int().positive()
