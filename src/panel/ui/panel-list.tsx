import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import type * as z from 'zod'
import { describeIssues, type Refusal, refuse } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { toText } from '#lib/fair-sharing.ts'
import type { Page as ListPage } from '#queries/record-queries.ts'
import { type Fields, type FilledForm, fillFromBody, filterProblems } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext } from '../panel-route.ts'
import { FilterChips, FilterProblems, Filters, PrintedFilters } from './filters.tsx'
import { type Column, ListTable, type OptionalColumn } from './list-table.tsx'
import { Chips, Icon, Nothing, PermissionContext, Toolbar } from './page-parts.tsx'

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

/** Records of a page. A refusal concerns cursors or filters only, so it counts as an empty page. */
export const recordsOnPage = <R,>(page: Pick<ListPage, 'data'> | Refusal): R[] =>
  isRefusal(page) ? [] : (JSON.parse(`[${toText(page.data)}]`) as R[])

/** A page of a list, with the filters as typed. */
export interface ListedRecords<R> {
  readonly filled: FilledForm
  readonly rows: readonly R[]
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null
  readonly summary?: ComponentChildren
}

/** Page size and order (`?ordem=`) of a list request. */
export interface ListRequest {
  readonly limit: number
  readonly order?: string | undefined
  /** All records, page by page, for a file. */
  readonly isWhole?: boolean
}

/** Reads a page of a list. */
type ReadList = (
  visit: PageContext,
  filters: Readonly<Record<string, string>>,
  wanted: ListRequest,
) => Promise<ListPage | Refusal>

/** Summarizes all records that match the filters of a page that was read. */
type SummarizeList = (
  visit: PageContext,
  filters: Readonly<Record<string, string>>,
) => Promise<ComponentChildren> | ComponentChildren

/** Rows per page; a hundred take about 50 KB. */
const SIZES = ['25', '50', '100']
const USUAL_SIZE = '50'

const sizeOf = ({ linhas = '' }: PageContext['query']): string => (SIZES.includes(linhas) ? linhas : USUAL_SIZE)

/** Values of the address's filters, as queries take them. */
export const readFilterValues = ({ query, readModel }: PageContext, filters: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filters).flatMap(([name, { kind }]) => {
      const typed = query[name]?.trim()
      return typed ? [[name, String(kind.read(typed, readModel.timezone))]] : []
    }),
  )

/**
 * Reads the page of a list that the address names. `read` receives the filters in use and the cursor; its refusal is
 * shown beside the filters.
 */
export async function readListPage<R>(
  visit: PageContext,
  filters: Fields,
  read: ReadList,
  summarize?: SummarizeList,
): Promise<ListedRecords<R>> {
  const { query } = visit
  const { cursor, ordem } = query
  const asked = { ...readFilterValues(visit, filters), ...(cursor && { cursor }) }
  const wanted = { limit: Number(sizeOf(query)), order: ordem }
  const found = filterProblems(filters, query) ?? (await read(visit, asked, wanted))
  if (isRefusal(found)) return { filled: fillFromBody(filters, query, found), rows: [], next: null }
  const summary = await summarize?.(visit, asked)
  return { filled: fillFromBody(filters, query), rows: recordsOnPage(found), next: found.next, summary }
}

/** Frequent filter with a chip that toggles it. */
export interface QuickFilter {
  readonly label: string
  readonly filters: Readonly<Record<string, string>>
}

/** What a list without records says. */
export interface Beginning {
  readonly title: string
  /** What will be there. */
  readonly text: string
  /** Leads to the first record; not on pages of the past. */
  readonly action?: PageAction | false
}

interface ListProps<R> {
  readonly visit: PageContext
  /** Id of the element that htmx replaces. */
  readonly id?: string
  readonly filters: Fields
  readonly list: ListedRecords<R>
  readonly caption: string
  readonly columns: readonly OptionalColumn<R>[]
  readonly empty: string
  readonly quick?: readonly QuickFilter[]
  /** Further chips beside the quick filters. */
  readonly chips?: ComponentChildren
  /** Default order, as in `?ordem=`. */
  readonly order?: string
  /** Shown instead of an empty list without filters: what will be there, and the first act. */
  readonly begin?: Beginning
  /** Path of the file with the filtered records, below the panel. */
  readonly file?: string
  /** Further files of the same records. */
  readonly moreFiles?: readonly { readonly label: string; readonly to: string }[]
}

