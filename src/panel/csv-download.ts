import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { csvHeads, csvRow, neutralizeFormulas } from '#lib/spreadsheet-text.ts'
import type { Cell, PageContext, TableOf, TableRoute } from './route.ts'

/** Concurrent files: one per company and few in total, because each reads until the download ends. */
export const fileTurns = (): KeyedSemaphore => createKeyedSemaphore({ running: 4, runningOfKey: 1, waiting: 16 })

/** Time limit of a download: 1,000,000 sales over a slow line. */
const LONGEST_SENDING_MS = 30 * 60_000

/** Approximate size of a sent part, in UTF-16 units. */
const PART = 16_384

/** For Brazilian spreadsheets: decimal comma, and texts that are not evaluated as formulas. */
export function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return cell.decimal.replace('.', ',')
  return typeof cell === 'string' ? neutralizeFormulas(cell) : String(cell)
}

async function* partsOf({ heads, rows }: TableOf): AsyncGenerator<string> {
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
    await pipeline(partsOf(table), response, { signal })
  } catch (error) {
    if (!response.closed) visit.context.log('panel: CSV download failed', error, response.locals.requestId as string)
    response.destroy()
  }
}
