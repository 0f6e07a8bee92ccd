import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** Latest attempt or refund under an Idempotency-Key of a caller, across all orders. */
export interface PaymentKeyRow {
  company_id: number
  /** Actor of the event; '' for the service itself. */
  caller: string
  idempotency_key: string
  order_id: number
  /** Id of the attempt or refund. */
  attempt_id: string
  started_at: string
}

const paymentKeys = table<PaymentKeyRow>('payment_keys', {
  columns: {
    company_id: 'bigint',
    caller: 'text',
    idempotency_key: 'text',
    order_id: 'bigint',
    attempt_id: 'text',
    started_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'caller', 'idempotency_key'] },
})

export const paymentByKey = (caller: string | null | undefined, key: string) => byPk(paymentKeys, caller ?? '', key)

function putKey(rows: Changes, row: Omit<PaymentKeyRow, 'company_id'>): void {
  rows.put(paymentKeys, { company_id: companyRef(rows).company_id, ...row })
}

export const paymentKeysProjection = projection('payment_keys', [paymentKeys], {
  PaymentStarted: {
    refs: ({ actor, data: { idempotency_key: key } }) => (key === null ? [] : [paymentByKey(actor, key)]),
    apply(rows, { actor, data: { id: order_id, idempotency_key, attempt_id }, recorded_at: started_at }) {
      if (idempotency_key !== null)
        putKey(rows, { caller: actor ?? '', idempotency_key, order_id, attempt_id, started_at })
    },
  },
  OrderRefundRequested: {
    refs: ({ actor, data: { idempotency_key } }) => [paymentByKey(actor, idempotency_key)],
    apply(rows, { actor, data: { id: order_id, idempotency_key, refund_id }, recorded_at: started_at }) {
      putKey(rows, { caller: actor ?? '', idempotency_key, order_id, attempt_id: refund_id, started_at })
    },
  },
})
