import type { ComponentChildren } from 'preact'
import { link } from '../link.ts'

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

export const ButtonLink = ({ to, parameters, children, isMain }: ButtonLinkProps) => (
  <a class={isMain ? 'button main' : 'button'} href={link(to, parameters)}>
    {children}
  </a>
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
