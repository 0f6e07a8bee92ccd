import type { z } from 'zod'

/** Field with a default for absent and null values. */
export const orDefault = <T extends z.ZodType, D extends z.output<T>>(schema: T, value: D) =>
  schema
    .nullish()
    .meta({ default: value })
    .transform((given) => given ?? value)
