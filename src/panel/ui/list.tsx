import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Page as ListPage } from '#queries/records.ts'
import { type Fields, type Filled, filledWith } from '../forms/form.ts'
import { link } from '../link.ts'
import type { Visit } from '../route.ts'
import { Filters } from './form.tsx'
import { Alert } from './parts.tsx'

export interface Column<R> {
  readonly head: string
  readonly cell: (row: R) => ComponentChildren
  /** Numbers stand to the right. */
  readonly isNumber?: true
  /** Left out where there is no room for it. */
  readonly isExtra?: true
}

interface TableProps<R> {
  /** What the table is of, for those who do not see it. */
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  /** Said instead of an empty table. */
  readonly empty: string
}

const classOf = <R,>({ isNumber, isExtra }: Column<R>): string | undefined =>
  [isNumber && 'number', isExtra && 'extra'].filter(Boolean).join(' ') || undefined

/** A table that scrolls by itself where the screen is narrow; its first column names the row. */
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

/** The records of a page of a list; there are none in one that was refused, which lists without cursor and filters never are. */
export const recordsIn = <R,>(page: Pick<ListPage, 'data'> | Refusal): R[] =>
  isRefusal(page) ? [] : (JSON.parse(`[${page.data}]`) as R[])

/** A page of a list that an address asks for, and what its filters say. */
interface Listed<R> {
  readonly filled: Filled
  readonly rows: readonly R[]
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  readonly summary?: ComponentChildren
}

/** Finds the page of a list, and what may be said of all that its filters find. */
export type AskList = (
  filters: Readonly<Record<string, string>>,
) => Promise<(ListPage & { readonly summary?: ComponentChildren }) | Refusal>

/**
 * Asks for the page of a list that the address names. `ask` gets the filters that are filled in, with values as commands take
 * them, and the cursor, if there is one; what it refuses is told beside the filters.
 */
export async function listed<R>({ query, books }: Visit, filters: Fields, ask: AskList): Promise<Listed<R>> {
  const { cursor } = query
  const given = Object.entries(filters).flatMap(([name, { kind }]) => {
    const typed = query[name]?.trim()
    return typed ? [[name, String(kind.read(typed, books.timezone))]] : []
  })
  const found = await ask({ ...Object.fromEntries(given), ...(cursor && { cursor }) })
  if (isRefusal(found)) return { filled: filledWith(filters, query, found), rows: [], next: null }
  const { next, summary } = found
  return { filled: filledWith(filters, query), rows: recordsIn(found), next, summary }
}

interface ListProps<R> {
  readonly visit: Visit
  /** Of the part that the filters change. */
  readonly id?: string
  readonly filters: Fields
  readonly list: Listed<R>
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly empty: string
}

/** A list with its filters and the way on; what the filters change is replaced while one types, where scripts run. */
export function List<R>({ visit, id = 'lista', filters, list, caption, columns, empty }: ListProps<R>) {
  const { path, query, books } = visit
  const { filled, rows, next, summary } = list
  return (
    <>
      <Filters path={path} fields={filters} filled={filled} target={id} asOf={books.moment?.asked} />
      <div id={id}>
        {filled.problem && <Alert>{filled.problem}</Alert>}
        {summary}
        <Table caption={caption} columns={columns} rows={rows} empty={empty} />
        <Pager path={path} query={query} next={next} />
      </div>
    </>
  )
}

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

/** Lists what filters ask for, once they make sense; what does not is told as a command's input would be. */
export async function searched<F, T>(
  schema: z.ZodType<F>,
  asked: Readonly<Record<string, string>>,
  list: (filters: F) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  const parsed = schema.safeParse(asked)
  if (!parsed.success) return refuse('validation_failed', { ...describeIssues(parsed.error) })
  return list(parsed.data)
}
