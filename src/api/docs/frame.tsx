import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'

interface FrameProps {
  readonly title: string
  /** Line below the title. */
  readonly about: ComponentChildren
  readonly menu: ComponentChildren
  readonly body: ComponentChildren
}

/** HTML of a page of `/docs`. */
export const frame = ({ title, about, menu, body }: FrameProps): string =>
  `<!doctype html>\n${renderToString(
    <html lang="pt-BR">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <a class="skip" href="#conteudo">
          Ir para o conteúdo
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
