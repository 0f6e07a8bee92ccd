import { setImmediate as othersTurn } from 'node:timers/promises'
import { OfflineSaleInput } from '#commands/sales/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/sales/record-offline-sale.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues, printable } from '#domain/validation.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CommandResult } from '#ledger/write/unit-of-work.ts'
import type { RecordedSale, RefusedSale, SaleResult } from '#offline-sales/refused-sales.ts'
import type { OfflineSaleWarning } from '#projections/sales.ts'
import { refusalText, shownWarning, uploadMessage } from './upload-messages.ts'

/** The answer of an upload, `success` aside. */
export interface UploadAnswer {
  readonly message: string
  readonly summary: { total_processed: number; success_count: number; error_count: number }
  readonly results: readonly SaleResult[]
}

/** The sales of an upload, sorted into commands and those that are wrong already. */
export interface Upload {
  readonly sales: readonly unknown[]
  readonly invocations: readonly Invocation[]
  /** Position in the list → why it cannot be tried. */
  readonly invalid: ReadonlyMap<number, Refusal>
}

/** Sales that are validated at a stretch: one of 500 wrong items takes some milliseconds, in which nobody else is served. */
const STRETCH = 10

/** Validates each sale by itself. */
export async function readUpload(sales: readonly unknown[]): Promise<Upload> {
  const invocations: Invocation[] = []
  const wrong = new Map<number, Refusal>()
  for (const [position, sale] of sales.entries()) {
    const parsed = OfflineSaleInput.safeParse(sale)
    if (parsed.success) invocations.push(invoke(recordOfflineSale, parsed.data))
    else wrong.set(position, refuse('validation_failed', { ...describeIssues(parsed.error) }))
    if (position % STRETCH === STRETCH - 1) await othersTurn()
  }
  return { sales, invocations, invalid: wrong }
}

/** A result for each sale, in the order of the list. */
export function composeAnswer({ sales, invalid: wrong }: Upload, done: readonly CommandResult[]): UploadAnswer {
  const counts = { created: 0, duplicate: 0, error: 0 }
  let next = 0
  const results = sales.map((sale, position) => {
    const result = wrong.get(position) ?? done[next++]
    if (!result) throw new Error('an upload has a result for each valid sale')
    const shown = isRefusal(result) ? refusedResult(sale, result) : recordedResult(sale, result)
    counts[shown.status] += 1
    return shown
  })
  return {
    message: uploadMessage(counts),
    summary: {
      total_processed: sales.length,
      success_count: counts.created + counts.duplicate,
      error_count: counts.error,
    },
    results,
  }
}

function recordedResult(sale: unknown, { outcome, subject, remarks }: Exclude<CommandResult, Refusal>): RecordedSale {
  const { warnings } = remarks as { warnings: readonly OfflineSaleWarning[] }
  return {
    offline_id: offlineIdOf(sale),
    status: outcome === 'created' ? 'created' : 'duplicate',
    sale_id: parseSubject(subject).id,
    ...(warnings.length > 0 ? { warnings: warnings.map(shownWarning) } : {}),
  }
}

const refusedResult = (sale: unknown, refusal: Refusal): RefusedSale => ({
  offline_id: offlineIdOf(sale),
  status: 'error',
  sale_id: null,
  code: refusal.refused,
  ...refusalText(refusal),
})

function offlineIdOf(sale: unknown): string | null {
  const id = (sale as { offline_id?: unknown } | null)?.offline_id
  return typeof id === 'string' ? printable(id) : null
}
