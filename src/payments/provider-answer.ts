import { MercadoPagoError } from 'mercadopago'
import * as z from 'zod'
import { MAX_CENTS, toCents } from '#domain/money.ts'
import { printable } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import {
  type CardOptions,
  type NewPayment,
  type PaymentDetails,
  type ProviderAccount,
  type ProviderCause,
  ProviderConflict,
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from './provider-port.ts'

/** Ids and references are numbers or strings, depending on the endpoint. */
const identifier = z.union([z.int().nonnegative(), boundedText(100)]).transform(String)

/** JSON number with at most two decimals, as cents. The shortest notation of a double is what was written. */
const amount = z.number().transform((value, context) => {
  const [whole = '', decimals = ''] = String(value).split('.')
  const isMoney = /^\d{1,10}$/.test(whole) && /^\d{0,2}$/.test(decimals)
  const cents = isMoney ? toCents(`${whole}.${decimals.padEnd(2, '0')}`) : Number.NaN
  if (cents <= MAX_CENTS) return cents
  context.addIssue('not an amount of money')
  return z.NEVER
})

/** Buyers open these links; invalid ones are dropped. */
const address = boundedText(2_000)
  .regex(/^https?:\/\//)
  .nullish()
  .catch(null)

const PICTURE_CHARACTERS = 64 * 1024
const picture = boundedText(PICTURE_CHARACTERS)
  .regex(/^[A-Za-z0-9+/]+=*$/)
  .nullish()
  .catch(null)

/** Identifier of a paid Pix, with other letters before it or not; what is none is dropped. */
const pixTransaction = z
  .object({ transaction_id: boundedText(100).nullish().catch(null), e2e_id: boundedText(100).nullish().catch(null) })
  .nullish()
  .catch(null)
const pixTold = z.object({
  point_of_interaction: z.object({ transaction_data: pixTransaction }).nullish().catch(null),
  transaction_details: pixTransaction,
})
const END_TO_END = /E\d{20}[A-Za-z0-9]{11}/

/** Payment details and card; unreadable parts are dropped. */
const detailed = z.object({
  point_of_interaction: z
    .object({
      transaction_data: z.object({ qr_code: boundedText(1_000), qr_code_base64: picture, ticket_url: address }),
    })
    .nullish()
    .catch(null),
  transaction_details: z
    .object({
      barcode: z.object({ content: boundedText(100) }),
      digitable_line: boundedText(100).nullish().catch(null),
      external_resource_url: address,
    })
    .nullish()
    .catch(null),
  card: z
    .object({ last_four_digits: boundedText(4).nullish().catch(null) })
    .nullish()
    .catch(null),
  installments: z.int().min(1).max(99).nullish().catch(null),
})

const refund = z.object({ id: identifier, amount, status: boundedText(60).nullish() })

/** Limit of listed refunds that are read. */
const MAX_REFUNDS = 500
const UNREADABLE = 'unreadable'

/** Fields of a payment that are used; others are ignored. */
const payment = detailed.extend({
  id: identifier,
  status: boundedText(100),
  status_detail: boundedText(200).nullish().catch(null),
  external_reference: identifier.nullish().catch(null),
  transaction_amount: amount,
  currency_id: boundedText(10).nullish(),
  live_mode: z.boolean().nullish(),
  transaction_amount_refunded: amount.nullish(),
  refunds: z.union([z.array(refund).max(MAX_REFUNDS).nullish(), z.literal(UNREADABLE)]).catch(UNREADABLE),
  date_of_expiration: z.iso.datetime({ offset: true }).nullish().catch(null),
  date_last_updated: z.iso.datetime({ offset: true }).nullish().catch(null),
  metadata: z.object({ attempt_id: z.uuid().nullable().catch(null) }).nullish(),
})

/** The response to a creation may omit amount and reference: the caller knows them. */
const made = payment.extend({ transaction_amount: amount.nullish() })

/** Search results may contain anything; only payments with the requested reference are parsed. */
const search = z.object({ results: z.array(z.looseObject({ external_reference: identifier.nullish().catch(null) })) })

/** Amounts are in reais; amounts in other currencies do not count. */
const CURRENCY = 'BRL'

/** `sandbox`: default mode of a payment that does not state it. */
function present(found: z.infer<typeof payment>, { sandbox }: Pick<ProviderAccount, 'sandbox'>): ProviderPayment {
  return {
    id: found.id,
    status: found.status,
    statusDetail: found.status_detail ?? null,
    externalReference: found.external_reference ?? null,
    attemptId: found.metadata?.attempt_id ?? null,
    amountCents: (found.currency_id ?? CURRENCY) === CURRENCY ? found.transaction_amount : null,
    liveMode: found.live_mode ?? !sandbox,
    refundedCents: found.transaction_amount_refunded ?? 0,
    refunds: found.refunds === UNREADABLE ? null : (found.refunds ?? []).map(refundPresented),
    expiresAt: found.date_of_expiration ? new Date(found.date_of_expiration).toISOString() : null,
    changedAt: found.date_last_updated ? new Date(found.date_last_updated).toISOString() : null,
    details: detailsOf(found),
  }
}

function detailsOf(found: z.infer<typeof detailed>): PaymentDetails {
  const { point_of_interaction, transaction_details, card, installments } = found
  const pix = point_of_interaction?.transaction_data
  if (pix) {
    const { qr_code, qr_code_base64 = null, ticket_url = null } = pix
    return { pix: { qr_code, qr_code_base64, ticket_url } }
  }
  if (transaction_details) {
    const { barcode, digitable_line = null, external_resource_url: ticket_url = null } = transaction_details
    return { boleto: { barcode: barcode.content, digitable_line, ticket_url } }
  }
  const last_four = card?.last_four_digits ?? null
  return last_four === null ? {} : { card: { last_four, installments: installments ?? null } }
}

/** The provider tells it of a paid Pix alone, in one of these places. */
function endToEndOf(answer: unknown): Pick<PaymentDetails, 'end_to_end_id'> {
  const { point_of_interaction, transaction_details } = pixTold.parse(answer)
  const { e2e_id, transaction_id } = point_of_interaction?.transaction_data ?? {}
  for (const text of [e2e_id, transaction_id, transaction_details?.transaction_id]) {
    const [end_to_end_id] = END_TO_END.exec(text ?? '') ?? []
    if (end_to_end_id !== undefined) return { end_to_end_id }
  }
  return {}
}

/** Statuses of a refund that happened, and of one that did not; any other is in process. */
const DONE: readonly string[] = ['approved', 'refunded', 'processed']
const UNDONE: readonly string[] = ['rejected', 'cancelled', 'failed']

/** Without a status it happened. */
function refundPresented({ id, amount: amountCents, status }: z.infer<typeof refund>): ProviderRefund {
  if (!status || DONE.includes(status)) return { id, amountCents, status: 'completed' }
  return { id, amountCents, status: UNDONE.includes(status) ? 'refused' : 'pending' }
}

/** Completed or pending refund. @throws z.ZodError for an unexpected response; ProviderRefused */
export function readRefund(answer: unknown): ProviderRefund {
  const made = refund.parse(answer)
  const presented = refundPresented(made)
  if (presented.status === 'refused')
    throw new ProviderRefused([{ code: made.status ?? 'rejected', description: 'refund' }])
  return presented
}

/** Every account supports some. */
const methods = z.array(z.object({ id: boundedText(60), status: boundedText(60).nullish() })).min(1)

/** Active payment methods. @throws z.ZodError for an unexpected response */
export const readMethods = (answer: unknown): string[] =>
  methods.parse(answer).flatMap(({ id, status }) => ((status ?? 'active') === 'active' ? [id] : []))

const cards = z.array(
  z.object({
    payment_method_id: boundedText(60),
    payer_costs: z.array(
      z.object({ installments: z.int().min(1).max(99), installment_amount: amount, total_amount: amount }),
    ),
  }),
)

/** Null if the provider does not know the card. @throws z.ZodError for an unexpected response */
export function readCardOptions(answer: unknown): CardOptions | null {
  const [card] = cards.parse(answer)
  if (!card) return null
  const installments = card.payer_costs.map(({ installments, installment_amount, total_amount }) => ({
    installments,
    installmentCents: installment_amount,
    totalCents: total_amount,
  }))
  return { brand: card.payment_method_id, installments }
}

/** @throws z.ZodError for an unexpected response */
export function readPayment(answer: unknown, account: ProviderAccount): ProviderPayment {
  const read = present(payment.parse(answer), account)
  return { ...read, details: { ...read.details, ...endToEndOf(answer) } }
}

/** @throws z.ZodError for an unexpected response */
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

/** Payments with this reference. @throws z.ZodError for an unexpected response */
export const readSearch = (answer: unknown, account: ProviderAccount, reference: string): ProviderPayment[] =>
  search
    .parse(answer)
    .results.filter(({ external_reference }) => external_reference === reference)
    .map((found) => readPayment(found, account))

/** Statuses for missing, wrong, or insufficient credentials. */
const CREDENTIALS: readonly number[] = [401, 403]

/** Transient statuses: time-out, conflict with a concurrent call, locked, failed dependency, too early, too many. */
const PASSING: readonly number[] = [408, 409, 423, 424, 425, 429]

/**
 * Causes that the operator has to remove, not the buyer: a commission with a token that was not granted by OAuth (2059),
 * accounts of different modes (2034), a token for the other mode (3), an account that may not receive (7).
 */
const CONFIGURATION: readonly string[] = ['2059', '2034', '3', '7', 'invalid_token', 'expired_token']
const TOKEN_ENDED = /(expired|invalid)[ _](access[ _])?token/i

const isConfiguration = ({ code, description }: ProviderCause): boolean =>
  CONFIGURATION.includes(code) || TOKEN_ENDED.test(description)

/** The log shows the message to the operator. */
const misconfigured = (status: number, causes: readonly ProviderCause[]): ProviderMisconfigured =>
  new ProviderMisconfigured(
    `provider responded ${status}: ${causes.map(({ code, description }) => `${code} ${description}`).join('; ')}`,
    causes,
  )

/** Reported causes of a refusal; the provider gives one or two. */
const MAX_CAUSES = 5

/** The idempotency key was used with other content, or is in use. */
const CONFLICT = 409

/**
 * Maps a failed call to an error of the port. Only refusals include the provider's texts, bounded and without
 * `secrets`. Errors never include the request.
 */
export function providerError(error: unknown, secrets: readonly string[]): Error {
  if (error instanceof ProviderUnavailable || error instanceof ProviderMisconfigured) return error
  if (error instanceof ProviderRefused) return error
  const status = getProviderStatus(error)
  if (CREDENTIALS.includes(status)) return new ProviderMisconfigured(`provider responded ${status}`)
  if (status === CONFLICT) return new ProviderConflict('provider responded 409')
  const isRefusal = status >= 400 && status < 500 && !PASSING.includes(status)
  if (isRefusal) {
    const causes = causesOf(error as MercadoPagoError, secrets)
    return causes.some(isConfiguration) ? misconfigured(status, causes) : new ProviderRefused(causes)
  }
  if (status > 0) return new ProviderUnavailable(`provider responded ${status}`)
  return new ProviderUnavailable(`provider gave no usable response: ${kindOf(error)}`)
}

/** HTTP status of an SDK error; 0 without a response. */
export const getProviderStatus = (error: unknown): number =>
  error instanceof MercadoPagoError ? Number(error.status) || 0 : 0

/** Shorter secrets, such as house numbers, are removed only as whole words. */
const LONG = 8

/** Ignores case. Longest first, so that a name is removed before its parts. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const longestFirst = [...secrets].sort((one, other) => other.length - one.length)
  return longestFirst.reduce((rest, secret) => {
    const literal = secret.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const pattern = secret.length < LONG ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal
    return rest.replace(new RegExp(pattern, 'giu'), '…')
  }, text)
}

function causesOf(error: MercadoPagoError, secrets: readonly string[]): ProviderCause[] {
  const safe = (value: unknown) => printable(withoutSecrets(String(value ?? ''), secrets))
  const causes: unknown = error.causes
  const listed = Array.isArray(causes) ? causes.filter((cause) => typeof cause === 'object' && cause !== null) : []
  if (listed.length === 0) return [{ code: safe(error.error || error.status), description: safe(error.message) }]
  return listed
    .slice(0, MAX_CAUSES)
    .map(({ code, description }) => ({ code: safe(code), description: safe(description) }))
}

/** Cause of a failed call, by Node's error names: never a text that could repeat the request. */
function kindOf(error: unknown): string {
  const causes: string[] = []
  let cause = error
  while (cause instanceof Error && causes.length < 5) {
    causes.push((cause as { code?: string }).code ?? cause.name)
    cause = (cause as { __cause__?: unknown }).__cause__ ?? cause.cause
  }
  return causes.join(' < ')
}
