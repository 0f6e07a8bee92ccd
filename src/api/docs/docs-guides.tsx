import MarkdownIt, { type Token } from 'markdown-it'
import { DocsLinks, frame } from './docs-page.tsx'
import { GUIDES, type GuideLanguage, isPortugueseOnly, PORTUGUESE_GUIDES, readGuide } from './guides.tsx'

/** Maps the target of a link; null if there is no such place for readers, who then see the text alone. */
type LinkTarget = (target: string) => string | null

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
function headingsOf(text: string): Heading[] {
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

const FOLDERS = { 'pt-BR': '/docs/guias', en: '/docs/guides' } as const

/** Page of a guide. */
export function guidePage(name: string, language: GuideLanguage): string {
  const text = readGuide(name, language)
  const [, title = ''] = /^# (.+)$/m.exec(text) ?? []
  const other = language === 'en' ? 'pt-BR' : 'en'
  return frame({
    title,
    lang: language,
    about: (
      <>
        <DocsLinks />
        {!isPortugueseOnly(name) && (
          <>
            {' '}
            ·{' '}
            <a href={`${FOLDERS[other]}/${name}`} hreflang={other} lang={other}>
              {other === 'en' ? 'English' : 'Português'}
            </a>
          </>
        )}
      </>
    ),
    menu: <HeadingMenu title={title} text={text} />,
    body: <GuideMarkdown text={text} linkTo={linkTarget(language)} />,
  })
}

const HeadingMenu = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <nav aria-label={title}>
    <ul>
      {headingsOf(text).map(({ text: heading, anchor }) => (
        <li key={anchor}>
          <a href={`#${anchor}`}>{heading.replaceAll('`', '')}</a>
        </li>
      ))}
    </ul>
  </nav>
)

/** A page of reference, as Markdown that the code gives. */
export interface ReferencePage {
  readonly path: string
  readonly lang: GuideLanguage
  readonly text: () => string
}

/** Page of a reference; its links are addresses of the service. */
export function referencePage({ lang, text }: ReferencePage): string {
  const markdown = text()
  const [, title = ''] = /^# (.+)$/m.exec(markdown) ?? []
  return frame({
    title,
    lang,
    about: <DocsLinks />,
    menu: <HeadingMenu title={title} text={markdown} />,
    body: <GuideMarkdown text={markdown} linkTo={(target) => target} />,
  })
}

/** Guides and contracts are served; other files of the repository are not. */
const linkTarget =
  (language: GuideLanguage): LinkTarget =>
  (target) => {
    if (/^(?:https?:|#|\/)/.test(target)) return target
    const [file = '', anchor] = target.split('#')
    const name = file.replace(/^.*\/|\.md$/g, '')
    if (name === 'openapi.json') return '/api/v1/openapi.json'
    if (name === 'openapi-sync.json') return '/api/openapi.json'
    const isOnlyOne = isPortugueseOnly(name)
    if (!isOnlyOne && !GUIDES.some((guide) => guide.name === name)) return null
    return `${FOLDERS[isOnlyOne ? 'pt-BR' : language]}/${name}${anchor === undefined ? '' : `#${anchor}`}`
  }

/** List of the guides. */
export const guidesPage = (language: GuideLanguage): string => {
  const isEnglish = language === 'en'
  return frame({
    title: isEnglish ? 'Guides' : 'Guias',
    lang: language,
    about: <DocsLinks />,
    menu: null,
    body: (
      <>
        <ul>
          {GUIDES.map(({ name, title, about, englishTitle }) => (
            <li key={name}>
              <a href={`${FOLDERS[language]}/${name}`}>{isEnglish ? englishTitle : title}</a>
              {!isEnglish && `: ${about}`}
            </li>
          ))}
          {PORTUGUESE_GUIDES.map(({ name, title, about }) => (
            <li key={name} lang="pt-BR">
              <a href={`${FOLDERS['pt-BR']}/${name}`}>{title}</a>: {about}
            </li>
          ))}
        </ul>
        <p>
          {isEnglish ? (
            <a href="/docs/guias" hreflang="pt-BR" lang="pt-BR">
              Em português
            </a>
          ) : (
            <a href="/docs/guides" hreflang="en" lang="en">
              In English
            </a>
          )}
        </p>
      </>
    ),
  })
}
