import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { ShopBrand } from '#access/email.ts'
import { uploadedLogo } from '#domain/images.ts'
import { formatDateTimeSeconds, formatDay, MASKED } from '#domain/person-values.ts'
import { UNMASKED } from '#domain/rights.ts'
import { brandStyleUrl } from '#http/assets.ts'
import { MAX_PENDING, type PendingCounts } from '#queries/company-queries.ts'
import { link, maySee, PANEL } from './page-context.ts'
import { asset } from './panel-assets.ts'
import type { PageAccess, PageContext, PanelPage, Section } from './panel-route.ts'
import { SearchBox } from './ui/filters.tsx'
import { Head } from './ui/head.tsx'
import { Figure, Icon, type IconName, PermissionContext } from './ui/page-parts.tsx'
import { FLASHES, toFlashClass } from './words/message-words.ts'

interface MenuEntry {
  readonly section: Section
  readonly label: string
  /** Below the panel. */
  readonly path: string
  readonly icon: IconName
  readonly access?: PageAccess
}

interface MenuGroup {
  readonly title: string
  readonly entries: readonly MenuEntry[]
}

/** The menu, in order. Entries without permission are hidden. */
const GROUPS: readonly MenuGroup[] = [
  {
    title: 'Vender',
    entries: [
      { section: 'start', label: 'Início', path: '/', icon: 'home' },
      { section: 'sales', label: 'Vendas', path: '/vendas', icon: 'sale' },
      { section: 'tills', label: 'Caixas', path: '/caixas', icon: 'till' },
      { section: 'store', label: 'Loja online', path: '/loja', icon: 'bag' },
    ],
  },
  {
    title: 'Cadastros',
    entries: [
      { section: 'catalog', label: 'Catálogo', path: '/catalogo', icon: 'box' },
      { section: 'customers', label: 'Clientes', path: '/clientes', icon: 'people' },
      { section: 'suppliers', label: 'Fornecedores', path: '/fornecedores', icon: 'truck' },
    ],
  },
  {
    title: 'Dinheiro',
    entries: [
      { section: 'receivables', label: 'Contas a receber', path: '/contas-a-receber', icon: 'in' },
      { section: 'payables', label: 'Contas a pagar', path: '/contas-a-pagar', icon: 'out', access: 'see_payables' },
      { section: 'month', label: 'Fechamento do mês', path: '/fechamento-do-mes', icon: 'chart', access: UNMASKED },
    ],
  },
  {
    title: 'Gestão',
    entries: [
      { section: 'integrations', label: 'Integrações', path: '/integracoes', icon: 'plug', access: 'see_company' },
      { section: 'audit', label: 'Auditoria', path: '/auditoria', icon: 'shield', access: 'see_audit' },
      { section: 'settings', label: 'Configurações', path: '/configuracoes', icon: 'gear', access: 'see_company' },
    ],
  },
]

/** Entries of the bar on phones, besides the whole menu. */
const IN_BAR: Partial<Record<Section, string>> = {
  start: 'Início',
  sales: 'Vendas',
  catalog: 'Catálogo',
  receivables: 'A receber',
}

const entriesFor = ({ session }: PageContext, entries: readonly MenuEntry[]): MenuEntry[] =>
  entries.filter(({ access = 'everyone' }) => maySee(session.permissions, access))

interface MenuProps {
  readonly section: Section | null
  readonly visit: PageContext
  readonly waiting: PendingCounts | null
}

/** Singular and plural. */
type CountWords = readonly [one: string, several: string]

/** Names of the counts, for screen readers. */
const WAITS: Readonly<Record<keyof PendingCounts, CountWords>> = {
  tills: ['envio recusado', 'envios recusados'],
  receivables: ['conta vencida', 'contas vencidas'],
  payables: ['conta vencida', 'contas vencidas'],
  store: ['pedido a entregar ou com alerta', 'pedidos a entregar ou com alerta'],
  integrations: ['webhook com falha', 'webhooks com falha'],
}

interface CountProps {
  readonly count: number
  readonly what: CountWords
  /** Scope of the count as a figure. */
  readonly of: string
}

