import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { link } from '../link.ts'
import { Reaching } from './reaching.ts'

/** The colour of a state. Its words say the same: colour alone would not reach everybody. */
export type Tone = 'good' | 'bad' | 'warn' | 'plain'

/** A state of a record, as it is named to people. */
export type State = readonly [tone: Tone, text: string]

export const StateBadge = ({ state: [tone, text] }: { readonly state: State }) => <Badge tone={tone}>{text}</Badge>

export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
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
}

export const Card = ({ title, children, id }: CardProps) => (
  <section class="card" id={id}>
    <h2>{title}</h2>
    {children}
  </section>
)

export const Actions = ({ children }: { readonly children: ComponentChildren }) => <div class="actions">{children}</div>

interface ButtonLinkProps {
  readonly to: string
  readonly parameters?: Parameters<typeof link>[1]
  readonly children: ComponentChildren
  readonly isMain?: boolean
}

/** Nothing for whoever may not go there. */
export const ButtonLink = ({ to, parameters, children, isMain }: ButtonLinkProps) =>
  useContext(Reaching)('GET', to) ? (
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
