import MarkdownIt, { type Token } from 'markdown-it'

/** Maps the target of a link; null if there is no such place for readers, who then see the text alone. */
export type LinkTarget = (target: string) => string | null

interface Heading {
  readonly level: number
  readonly text: string
  readonly anchor: string
}

const markdown = new MarkdownIt({ html: false })
// What scrolls must be reachable by keyboard.
markdown.renderer.rules.fence = (tokens, at) =>
  `<pre tabindex="0"><code>${markdown.utils.escapeHtml(tokens[at]?.content ?? '')}</code></pre>\n`

const withoutComments = (text: string): string => text.replace(/<!--[\s\S]*?-->\n?/g, '')

/** Anchor of a heading, as renderers of Markdown make it. */
const anchorOfHeading = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/`|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** Parsed without its title, which is the h1 of the page; each heading has its anchor, and each link its address. */
function parse(text: string, linkTo: LinkTarget): Token[] {
  const tokens = markdown.parse(withoutComments(text), {})
  const title = tokens.findIndex(({ type, tag }) => type === 'heading_open' && tag === 'h1')
  if (title >= 0) tokens.splice(title, 3)
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') token.attrSet('id', anchorOfHeading(tokens[at + 1]?.content ?? ''))
    placeLinks(token.children ?? [], linkTo)
  }
  return tokens
}

/** A link without an address becomes its text and target. Links do not nest. */
function placeLinks(tokens: readonly Token[], linkTo: LinkTarget): void {
  let target = ''
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const wanted = String(token.attrGet('href'))
      const address = linkTo(wanted)
      target = address === null ? wanted.replace(/^(?:\.\.\/)+/, '') : ''
      if (address === null) token.type = 'text'
      else token.attrSet('href', address)
    } else if (token.type === 'link_close' && target) {
      Object.assign(token, { type: 'html_inline', content: ` (<code>${markdown.utils.escapeHtml(target)}</code>)` })
    }
  }
}

/** The headings of a guide below its title. */
export function headingsOf(text: string): Heading[] {
  const tokens = parse(text, (target) => target)
  return tokens.flatMap((token, at) => {
    if (token.type !== 'heading_open') return []
    const heading = tokens[at + 1]?.content ?? ''
    return [{ level: Number(token.tag.slice(1)), text: heading, anchor: String(token.attrGet('id')) }]
  })
}

/** A guide. HTML in it is shown as text. */
export function GuideMarkdown({ text, linkTo }: { readonly text: string; readonly linkTo: LinkTarget }) {
  const html = markdown.renderer.render(parse(text, linkTo), markdown.options, {})
  return <div dangerouslySetInnerHTML={{ __html: html }} />
}
