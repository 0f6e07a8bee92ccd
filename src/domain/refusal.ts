/** The codes with which a command may be refused: a part of the contract (HTTP-2), shared by all channels. */
export type RefusalCode =
  | 'invalid_token'
  | 'not_found'
  | 'duplicate_resource'
  | 'idempotency_key_reuse'
  | 'managed_by_pdv'
  | 'fiscal_document_issued'
  | 'already_settled'
  | 'validation_failed'
  | 'insufficient_stock'
  | 'payment_mismatch'
  | 'key_limit_reached'
  | 'last_owner'
  | 'order_already_paid'
  | 'order_not_paid'
  | 'refund_refused'
  | 'payment_refused'
  | 'webhook_limit_reached'
  | 'webhook_disabled'
  | 'replay_running'
  | 'webhook_paused'
  | 'invitation_limit_reached'
  | 'insufficient_scope'
  | 'person_forgotten'
  | 'retention_required'
  | 'not_test_company'
  | 'test_data_erased'

/** Why a command is refused: a code of the contract and its details. HTTP status and Portuguese message are given at the edge. */
export interface Refusal {
  readonly refused: RefusalCode
  readonly details?: Record<string, unknown>
}

/** A refusal as a value: commands never throw one. */
export function refuse(code: RefusalCode, details?: Record<string, unknown>): Refusal {
  // An absent member rather than an undefined one, so that refusals compare and serialise alike.
  return details === undefined ? { refused: code } : { refused: code, details }
}

/** The refusal of what would use or change a person who is forgotten, or waits for it; the subject as `customer/9`. */
export const forgotten = (subject: string): Refusal => refuse('person_forgotten', { subject })

/** `validation_failed` naming one field, in the shape that describeIssues gives for a whole body. */
export function invalid(field: string, message: string): Refusal {
  return refuse('validation_failed', { fields: { [field]: [message] }, unknown_fields: [] })
}
