/** Codes of refused commands: part of the contract (HTTP-2), common to all channels. */
export type RefusalCode =
  | 'invalid_token'
  | 'not_found'
  | 'precondition_failed'
  | 'duplicate_resource'
  | 'idempotency_key_reuse'
  | 'managed_by_pdv'
  | 'managed_by_order'
  | 'fiscal_document_issued'
  | 'already_settled'
  | 'session_open'
  | 'session_closed'
  | 'already_reversed'
  | 'has_payments'
  | 'goods_returned'
  | 'open_balance'
  | 'has_variants'
  | 'validation_failed'
  | 'insufficient_stock'
  | 'inventory_closed'
  | 'payment_mismatch'
  | 'payment_already_used'
  | 'key_limit_reached'
  | 'last_owner'
  | 'order_already_paid'
  | 'order_not_paid'
  | 'refund_refused'
  | 'payment_refused'
  | 'webhook_limit_reached'
  | 'webhook_disabled'
  | 'replay_running'
  | 'rotation_running'
  | 'webhook_paused'
  | 'invitation_limit_reached'
  | 'insufficient_scope'
  | 'person_forgotten'
  | 'retention_required'
  | 'not_test_company'
  | 'permission_required'
  | 'test_data_erased'
  | 'already_returned'
  | 'credit_spent'
  | 'return_refused'
  | 'sale_cancelled'
  | 'sale_returned'

/** Refusal of a command: a code of the contract with details. The HTTP layer adds status and Portuguese message. */
export interface Refusal {
  readonly refused: RefusalCode
  readonly details?: Record<string, unknown>
}

/** Refusals are values: commands never throw them. */
export function refuse(code: RefusalCode, details?: Record<string, unknown>): Refusal {
  // Omits `details` if undefined, so that refusals compare and serialise alike.
  return details === undefined ? { refused: code } : { refused: code, details }
}

/** Refusal of an erased person, or one queued for erasure; subject as in `customer/9`. */
export const forgotten = (subject: string): Refusal => refuse('person_forgotten', { subject })

/** `validation_failed` for one field, in the format of describeIssues. */
export function invalid(field: string, message: string): Refusal {
  return refuse('validation_failed', { fields: { [field]: [message] }, unknown_fields: [] })
}
