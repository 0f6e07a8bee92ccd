import type { ComponentChildren } from 'preact'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Page as ListPage } from '#queries/records.ts'
import { type Fields, type Filled, filledWith } from '../forms/form.ts'
import type { Visit } from '../route.ts'
import { Filters } from './form.tsx'
import { Alert, Pager } from './parts.tsx'
import { type Column, Table } from './table.tsx'

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
