import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Page as ListPage } from '#queries/records.ts'
import { type Fields, type Filled, filledWith, filterProblems } from '../forms/form.ts'
import { link } from '../link.ts'
import type { Visit } from '../route.ts'
import { FilterProblems, Filters } from './form.tsx'

export interface Column<R> {
  readonly head: string
  readonly cell: (row: R) => ComponentChildren
  /** Numbers stand to the right. */
  readonly isNumber?: true
  /** Hidden on narrow screens. */
  readonly isExtra?: true
}

interface TableProps<R> {
  /** For screen readers. */
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  /** Shown instead of an empty table. */
  readonly empty: string
}

const classOf = <R,>({ isNumber, isExtra }: Column<R>): string | undefined =>
  [isNumber && 'number', isExtra && 'extra'].filter(Boolean).join(' ') || undefined

/** A table that scrolls within itself on narrow screens; its first column names the row. */
export function Table<R>({ caption, columns, rows, empty }: TableProps<R>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={classOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((column, position) =>
                position === 0 ? (
                  <th key={column.head} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.head} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** The records of a page of a list. Only cursors and filters are ever refused, so that a refused page may count as empty. */
export const recordsIn = <R,>(page: Pick<ListPage, 'data'> | Refusal): R[] =>
  isRefusal(page) ? [] : (JSON.parse(`[${page.data}]`) as R[])

/** The page of a list that an address names, with its filters as they were typed. */
interface Listed<R> {
  readonly filled: Filled
  readonly rows: readonly R[]
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  readonly summary?: ComponentChildren
}

/** Reads the page of a list; `summary` is about everything that its filters find. */
export type AskList = (
  filters: Readonly<Record<string, string>>,
) => Promise<(ListPage & { readonly summary?: ComponentChildren }) | Refusal>

/**
 * Reads the page of a list that the address names. `ask` gets the filters that are filled in, with values as commands take
 * them, and the cursor, if there is one; what it refuses is shown beside the filters.
 */
export async function listed<R>({ query, readModel }: Visit, filters: Fields, ask: AskList): Promise<Listed<R>> {
  const { cursor } = query
  const given = Object.entries(filters).flatMap(([name, { kind }]) => {
    const typed = query[name]?.trim()
    return typed ? [[name, String(kind.read(typed, readModel.timezone))]] : []
  })
  const found =
    filterProblems(filters, query) ?? (await ask({ ...Object.fromEntries(given), ...(cursor && { cursor }) }))
  if (isRefusal(found)) return { filled: filledWith(filters, query, found), rows: [], next: null }
  const { next, summary } = found
  return { filled: filledWith(filters, query), rows: recordsIn(found), next, summary }
}

interface ListProps<R> {
  readonly visit: Visit
  /** Id of the element that filters replace. */
  readonly id?: string
  readonly filters: Fields
  readonly list: Listed<R>
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly empty: string
}

/** A list with its filters and pager. htmx replaces the list while somebody types. */
export function List<R>({ visit, id = 'lista', filters, list, caption, columns, empty }: ListProps<R>) {
  const { path, query, readModel } = visit
  const { filled, rows, next, summary } = list
  return (
    <>
      <Filters path={path} fields={filters} filled={filled} target={id} asOf={readModel.moment?.asked} />
      <div id={id}>
        <FilterProblems fields={filters} filled={filled} />
        {summary}
        <Table caption={caption} columns={columns} rows={rows} empty={empty} />
        <Pager path={path} query={query} next={next} />
      </div>
    </>
  )
}

interface PagerProps {
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
}

/** Links to the next page and back to the first. */
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

/** Validates the filters, then lists; filters that make no sense are refused as a command's input would be. */
export async function searched<F, T>(
  schema: z.ZodType<F>,
  asked: Readonly<Record<string, string>>,
  list: (filters: F) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  const parsed = schema.safeParse(asked)
  if (!parsed.success) return refuse('validation_failed', { ...describeIssues(parsed.error) })
  return list(parsed.data)
}
