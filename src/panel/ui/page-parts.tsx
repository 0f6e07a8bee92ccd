import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { formatQuantity } from '#domain/person-values.ts'
import { link } from '../page-context.ts'
import { asset } from '../panel-assets.ts'
import type { PageAction, RouteReach } from '../panel-route.ts'

/** Symbols in static/icons.svg. */
export type IconName =
  | 'home'
  | 'sale'
  | 'till'
  | 'bag'
  | 'box'
  | 'people'
  | 'truck'
  | 'in'
  | 'out'
  | 'plug'
  | 'shield'
  | 'gear'
  | 'menu'
  | 'more'
  | 'close'
  | 'back'
  | 'next'
  | 'user'
  | 'exit'
  | 'plus'
  | 'search'
  | 'filter'
  | 'download'
  | 'print'
  | 'check'
  | 'todo'
  | 'alert'
  | 'clock'
  | 'key'
  | 'chart'
  | 'sort'
  | 'camera'
  | 'brand'

/** A decorative icon beside a text of the same meaning; hidden from screen readers. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" aria-hidden="true">
    <use href={`${asset('icons.svg')}#${name}`} />
  </svg>
)

interface FigureProps {
  /** Name of the figure; the same wherever it stands (docs/requirements/figures.md). */
  readonly name: string
  /** What it is of, as `caixa/user/3`; absent where a page has the name once. */
  readonly of?: string | undefined
  /** The number alone, as the page shows it. */
  readonly children: ComponentChildren
}

/** A number that stands in more than one place: tests compare all of them by its mark. */
export const Figure = ({ name, of, children }: FigureProps) => (
  <span data-figure={name} data-figure-of={of}>
    {children}
  </span>
)

interface UnitsProps {
  readonly name?: string
  readonly of?: string | undefined
  readonly quantity: string
  readonly unit: string | null | undefined
}

/** A quantity with its unit, which is no part of the figure. */
export const FigureUnits = ({ name = 'quantidade', of, quantity, unit }: UnitsProps) => (
  <>
    <Figure name={name} of={of}>
      {formatQuantity(quantity)}
    </Figure>
    {unit && `\u00A0${unit}`}
  </>
)

/** Addresses that the current user may open. */
export const PermissionContext = createContext<RouteReach>(() => true)

/** Colour of a state. The text says the same, because colour alone is not accessible. */
export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain'

/** Displayed state of a record. */
export type StateMark = readonly [tone: Tone, text: string]

export const StateBadge = ({ state: [tone, text] }: { readonly state: StateMark }) => (
  <PanelBadge tone={tone}>{text}</PanelBadge>
)

/** What goes as it should is text; only exceptions are coloured. */
export const PanelBadge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) =>
  tone === 'bad' || tone === 'warn' ? <span class={`badge ${tone}`}>{children}</span> : <span>{children}</span>

export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
)

/** A long id of which only the beginning is visible; it is selected and copied as a whole. */
export const ShortId = ({ id }: { readonly id: string }) => (
  <code class="short" title={id}>
    {id}
  </code>
)

/** Replaces sent or received content of unknown format, which may contain personal data. */
export const WithheldContent = () => <p class="empty">Conteúdo retido: pode citar pessoas.</p>

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names with values; empty values and false are left out. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

interface CardProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly id?: string
  /** Right of the title: actions, a link to the complete list, chips of a period. */
  readonly aside?: ComponentChildren
}

/** A card that opens by its title: what few look for, as tables of codes and events. */
export const FoldedCard = ({ title, children }: Pick<CardProps, 'title' | 'children'>) => (
  <details class="card">
    <summary>
      <h2>{title}</h2>
    </summary>
    {children}
  </details>
)

export const Card = ({ title, children, id, aside }: CardProps) => (
  <section class="card" id={id}>
    {aside ? (
      <div class="card-head">
        <h2>{title}</h2>
        {aside}
      </div>
    ) : (
      <h2>{title}</h2>
    )}
    {children}
  </section>
)

type Parameters = globalThis.Parameters<typeof link>[1]

/** Change of a figure: `▲ 12,9% a mais`. */
export type StatChange = readonly [tone: 'good' | 'bad', arrow: '▲' | '▼', words: string]

export const FigureChange = ({ change: [tone, arrow, words] }: { readonly change: StatChange }) => (
  <span class={`change ${tone}`}>
    <span aria-hidden="true">{arrow} </span>
    {words}
  </span>
)

interface StatProps {
  readonly label: string
  readonly value: ComponentChildren
  /** List behind the figure, below the panel. */
  readonly to?: string
  readonly parameters?: Parameters
  /** Change against the period before. */
  readonly comparison?: StatChange | null
  /** Line below the figure. */
  readonly hint?: ComponentChildren
}

