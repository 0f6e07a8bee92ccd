import { link } from './link.ts'
import { mayOpen } from './rights.ts'
import type { Access, Section, Visit } from './route.ts'
import { Icon, type IconName } from './ui/icon.tsx'

interface MenuEntry {
  readonly section: Section
  readonly label: string
  /** Below the panel. */
  readonly path: string
  readonly icon: IconName
  readonly access?: Access
}

interface MenuGroup {
  readonly title: string
  readonly entries: readonly MenuEntry[]
}

/** The menu, in order. What somebody cannot reach is not shown. */
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
      { section: 'payables', label: 'Contas a pagar', path: '/contas-a-pagar', icon: 'out' },
    ],
  },
  {
    title: 'Gestão',
    entries: [
      { section: 'integrations', label: 'Integrações', path: '/integracoes', icon: 'plug', access: 'owner' },
      { section: 'audit', label: 'Auditoria', path: '/auditoria', icon: 'shield', access: 'owner' },
      { section: 'settings', label: 'Configurações', path: '/configuracoes', icon: 'gear', access: 'owner' },
    ],
  },
]

/** What thumbs reach on a phone, beside the whole menu. */
const IN_BAR: readonly Section[] = ['start', 'sales', 'catalog', 'receivables']
const SHORT: Partial<Record<Section, string>> = { receivables: 'A receber' }

const entriesFor = ({ session }: Visit, entries: readonly MenuEntry[]): MenuEntry[] =>
  entries.filter(({ access }) => mayOpen(session.role, { ...(access && { access }), changes: false }))

interface MenuProps {
  readonly section: Section | null
  readonly visit: Visit
}

/** At the left of the page; on phones over it, where the address asks for it. */
export const Menu = ({ section, visit }: MenuProps) => (
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
                <a href={link(entry.path)} aria-current={entry.section === section ? 'page' : undefined}>
                  <Icon name={entry.icon} />
                  {entry.label}
                </a>
              </li>
            ))}
          </ul>
        ),
    )}
  </nav>
)

/** At the foot of phones. */
export const Bar = ({ section, visit }: MenuProps) => (
  <nav class="bar" aria-label="Atalhos">
    <ul>
      {entriesFor(
        visit,
        GROUPS.flatMap(({ entries }) => entries).filter((entry) => IN_BAR.includes(entry.section)),
      ).map((entry) => (
        <li key={entry.section}>
          <a href={link(entry.path)} aria-current={entry.section === section ? 'page' : undefined}>
            <Icon name={entry.icon} />
            {SHORT[entry.section] ?? entry.label}
          </a>
        </li>
      ))}
      <li>
        <a href="#menu">
          <Icon name="menu" />
          Menu
        </a>
      </li>
    </ul>
  </nav>
)
