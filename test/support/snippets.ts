import { readFileSync } from 'node:fs'

/** A fenced block of a Markdown file. */
export interface Snippet {
  readonly language: string
  /** File name in ```` ```ts client.ts ````; empty without one. */
  readonly file: string
  /** Heading of its section. */
  readonly heading: string
  readonly text: string
}

/** The fenced blocks of a Markdown file, in order. */
export function snippetsOf(file: string): Snippet[] {
  const snippets: Snippet[] = []
  let heading = ''
  const pattern = /^#+ (.+)$|^```(\w+) ?(.*)\n([\s\S]*?)^```$/gm
  for (const [, title, language, name = '', text = ''] of readFileSync(file, 'utf8').matchAll(pattern)) {
    if (title) heading = title
    else if (language) snippets.push({ language, file: name.trim(), heading, text })
  }
  return snippets
}
