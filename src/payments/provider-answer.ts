import { z } from 'zod'
import { MAX_CENTS, toCents } from '#domain/money.ts'
import { text } from '#domain/text.ts'
import type { NewPayment, ProviderAccount, ProviderPayment } from './provider-port.ts'

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
const payment = z.object({
  id: identifier,
  status: text(100),
  status_detail: text(200).nullish().catch(null),
  external_reference: identifier.nullish().catch(null),
  transaction_amount: amount,
  currency_id: text(10).nullish(),
  live_mode: z.boolean().nullish(),
  metadata: z.object({ attempt_id: z.uuid().nullable().catch(null) }).nullish(),
})

/** Who has just made a payment knows what it is over, and for which order: the answer may leave it out. */
const made = payment.extend({ transaction_amount: amount.nullish() })

/** Anything may be among what was found; only the payments that are asked for are read. */
const search = z.object({ results: z.array(z.looseObject({ external_reference: identifier.nullish().catch(null) })) })

/** Amounts are in reais; a payment that names another currency is over none of them. */
const CURRENCY = 'BRL'

/** `sandbox`: a payment that does not tell its mode has that of the account which it was asked with. */
function present(found: z.infer<typeof payment>, { sandbox }: Pick<ProviderAccount, 'sandbox'>): ProviderPayment {
  return {
    id: found.id,
    status: found.status,
    statusDetail: found.status_detail ?? null,
    externalReference: found.external_reference ?? null,
    attemptId: found.metadata?.attempt_id ?? null,
    amountCents: (found.currency_id ?? CURRENCY) === CURRENCY ? found.transaction_amount : null,
    liveMode: found.live_mode ?? !sandbox,
  }
}

/** @throws z.ZodError when the answer is not what the provider's API describes. */
export const readPayment = (answer: unknown, account: ProviderAccount): ProviderPayment =>
  present(payment.parse(answer), account)

/** @throws z.ZodError when the answer is not what the provider's API describes. */
export function readMade(
  answer: unknown,
  account: ProviderAccount,
  { amountCents, orderReference }: Pick<NewPayment, 'amountCents' | 'orderReference'>,
): ProviderPayment {
  const { transaction_amount, external_reference, ...found } = made.parse(answer)
  return present(
    {
      ...found,
      transaction_amount: transaction_amount ?? amountCents,
      external_reference: external_reference ?? orderReference,
    },
    account,
  )
}

/** The payments with this reference. @throws z.ZodError when the answer is not what the provider's API describes. */
export const readSearch = (answer: unknown, account: ProviderAccount, reference: string): ProviderPayment[] =>
  search
    .parse(answer)
    .results.filter(({ external_reference }) => external_reference === reference)
    .map((found) => readPayment(found, account))
