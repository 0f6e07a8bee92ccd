import { pipeline } from 'node:stream/promises'
import type { Request, RequestHandler, Response } from 'express'
import { formatLocal } from '#domain/person-values.ts'
import type { Metadata } from '#domain/record-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { csvHeads, csvRow, neutralizeFormulas } from '#domain/text.ts'
import { JSON_TYPE } from '#http/answers.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { makeSaleReceipt } from '#integrity/sale-receipts.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { Page } from '#queries/record-queries.ts'
import { type Fields, filterProblems } from './forms/panel-form.ts'
import type { ResponseTarget } from './panel-answer.tsx'
import type { Cell, PageContext, TableOf, TableRoute } from './panel-route.ts'
import { type ListRequest, readFilterValues, recordsOnPage } from './ui/panel-list.tsx'

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

/** File of a list: all records that match the filters, in the list's order, also for a past moment. */
export const listFile = <R>(list: ListFile<R>): TableRoute => ({
  section: list.section,
  path: `${list.path}.csv`,
  ...(list.asOf && { asOf: list.asOf }),
  async table(visit) {
    const filters = typeof list.filters === 'function' ? await list.filters(visit) : list.filters
    const problems = filterProblems(filters, visit.query)
    if (problems) return problems
    const asked = readFilterValues(visit, filters)
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

/** Concurrent files: one per company and few in total, because each reads until the download ends. */
export const fileTurns = (): KeyedSemaphore => createKeyedSemaphore({ running: 4, runningOfKey: 1, waiting: 16 })

/** Time limit of a download: 1,000,000 sales over a slow line. */
const LONGEST_SENDING_MS = 30 * 60_000

/** Approximate size of a sent part, in UTF-16 units. */
const PART = 16_384

/** For Brazilian spreadsheets: decimal comma, and texts that are not evaluated as formulas. */
export function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return 'decimal' in cell ? cell.decimal.replace('.', ',') : formatLocal(cell.local)
  return typeof cell === 'string' ? neutralizeFormulas(cell) : String(cell)
}

/** The text of a table's file, in parts. */
export async function* csvParts({ heads, rows }: TableOf): AsyncGenerator<string> {
  let part = csvHeads(heads.map(cellText))
  for await (const row of rows) {
    part += csvRow(row.map(cellText))
    if (part.length < PART) continue
    yield part
    part = ''
  }
  yield part
}

/** Closes the connection on a time-out or failure, or when `ended` aborts: the browser reports an incomplete download. */
export async function sendFile(
  route: TableRoute,
  visit: PageContext,
  request: Request,
  response: Response,
  ended: AbortSignal,
): Promise<void> {
  const { moment } = visit.readModel
  const table = await route.table(visit)
  if (isRefusal(table)) throw new Problem('validation_failed', table.details)
  const name = route.path
    .slice(1)
    .replace(/\.csv$/, '')
    .replaceAll('/', '-')
  response.setHeader('Content-Type', 'text/csv; charset=utf-8')
  response.setHeader('Content-Disposition', `attachment; filename="${name}${moment ? `-${moment.revision}` : ''}.csv"`)
  if (request.method === 'HEAD') return void response.end()
  const longest = AbortSignal.timeout(moment ? visit.context.reads.asOf.timeoutMs : LONGEST_SENDING_MS)
  const signal = AbortSignal.any([longest, ended])
  try {
    await pipeline(csvParts(table), response, { signal })
  } catch (error) {
    if (!response.closed)
      visit.context.log('panel: CSV download failed', error, { request_id: response.locals.requestId })
    response.destroy()
  }
}

/** Route path of a sale's receipt file, below the panel. */
export const RECEIPT_FILE_PATH = '/vendas/:id/recibo/arquivo'

export const receiptFilePath = (saleId: number): string => RECEIPT_FILE_PATH.replace(':id', String(saleId))

/** Sends the same file as `GET /sales/{id}/receipt`. */
export const receiptFileDownload =
  (): RequestHandler =>
  async ({ params }, response) => {
    const { context, primary } = (response.locals.place as ResponseTarget).visit
    const id = pathId(params.id as string)
    const made =
      id === null ? null : await makeSaleReceipt({ ...context.proofs, store: context.reads.store, reader: primary }, id)
    if (!made) throw new Problem('not_found')
    response.setHeader('Content-Type', JSON_TYPE)
    response.setHeader('Content-Disposition', `attachment; filename="recibo-venda-${id}.json"`)
    response.send(JSON.stringify(made.receipt))
  }
