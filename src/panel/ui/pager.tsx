import type { ComponentChildren } from 'preact'
import { link } from '../link.ts'
import type { PageContext } from '../route.ts'

interface PagerProps {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  readonly children?: ComponentChildren
}

/** Links to the next page and back to the first. */
export const Pager = ({ path, query: { cursor, feito: _, ...filters }, next, children }: PagerProps) =>
  next === null && cursor === undefined && filters.linhas === undefined ? null : (
    <nav class="pager" aria-label="Páginas">
      {cursor !== undefined && <a href={link(path, filters)}>« Primeira página</a>}
      {next !== null && (
        <a href={link(path, { ...filters, cursor: next })} rel="next">
          Próxima página »
        </a>
      )}
      {children}
    </nav>
  )

interface CardPagerProps {
  readonly visit: PageContext
  /** Id of the card, to which the links return. */
  readonly card: string
  /** Parameter of the cursor; a page has one for each of its lists. */
  readonly parameter: string
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  /** Name of the pages, and words of the links back to the first page and to the next one. */
  readonly words: readonly [pages: string, first: string, next: string]
}

/** Pager of a list that is a card on the page of a record. */
export function CardPager({ visit: { path, query }, card, parameter, next, words }: CardPagerProps) {
  const { [parameter]: cursor, ...others } = query
  const [pages, first, following] = words
  const to = (parameters: PageContext['query']) => `${link(path, parameters)}#${card}`
  if (!cursor && next === null) return null
  return (
    <nav class="pager" aria-label={pages}>
      {cursor && <a href={to(others)}>{`« ${first}`}</a>}
      {next !== null && (
        <a href={to({ ...others, [parameter]: next })} rel="next">
          {`${following} »`}
        </a>
      )}
    </nav>
  )
}
