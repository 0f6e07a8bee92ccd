import * as z from 'zod'
import { addDays, addMonths, workingDayFrom } from './instant.ts'
import { fromCents, takePercent, toCents } from './money.ts'
import { bareTaxNumber, isCnpj } from './person-values.ts'
import { boundedText, limitedText, orNone } from './text.ts'

/**
 * Documented methods that settle an account; a settlement takes any other text too. Sales use the payment
 * types of each subscriber instead.
 */
export const PAYMENT_METHODS = [
  'cash',
  'pix',
  'credit_card',
  'debit_card',
  'bank_slip',
  'bank_transfer',
  'check',
  'other',
] as const

type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** Portuguese names. */
export const PAYMENT_METHOD_NAMES: Readonly<Record<PaymentMethod, string>> = {
  cash: 'Dinheiro',
  pix: 'Pix',
  credit_card: 'Cartão de crédito',
  debit_card: 'Cartão de débito',
  bank_slip: 'Boleto bancário',
  bank_transfer: 'Transferência bancária',
  check: 'Cheque',
  other: 'Outro',
}

/** Portuguese name of a method; other texts are names themselves. */
export const paymentMethodName = (method: string): string =>
  Object.hasOwn(PAYMENT_METHOD_NAMES, method) ? PAYMENT_METHOD_NAMES[method as PaymentMethod] : method

/** Terms of an acquirer in a payment type; rates in percent, null if there is none of its own. */
export interface AcquirerTerms {
  /** Of one instalment, and of as many as have no rate of their own. */
  readonly acquirer_rate: string | null
  readonly acquirer_rate_2_6: string | null
  /** Of 7 instalments and more. */
  readonly acquirer_rate_7_12: string | null
  /** Calendar days from one payment of the acquirer to the next; null if unknown. */
  readonly settles_in_days: number | null
}

/** One payment of the acquirer. */
export interface AcquirerPayout {
  readonly due_on: string
  readonly net: string
}

/** What the acquirer keeps of a payment, and how it pays the rest; without days if the term is unknown. */
export interface Acquired {
  readonly acquirer_fee: string
  /** The first day on which it pays. */
  readonly settles_on?: string
  readonly settlements?: AcquirerPayout[]
}

function rateOf(terms: AcquirerTerms, instalments: number): string | null {
  if (instalments >= 7) return terms.acquirer_rate_7_12 ?? terms.acquirer_rate
  return (instalments >= 2 ? terms.acquirer_rate_2_6 : null) ?? terms.acquirer_rate
}

/** Cents in equal parts; the first one takes the rest of the division. */
export function equalParts(cents: number, count: number): number[] {
  const each = Math.floor(cents / count)
  return Array.from({ length: count }, (_, n) => (n === 0 ? cents - each * (count - 1) : each))
}

/** The acquirer's part of a payment, and its payments of the rest on working days; null without an acquirer. */
export function toAcquiredPayment(
  terms: AcquirerTerms,
  { cents, instalments, daySold }: { readonly cents: number; readonly instalments: number; daySold(): string },
): Acquired | null {
  const { settles_in_days: days } = terms
  const hasRate = [terms.acquirer_rate, terms.acquirer_rate_2_6, terms.acquirer_rate_7_12].some((rate) => rate !== null)
  if (!hasRate && days === null) return null
  const rate = rateOf(terms, instalments)
  const fee = rate === null ? 0 : takePercent(cents, rate)
  const acquirer_fee = fromCents(fee)
  if (days === null) return { acquirer_fee }
  const day = daySold()
  const settlements = equalParts(cents - fee, instalments).map((net, n) => ({
    due_on: workingDayFrom(addDays(day, (n + 1) * days)),
    net: fromCents(net),
  }))
  return { acquirer_fee, settles_on: settlements[0]?.due_on as string, settlements }
}

/** Card brands of fiscal documents; `other` stands for the rest. */
export const CARD_BRANDS = ['visa', 'mastercard', 'elo', 'amex', 'hipercard', 'other'] as const

const CNPJ = 'deve ser um CNPJ válido, com ou sem pontuação'
const END_TO_END = 'deve ser o identificador do Pix (EndToEndId): até 35 letras e dígitos'

/** How a card was charged; each field is optional. */
const cardShape = {
  brand: z.enum(CARD_BRANDS).nullish(),
  nsu: orNone(boundedText(40)),
  /** cAut of fiscal documents. */
  authorization: orNone(boundedText(128)),
  installments: z.int().min(1).max(99).nullish(),
  acquirer_cnpj: orNone(limitedText(100, CNPJ).overwrite(bareTaxNumber).refine(isCnpj, CNPJ)),
  /** Whether the card terminal is integrated with the till (tpIntegra). */
  integrated: z.boolean().nullish(),
}

const endToEnd = orNone(
  limitedText(100, END_TO_END)
    .trim()
    .regex(/^[A-Za-z0-9]{1,35}$/, END_TO_END),
)

/** Electronic details of a payment, in requests of API v1. */
export const paymentDetailsShape = {
  card: z.strictObject(cardShape).meta({ id: 'SaleCardInput' }).nullish(),
  end_to_end_id: endToEnd,
}

