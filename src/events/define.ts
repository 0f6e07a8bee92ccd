import { z } from 'zod'

/** One type of event: its version, the kind of record it is about, and the shape of its data. */
export interface EventType<D> {
  readonly version: number
  /** First half of the subject: `sale` of `sale/981`. The second is `data.id`. */
  readonly subject: string
  readonly data: z.ZodType<D>
}

/** Declares an event type; every event's data carries the id of the record that it is about. */
export function eventType<S extends z.ZodRawShape>(subject: string, shape: S, version = 1) {
  const data = z.strictObject({ id: z.int().positive(), ...shape })
  return { version, subject, data } satisfies EventType<z.infer<typeof data>>
}

/**
 * Marks a field about a person (name, document, phone, e-mail, address), so that it can later be sealed with a key per
 * person and forgotten (LGPD) without touching the chain, commands or projections.
 */
export const personal = <T extends z.ZodType>(schema: T): T => schema.meta({ personal: true })

/** Stored forms are not validated again as input is: plain text, decimal strings as the API shows them, UTC instants. */
export const text = z.string()
export const money = z.string().regex(/^\d+\.\d{2}$/)
export const quantity = z.string().regex(/^-?\d+\.\d{3}$/)
export const percentage = z.string().regex(/^\d+\.\d{2}$/)
export const instant = z.iso.datetime({ precision: 3 })
/** A day of the calendar. */
export const date = z.iso.date()
export const id = z.int().positive()
