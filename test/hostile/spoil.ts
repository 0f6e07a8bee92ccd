import fc from 'fast-check'
import { oddJson, oddName } from './values.ts'

/** Fault at one position of an otherwise valid body. */
export interface Spoiler {
  readonly act: 'replace' | 'remove' | 'add' | 'twice' | 'wrap' | 'repeat'
  /** Position, modulo the number of positions, so that a case can be shrunk. */
  readonly place: number
  /** JSON text, because some of it has no JavaScript value. */
  readonly json: string
  readonly name: string
  readonly times: number
}

export const spoiler: fc.Arbitrary<Spoiler> = fc.record({
  act: fc.constantFrom('replace', 'replace', 'replace', 'replace', 'remove', 'add', 'twice', 'wrap', 'repeat'),
  place: fc.nat({ max: 60 }),
  json: oddJson,
  name: oddName,
  times: fc.constantFrom(2, 51, 501, 1_001),
})

/** Placeholder for text that JSON.stringify does not write. */
const VALUE = '\u{10fff0}value'
const NAME = '\u{10fff0}name'

/** JSON text of a body with one position spoiled. */
export function spoiled(body: unknown, { act, place, json, name, times }: Spoiler): string {
  const root = { body: structuredClone(body) }
  const places = placesIn(root)
  const { holder, key } = places[place % places.length] as Place
  const value = holder[key]
  const isContainer = typeof value === 'object' && value !== null
  let memberName = name
  if (act === 'replace') holder[key] = VALUE
  else if (act === 'remove') remove(holder, key)
  else if (act === 'wrap') holder[key] = [value]
  else if (act === 'repeat')
    holder[key] = Array.from({ length: times }, () => (Array.isArray(value) ? value[0] : value))
  else if (isContainer && !Array.isArray(value)) {
    if (act === 'twice') memberName = Object.keys(value)[0] ?? name
    ;(value as Members)[NAME] = VALUE
  } else holder[key] = VALUE
  const text = JSON.stringify(root.body) ?? 'null'
  return text
    .replace(JSON.stringify(NAME), () => JSON.stringify(memberName))
    .replaceAll(JSON.stringify(VALUE), () => json)
}

type Members = Record<string, unknown>

interface Place {
  readonly holder: Members
  readonly key: string
}

/** Every value of a tree, the root first. */
function placesIn(root: Members): Place[] {
  const found: Place[] = []
  const visit = (holder: Members): void => {
    for (const key of Object.keys(holder)) {
      found.push({ holder, key })
      const value = holder[key]
      if (typeof value === 'object' && value !== null) visit(value as Members)
    }
  }
  visit(root)
  return found
}

function remove(holder: Members, key: string): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
}

/** Text of a body, or its bytes after damage in transit. */
export const garbling: fc.Arbitrary<(text: string) => Buffer> = fc.oneof(
  { weight: 12, arbitrary: fc.constant((text: string) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((share) => cutAt(share)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([share, bytes]) => withBytesAt(share, Buffer.from(bytes))),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<(text: string) => Buffer>(
      (text) => Buffer.from(`\ufeff${text}`),
      (text) => Buffer.from(text, 'utf16le'),
      (text) => Buffer.from(text, 'latin1'),
      (text) => Buffer.from(`${text}\n${text}`),
      (text) => Buffer.from(`${' '.repeat(20_000)}${text}`),
      (text) => Buffer.from(`)]}'\n${text}`),
    ),
  },
)

const cutAt = (share: number) => (text: string) => {
  const bytes = Buffer.from(text)
  return bytes.subarray(0, Math.floor(bytes.length * share))
}

const withBytesAt = (share: number, inserted: Buffer) => (text: string) => {
  const bytes = Buffer.from(text)
  const at = Math.floor(bytes.length * share)
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)])
}