/** The same in uploads of tills, where unknown fields are ignored. */
export const uploadedDetailsShape = {
  card: z.object(cardShape).meta({ id: 'OfflineCard' }).nullish(),
  end_to_end_id: endToEnd,
}

type DetailsInput = z.infer<z.ZodObject<typeof paymentDetailsShape>>

export interface PaymentCard {
  brand: (typeof CARD_BRANDS)[number] | null
  nsu: string | null
  authorization: string | null
  installments: number | null
  acquirer_cnpj: string | null
  integrated: boolean | null
}

/** Absent details have no key: a sale in cash costs nothing. */
export interface SalePaymentDetails {
  card?: PaymentCard
  end_to_end_id?: string
}

export function toPaymentDetails({ card, end_to_end_id }: DetailsInput): SalePaymentDetails {
  const details: SalePaymentDetails = {}
  if (card && Object.values(card).some((value) => value !== null && value !== undefined)) {
    const { brand = null, nsu = null, authorization = null, installments = null } = card
    const { acquirer_cnpj = null, integrated = null } = card
    details.card = { brand, nsu, authorization, installments, acquirer_cnpj, integrated }
  }
  if (end_to_end_id) details.end_to_end_id = end_to_end_id
  return details
}

/** The first detail that a payment in cash cannot have; null if there is none. */
export function detailRefusedOnCash(input: DetailsInput): { field: string; message: string } | null {
  const { card, end_to_end_id } = toPaymentDetails(input)
  if (card) return { field: 'card', message: 'não vale para pagamento em dinheiro' }
  return end_to_end_id ? { field: 'end_to_end_id', message: 'não vale para pagamento em dinheiro' } : null
}

/** `return`: goods of the credit sale came back, so that less is owed; no money moved. */
export const ACCOUNT_PAYMENT_KINDS = ['payment', 'return'] as const

/** A payment of an account, as decimal texts. */
export interface PaymentAmounts {
  /** The part of the account that it covers. */
  readonly amount: string
  readonly interest: string
  readonly fine: string
  readonly discount: string
  /** What was received beyond the open amount; only tills record it, as a fact. */
  readonly excess: string
}

/** What changed hands, in cents; negative if the discount exceeds the rest. */
export const sumReceived = ({ amount, interest, fine, discount, excess }: PaymentAmounts): number =>
  toCents(amount) + toCents(interest) + toCents(fine) - toCents(discount) + toCents(excess)

/** What each open amount gets of a sum, in the given order. What is left over covers none. */
export function shareInOrder(openCents: readonly number[], cents: number): number[] {
  let rest = cents
  return openCents.map((open) => {
    const share = Math.min(open, rest)
    rest -= share
    return share
  })
}

/** Instalments that add up to the total; the first one takes the rest of the division. */
export function instalmentAmounts(total: string, count: number): string[] {
  const cents = toCents(total)
  const each = Math.floor(cents / count)
  return Array.from({ length: count }, (_, n) => fromCents(n === 0 ? cents - each * (count - 1) : each))
}

/** Due dates of instalments: on the same day of each month, or every so many days. */
export const instalmentDates = (first: string, count: number, interval: 'month' | number): string[] =>
  Array.from({ length: count }, (_, n) => (interval === 'month' ? addMonths(first, n) : addDays(first, n * interval)))

export const ONLINE_METHODS = ['pix', 'card', 'boleto'] as const
export type OnlineMethod = (typeof ONLINE_METHODS)[number]

/** The provider's names of methods other than cards. */
export const PIX = 'pix'
export const BOLETO = 'bolbradesco'

/** Own method for the provider's method id; other names are card brands. */
export function toOnlineMethod(paymentMethodId: string): OnlineMethod {
  if (paymentMethodId === PIX) return 'pix'
  return paymentMethodId === BOLETO ? 'boleto' : 'card'
}

/** Bounds and defaults of the payment deadline, in minutes; cards are decided at once. */
export const EXPIRY_MINUTES: Readonly<Record<OnlineMethod, number | null>> = { pix: 60, boleto: 4_320, card: null }
/** A minute more than the provider's least, because a call takes time; a boleto is due in whole days. */
export const SHORTEST_EXPIRY_MINUTES = 31
export const SHORTEST_BOLETO_MINUTES = 1_440
/** A minute less than the provider's 30 days. */
export const LONGEST_EXPIRY_MINUTES = 43_199

