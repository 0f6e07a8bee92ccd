import { DocsLinks, frame } from './frame.tsx'
import { GuideMarkdown, headingsOf, type LinkTarget } from './guide-markdown.tsx'
import { GUIDES, type GuideLanguage, isPortugueseOnly, PORTUGUESE_GUIDES, readGuide } from './guides.ts'

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
