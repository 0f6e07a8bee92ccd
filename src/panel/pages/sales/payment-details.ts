import { formatTaxNumber } from '#domain/brazilian-format.ts'
import type { SalePaymentDetails } from '#domain/sale-payment.ts'
import type { SaleObject } from '#projections/sales.ts'
import { CARD_BRAND_NAMES } from '../../words/values.ts'

/** Card or Pix of a payment in one line; empty if unknown. */
export function paymentDetailsText({ card, end_to_end_id }: SalePaymentDetails): string {
  const { brand, installments, nsu, authorization, acquirer_cnpj, integrated } = card ?? {}
  return [
    brand && CARD_BRAND_NAMES[brand],
    installments && `${installments}×`,
    nsu && `NSU ${nsu}`,
    authorization && `autorização ${authorization}`,
    acquirer_cnpj && `credenciadora ${formatTaxNumber(acquirer_cnpj)}`,
    integrated === true && 'TEF',
    integrated === false && 'POS',
    end_to_end_id && `Pix ${end_to_end_id}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

type Value = (details: SalePaymentDetails) => string | number | null | undefined

const listed = (value: Value) => (sale: SaleObject) => {
  const values = sale.payments.flatMap((payment) => value(payment) ?? [])
  return values.length === 0 ? null : values.join(', ')
}

/** Columns of the sales file; several payments are separated by commas. */
export const PAYMENT_DETAIL_COLUMNS = [
  ['Bandeira do cartão', listed(({ card }) => card?.brand && CARD_BRAND_NAMES[card.brand])],
  ['NSU', listed(({ card }) => card?.nsu)],
  ['Autorização', listed(({ card }) => card?.authorization)],
  ['Parcelas', listed(({ card }) => card?.installments)],
  ['CNPJ da credenciadora', listed(({ card }) => card?.acquirer_cnpj && formatTaxNumber(card.acquirer_cnpj))],
  ['Identificador do Pix', listed(({ end_to_end_id }) => end_to_end_id)],
] as const
