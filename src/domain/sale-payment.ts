import * as z from 'zod'
import { orNone } from './codes.ts'
import { bareTaxNumber, isCnpj } from './tax-number.ts'
import { boundedText, limitedText } from './text.ts'

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

export function paymentDetailsOf({ card, end_to_end_id }: DetailsInput): SalePaymentDetails {
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
  const { card, end_to_end_id } = paymentDetailsOf(input)
  if (card) return { field: 'card', message: 'não vale para pagamento em dinheiro' }
  return end_to_end_id ? { field: 'end_to_end_id', message: 'não vale para pagamento em dinheiro' } : null
}