/** Row of `Stat` figures. */
export const Stats = ({ children }: { readonly children: ComponentChildren }) => <dl class="stats">{children}</dl>

/** A figure with its name; the whole box links to its list. */
export const Stat = ({ label, value, to, parameters, comparison, hint }: StatProps) => {
  const reaches = useContext(PermissionContext)
  const isLink = to !== undefined && reaches('GET', to)
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd class="figure">{isLink ? <a href={link(to, parameters)}>{value}</a> : value}</dd>
      {comparison && (
        <dd class="compared">
          <FigureChange change={comparison} />
        </dd>
      )}
      {hint && <dd class="hint">{hint}</dd>}
    </div>
  )
}

/** Row above a list: search, chips, more filters, file. */
export const Toolbar = ({ children }: { readonly children: ComponentChildren }) => <div class="toolbar">{children}</div>

interface Chip {
  readonly label: string
  readonly to: string
  readonly parameters?: Parameters
  readonly isCurrent?: boolean
}

/** Links that filter a list or choose a period. `label` is for screen readers. */
export const Chips = ({ label, chips }: { readonly label: string; readonly chips: readonly Chip[] }) => (
  <nav aria-label={label}>
    <ul class="chips">
      {chips.map(({ label, to, parameters, isCurrent }) => (
        <li key={label}>
          <a class="chip" href={link(to, parameters)} aria-current={isCurrent ? 'true' : undefined}>
            {label}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

interface NothingProps {
  readonly icon?: IconName
  readonly title: string
  readonly children?: ComponentChildren
  /** Next step; hidden if the user may not take it. */
  readonly action?: PageAction
}

/** Replaces an empty list: explains its purpose and offers the next step. */
export const Nothing = ({ icon, title, children, action }: NothingProps) => (
  <div class="nothing">
    {icon && <Icon name={icon} />}
    <p>
      <strong>{title}</strong>
    </p>
    {children && <p>{children}</p>}
    {action && (
      <ButtonLink to={action.to} parameters={action.parameters} isMain>
        {action.label}
      </ButtonLink>
    )}
  </div>
)

export interface StepItem {
  readonly label: string
  /** Below the panel. */
  readonly to?: string
  /** Address of a step outside the panel. */
  readonly href?: string
  readonly isDone: boolean
  readonly hint?: string
}

/** First steps of a company with their progress; nothing once all are done. */
export const Steps = ({ title, steps }: { readonly title: string; readonly steps: readonly StepItem[] }) => {
  const done = steps.filter(({ isDone }) => isDone).length
  return done === steps.length ? null : (
    <Card title={title} aside={<span class="hint">{`${done} de ${steps.length}`}</span>}>
      <ol class="steps">
        {steps.map(({ label, to = '/', href = link(to), isDone, hint }) => (
          <li key={label} class={isDone ? 'done' : undefined}>
            <Icon name={isDone ? 'check' : 'todo'} />
            <div>
              {isDone ? (
                <p>
                  {label} <span class="hidden">(feito)</span>
                </p>
              ) : (
                <p>
                  <a href={href}>{label}</a>
                </p>
              )}
              {hint && !isDone && <p class="hint">{hint}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}

interface ButtonLinkProps {
  readonly to: string
  readonly parameters?: Parameters
  readonly children: ComponentChildren
  readonly isMain?: boolean
}

/** Hidden if the user may not open it. */
export const ButtonLink = ({ to, parameters, children, isMain }: ButtonLinkProps) =>
  useContext(PermissionContext)('GET', to) ? (
    <a class={isMain ? 'button main' : 'button'} href={link(to, parameters)}>
      {children}
    </a>
  ) : null

interface SaleLinkProps {
  readonly id: number
  /** By default `Venda 9`. */
  readonly children?: ComponentChildren
}

/** A sale that may be another user's: text for who does not see all sales, as the list of returns. */
export const SaleLink = ({ id, children = `Venda ${id}` }: SaleLinkProps) =>
  useContext(PermissionContext)('GET', '/devolucoes') ? (
    <a href={link(`/vendas/${id}`)}>{children}</a>
  ) : (
    <span>{children}</span>
  )

interface SecretProps {
  readonly title: string
  readonly secret: string
  readonly children?: ComponentChildren
}

/** A secret, shown on this page only. */
export const Secret = ({ title, secret, children }: SecretProps) => (
  <Card title={title}>
    <p>
      <strong>Copie agora: por segurança, não será mostrado de novo.</strong>
    </p>
    <p>
      <code class="secret" id="segredo">
        {secret}
      </code>
    </p>
    <button type="button" data-copy={secret}>
      Copiar
    </button>
    {children}
  </Card>
)
