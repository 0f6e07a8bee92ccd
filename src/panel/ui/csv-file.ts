import type { Metadata } from '#domain/metadata.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Page } from '#queries/records.ts'
import { type Fields, filterProblems } from '../forms/form.ts'
import type { Cell, PageContext, TableRoute } from '../route.ts'
import { filterValuesOf, type ListRequest, recordsOnPage } from './list.tsx'

/** Column of a list's file. */
export type FileColumn<R> = readonly [head: string, value: (row: R) => Cell]

/** Decimal of the read model as a cell; null if absent. */
export const amountCell = (amount: string | null): Cell => (amount === null ? null : { decimal: amount })

/** Metadata as one JSON text, which programs read back; a role without personal data gets the text that masks it. */
export const metadataCell = ({ metadata }: { readonly metadata: Metadata | string | null }): Cell =>
  typeof metadata === 'object' ? metadata && JSON.stringify(metadata) : metadata

interface ListFile<R> {
  /** Path of the list: `/vendas`. */
  readonly path: string
  readonly section: TableRoute['section']
  readonly asOf?: true
  readonly filters: Fields | ((visit: PageContext) => Fields | Promise<Fields>)
  columns(visit: PageContext): readonly FileColumn<R>[]
  page(visit: PageContext, filters: Readonly<Record<string, string>>, wanted: ListRequest): Promise<Page | Refusal>
  /** Adds data that the columns need to the records of a page. */
  complete?(visit: PageContext, rows: readonly R[]): Promise<readonly R[]>
}

/** Records per query. */
const OF_A_PAGE = 500

/** File of a list: all records that match the filters, in the list's order, also for a past moment (PANEL-143). */
export const listFile = <R>(list: ListFile<R>): TableRoute => ({
  section: list.section,
  path: `${list.path}.csv`,
  ...(list.asOf && { asOf: list.asOf }),
  async table(visit) {
    const filters = typeof list.filters === 'function' ? await list.filters(visit) : list.filters
    const problems = filterProblems(filters, visit.query)
    if (problems) return problems
    const asked = filterValuesOf(visit, filters)
    const wanted = { limit: OF_A_PAGE, order: visit.query.ordem, isWhole: true }
    const columns = list.columns(visit)
    const first = await list.page(visit, asked, wanted)
    if (isRefusal(first)) return first
    async function* rows() {
      for (let page = first as Page; ; ) {
        const found = recordsOnPage<R>(page)
        for (const row of (await list.complete?.(visit, found)) ?? found) yield columns.map(([, value]) => value(row))
        if (page.next === null) return
        const next = await list.page(visit, { ...asked, cursor: page.next }, wanted)
        if (isRefusal(next)) throw new Error(`list file: next page of ${list.path} was refused: ${next.refused}`)
        page = next
      }
    }
    return { heads: columns.map(([head]) => head), rows: rows() }
  },
})
