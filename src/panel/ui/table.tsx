import type { ComponentChildren } from 'preact'

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
