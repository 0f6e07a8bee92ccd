import type { ComponentChildren } from 'preact'
import { link } from '../link.ts'

/** How a state is to be taken; said by the words too, never by the colour alone. */
export type Tone = 'good' | 'bad' | 'warn' | 'plain'

export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** What went wrong, or stands in the way. */
export const Alert = ({ children }: { readonly children: ComponentChildren }) => (
  <p class="problem" role="alert">
    {children}
  </p>
)

/** Names with their values. What is null is shown as a dash. */
export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[]
}) => (
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

interface PagerProps {
  /** Of the list, below the panel. */
  readonly path: string
  /** The filters in force. */
  readonly query: Readonly<Record<string, string>>
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
}

/** The way on in a list, and back to its beginning. */
export const Pager = ({ path, query: { cursor, feito: _, ...filters }, next }: PagerProps) =>
  next === null && cursor === undefined ? null : (
    <nav class="pager" aria-label="Páginas">
      {cursor !== undefined && <a href={link(path, filters)}>« Primeira página</a>}
      {next !== null && (
        <a href={link(path, { ...filters, cursor: next })} rel="next">
          Próxima página »
        </a>
      )}
    </nav>
  )