/** A list with filters and pager. htmx replaces the list while the user types. */
export function List<R>(props: ListProps<R>) {
  const {
    visit,
    id = 'lista',
    filters,
    list,
    caption,
    columns,
    empty,
    quick = [],
    chips,
    order,
    begin,
    file,
    moreFiles = [],
  } = props
  const { path, query, readModel } = visit
  const { filled, rows, next, summary } = list
  const { cursor: _, ...here } = query
  const isFiltered = Object.keys(filters).some((name) => query[name]) || query.cursor !== undefined
  const kept = { em: readModel.moment?.asked, ordem: query.ordem, linhas: query.linhas }
  return (
    <div class="listing">
      <Filters path={path} fields={filters} filled={filled} target={id} kept={kept} />
      <div id={id}>
        <FilterProblems fields={filters} filled={filled} />
        {(quick.length > 0 || isFiltered) && (
          <Toolbar>
            {quick.length > 0 && (
              <Chips label="Filtros rápidos" chips={quick.map((one) => chipOf(one, path, here, filters))} />
            )}
            {chips}
            <FilterChips path={path} fields={filters} filled={filled} query={here} shown={namesInQuick(quick, here)} />
          </Toolbar>
        )}
        <PrintedFilters fields={filters} filled={filled} />
        {(summary || file) && (
          <div class="list-head">
            <div>{summary}</div>
            {file && <FileLink to={file} parameters={here} />}
            {moreFiles.map(({ label, to }) => (
              <FileLink key={to} to={to} parameters={here}>
                {label}
              </FileLink>
            ))}
          </div>
        )}
        {begin && !isFiltered && rows.length === 0 ? (
          <Nothing title={begin.title} action={(!readModel.moment && begin.action) || undefined}>
            {begin.text}
          </Nothing>
        ) : (
          <ListTable
            caption={caption}
            columns={columns}
            rows={rows}
            empty={empty}
            isList
            headOf={(column) => <SortHead column={column} path={path} query={here} order={query.ordem ?? order} />}
            sortOf={(column) => directionOf(column, query.ordem ?? order)}
          />
        )}
        <Pager path={path} query={query} next={next}>
          <Sizes path={path} query={here} />
        </Pager>
      </div>
    </div>
  )
}

interface FileLinkProps {
  readonly to: string
  readonly parameters: PageContext['query']
  readonly children?: ComponentChildren
}

/** Link to a file, by default to that of the filtered records; hidden if the user may not download it. */
export const FileLink = ({ to, parameters, children = 'Planilha (CSV)' }: FileLinkProps) =>
  useContext(PermissionContext)('GET', to) ? (
    <a class="file" href={link(to, parameters)} download>
      <Icon name="download" />
      <span>{children}</span>
    </a>
  ) : null

const isSet = ({ filters }: QuickFilter, query: PageContext['query']): boolean =>
  Object.entries(filters).every(([name, value]) => query[name] === value)

function chipOf(quick: QuickFilter, to: string, query: PageContext['query'], filters: Fields) {
  const { label, filters: set } = quick
  const isCurrent = isSet(quick, query)
  const others = Object.fromEntries(
    Object.entries(query).filter(([name]) => Object.hasOwn(filters, name) && !Object.hasOwn(set, name)),
  )
  const { em, ordem, linhas } = query
  return { label, to, parameters: { ...others, em, ordem, linhas, ...(!isCurrent && set) }, isCurrent }
}

/** Names of the filters that the chips of quick filters show as set. */
const namesInQuick = (quick: readonly QuickFilter[], query: PageContext['query']): ReadonlySet<string> =>
  new Set(quick.filter((one) => isSet(one, query)).flatMap(({ filters }) => Object.keys(filters)))

function directionOf<R>({ order }: Column<R>, current: string | undefined): 'ascending' | 'descending' | undefined {
  if (order === undefined || current?.replace(/^-/, '') !== order) return undefined
  return current.startsWith('-') ? 'descending' : 'ascending'
}

interface SortHeadProps<R> {
  readonly column: Column<R>
  readonly path: string
  readonly query: PageContext['query']
  /** Current order. */
  readonly order: string | undefined
}

/** Column header that sorts; a second click reverses the order. */
function SortHead<R>({ column, path, query, order }: SortHeadProps<R>) {
  if (column.order === undefined) return <>{column.head}</>
  const direction = directionOf(column, order)
  const ordem = direction === 'ascending' ? `-${column.order}` : column.order
  return (
    <a href={link(path, { ...query, ordem })}>
      {column.head}
      {direction && <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : ' ↓'}</span>}
    </a>
  )
}

/** Links for the number of rows per page. */
const Sizes = ({ path, query }: { readonly path: string; readonly query: PageContext['query'] }) => (
  <span class="sizes">
    Linhas:
    {SIZES.map((linhas) => (
      <a
        key={linhas}
        href={link(path, { ...query, linhas })}
        aria-current={linhas === sizeOf(query) ? 'true' : undefined}
      >
        {linhas}
      </a>
    ))}
  </span>
)

/** Lists by validated filters; invalid filters are refused like command input. */
export async function listFiltered<F, T>(
  schema: z.ZodType<F>,
  asked: Readonly<Record<string, string>>,
  list: (filters: F) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  const parsed = schema.safeParse(asked)
  if (!parsed.success) return refuse('validation_failed', { ...describeIssues(parsed.error) })
  return list(parsed.data)
}
