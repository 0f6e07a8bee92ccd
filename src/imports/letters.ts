import { UNREADABLE } from './code-pages.ts'

/** Letters of Portuguese beyond ASCII. */
const PORTUGUESE = new Set('áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇªº')
/** Letters of foreign names in Portuguese texts that no confusion of code pages makes of Portuguese ones. */
const FOREIGN = new Set('ñÑöèëûï')
/** Signs that a wrong code page makes of letters, and that no name of a product or person has. */
const WRONG_SIGN = /[\x80-\x9f‚ƒ„†‡ˆ‹›˜¢¤¦¬¶¨¸\u2190-\u25ff\ufb01\ufb02ˇ˘˙˚˝˛ı\ufffd]/
/** Signs that are right between words, and wrong within one. */
const SIGN = /[¡£¥§«»¿±µ¼½¾÷×·‰€™©®°²³¹\xa0“”–—…•]/

const isLetter = (text: string): boolean => /\p{L}/u.test(text) && !/[ªº]/.test(text)
const isLower = (text: string): boolean => /\p{Ll}/u.test(text)
const isUpper = (text: string): boolean => /\p{Lu}/u.test(text)

/** Whether a letter stands where Portuguese has it: `õ` before `e`, `ç` before `a`, `o` and `u`. */
function isInPlace(letter: string, before: string, after: string): boolean {
  switch (letter.toLowerCase()) {
    case 'õ':
      return /^[es]/i.test(after)
    case 'ã':
      return !isLetter(after) || /^[oeisn]/i.test(after)
    case 'ç':
      return /[aouãõáâóôú]/i.test(after) && /[\p{L}]/u.test(before) && !/[bdfghjkmpqtvwxz]/i.test(before)
    case 'à':
      return !isLetter(before) && (!isLetter(after) || /^[sq]/i.test(after))
    default:
      return true
  }
}

/** A capital behind a small letter or before one within capitals, or a small letter within capitals. */
const hasOddCase = (letter: string, earlier: string, before: string, after: string): boolean =>
  isUpper(letter)
    ? isLower(before) || (isUpper(before) && isLower(after))
    : isUpper(after) || (isUpper(before) && isUpper(earlier))

/** How likely a character beyond ASCII is in a Portuguese text; negative if its code page is probably another. */
function weightOf(character: string, earlier: string, before: string, after: string): number {
  if (/[\x80-\x9f]/.test(character) || character === UNREADABLE) return -4
  if (character === 'ª' || character === 'º') return /[\dnaors.]/i.test(before) ? 2 : -1
  if (isLetter(character)) {
    if (hasOddCase(character, earlier, before, after)) return -3
    if (!PORTUGUESE.has(character)) return FOREIGN.has(character) && isLetter(before) ? (character === 'ñ' ? 1 : 0) : -2
    if (!isLetter(before) && !isLetter(after)) return /[àéóÀÉÓ]/.test(character) ? 1 : -2
    if (!isInPlace(character, before, after) || /\d/.test(before)) return -1
    if (/[ãõ]/i.test(character) && isLetter(after)) return 3
    return isLower(character) && !isLetter(before) ? 1 : 2
  }
  if (WRONG_SIGN.test(character)) return -3
  const isWithinWord = isLetter(before) && isLetter(after)
  if (SIGN.test(character)) return isWithinWord ? -2 : /[¡£¥§«»¿µ·‰\xa0]/.test(character) ? 0 : 1
  return character === '‘' && isWithinWord ? -1 : 0
}

/** Sum over the characters beyond ASCII; the decoding with the highest score is the most likely. */
export function portugueseScore(text: string): number {
  let score = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) < 0x80) continue
    score += weightOf(text.charAt(at), text.charAt(at - 2), text.charAt(at - 1), text.charAt(at + 1))
  }
  return score
}

/** Texts are looked at up to here. */
const MAX_LENGTH = 2_000

/** The first word with a letter that no Portuguese word has, as a wrong code page makes them; null without one. */
export function oddWord(text: string): string | null {
  for (let at = 0; at < Math.min(text.length, MAX_LENGTH); at++) {
    if (text.charCodeAt(at) < 0x80) continue
    const [character, earlier, before, after] = [0, -2, -1, 1].map((by) => text.charAt(at + by)) as [
      string,
      string,
      string,
      string,
    ]
    const isOdd = isLetter(character)
      ? !(PORTUGUESE.has(character) || FOREIGN.has(character)) || hasOddCase(character, earlier, before, after)
      : WRONG_SIGN.test(character) || (SIGN.test(character) && isLetter(before) && isLetter(after))
    if (isOdd) return wordAt(text, at)
  }
  return null
}

/** The word around a position, 20 characters of it at most to each side. */
function wordAt(text: string, at: number): string {
  const [before, after] = [text.slice(Math.max(at - 20, 0), at), text.slice(at, at + 20)]
  return `${/\S*$/.exec(before)?.[0] ?? ''}${/^\S*/.exec(after)?.[0] ?? ''}`
}
