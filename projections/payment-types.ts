import type { AcquirerTerms } from '#domain/payment-rules.ts'
import { nameKey } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/company-events.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'

/** Payment type of sales as the API returns it. */
export type PaymentTypeObject = Omit<DataOf<'PaymentTypeCreated'>, keyof AcquirerTerms | 'acquirer_fee_refunded'> &
  AcquirerTerms & {
    is_cash: boolean
    accepts_api: boolean
    /** Why the API refuses it; absent if it does not. */
    reason?: string
    /** Whether the acquirer gives its fee back with what is given back on the card. */
    acquirer_fee_refunded: boolean
  }

export interface PaymentTypeRow extends ChangedFields {
  company_id: number
  id: number
  name_key: string
  doc: PaymentTypeObject
}

const paymentTypes = table<PaymentTypeRow>('payment_types', {
  about: 'Payment types of companies with their terms.',
  columns: { company_id: 'bigint', id: 'bigint', name_key: 'text', ...changedColumns, doc: 'json' },
  keys: { pk: ['company_id', 'id'], name: ['company_id', 'name_key'] },
  past: { id: 'id', without: ['name_key'] },
})

export const paymentTypeById = (id: number) => byPk(paymentTypes, id)
export const paymentTypeByName = (name: string) => byKey(paymentTypes, 'name', nameKey(name))

/** Kinds reserved for the point of sale, with the reason given to integrators. */
const INTERNAL_REASONS: Partial<Record<PaymentKind, string>> = {
  credit_account: 'Venda a prazo (crediário ou convênio): registre o valor como conta a receber.',
  exchange_credit: 'Crédito de troca é gerado somente pelo ponto de venda.',
  promotion: 'Desconto de promoção é gerado somente pelo ponto de venda.',
  online: 'Pedido da loja online: o serviço registra a venda junto com o pagamento.',
  cashback: 'Resgate de cashback é gerado somente pelo ponto de venda.',
}

function paymentTypeObject({
  id,
  name,
  kind,
  fee_percentage,
  due_days,
  acquirer_rate = null,
  acquirer_rate_2_6 = null,
  acquirer_rate_7_12 = null,
  acquirer_fee_refunded = false,
  settles_in_days = null,
}: DataOf<'PaymentTypeCreated'>): PaymentTypeObject {
  const reason = INTERNAL_REASONS[kind]
  return {
    id,
    name,
    kind,
    is_cash: kind === 'cash',
    fee_percentage,
    accepts_api: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    due_days,
    acquirer_rate,
    acquirer_rate_2_6,
    acquirer_rate_7_12,
    acquirer_fee_refunded,
    settles_in_days,
  }
}

export const paymentTypesProjection = projection('payment_types', [paymentTypes], {
  PaymentTypeCreated: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, name } = event.data
      const doc = paymentTypeObject(event.data)
      rows.add(paymentTypes, { company_id, id, name_key: nameKey(name), ...stamp(event), doc })
    },
  },
  PaymentTypeUpdated: {
    refs: (event) => [paymentTypeById(event.data.id)],
    apply(rows, event) {
      const { id, changes } = event.data
      const before = existing(rows, paymentTypeById(id))
      const doc = paymentTypeObject({ ...before.doc, ...changes })
      rows.put(paymentTypes, { ...before, name_key: nameKey(doc.name), ...stamp(event), doc })
    },
  },
})
