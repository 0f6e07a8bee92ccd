/** Longest cell in which several phones are looked for. */
const MAX_LENGTH = 200

const digitsOf = (text: string): string => text.replace(/\D/g, '')

/** Digits of a Brazilian phone: with or without area code and country code. */
const isPhone = (digits: string): boolean =>
  /^(?:[1-9]\d{7,8}|[1-9]{2}[2-9]\d{7,8}|0[1-9]{2}[2-9]\d{7,8}|55[1-9]{2}[2-9]\d{7,8}|0[389]00\d{6,7})$/.test(digits)

/** A phone has so many digits at least. */
const MIN_DIGITS = 6

/** Digits of two phones; a number abroad has fewer. */
const isTwice = (digits: string): boolean => digits.length >= 14

/** The first of several phones in a cell, between marks or only blanks; null if the cell has one or none. */
export function firstOfPhones(cell: string): string | null {
  if (cell.length > MAX_LENGTH) return null
  const parts = cell.split(/[/;,|\n]|\s+(?:e|ou)\s+|(?<=\d)\s+-\s+(?=[(+\d])/i)
  const phones = parts.filter((part) => isPhone(digitsOf(part)))
  if (
    phones.length > 1 ||
    (phones.length === 1 && parts.some((part) => part !== phones[0] && digitsOf(part).length >= MIN_DIGITS))
  )
    return phones[0]?.trim() ?? null
  return parts.length === 1 && isTwice(digitsOf(cell)) ? firstByBlanks(cell) : null
}

/** Both sides of a blank are phones. */
function firstByBlanks(cell: string): string | null {
  for (const { index } of cell.matchAll(/\s+/g)) {
    const [first, second] = [cell.slice(0, index), cell.slice(index)]
    if (isPhone(digitsOf(first)) && firstPhoneOf(second)) return first.trim()
  }
  return null
}

/** Whether a text is one phone, or begins with one. */
const firstPhoneOf = (text: string): boolean => isPhone(digitsOf(text)) || firstOfPhones(text.trim()) !== null