/** Portuguese text for the provider's status detail; buyers see it too. */
const DETAILS: Readonly<Record<string, string>> = {
  accredited: 'Pagamento aprovado.',
  partially_refunded: 'Pagamento aprovado e estornado em parte.',
  pending_contingency: 'O pagamento está sendo processado.',
  pending_review_manual: 'O pagamento está em análise.',
  pending_waiting_payment: 'Aguardando o pagamento do comprador.',
  pending_waiting_transfer: 'Aguardando a transferência do comprador.',
  pending_challenge: 'Aguardando a confirmação do comprador no banco.',
  expired: 'O prazo de pagamento terminou.',
  by_collector: 'Cancelado pela loja.',
  by_payer: 'Cancelado pelo comprador.',
  refunded: 'Pagamento estornado.',
  bank_error: 'O banco recusou a transação.',
  cc_rejected_bad_filled_card_number: 'O número do cartão está incorreto.',
  cc_rejected_bad_filled_date: 'A validade do cartão está incorreta.',
  cc_rejected_bad_filled_other: 'Os dados do cartão estão incorretos.',
  cc_rejected_bad_filled_security_code: 'O código de segurança do cartão está incorreto.',
  cc_rejected_blacklist: 'O pagamento foi recusado.',
  cc_rejected_call_for_authorize: 'O comprador deve autorizar o pagamento com o emissor do cartão.',
  cc_rejected_card_disabled: 'O cartão está desativado: o comprador deve ligar para o emissor.',
  cc_rejected_card_error: 'O cartão não pôde ser processado.',
  cc_rejected_duplicated_payment: 'Já houve um pagamento com este valor: use outro cartão ou outro meio.',
  cc_rejected_high_risk: 'O pagamento foi recusado: use outro meio.',
  cc_rejected_insufficient_amount: 'O cartão não tem limite suficiente.',
  cc_rejected_invalid_installments: 'O cartão não aceita este número de parcelas.',
  cc_rejected_max_attempts: 'O limite de tentativas com este cartão foi atingido.',
  cc_rejected_other_reason: 'O emissor do cartão recusou o pagamento.',
}

/** Texts by status, for unknown details. */
const STATES: Readonly<Record<string, string>> = {
  pending: 'Aguardando o pagamento.',
  in_process: 'O pagamento está sendo processado.',
  authorized: 'O pagamento está autorizado e ainda não foi cobrado.',
  approved: 'Pagamento aprovado.',
  rejected: 'O pagamento foi recusado.',
  cancelled: 'O pagamento foi cancelado.',
  in_mediation: 'O comprador abriu uma reclamação.',
  refunded: 'Pagamento estornado.',
  charged_back: 'O comprador contestou o pagamento no cartão.',
}

/** Portuguese text of a payment's state; null if the provider's status is unknown. */
export function stateInPortuguese(providerStatus: string, detail: string | null): string | null {
  if (detail !== null && Object.hasOwn(DETAILS, detail)) return DETAILS[detail] as string
  return Object.hasOwn(STATES, providerStatus) ? (STATES[providerStatus] as string) : null
}

/** A line of a sale, in cents: quantity × price, and the line's own discount. */
export interface LineAmounts {
  readonly gross: number
  readonly discount: number
}

/** A line's total is less its own discount only (SALE-24). */
export const totalOfLine = ({ gross, discount }: LineAmounts): number => gross - discount

/** Sums of a sale in cents: total = subtotal - discount + delivery fee. The caller checks that no discount exceeds its base. */
export function sumSale(lines: readonly LineAmounts[], discount: number, deliveryFee: number) {
  const subtotal = lines.reduce((sum, line) => sum + totalOfLine(line), 0)
  return { subtotal, total: subtotal - discount + deliveryFee }
}

/**
 * Shares the discount of a whole sale over its lines, in cents, in proportion to their totals and by largest remainder:
 * the shares sum to the discount exactly, and none exceeds its line if the discount does not exceed the sale. Of equal
 * remainders the earlier line gets the cent. Every sum by line uses these shares, so that products and delivery sum to
 * the sales. Throws RangeError for negative or fractional input.
 */
export function shareDiscount(lineCents: readonly number[], discountCents: number): number[] {
  const [weights, discount] = [lineCents.map(natural), natural(discountCents)]
  const sum = weights.reduce((before, weight) => before + weight, 0n)
  if (sum === 0n || discount === 0n) return lineCents.map(() => 0)
  const shares = weights.map((weight) => (weight * discount) / sum)
  const remainders = weights.map((weight, line) => ({ line, remainder: (weight * discount) % sum }))
  const rest = Number(shares.reduce((left, share) => left - share, discount))
  remainders.sort((a, b) => (a.remainder === b.remainder ? a.line - b.line : a.remainder > b.remainder ? -1 : 1))
  for (const { line } of remainders.slice(0, rest)) shares[line] = (shares[line] ?? 0n) + 1n
  return shares.map(Number)
}

/** Quantity in thousandths and amount in cents, of a sold line or of a part of it. */
export interface LinePart {
  readonly thousandths: number
  readonly cents: number
}

/**
 * Amount of a part of a sold line: half up of what was paid for the line, never more than is left of it. The
 * last part takes what is left, so that all parts sum to the line. `before`: the earlier parts together.
 */
export function amountOfPart(line: LinePart, before: LinePart, thousandths: number): number {
  const left = Math.max(line.cents - before.cents, 0)
  if (before.thousandths + thousandths >= line.thousandths) return left
  const [numerator, denominator] = [natural(line.cents) * natural(thousandths), natural(line.thousandths)]
  return Math.min(left, Number((2n * numerator + denominator) / (2n * denominator)))
}

function natural(cents: number): bigint {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`not a non-negative amount of cents: ${cents}`)
  return BigInt(cents)
}
