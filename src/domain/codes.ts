import { limitedText, storedText, withoutInvisible } from './text.ts'

/** What programs write where a product or person has no such code. */
const NOTHING = /^(?:-+|n\/a|null|sem gtin)$/i

/** Longest text that stands for none. */
const MAX_PLACEHOLDER = 40

/** Whether a text stands for no value. */
export const isPlaceholder = (text: string): boolean =>
  text.length <= MAX_PLACEHOLDER && NOTHING.test(withoutInvisible(text))

/** Whether a code stands for none: also zeros, with or without marks (`0000000000000`, `000.000.000-00`). */
export const isPlaceholderCode = (text: string): boolean =>
  isPlaceholder(text) || (text.length <= MAX_PLACEHOLDER && /^[^\p{L}\p{N}]*0[^\p{L}1-9]*$/u.test(text))

/** Barcode of 1 to 60 characters, without invisible ones; what stands for none is null (ITEM-820). */
export const Barcode = storedText(limitedText(400, 'deve ser um texto').overwrite(withoutInvisible), 60).transform(
  (text) => (isPlaceholderCode(text) ? null : text),
)
