import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'

interface FrameProps {
  readonly title: string
  /** Line below the title. */
  readonly about: ComponentChildren
  readonly menu: ComponentChildren
  readonly body: ComponentChildren
  readonly lang?: 'pt-BR' | 'en'
  /** Path of a script of the page. */
  readonly script?: string
}

const SKIP = { 'pt-BR': 'Ir para o conteúdo', en: 'Skip to content' }

/** HTML of a page of `/docs`. */
export const frame = ({ title, about, menu, body, lang = 'pt-BR', script }: FrameProps): string =>
  `<!doctype html>\n${renderToString(
    <html lang={lang}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/docs/style.css" />
        {script && <script src={script} defer />}
      </head>
      <body>
        <a class="skip" href="#conteudo">
          {SKIP[lang]}
        </a>
        <header>
          <h1>{title}</h1>
          <p>{about}</p>
        </header>
        {menu}
        <main id="conteudo">{body}</main>
      </body>
    </html>,
  )}\n`

/** Links to the other parts of the documentation, below the title of each page. */
export const DocsLinks = () => (
  <>
    <a href="/docs">Documentação</a> · <a href="/docs/guias">Guias</a> · <a href="/docs/webhooks">Webhooks</a> ·{' '}
    <a href="/docs/postman.json">Postman</a>
  </>
)
