/** Whether a parsed value is an object, not null or a list. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members of all objects in a parsed value, at every depth. Recurses as deep as the value is nested. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object') count += countMembers(element)
    return count
  }
  const object = value as Record<string, unknown>
  for (const name of Object.keys(object)) {
    count += 1
    const member = object[name]
    if (typeof member === 'object') count += countMembers(member)
  }
  return count
}

/** Texts, and the colons between them: each colon outside a text belongs to one member. */
const TEXT_OR_COLON = /"(?:[^"\\]|\\.)*"|:/g

/** Whether an object in this valid JSON text has a member twice: parsing kept fewer members than were written. */
export function hasRepeatedMember(json: string, parsed: unknown): boolean {
  let colons = 0
  for (const [found] of json.matchAll(TEXT_OR_COLON)) if (found === ':') colons += 1
  return colons !== countMembers(parsed)
}
