import type { ComponentChildren } from 'preact'

export interface Column<R> {
  readonly head: string
  readonly cell: (row: R) => ComponentChildren
  /** Aligned to the right. */
  readonly isNumber?: true
  /** Hidden on narrow screens. */
  readonly isExtra?: true
  /** Value of `?ordem=` for this column; a leading minus reverses it. */
  readonly order?: string
}

/** False: not shown. */
export type OptionalColumn<R> = Column<R> | false

interface TableProps<R> {
  /** For screen readers. */
  readonly caption: string
  readonly columns: readonly OptionalColumn<R>[]
  readonly rows: readonly R[]
  /** Shown instead of an empty table. */
  readonly empty: string
  /** Rows are records with a page of their own: the link of the first column covers the row. */
  readonly isList?: boolean
  /** Renders the head of a sortable column. */
  readonly headOf?: (column: Column<R>) => ComponentChildren
  /** Sort direction of a column, for screen readers. */
  readonly sortOf?: (column: Column<R>) => 'ascending' | 'descending' | undefined
}

const classOf = <R,>({ isNumber, isExtra }: Column<R>): string | undefined =>
  [isNumber && 'number', isExtra && 'extra'].filter(Boolean).join(' ') || undefined

/**
 * A table whose rows are cards on phones; the first column is the row header. Of several numbers each cell names its
 * column, and of several texts those that are not of a record with a page of its own.
 */
export function ListTable<R>({ caption, columns: all, rows, empty, isList, headOf, sortOf }: TableProps<R>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const columns = all.filter((column) => column !== false)
  // On phones, numbers without a page of their own are shown all.
  const others = columns.slice(1).filter(({ isNumber, isExtra }) => !isExtra || (isNumber && !isList))
  const numbers = others.filter(({ isNumber }) => isNumber)
  const texts = others.filter(({ isNumber }) => !isNumber)
  const labelled = new Set([...(numbers.length > 1 ? numbers : []), ...(!isList && texts.length > 1 ? texts : [])])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" aria-label={caption} tabIndex={0}>
      <table class={isList ? 'rows list' : 'rows'}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={classOf(column)} aria-sort={sortOf?.(column)}>
                {headOf ? headOf(column) : column.head}
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
                  <td
                    key={column.head}
                    class={classOf(column)}
                    data-label={(labelled.has(column) && column.head) || undefined}
                  >
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
