import * as z from 'zod'
import type { oas31, ZodOpenApiResponseObject } from 'zod-openapi'
import { NEEDS } from '#commands/forget-person.ts'
import { SCOPES } from '#domain/rights.ts'
import { PROBLEM_CODES, type ProblemCode, toHttpMessage, toHttpStatus } from '#http/problems.ts'
import { groupBy } from '#lib/collections.ts'
import { Amount, ContractRecordId, NullableText, ThreeDecimals, Timestamp } from '#records/field.ts'
import type { Route } from '../api-route.ts'

const Shortage = z
  .strictObject({ catalog_item_id: ContractRecordId, requested: ThreeDecimals, available: ThreeDecimals })
  .meta({ id: 'Shortage' })

const ProviderCause = z.strictObject({ code: z.string(), description: z.string() }).meta({ id: 'ProviderCause' })
const Refused = z.strictObject({ causes: z.array(ProviderCause) })

/** `until` is null if the person is needed as long as the record is open. */
const Need = z
  .strictObject({ kind: z.enum(NEEDS), id: ContractRecordId, until: z.iso.date().nullable() })
  .meta({ id: 'RetentionNeed' })

/** `details` of the codes that have any. */
export const DETAILS = {
  malformed_json: z.strictObject({ reason: z.literal('repeated_member') }).optional(),
  invalid_token: z.strictObject({ reason: z.literal('key_in_query') }).optional(),
  rate_limited: z.strictObject({ reason: z.literal('bytes_used_up') }).optional(),
  insufficient_scope: z.union([
    z.strictObject({ missing_scope: z.enum(SCOPES) }),
    z.strictObject({ reason: z.literal('https_required') }),
  ]),
  amount_limit: z.union([
    z.strictObject({ max_amount_per_call: Amount, amount: Amount }),
    z.strictObject({ max_amount_per_day: Amount, amount: Amount }),
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
  /** Of a goods receipt: its accounts to pay with payments. */
  has_payments: z.strictObject({ payable_ids: z.array(ContractRecordId).min(1) }).optional(),
  open_balance: z.strictObject({ balance: Amount }),
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
  payment_already_used: z.strictObject({ field: z.string(), sale_id: ContractRecordId }),
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
        'provider_not_connected',
        'provider_unreachable',
      ]),
    })
    .optional(),
  payment_refused: Refused,
  refund_refused: Refused,
} as const satisfies Partial<Record<ProblemCode, z.ZodType>>

type Details = (typeof DETAILS)[keyof typeof DETAILS]

/** Sets of members that the details of a code may have; `name?` may be absent, an empty set is no `details`. */
function membersOf(details: Details): string[][] {
  const sets = variantsOf(details).map(({ shape }) =>
    Object.entries<z.ZodType>(shape).map(([name, schema]) => (schema instanceof z.ZodOptional ? `${name}?` : name)),
  )
  return details instanceof z.ZodOptional ? [...sets, []] : sets
}

function variantsOf(details: Details): readonly z.ZodObject[] {
  const shown = details instanceof z.ZodOptional ? details.unwrap() : details
  return shown instanceof z.ZodUnion ? shown.options : [shown]
}

/** Each member that the details of any code have; every one is optional. */
function sharedShape(): Record<string, z.ZodOptional> {
  const members = Object.values(DETAILS).flatMap((details) =>
    variantsOf(details).flatMap(({ shape }) => Object.entries<z.ZodType>(shape)),
  )
  const byName = groupBy(members, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, found]) => [name, sharedMember(found.map(([, schema]) => schema)).optional()]),
  )
}

/** One type for what codes name alike: the same, or a text. */
function sharedMember(schemas: readonly z.ZodType[]): z.ZodType {
  const shown = schemas.map((schema) => (schema instanceof z.ZodOptional ? schema.unwrap() : schema)) as z.ZodType[]
  const forms = shown.map((schema) => z.toJSONSchema(schema))
  if (new Set(forms.map((form) => JSON.stringify(form))).size === 1) return shown[0] as z.ZodType
  const values = forms.flatMap(({ enum: list, const: value }) => list ?? (value === undefined ? [] : [value]))
  const text = values.length > 0 ? z.string().meta({ 'x-extensible-enum': [...new Set(values)] }) : z.string()
  return forms.some(({ anyOf = [] }) => anyOf.some(({ type }) => type === 'null')) ? text.nullable() : text
}

/** `details` of any error. Generated clients have one type for it; its extension tells which members a code has. */
const ErrorDetails = z.strictObject(sharedShape()).meta({
  id: 'ErrorDetails',
  'x-details-by-code': Object.fromEntries(Object.entries(DETAILS).map(([code, details]) => [code, membersOf(details)])),
})

/** The codes are those of the document: `listCodes` adds them. */
const told = { code: z.string(), message: z.string(), details: ErrorDetails.optional() }

/** Body of every error: `{error: {code, message, details?, request_id}}`. */
const ErrorBody = z
  .strictObject({ error: z.strictObject({ ...told, request_id: z.uuid() }).meta({ id: 'Problem' }) })
  .meta({ id: 'Error' })

/** Why an item of a batch failed; `index` is its position in the submitted list. */
export const BatchError = z
  .strictObject({ index: z.int().min(0).max(499), external_id: NullableText, ...told })
  .meta({ id: 'BatchError' })

/** Components of errors, which are the same in every document. */
export const ERROR_COMPONENTS: readonly string[] = [
  'Error',
  'Problem',
  'ErrorDetails',
  'BatchError',
  'ProviderCause',
  'RetentionNeed',
  'Shortage',
]

/** Answer with one of several codes: listed in the text for people, and in `x-error-codes` for programs. */
export const refusalResponse = (codes: readonly ProblemCode[], headers: z.ZodObject): ZodOpenApiResponseObject => ({
  description: codes.map((code) => `\`${code}\`: ${toHttpMessage(code)}`).join('\n'),
  headers,
  content: { 'application/json': { schema: ErrorBody } },
  'x-error-codes': codes,
})

/** Adds all codes that a document names to its errors: known values of lists that grow. */
export function listCodes({ paths, components }: oas31.OpenAPIObject): void {
  const codes = { Problem: new Set<unknown>(), BatchError: new Set<unknown>() }
  const collect = (node: unknown, status = ''): void => {
    if (typeof node !== 'object' || node === null) return
    const target = status === '207' ? codes.BatchError : codes.Problem
    if ('x-error-codes' in node) for (const code of node['x-error-codes'] as string[]) target.add(code)
    for (const [member, value] of Object.entries(node)) collect(value, member)
  }
  collect(paths)
  collect(components?.responses)
  for (const [name, found] of Object.entries(codes)) {
    const schema = components?.schemas?.[name] as oas31.SchemaObject | undefined
    const code = schema?.properties?.code as Record<string, unknown> | undefined
    if (code) code['x-extensible-enum'] = PROBLEM_CODES.filter((each) => found.has(each))
  }
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
  const statuses = [...new Set(codes.map(toHttpStatus))].sort((a, b) => a - b)
  return statuses.map((status) => [status, codes.filter((code) => toHttpStatus(code) === status)])
}
