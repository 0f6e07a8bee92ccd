import * as z from 'zod'
import { limitedText, withoutInvisible } from './text.ts'

/** What programs write where a product or person has no such code. */
const NOTHING = /^(?:-+|n\/[ad]|null|sem (?:gtin|ean)|n[aã]o informad[ao]|\(vazio\))$/i

/** Longest text that stands for none. */
const MAX_PLACEHOLDER = 40

/** Whether a text stands for no value. */
export const isPlaceholder = (text: string): boolean =>
  text.length <= MAX_PLACEHOLDER && NOTHING.test(withoutInvisible(text))

/** Whether a code stands for none: also zeros, with or without marks (`0000000000000`, `000.000.000-00`). */
export const isPlaceholderCode = (text: string): boolean =>
  isPlaceholder(text) || (text.length <= MAX_PLACEHOLDER && /^[^\p{L}\p{N}]*0[^\p{L}1-9]*$/u.test(text))

/** The same for contracts. */
const NONE_PATTERN =
  '^\\s*(?:-*|[Ss][Ee][Mm] (?:[Gg][Tt][Ii][Nn]|[Ee][Aa][Nn])|[Nn]/[AaDd]|[Nn][Uu][Ll][Ll]|[Nn][AaÃã][Oo] [Ii][Nn][Ff][Oo][Rr][Mm][Aa][Dd][AaOo]|\\([Vv][Aa][Zz][Ii][Oo]\\)|[\\s+()./-]*0[\\s+()./0-]*)\\s*$'

/** The schema of a code has its own limit. */
const MAX_TEXT = 2_000

/** A code that may be null, without invisible characters: what stands for none, an empty text too, is null (VAL-910). */
export function orNone(schema: z.ZodType<string>) {
  const { pattern, maxLength } = z.toJSONSchema(schema, { io: 'input' })
  const expected = schema.safeParse(null).error?.issues[0]?.message
  return limitedText(MAX_TEXT, expected)
    .transform((typed, context) => {
      const text = withoutInvisible(typed)
      if (text.length <= MAX_PLACEHOLDER && (text.trim() === '' || isPlaceholderCode(text))) return null
      const { data, error } = schema.safeParse(text)
      for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message })
      return data ?? null
    })
    .meta({ maxLength, ...(pattern && { pattern: `${NONE_PATTERN}|${pattern}` }) })
    .nullish()
}
