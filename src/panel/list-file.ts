import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { csvHeads, csvRow, neutralizeFormulas } from '#lib/spreadsheet-text.ts'
import type { Cell, PageContext, TableOf, TableRoute } from './route.ts'

/** Files that are made at a time: one of a company, and few in all, because each reads for as long as somebody takes it. */
export const fileTurns = (): KeyedSemaphore => createKeyedSemaphore({ running: 4, runningOfKey: 1, waiting: 16 })

/** Longest that one is made and taken: 1,000,000 sales over a slow line. */
const LONGEST_SENDING_MS = 30 * 60_000

/** Rows are sent in parts of about so many UTF-16 units. */
const PART = 16_384

/** As spreadsheets here read it: decimal comma, and texts that stay texts. */
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

/** Whoever takes too long, hangs up, or finds that something fails, is cut off: browsers tell that the file lacks its end. */
export async function sendFile(
  route: TableRoute,
  visit: PageContext,
  request: Request,
  response: Response,
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
  const signal = AbortSignal.timeout(moment ? visit.context.asOf.timeoutMs : LONGEST_SENDING_MS)
  try {
    await pipeline(Readable.from(partsOf(table), { highWaterMark: 1 }), response, { signal })
  } catch (error) {
    if (!response.closed) visit.context.log('a file could not be made', error, response.locals.requestId as string)
    response.destroy()
  }
}
