import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { uploadedLogo } from '#domain/images.ts'
import { formatDateTimeSeconds, formatDay, MASKED } from '#domain/person-values.ts'
import { brandStyleUrl } from '#http/assets.ts'
import { Bar, Menu, type MenuProps } from './menu.tsx'
import { link, PANEL } from './page-context.ts'
import { asset } from './panel-assets.ts'
import type { PageContext, PanelPage } from './panel-route.ts'
import { SearchBox } from './ui/filters.tsx'
import { Head } from './ui/head.tsx'
import { Icon, PermissionContext } from './ui/page-parts.tsx'
import { FLASHES, flashClassOf } from './words/message-words.ts'

/**
 * htmx must not evaluate text (`hx-on`, `js:`, filters of `hx-trigger`), add styles or call other hosts: the pages'
 * policy forbids it. Partial pages contain no scripts. Visited pages are not kept in the browser's storage, where the
 * next user of the computer could read them; going back reloads them.
 */
const HTMX = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
})

interface DocumentProps {
  readonly title: string
  /** `#rrggbb`, or null. */
  readonly brandColor: string | null
  readonly children: ComponentChildren
}

/** HTML document shared by all pages. */
const Document = ({ title, brandColor, children }: DocumentProps) => (
  <html lang="pt-BR">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="htmx-config" content={HTMX} />
      <title>{`${title} · Tillbook`}</title>
      <link rel="icon" href={asset('icon.svg')} type="image/svg+xml" />
      <link rel="preload" href={asset('inter.woff2')} as="font" type="font/woff2" crossorigin="anonymous" />
      <link rel="stylesheet" href={asset('font.css')} />
      <link rel="stylesheet" href={asset('base.css')} />
      <link rel="stylesheet" href={asset('panel.css')} />
      {brandColor !== null && <link rel="stylesheet" href={brandStyleUrl(`${PANEL}/assets`, brandColor)} />}
      <script src={asset('htmx.js')} defer />
      <script src={asset('panel.js')} defer />
    </head>
    {children}
  </html>
)

/** HTML cannot contain U+0000, which a redisplayed form may hold. It becomes U+FFFD, as in browsers. */
const document = (head: Omit<DocumentProps, 'children'>, body: ComponentChildren): string =>
  `<!doctype html>${renderToString(<Document {...head}>{body}</Document>)}`.replaceAll('\0', '\uFFFD')

/** A page without a menu: before the login, or for an error. */
export const plainDocument = ({ title, body }: PanelPage): string =>
  document(
    { title, brandColor: null },
    <body class="plain">
      <main id="conteudo">
        <p class="brand">
          <Icon name="brand" />
          Tillbook
        </p>
        <h1>{title}</h1>
        {body}
      </main>
    </body>,
  )

/** A page of the panel with menu, user, flash message, and a note if it shows the past. */
export const panelDocument = (page: PanelPage, { visit, ...menu }: MenuProps): string =>
  document(
    { title: page.title, brandColor: visit.session.brandColor },
    <body>
      <a class="skip" href="#conteudo">
        Ir para o conteúdo
      </a>
      <TestBar visit={visit} />
      <header class="top">
        <HomeLink visit={visit} />
        <span class="company">{visit.session.companyName}</span>
        <SearchBox visit={visit} />
        <UserMenu visit={visit} />
      </header>
      <Menu {...menu} visit={visit} />
      <main id="conteudo" tabIndex={-1}>
        {visit.flash && (
          <p class={flashClassOf(visit.flash)} role="status">
            {FLASHES[visit.flash]}
          </p>
        )}
        <InstallationNotice visit={visit} />
        <PastNotice visit={visit} />
        <MaskingNotice visit={visit} />
        <PermissionContext.Provider value={visit.reaches}>
          <Head page={page} visit={visit} />
          {page.body}
        </PermissionContext.Provider>
      </main>
      <Bar {...menu} visit={visit} />
    </body>,
  )

const HomeLink = ({ visit: { session } }: { readonly visit: PageContext }) => {
  const logo = uploadedLogo(session.logoUrl)
  return (
    <a class="brand" href={link('/')}>
      {logo === null ? <Icon name="brand" /> : <img class="logo" src={logo} alt="" />}
      <span class={logo === null ? undefined : 'hidden'}>Tillbook</span>
    </a>
  )
}

const UserMenu = ({ visit: { session } }: { readonly visit: PageContext }) => (
  <div class="user">
    <a class="account" href={link('/conta')}>
      <Icon name="user" />
      <span>{session.userName}</span>
    </a>
    <form method="post" action={link('/sair')}>
      <input type="hidden" name="_csrf" value={session.csrfToken} />
      <button type="submit" class="quiet">
        <Icon name="exit" />
        <span>Sair</span>
      </button>
    </form>
  </div>
)

const InstallationNotice = ({ visit: { context } }: { readonly visit: PageContext }) => {
  const { check: installationCheck } = context.installation
  if (installationCheck.inconsistency())
    return (
      <p class="past" role="note">
        <strong>Nada pode ser gravado agora.</strong> Os dados parecem ter sido restaurados de um backup. Quem opera o
        serviço precisa confirmar isso; até lá, tudo pode ser consultado.
      </p>
    )
  if (!installationCheck.isCopy()) return null
  return (
    <p class="past" role="note">
      <strong>Isto é uma cópia, para testes.</strong> Nada é enviado: nem webhooks, nem e-mails, nem pagamentos.
    </p>
  )
}
/** Shown on each page of a test company, so that it is not mistaken for the real one. */
const TestBar = ({ visit: { session } }: { readonly visit: PageContext }) =>
  session.isTest ? (
    <p class="strip" role="note">
      <strong>Ambiente de testes.</strong> Data simulada: {formatDay(session.today)}.
    </p>
  ) : null

/** Explains once what `(retido)` on a page means. */
const MaskingNotice = ({ visit: { session } }: { readonly visit: PageContext }) =>
  session.seesPersonalData ? null : (
    <p class="past" role="note">
      Dados pessoais retidos: nomes, documentos e contatos de pessoas aparecem como <em>{MASKED}</em> e não são
      encontrados pela busca.
    </p>
  )

const PastNotice = ({ visit }: { readonly visit: PageContext }) => {
  const { moment, timezone } = visit.readModel
  if (!moment) return null
  const when =
    'time' in moment.at ? `em ${formatDateTimeSeconds(moment.at.time, timezone)}` : `no evento nº ${moment.at.revision}`
  const { em: _, ...query } = visit.query
  return (
    <p class="past" role="note">
      <strong>Como era {when}</strong> (último evento até então: nº {moment.revision}).{' '}
      <a href={link(visit.path, query)}>Voltar ao presente</a>
    </p>
  )
}
