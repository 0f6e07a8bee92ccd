import type { Change } from '../changes.ts'
import { ListTable } from './list-table.tsx'

/** Fields with their old and new values. */
export const ChangeList = ({ caption, changes }: { readonly caption: string; readonly changes: readonly Change[] }) => (
  <ListTable
    caption={caption}
    rows={changes}
    empty="Nenhum campo mudou."
    columns={[
      { head: 'Campo', cell: ({ field }) => field },
      { head: 'Antes', cell: ({ before }) => before ?? '—' },
      { head: 'Depois', cell: ({ after }) => after ?? '—' },
    ]}
  />
)

/** Changes shown per event in a list of events. */
const MENTIONED = 6

/** Changes in a few lines. */
export const ChangesInBrief = ({ changes }: { readonly changes: readonly Change[] }) => (
  <ul class="brief">
    {changes.slice(0, MENTIONED).map(({ field, before, after }) => (
      <li key={field}>
        {field}: {before !== null && `${before} → `}
        {after ?? '—'}
      </li>
    ))}
    {changes.length > MENTIONED && <li>e mais {changes.length - MENTIONED}</li>}
  </ul>
)

/** Raw JSON, collapsed. */
export const Raw = ({ title, value }: { readonly title: string; readonly value: object }) => (
  <details>
    <summary>{title}</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
    <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
  </details>
)
