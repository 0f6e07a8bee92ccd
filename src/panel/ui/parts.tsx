import type { ComponentChildren } from 'preact'
import { link } from '../link.ts'

/** How a state is to be taken; said by the words too, never by the colour alone. */
export type Tone = 'good' | 'bad' | 'warn' | 'plain'

/** A state of a record, in words, and how it is to be taken. */
export type State = readonly [tone: Tone, text: string]

export const StateBadge = ({ state: [tone, text] }: { readonly state: State }) => <Badge tone={tone}>{text}</Badge>

export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** What went wrong, or stands in the way. */
export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
)

export type Fact = readonly [name: string, value: ComponentChildren]

/** Names with their values. What is null is shown as a dash. */
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

/** A part of a page with a heading of its own. */
export const Card = ({ title, children, id }: CardProps) => (
  <section class="card" id={id}>
    <h2>{title}</h2>
    {children}
  </section>
)

/** Buttons and links that do something with what the page shows. */
export const Actions = ({ children }: { readonly children: ComponentChildren }) => <div class="actions">{children}</div>

interface ButtonLinkProps {
  readonly to: string
  readonly parameters?: Parameters<typeof link>[1]
  readonly children: ComponentChildren
  readonly isMain?: boolean
}

/** A link to a page of the panel that looks like a button. */
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

/** Shows a secret, this once; no other page has it. */
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
