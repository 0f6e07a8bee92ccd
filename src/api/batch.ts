import * as z from 'zod'
import type { CommandWarnings, Warning } from '#commands/record-commands.ts'
import { describeIssues, printable } from '#domain/refusals.ts'
import { formatProblem, type ProblemCode } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/idempotency.ts'
import type { ComposeAnswer } from '#ledger/write/unit-of-work.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import { withoutEmptyTexts } from './request.ts'

/** Maximum of items per batch (BATCH-2). */
export const MAX_BATCH_ITEMS = 500

/** Schema of a batch body. */
export const batchSchema = <T extends z.ZodType>(item: T) =>
  z.strictObject({ items: z.array(item).max(MAX_BATCH_ITEMS, `no máximo ${MAX_BATCH_ITEMS} itens por lote`) })

/** The items of a batch: commands, and errors of invalid items. */
export interface BatchInput {
  readonly items: readonly unknown[]
  readonly valid: readonly unknown[]
  /** Position in the submitted list → error. */
  readonly invalid: ReadonlyMap<number, BatchError>
}

interface BatchError {
  readonly index: number
  readonly external_id: string | null
  readonly code: ProblemCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Validates each item on its own: an unknown field fails only its item. */
export async function readBatch(companyId: number, items: readonly unknown[], schema: z.ZodType): Promise<BatchInput> {
  const slices = createTimeSlicer(companyId)
  const valid: unknown[] = []
  const invalid = new Map<number, BatchError>()
  for (const [index, item] of items.entries()) {
    if (index > 0) await slices()
    const parsed = schema.safeParse(withoutEmptyTexts(schema, item))
    if (parsed.success) valid.push(parsed.data)
    else invalid.set(index, errorOf(index, item, 'validation_failed', { ...describeIssues(parsed.error) }))
  }
  return { items, valid, invalid }
}

/**
 * Composes the whole body: an entry per failure, in the order of the list; warnings of successful items have
 * entries of their own.
 */
export const composeBatch =
  ({ items, valid, invalid }: BatchInput, warningsOf: (item: unknown) => Warning[] = () => []): ComposeAnswer =>
  (results) => {
    const data: string[] = []
    const errors: BatchError[] = []
    const warnings: (Warning & { index: number })[] = []
    let next = 0
    for (const [index, item] of items.entries()) {
      const known = invalid.get(index)
      const input = valid[next]
      const result = known ? null : results[next++]
      if (known) errors.push(known)
      else if (!result) throw new Error('a batch has a result for each valid item')
      else if (isRefusal(result)) errors.push(errorOf(index, item, result.refused, result.details))
      else {
        data.push(result.json)
        const { warnings: found = [] } = (result.remarks ?? {}) as Partial<CommandWarnings>
        for (const warning of [...warningsOf(input), ...found]) warnings.push({ index, ...warning })
      }
    }
    const counts = { succeeded: data.length, failed: errors.length, errors }
    const meta = warnings.length > 0 ? { ...counts, warnings } : counts
    return {
      outcome: errors.length === 0 ? 'updated' : data.length > 0 ? 'partial' : 'failed',
      json: `{"data":[${data.join(',')}],"meta":${JSON.stringify(meta)}}`,
    }
  }

/**
 * Results of a stored partial answer, one for each valid item: those that succeeded are answered as before, the others
 * run again.
 */
export const resumeBatch =
  ({ items, valid, invalid }: BatchInput, warningsOf: (item: unknown) => Warning[] = () => []) =>
  (json: string): (CommandResult | null)[] => {
    const { data, meta } = JSON.parse(json) as StoredBatch
    const failed = new Set(meta.errors.map(({ index }) => index))
    const records = data.values()
    const inputs = valid.values()
    return [...items.keys()].flatMap((index) => {
      if (invalid.has(index)) return []
      const ofInput = warningsOf(inputs.next().value).length
      if (failed.has(index)) return [null]
      const warnings = (meta.warnings ?? [])
        .filter((warning) => warning.index === index)
        .slice(ofInput)
        .map(({ index: _, ...warning }) => warning)
      return [{ outcome: 'updated', subject: '', remarks: { warnings }, json: JSON.stringify(records.next().value) }]
    })
  }

/** Text that `composeBatch` makes. */
interface StoredBatch {
  readonly data: readonly object[]
  readonly meta: {
    readonly errors: readonly BatchError[]
    readonly warnings?: readonly (Warning & { index: number })[]
  }
}

function errorOf(
  index: number,
  item: unknown,
  code: ProblemCode,
  details?: Readonly<Record<string, unknown>>,
): BatchError {
  const external = (item as { external_id?: unknown } | null)?.external_id
  const external_id = typeof external === 'string' ? printable(external) : null
  return { index, external_id, code, message: formatProblem(code, details), ...(details ? { details } : {}) }
}
