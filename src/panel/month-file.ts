import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { RequestHandler, Response } from 'express'
import yazl from 'yazl'
import { addDays, inZone, startOfDay } from '#domain/instant.ts'
import { fromBigCents } from '#domain/money.ts'
import { paymentMethodName } from '#domain/payment-rules.ts'
import { mayUnmasked } from '#domain/rights.ts'
import { Problem } from '#http/problems.ts'
import { type LedgerReads, lastInstantBefore, withPastCompany } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { SaleObject } from '#projections/sales.ts'
import {
  type ClosedMonth,
  listAccountMoney,
  loadMonth,
  PAYMENTS_OF_PAGE,
  type StockValue,
  valueStock,
} from '#queries/finance-summary.ts'
import { Reader } from '#queries/reader.ts'
import type { Page } from '#queries/record-queries.ts'
import { type GivenBack, listGivenBack } from '#queries/return-queries.ts'
import { listLatestSales } from '#queries/sale-queries.ts'
import { amountCell, csvParts } from './csv-files.ts'
import { failPast } from './page-context.ts'
import { documentName, stockName } from './pages/month-report.tsx'
import type { ResponseTarget } from './panel-answer.tsx'
import { whileAllowed } from './panel-live.tsx'
import type { Cell, PanelServices, TableOf } from './panel-route.ts'
import { wayName } from './ui/head.tsx'
import { recordsOnPage } from './ui/panel-list.tsx'
import { xlsxStream } from './xlsx-files.ts'

/** Path of the month's files, below the panel. */
export const MONTH_FILE_PATH = '/fechamento-do-mes/:mes/arquivo'

/** A month as its reader sees it. */
export interface MonthSource {
  readonly reader: Reader
  readonly month: ClosedMonth
  readonly timezone: string
}

/** Stock and costs at the end of a month that is over, otherwise at present. @throws Problem */
export async function loadMonthStock(
  reads: LedgerReads,
  { reader, month, timezone }: MonthSource,
): Promise<StockValue> {
  if (month.isRunning) return valueStock(reader)
  const time = await lastInstantBefore(reads.store, reader, startOfDay(addDays(month.to, 1), timezone))
  const found = await withPastCompany(reads, reader.companyId, { time }, ({ source }) =>
    valueStock(new Reader(reader.companyId, source, reader.sight)),
  ).catch(failPast)
  // Before its first event, and before its data was erased, a company has nothing.
  return isRefusal(found) ? { items: 0, value: '0.00', without_cost: 0 } : found
}

/** Files of few companies at once, and of one company one. */
export const monthTurns = (): KeyedSemaphore => createKeyedSemaphore({ running: 2, runningOfKey: 1, waiting: 16 })

const LONGEST_SENDING_MS = 30 * 60_000
const OF_A_PAGE = 500

interface MonthTable extends TableOf {
  readonly name: string
}

const inOrder = (rows: readonly (readonly Cell[])[]): AsyncIterable<readonly Cell[]> => Readable.from(rows)

/** The tables of a month: sums first, then the records that they are of. */
function tablesOf({ reader, month, timezone }: MonthSource, stock: StockValue): MonthTable[] {
  const { from, to, summary, days, ways, documents, questions, acquired } = month
  const { sales, receivables, payables } = summary
  const fees = acquired.reduce((sum, { fee_cents }) => sum + fee_cents, 0n)
  const resumo: readonly (readonly Cell[])[] = [
    ['Vendido', amountCell(sales.sold.amount)],
    ['Cancelado', amountCell(sales.cancelled.amount)],
    ['Devolvido', amountCell(sales.returned.amount)],
    ['Líquido', amountCell(sales.net)],
    ['Taxas das operadoras', amountCell(fromBigCents(fees))],
    ['Contas recebidas', amountCell(receivables.settled.amount)],
    ['Contas pagas', amountCell(payables.settled.amount)],
    ['A receber que vence no mês', amountCell(receivables.pending.amount)],
    ['A pagar que vence no mês', amountCell(payables.pending.amount)],
    [stockName(month), amountCell(stock.value)],
    ['Vendas sem nota', questions.without_document],
    ['Gavetas sem contagem', questions.uncounted_drawers],
    ['Vendas recusadas', questions.refused_sales],
  ]
  const sums = ['Vendas', 'Vendido', 'Cancelado', 'Devolvido', 'Líquido']
  const reconciled = ({
    sold,
    cancelled,
    returned,
    net,
  }: ClosedMonth['ways'][number] | ClosedMonth['days'][number]) => [
    sold.count,
    ...[sold.amount, cancelled.amount, returned.amount, net].map(amountCell),
  ]
  return [
    { name: 'resumo', heads: ['Figura', 'Valor'], rows: inOrder(resumo) },
    {
      name: 'dias',
      heads: ['Dia', ...sums],
      rows: inOrder(days.map((day) => [{ local: day.day }, ...reconciled(day)])),
    },
    { name: 'formas', heads: ['Forma', ...sums], rows: inOrder(ways.map((way) => [wayName(way), ...reconciled(way)])) },
    {
      name: 'documentos',
      heads: ['Documento', 'Vendas', 'Valor'],
      rows: inOrder(documents.map((each) => [documentName(each), each.count, amountCell(each.amount)])),
    },
    { name: 'vendas', heads: SALE_HEADS, rows: saleRows({ reader, timezone, sold_from: from, sold_to: to }) },
    {
      name: 'devolucoes',
      heads: ['Venda', 'Devolução', 'Pedido', 'Quando', 'Valor'],
      rows: returnRows({ reader, timezone, returned_from: from, returned_to: to }),
    },
    { name: 'recebimentos', heads: MONEY_HEADS, rows: moneyRows(reader, 'receivables', { from, to }) },
    { name: 'pagamentos', heads: MONEY_HEADS, rows: moneyRows(reader, 'payables', { from, to }) },
  ]
}