const Count = ({ count, what, of }: CountProps) =>
  count === 0 ? null : (
    <span class="count">
      {count < MAX_PENDING ? (
        <Figure name="pendentes" of={of}>
          {count}
        </Figure>
      ) : (
        `${MAX_PENDING - 1}+`
      )}
      <span class="hidden"> {what[count === 1 ? 0 : 1]}</span>
    </span>
  )

const countOf = (section: Section, waiting: PendingCounts | null): number =>
  waiting && section in waiting ? waiting[section as keyof PendingCounts] : 0

interface EntryProps extends Omit<MenuProps, 'visit'> {
  readonly entry: MenuEntry
  readonly place: 'menu' | 'barra'
}

const EntryLink = ({ entry, section, waiting, place }: EntryProps) => (
  <a href={link(entry.path)} aria-current={entry.section === section ? 'page' : undefined}>
    <Icon name={entry.icon} />
    {entry.label}
    <Count
      count={countOf(entry.section, waiting)}
      what={WAITS[entry.section as keyof PendingCounts]}
      of={`${place}/${entry.section}`}
    />
  </a>
)

/** Left of the page; on phones above it, if the address requests it. */
const Menu = ({ section, visit, waiting }: MenuProps) => (
  <nav class="menu" id="menu" aria-label="Menu">
    <a class="close" href="#conteudo">
      <Icon name="close" />
      Fechar
    </a>
    {GROUPS.map(({ title, entries }) => ({ title, shown: entriesFor(visit, entries) })).map(
      ({ title, shown }) =>
        shown.length > 0 && (
          <ul key={title} aria-label={title}>
            <li class="menu-group" aria-hidden="true">
              {title}
            </li>
            {shown.map((entry) => (
              <li key={entry.section}>
                <EntryLink entry={entry} section={section} waiting={waiting} place="menu" />
              </li>
            ))}
          </ul>
        ),
    )}
  </nav>
)

/** At the bottom on phones. */
const Bar = ({ section, visit, waiting }: MenuProps) => {
  const entries = entriesFor(
    visit,
    GROUPS.flatMap((group) => group.entries),
  )
  const shown = entries.filter((entry) => entry.section in IN_BAR)
  const elsewhere = entries
    .filter((entry) => !(entry.section in IN_BAR))
    .reduce((sum, entry) => sum + countOf(entry.section, waiting), 0)
  return (
    <nav class="bar" aria-label="Atalhos">
      <ul>
        {shown.map((entry) => (
          <li key={entry.section}>
            <EntryLink
              entry={{ ...entry, label: IN_BAR[entry.section] ?? entry.label }}
              section={section}
              waiting={waiting}
              place="barra"
            />
          </li>
        ))}
        <li>
          <a href="#menu">
            <Icon name="menu" />
            Menu
            <Count count={Math.min(elsewhere, MAX_PENDING)} what={['pendência', 'pendências']} of="barra" />
          </a>
        </li>
      </ul>
    </nav>
  )
}

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

/** The uploaded logo of a shop, or the service's mark. */
const Logo = ({ logoUrl }: Pick<ShopBrand, 'logoUrl'>) => {
  const logo = uploadedLogo(logoUrl)
  return logo === null ? <Icon name="brand" /> : <img class="logo" src={logo} alt="" />
}

/** A page without a menu, with the brand of its shop if it is known: before the login, or for an error. */
export const plainDocument = ({ title, body }: PanelPage, shop: ShopBrand | null): string =>
  document(
    { title: shop ? `${title} · ${shop.name}` : title, brandColor: shop?.color ?? null },
    <body class="plain">
      <main id="conteudo">
        <p class="brand">
          <Logo logoUrl={shop?.logoUrl ?? null} />
          {shop?.name ?? 'Tillbook'}
        </p>
        <h1>{title}</h1>
        {body}
      </main>
    </body>,
  )

/** A page behind a link, with the colour of its shop and without the service's name. */
export const sharedDocument = ({ title, body }: PanelPage, brandColor: string | null): string =>
  document(
    { title, brandColor },
    <body class="plain shared">
      <main id="conteudo">
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
          <p class={toFlashClass(visit.flash)} role="status">
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
      <Logo logoUrl={session.logoUrl} />
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
