import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { link } from '../link.ts'
import type { PageAction } from '../route.ts'
import { Icon, type IconName } from './icon.tsx'
import { PermissionContext } from './permission-context.ts'

/** The colour of a state. Its words say the same: colour alone would not reach everybody. */
export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain'

/** A state of a record, as it is named to people. */
export type StateMark = readonly [tone: Tone, text: string]

export const StateBadge = ({ state: [tone, text] }: { readonly state: StateMark }) => (
  <PanelBadge tone={tone}>{text}</PanelBadge>
)

export const PanelBadge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
)

/** In the place of what was sent or received, whose words nobody here knows: it may name persons. */
export const WithheldContent = () => <p class="empty">Conteúdo retido: pode citar pessoas.</p>

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names with their values; an empty value is shown as a dash. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value === null || value === undefined || value === '' ? '—' : value}</dd>
      </div>
    ))}
  </dl>
)

interface CardProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly id?: string
  /** At the right of its title: what can be done there, a link to all of what it shows a part of, chips of a period. */
  readonly aside?: ComponentChildren
}

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

interface StatProps {
  readonly label: string
  readonly value: ComponentChildren
  /** The list behind the figure, below the panel. */
  readonly to?: string
  readonly parameters?: Parameters
  /** How it stands to the period before: `+12 % que ontem`. */
  readonly comparison?: readonly [tone: 'good' | 'bad' | 'plain', text: string] | null
  /** A line below. */
  readonly hint?: ComponentChildren
}

/** Figures in a row, each a `Stat`. */
export const Stats = ({ children }: { readonly children: ComponentChildren }) => <dl class="stats">{children}</dl>

/** A figure with its name; all of it leads to the list behind it. */
export const Stat = ({ label, value, to, parameters, comparison, hint }: StatProps) => {
  const reaches = useContext(PermissionContext)
  const isLink = to !== undefined && reaches('GET', to)
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd class="figure">{isLink ? <a href={link(to, parameters)}>{value}</a> : value}</dd>
      {comparison && <dd class={`compared ${comparison[0]}`}>{comparison[1]}</dd>}
      {hint && <dd class="hint">{hint}</dd>}
    </div>
  )
}

/** One row above a list: search, chips, what filters more, file. */
export const Toolbar = ({ children }: { readonly children: ComponentChildren }) => <div class="toolbar">{children}</div>

interface Chip {
  readonly label: string
  readonly to: string
  readonly parameters?: Parameters
  readonly isCurrent?: boolean
  readonly count?: number | string
}

/** Links that narrow a list, or choose a period. `label` is for screen readers. */
export const Chips = ({ label, chips }: { readonly label: string; readonly chips: readonly Chip[] }) => (
  <nav aria-label={label}>
    <ul class="chips">
      {chips.map(({ label, to, parameters, isCurrent, count }) => (
        <li key={label}>
          <a class="chip" href={link(to, parameters)} aria-current={isCurrent ? 'true' : undefined}>
            {label}
            {count !== undefined && <small>{count}</small>}
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
  /** The next step; nothing for whoever may not take it. */
  readonly action?: PageAction
}

/** In the place of a list that has nothing in it yet: what would be here, and the next step. */
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
  readonly to: string
  readonly isDone: boolean
  readonly hint?: string
}

/** The first steps of a company, one after the other, with what is done; nothing when all are. */
export const Steps = ({ title, steps }: { readonly title: string; readonly steps: readonly StepItem[] }) => {
  const done = steps.filter(({ isDone }) => isDone).length
  return done === steps.length ? null : (
    <Card title={title} aside={<span class="hint">{`${done} de ${steps.length}`}</span>}>
      <ol class="steps">
        {steps.map(({ label, to, isDone, hint }) => (
          <li key={label} class={isDone ? 'done' : undefined}>
            <Icon name={isDone ? 'check' : 'todo'} />
            <div>
              {isDone ? (
                <p>
                  {label} <span class="hidden">(feito)</span>
                </p>
              ) : (
                <p>
                  <a href={link(to)}>{label}</a>
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

/** Nothing for whoever may not go there. */
export const ButtonLink = ({ to, parameters, children, isMain }: ButtonLinkProps) =>
  useContext(PermissionContext)('GET', to) ? (
    <a class={isMain ? 'button main' : 'button'} href={link(to, parameters)}>
      {children}
    </a>
  ) : null

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
