import { readFileSync } from 'node:fs'

/** A fenced block of a Markdown file. */
export interface Snippet {
  readonly language: string
  /** File name that ends the text before it (`client.ts`:), or name in ```` ```bash back-up ````; empty without one. */
  readonly file: string
  /** Heading of its section. */
  readonly heading: string
  readonly text: string
}

/** The fenced blocks of a Markdown file, in order. */
export function snippetsOf(path: string): Snippet[] {
  const page = readFileSync(path, 'utf8')
  const snippets: Snippet[] = []
  let heading = ''
  const pattern = /^#+ (.+)$|^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm
  for (const { 1: title, 2: language, 3: name = '', 4: text = '', index } of page.matchAll(pattern)) {
    if (title) heading = title
    if (!language) continue
    const file = /`([\w.-]+)`:\n\n$/.exec(page.slice(0, index))?.[1] ?? name.trim()
    snippets.push({ language, file, heading, text })
  }
  return snippets
}
