import * as z from 'zod'
import { NEEDS } from '#commands/people/retention.ts'
import { SCOPES } from '#domain/scopes.ts'
import { httpMessageOf, httpStatusOf, PROBLEM_CODES, type ProblemCode } from '#http/problems.ts'
import type { Route } from '../route.ts'
import { Amount, ContractRecordId, ThreeDecimals, Timestamp } from './formats.ts'

const Shortage = z.strictObject({
  catalog_item_id: ContractRecordId,
  requested: ThreeDecimals,
  available: ThreeDecimals,
})

const Refused = z.strictObject({ causes: z.array(z.strictObject({ code: z.string(), description: z.string() })) })

/** `until` is null if the person is needed as long as the record is open. */
const Need = z.strictObject({ kind: z.enum(NEEDS), id: ContractRecordId, until: z.iso.date().nullable() })

/** `details` of the codes that have any. */
export const DETAILS = {
  malformed_json: z.strictObject({ reason: z.literal('repeated_member') }).optional(),
  invalid_token: z.strictObject({ reason: z.literal('key_in_query') }).optional(),
  rate_limited: z.strictObject({ reason: z.literal('bytes_used_up') }).optional(),
  insufficient_scope: z.union([
    z.strictObject({ missing_scope: z.enum(SCOPES) }),
    z.strictObject({ reason: z.literal('https_required') }),
  ]),
  duplicate_resource: z.strictObject({
    field: z.string(),
    conflicting_id: ContractRecordId,
    /** Only present if the other record was deleted. */
    deleted: z.literal(true).optional(),
    /** Only present if the name of a customer or supplier is taken: a similar one that is free. */
    suggested_name: z.string().optional(),
  }),
  managed_by_order: z.strictObject({ order_id: ContractRecordId }),
  person_forgotten: z.strictObject({ subject: z.string() }),
  rotation_running: z.strictObject({ until: Timestamp }),
  retention_required: z.strictObject({
    until: z.iso.date().nullable(),
    needed_by: z.array(Need).min(1),
    count: z.int().positive(),
  }),
  test_data_erased: z.strictObject({ erased_at: Timestamp }),
  payload_too_large: z.strictObject({ limit_bytes: z.int() }),
  validation_failed: z.strictObject({
    fields: z.record(z.string(), z.array(z.string())),
    unknown_fields: z.array(z.string()),
  }),
  insufficient_stock: z.strictObject({ ...Shortage.shape, items: z.array(Shortage).min(1) }),
  payment_mismatch: z.union([
    z.strictObject({ total: Amount, paid: Amount }),
    /** Of a return; `on_credit`: the part that lowers what is owed for the sale. */
    z.strictObject({ due: Amount, refunded: Amount, on_credit: Amount.optional() }),
  ]),
  /** `line` is null for the delivery fee. */
  already_returned: z.strictObject({ line: z.int().min(0).nullable(), requested: z.string(), available: z.string() }),
  unavailable: z
    .strictObject({
      reason: z.enum([
        'share_taken',
        'ledger_ahead_of_clock',
        'keys_missing',
        'restore_unconfirmed',
        'seals_unwritable',
      ]),
    })
    .optional(),
  payment_refused: Refused,
  refund_refused: Refused,
} as const satisfies Partial<Record<ProblemCode, z.ZodType>>
export type DetailedCode = keyof typeof DETAILS

/** Body of an error, one schema per code: `{error: {code, message, details?, request_id}}`. */
export const ERROR_SCHEMAS = new Map(PROBLEM_CODES.map((code) => [code, errorSchema(code)]))

function errorSchema(code: ProblemCode) {
  const details = code in DETAILS ? { details: DETAILS[code as DetailedCode] } : {}
  const message = z.string().meta({ examples: [httpMessageOf(code)] })
  const error = z.strictObject({ code: z.literal(code), message, ...details, request_id: z.uuid() })
  return z.strictObject({ error }).meta({ id: `Error_${code}`, description: httpMessageOf(code) })
}

/** Errors of any request: an unknown query parameter is a validation error too. */
const ANYWHERE: readonly ProblemCode[] = [
  'missing_token',
  'invalid_token',
  'plan_required',
  'insufficient_scope',
  'request_timeout',
  'validation_failed',
  'rate_limited',
  'internal_error',
  'unavailable',
]

/**
 * Errors of writes. Bodies are read even if none is expected, so that unknown fields are refused instead of ignored.
 * Each write accepts an Idempotency-Key.
 */
const OF_WRITES: readonly ProblemCode[] = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_key_reuse',
]

/** Every error code of a route: those of the HTTP layer, which follow from its shape, and its command's own. */
function codesOf(route: Route): ProblemCode[] {
  const codes = new Set<ProblemCode>(ANYWHERE)
  // Even without a lookup: a path that cannot be decoded names no record.
  if (route.path.includes(':')) codes.add('not_found')
  if (route.method !== 'get') for (const code of OF_WRITES) codes.add(code)
  if ('target' in route && route.target) codes.add('precondition_failed')
  if ('refusals' in route) for (const code of route.refusals ?? []) codes.add(code)
  return PROBLEM_CODES.filter((code) => codes.has(code))
}

/** Whether a request has a body; a POST without fields takes an empty one. */
export const takesBody = (route: Route): boolean => 'batch' in route || ('body' in route && route.body !== undefined)

/** The codes of a route by status, in ascending order. */
export function codesByStatus(route: Route): [status: number, codes: ProblemCode[]][] {
  const codes = codesOf(route)
  const statuses = [...new Set(codes.map(httpStatusOf))].sort((a, b) => a - b)
  return statuses.map((status) => [status, codes.filter((code) => httpStatusOf(code) === status)])
}
