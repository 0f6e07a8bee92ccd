import { MAX_PENDING, type PendingCounts } from '#queries/company-queries.ts'
import { link, maySee } from './page-context.ts'
import type { PageAccess, PageContext, Section } from './panel-route.ts'
import { Figure, Icon, type IconName } from './ui/page-parts.tsx'

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

export interface MenuProps {
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
  store: ['pedido com alerta', 'pedidos com alertas'],
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
export const Menu = ({ section, visit, waiting }: MenuProps) => (
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
export const Bar = ({ section, visit, waiting }: MenuProps) => {
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
