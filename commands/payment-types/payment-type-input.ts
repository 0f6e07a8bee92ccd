import { z } from 'zod'
import { normalizePercentage, Percentage } from '#domain/percentage.ts'
import { text } from '#domain/text.ts'
import { PAYMENT_KINDS } from '#events/companies.ts'

/** Longest time to pay, in days: ten years. */
const MAX_DUE_DAYS = 3650

/** Fields of a payment type; each subscriber defines its own, also those of the kinds that only the point of sale may use. */
export const paymentTypeShape = {
  name: text(60),
  kind: z.enum(PAYMENT_KINDS),
  /** Kept with exactly two decimals. */
  fee_percentage: Percentage.transform(normalizePercentage),
  /** Days until a receivable made by a credit-on-account payment is due. */
  due_days: z.int().min(0).max(MAX_DUE_DAYS),
}
