import * as z from 'zod'
import { limitedText } from '#domain/text.ts'
import { type FormBody, formBody, formText } from './forms/panel-form.ts'

/** Hidden fields of every form: its author, its secret fields, and the mark that it is only to be shown again. */
export const INPUT_OWNER = '_quem'
export const SECRETS = '_segredos'
export const AGAIN = '_de_novo'

/** Limit of preserved input, so that the login form stays within its own limit. */
const MOST_BYTES = 8_000

/** A form that was submitted after the session had ended; the login page carries it. */
export interface PreservedInput {
  /** Below the panel. */
  readonly path: string
  /** `inputOwnerOf` the session that rendered the form. */
  readonly owner: string
  /** Without secrets. */
  readonly form: FormBody
}

export const inputOwnerOf = ({ companyId, userId }: { readonly companyId: number; readonly userId: number }): string =>
  `${companyId}.${userId}`

/** Text for the login page; null if there is nothing to preserve, or too much. */
export function encodePreservedInput(path: string, sent: FormBody): string | null {
  const owner = formText(sent, INPUT_OWNER)
  const left = new Set(['_csrf', INPUT_OWNER, SECRETS, AGAIN, ...formText(sent, SECRETS).split(' ')])
  const form = Object.fromEntries(Object.entries(sent).filter(([name]) => !left.has(name)))
  const bytes = Buffer.from(JSON.stringify({ path, owner, form } satisfies PreservedInput))
  return owner === '' || bytes.byteLength > MOST_BYTES ? null : bytes.toString('base64url')
}

const TypedShape = z.strictObject({
  path: limitedText(2_000).regex(/^\/[\w/-]*$/),
  owner: z.string(),
  form: formBody,
})

/** Input sent back by the login page; null if it is invalid. */
export function decodePreservedInput(text: string): PreservedInput | null {
  if (text === '') return null
  try {
    return TypedShape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}
