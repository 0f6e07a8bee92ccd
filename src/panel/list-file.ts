import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { stringify } from 'csv-stringify'
import type { Request, Response } from 'express'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { createTurns, type Turns } from '#lib/turns.ts'
import type { Cell, TableRoute, Visit } from './route.ts'

/** Files that are made at a time: one of a company, and few in all, because each reads for as long as somebody takes it. */
export const fileTurns = (): Turns => createTurns({ running: 4, runningOfKey: 1, waiting: 16 })

/** Longest that one is made and taken: 1,000,000 sales over a slow line. */
const LONGEST_SENDING_MS = 30 * 60_000

/** A text that a spreadsheet would take for a formula, and work out on the machine of whoever opens it. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** As spreadsheets here read it: decimal comma, and texts that stay texts. */
export function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return cell.decimal.replace('.', ',')
  const text = String(cell)
  return typeof cell === 'string' && FORMULA.test(text) ? `'${text}` : text
}

/** Whoever takes too long, hangs up, or finds that something fails, is cut off: browsers tell that the file lacks its end. */
export async function sendFile(route: TableRoute, visit: Visit, request: Request, response: Response): Promise<void> {
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
  async function* lines(found: typeof table) {
    if (isRefusal(found)) return
    yield found.heads
    for await (const row of found.rows) yield row.map(cellText)
  }
  const csv = stringify({ bom: true, delimiter: ';', record_delimiter: 'windows' })
  const signal = AbortSignal.timeout(moment ? visit.context.asOf.timeoutMs : LONGEST_SENDING_MS)
  try {
    await pipeline(Readable.from(lines(table), { highWaterMark: 16 }), csv, response, { signal })
  } catch (error) {
    if (!response.closed) visit.context.log('a file could not be made', error, response.locals.requestId as string)
    response.destroy()
  }
}
