import type { z } from 'zod'

/** A field that has a default value where it is absent or null. */
export const orDefault = <T extends z.ZodType, D extends z.output<T>>(schema: T, value: D) =>
  schema
    .nullish()
    .meta({ default: value })
    .transform((given) => given ?? value)
