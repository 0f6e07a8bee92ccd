import { createHash } from 'node:crypto'
import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { JsonMoney, JsonQuantity } from '#domain/json-number.ts'
import { MAX_CENTS, toCents } from '#domain/money.ts'
import { MAX_THOUSANDTHS, toThousandths } from '#domain/quantity.ts'
import { boundedText, Id } from '#domain/text.ts'
import { OfflineId } from './offline-sale-input.ts'

const Line = z
  .object({ line: z.int().min(0), quantity: JsonQuantity, restock: z.boolean().nullish() })
  .meta({ id: 'OfflineReturnItem' })
const Refund = z.object({ payment_type_id: Id, amount: JsonMoney }).meta({ id: 'OfflineRefund' })

/** Return as sent by a till, amounts as decimal texts. It names its sale by the till's identifier or by the service's. */
export interface OfflineReturn {
  readonly offline_id: string
  readonly sale_offline_id: string | null
  readonly sale_id: number | null
  readonly reason: string
  /** UTC */
  readonly returned_at: string
  readonly customer_id: number | null
  readonly items: readonly { readonly line: number; readonly quantity: string; readonly restock: boolean }[]
  readonly refunds: readonly z.infer<typeof Refund>[]
  readonly cash_session_id: string | null
  /** User who is logged in at the till; not part of what the till sends. */
  readonly userId?: number
  /** From books that are older than the records here: its age is no sign of a wrong clock. Not sent by tills. */
  readonly isHistory?: true
}

/** Uploaded return (UP-100). Unknown fields are ignored: tills of many versions upload. */
export const OfflineReturnInput: z.ZodType<OfflineReturn> = z
  .object({
    offline_id: OfflineId,
    sale_offline_id: OfflineId.nullish(),
    sale_id: Id.nullish(),
    reason: boundedText(500),
    returned_at: Instant,
    customer_id: Id.nullish(),
    items: z.array(Line).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
    refunds: z.array(Refund).max(50, 'no máximo 50 pagamentos'),
    cash_session_id: OfflineId.nullish(),
  })
  .superRefine(({ sale_offline_id, sale_id, items, refunds }, context) => {
    if (items.reduce((sum, { quantity }) => sum + toThousandths(quantity), 0) > MAX_THOUSANDTHS)
      context.addIssue({ code: 'custom', path: ['items'], message: 'a quantidade total é grande demais' })
    if (refunds.reduce((sum, { amount }) => sum + toCents(amount), 0) > MAX_CENTS)
      context.addIssue({ code: 'custom', path: ['refunds'], message: 'o total é grande demais' })
    if ((typeof sale_offline_id === 'string') === (typeof sale_id === 'number'))
      context.addIssue({
        code: 'custom',
        path: ['sale_offline_id'],
        message: 'informe exatamente um entre sale_offline_id e sale_id',
      })
    const lines = new Set<number>()
    for (const [position, { line }] of items.entries()) {
      if (lines.has(line))
        context.addIssue({
          code: 'custom',
          path: ['items', position, 'line'],
          message: 'o item já está nesta devolução',
        })
      lines.add(line)
    }
  })
  .transform(
    ({ sale_offline_id = null, sale_id = null, customer_id = null, cash_session_id = null, items, ...sent }) => ({
      ...sent,
      sale_offline_id,
      sale_id,
      customer_id,
      cash_session_id,
      items: items.map(({ line, quantity, restock }) => ({ line, quantity, restock: restock ?? true })),
    }),
  )

/**
 * SHA-256 (hex) of a return by value, as `fingerprintOf` of sales. The reason and the session are not part of it, nor is
 * the sale, which has two names.
 */
export function returnFingerprintOf({ offline_id, returned_at, items, refunds }: OfflineReturn) {
  const lines = items.map(({ line, quantity, restock }) => [line, quantity, restock])
  const ways = refunds.map(({ payment_type_id, amount }) => [payment_type_id, amount])
  const known = [offline_id, returned_at, lines, ways]
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}
