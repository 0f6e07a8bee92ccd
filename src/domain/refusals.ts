import type * as z from 'zod'
import './text.ts'

/** Codes of refused commands: part of the contract, common to all channels. */
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
  | 'link_limit_reached'
  | 'amount_limit'
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
export const refuseForgotten = (subject: string): Refusal => refuse('person_forgotten', { subject })

/** `validation_failed` for one field, in the format of describeIssues. */
export function refuseField(field: string, message: string): Refusal {
  return refuse('validation_failed', { fields: { [field]: [message] }, unknown_fields: [] })
}

/** Errors of an input: messages by field path ('items[0].quantity'), and paths of unknown fields. */
export interface Problems {
  fields: Record<string, string[]>
  unknown_fields: string[]
}

/** Limit of listed fields, and of unknown names: a body of 1 MB may contain a hundred thousand errors. */
const MAX_LISTED = 100
const MAX_NAME_LENGTH = 200

/** Name for problems of the whole input. */
const WHOLE = 'body'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]
interface CollectedProblems {
  fields: Map<string, string[]>
  unknown: Set<string>
}

/**
 * Details of `validation_failed`: messages in Brazilian Portuguese by field, and unknown names of
 * strict objects. For a union, the problems of the closest branch.
 */
export function describeIssues(error: z.ZodError): Problems {
  const found: CollectedProblems = { fields: new Map(), unknown: new Set() }
  for (const issue of error.issues) collect(issue, [], found)
  // fromEntries defines own properties; an assignment would lose a field named __proto__.
  return { fields: Object.fromEntries(found.fields), unknown_fields: [...found.unknown] }
}

/** For an input that is refused on its own, as one of a list. */
export const refuseInvalid = (error: z.ZodError): Refusal => refuse('validation_failed', { ...describeIssues(error) })

function collect(issue: Issue, parent: Path, found: CollectedProblems): void {
  const path = [...parent, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      if (found.unknown.size < MAX_LISTED) found.unknown.add(pathName([...path, key]))
    }
    return
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branch = nearest(issue.errors)
    if (branch) for (const inner of branch) collect(inner, path, found)
    else addField(found, path, alternatives(issue.errors))
    return
  }
  const inner = issue.code === 'invalid_key' || issue.code === 'invalid_element' ? issue.issues[0] : undefined
  addField(found, path, inner?.message ?? issue.message)
}

function addField(found: CollectedProblems, path: Path, message: string): void {
  const name = pathName(path)
  const messages = found.fields.get(name)
  if (!messages) {
    if (found.fields.size < MAX_LISTED) found.fields.set(name, [message])
  } else if (!messages.includes(message)) messages.push(message)
}

/** Branch with the fewest problems among those of the input's type; null if there is none. */
function nearest(branches: readonly Issue[][]): Issue[] | null {
  const fitting = branches.filter((issues) => !issues.some(isWrongType))
  let best: Issue[] | null = null
  for (const issues of fitting) if (!best || weight(issues) < weight(best)) best = issues
  return best
}

function isWrongType(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

function weight(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
}

function alternatives(branches: readonly Issue[][]): string {
  return [...new Set(branches.map((issues) => issues.find(isWrongType)?.message ?? ''))].join(' ou ')
}

function pathName(path: Path): string {
  let name = ''
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`
    else name += name === '' ? printable(String(part)) : `.${printable(String(part))}`
  }
  return name === '' ? WHOLE : name
}

/** Names come from the caller: bounded, and made storable (no U+0000, no lone surrogates). */
export function printable(name: string): string {
  const cut = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name
  return cut.replace(/\0|\p{Surrogate}/gu, '\u{FFFD}')
}
