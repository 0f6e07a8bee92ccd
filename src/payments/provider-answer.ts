import { z } from 'zod'
import { MAX_CENTS, toCents } from '../domain/money.ts'
import { text } from '../domain/text.ts'
import type { ProviderPayment } from './provider-port.ts'

/** Ids and references come as numbers or as strings, depending on the endpoint. */
const identifier = z.union([z.int().nonnegative(), text(100)]).transform(String)

/** A JSON number with at most two decimals, as cents; the shortest notation of a double is what was written. */
const amount = z.number().transform((value, context) => {
  const [whole = '', decimals = ''] = String(value).split('.')
  const isMoney = /^\d{1,10}$/.test(whole) && /^\d{0,2}$/.test(decimals)
  const cents = isMoney ? toCents(`${whole}.${decimals.padEnd(2, '0')}`) : Number.NaN
  if (cents <= MAX_CENTS) return cents
  context.addIssue('not an amount of money')
  return z.NEVER
})

/** What is read of a payment, as the provider's API shows it; the rest of its many fields is let be. */
const payment = z
  .object({
    id: identifier,
    status: text(100),
    status_detail: text(200).nullish().catch(null),
    external_reference: identifier.nullish().catch(null),
    transaction_amount: amount,
    live_mode: z.boolean(),
    metadata: z.object({ attempt_id: z.uuid().nullable().catch(null) }).nullish(),
  })
  .transform(
    (found): ProviderPayment => ({
      id: found.id,
      status: found.status,
      statusDetail: found.status_detail ?? null,
      externalReference: found.external_reference ?? null,
      attemptId: found.metadata?.attempt_id ?? null,
      amountCents: found.transaction_amount,
      liveMode: found.live_mode,
    }),
  )

const search = z.object({ results: z.array(payment) }).transform(({ results }) => results)

/** @throws z.ZodError when the answer is not what the provider's API describes. */
export const readPayment = (answer: unknown): ProviderPayment => payment.parse(answer)

/** @throws z.ZodError when the answer is not what the provider's API describes. */
export const readSearch = (answer: unknown): ProviderPayment[] => search.parse(answer)