/** Records of all pages. @throws Error if a page is refused, which days cannot cause */
async function* recordsOf<R>(
  page: (cursor: string | undefined) => Promise<Page | { refused: string }>,
): AsyncGenerator<R> {
  for (let cursor: string | undefined; ; ) {
    const found = await page(cursor)
    if (isRefusal(found)) throw new Error(`month file: a page was refused: ${found.refused}`)
    yield* recordsOnPage<R>(found as Page)
    const { next } = found as Page
    if (next === null) return
    cursor = next
  }
}

const localCell = (instant: string, timezone: string): Cell => ({
  local: inZone(new Date(instant).toISOString(), timezone),
})

const SALE_HEADS = ['Venda', 'Vendida em', 'Situação', 'Total', 'Formas', 'Modelo', 'Número', 'Chave']

async function* saleRows({
  reader,
  ...days
}: { readonly reader: Reader } & Omit<Parameters<typeof listLatestSales>[1], 'limit'>): AsyncGenerator<Cell[]> {
  const page = (cursor?: string) => listLatestSales(reader, { ...days, limit: OF_A_PAGE, isWhole: true, cursor })
  for await (const sale of recordsOf<SaleObject>(page as never)) {
    const { id, sold_at, status, total, payments, fiscal_document: document } = sale
    yield [
      id,
      localCell(sold_at, days.timezone),
      status === 'completed' ? 'Concluída' : 'Cancelada',
      amountCell(total),
      payments.map(({ name }) => name).join(', '),
      ...[document?.model, document?.number, document?.access_key],
    ]
  }
}

async function* returnRows({
  reader,
  ...days
}: { readonly reader: Reader } & Omit<Parameters<typeof listGivenBack>[1], 'limit'>): AsyncGenerator<Cell[]> {
  const page = (cursor?: string) => listGivenBack(reader, { ...days, limit: OF_A_PAGE, cursor })
  for await (const back of recordsOf<GivenBack>(page as never))
    yield [
      ...[back.sale_id, back.return?.id, back.order_id],
      localCell(back.returned_at, days.timezone),
      amountCell(back.amount),
    ]
}

const MONEY_HEADS = ['Conta', 'Descrição', 'Dia', 'Forma', 'Valor']

async function* moneyRows(
  reader: Reader,
  side: Parameters<typeof listAccountMoney>[1],
  days: { readonly from: string; readonly to: string },
): AsyncGenerator<Cell[]> {
  for (let skip = 0; ; skip += PAYMENTS_OF_PAGE) {
    const found = await listAccountMoney(reader, side, { ...days, skip })
    for (const { account_id, description, paid_on, payment_method: method, amount } of found)
      yield [account_id, description, { local: paid_on }, method && paymentMethodName(method), amountCell(amount)]
    if (found.length < PAYMENTS_OF_PAGE) return
  }
}

/** A ZIP with a CSV file and a workbook of each table. */
export async function sendMonthFile(
  source: MonthSource,
  stock: StockValue,
  now: string,
  response: Response,
  ended?: AbortSignal,
): Promise<void> {
  const zip = new yazl.ZipFile()
  const out = zip.outputStream as Readable
  const mtime = new Date(now)
  const add = (name: string, open: () => Readable, compress: boolean) =>
    zip.addReadStreamLazy(name, { mtime, mode: 0o100644, compress }, (begin) => {
      const content = open()
      content.once('error', (error) => out.destroy(error))
      begin(null, content)
    })
  for (const table of tablesOf(source, stock))
    add(`${table.name}.csv`, () => Readable.from(csvParts(table), { objectMode: false }), true)
  // Read again, because rows pass once.
  for (const table of tablesOf(source, stock))
    add(`${table.name}.xlsx`, () => xlsxStream(table.name, table, mtime), false)
  zip.end()
  response.setHeader('Content-Type', 'application/zip')
  response.setHeader('Content-Disposition', `attachment; filename="fechamento-${source.month.month}.zip"`)
  const longest = AbortSignal.timeout(LONGEST_SENDING_MS)
  await pipeline(out, response, { signal: ended ? AbortSignal.any([longest, ended]) : longest })
}

/** Sends the month's files to users who see all of the company. */
export function monthDownload(context: PanelServices): RequestHandler {
  const turns = monthTurns()
  return async (request, response) => {
    const { visit } = response.locals.place as ResponseTarget
    const { session, readModel } = visit
    if (!mayUnmasked(session.permissions)) throw new Problem('owners_only')
    const { reader, timezone } = readModel
    const month = await loadMonth(reader, String(request.params.mes), readModel)
    if (!month) throw new Problem('not_found')
    const source = { reader, month, timezone }
    const stock = await loadMonthStock(context.reads, source)
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const send = async (ended: AbortSignal) => {
      try {
        await sendMonthFile(source, stock, new Date().toISOString(), response, ended)
      } catch (error) {
        if (!response.closed)
          context.log('panel: month download failed', error, { request_id: response.locals.requestId })
        response.destroy()
      }
    }
    await turns.run(session.companyId, () => whileAllowed(visit, request, response, send), gone.signal)
  }
}
