/** Text that is HTML already; anything else is escaped where it is put in. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template takes. */
export type Part = Html | string | number | false | null | undefined | readonly Part[]

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Safe in content and in quoted attributes. */
const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? '')

function render(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return part ? part.map(render).join('') : ''
}

/** A template whose values are escaped, unless they are HTML themselves; lists are joined, and what is not there is nothing. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, position) => text + render(parts[position])).join(''))
