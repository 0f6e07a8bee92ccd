import { z } from 'zod'
import { type FormBody, formBody, formText } from './forms/form.ts'

/** Hidden fields of every form: whose it is, which of its fields are secrets, and that it is only to be shown again. */
export const INPUT_OWNER = '_quem'
export const SECRETS = '_segredos'
export const AGAIN = '_de_novo'

/** What the login keeps of a form, so that its body stays one of a login. */
const MOST_BYTES = 8_000

/** A form that was sent after the session had ended, as the login page holds it meanwhile (PANEL-105). */
export interface PreservedInput {
  /** Below the panel. */
  readonly path: string
  /** `inputOwnerOf` the session that the form was made for. */
  readonly whose: string
  /** Without secrets. */
  readonly form: FormBody
}

export const inputOwnerOf = ({ companyId, userId }: { readonly companyId: number; readonly userId: number }): string =>
  `${companyId}.${userId}`

/** As the login page carries it; null where there is nothing to keep, or too much of it. */
export function encodePreservedInput(path: string, sent: FormBody): string | null {
  const whose = formText(sent, INPUT_OWNER)
  const left = new Set(['_csrf', INPUT_OWNER, SECRETS, AGAIN, ...formText(sent, SECRETS).split(' ')])
  const form = Object.fromEntries(Object.entries(sent).filter(([name]) => !left.has(name)))
  const bytes = Buffer.from(JSON.stringify({ path, whose, form } satisfies PreservedInput))
  return whose === '' || bytes.byteLength > MOST_BYTES ? null : bytes.toString('base64url')
}

const TypedShape = z.strictObject({
  path: z.string().regex(/^\/[\w/-]*$/),
  whose: z.string(),
  form: formBody,
})

/** What a login brings back; null where it is nothing of ours. */
export function decodePreservedInput(text: string): PreservedInput | null {
  if (text === '') return null
  try {
    return TypedShape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}
