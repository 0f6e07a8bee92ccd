import * as z from 'zod'
import { boundedText, limitedText } from '#domain/text.ts'
import { describeIssues } from '#domain/validation.ts'
import { Problem } from '#http/problems.ts'
import { hasRepeatedMember } from '#lib/json-members.ts'

/** Fields of a notification that are used. It sets no state: it only names the payment to fetch from the provider. */
export interface NotifiedPayment {
  readonly type: string
  /** Payment id at the provider; null only for types other than `payment`. */
  readonly dataId: string | null
  readonly liveMode: boolean | null
}

/**
 * Payment ids are digits; the provider's signature allows letters too. The id becomes part of a URL, so the pattern is
 * strict.
 */
const DataId = z
  .union([limitedText(100).regex(/^[A-Za-z0-9_-]{1,100}$/), z.int().positive()], 'deve ser o id de um pagamento')
  .transform(String)

const anyType = z.object({ type: boundedText(100) })

/** The provider may send more fields, and ids as numbers or texts. Only the required fields are checked. */
export const PaymentNotification = z.object({
  type: z.literal('payment'),
  live_mode: z.boolean('deve ser true ou false'),
  data: z.object({ id: DataId }).meta({ id: 'NotifiedPayment' }),
  id: z.union([z.number(), z.string()]).optional(),
  date_created: z.string().optional(),
  user_id: z.union([z.number(), z.string()]).nullish(),
  api_version: z.string().nullish(),
  action: z.string().optional(),
})

const dataIdOf = z.object({ data: z.object({ id: DataId }) })

/**
 * The provider's older format (IPN), which has the payment in the query: `topic` and `id`, or `type` and `data.id`. It
 * has no signature and is not processed, but is answered 200: else the provider repeats it for days.
 */
export interface IpnNotification {
  readonly type: 'ipn'
}

const IPN_NAMES: readonly (readonly [type: string, id: string])[] = [
  ['topic', 'id'],
  ['type', 'data.id'],
]

const isIpnQuery = (query: URLSearchParams): boolean =>
  IPN_NAMES.some(
    ([type, id]) => /^[\w.-]{1,100}$/.test(query.get(type) ?? '') && DataId.safeParse(query.get(id)).success,
  )

/** A body of the same format. A webhook has more fields: it is processed, whatever its query repeats. */
const anyId = z.union([z.number(), z.string()])
const ipnBody = z.union([
  z.strictObject({ topic: boundedText(100), id: anyId.optional(), resource: z.string().optional() }),
  z.strictObject({ type: boundedText(100), data: z.strictObject({ id: anyId }) }),
  z.strictObject({ type: boundedText(100), 'data.id': anyId }),
])

/** Deeper than any real notification; bounds what readers of the log must handle. */
const MAX_DEPTH = 32

/** Received body and its parsed content. */
export interface Payload {
  /** JSON text for the log: the body, or a JSON string that contains it if it is not JSON. */
  readonly text: string
  /** Parsed content, or the problem: malformed_json, invalid_notification. */
  readonly told: NotifiedPayment | IpnNotification | Problem
}

/** Content of a notification; `search` is the query of its URL. */
export function payloadOf(bytes: Buffer, search: string): Payload {
  const body = bytes.toString('utf8')
  const value = parsed(bytes, body)
  const query = new URLSearchParams(search)
  const isEmpty = body.trim() === ''
  if (isIpnQuery(query) && (isEmpty || ipnBody.safeParse(value).success))
    return { text: isEmpty ? JSON.stringify(Object.fromEntries(query)) : body, told: { type: 'ipn' } }
  return {
    text: value === undefined ? JSON.stringify(body) : body,
    told: value === undefined ? new Problem('malformed_json') : toldBy(value),
  }
}

function toldBy(value: unknown): NotifiedPayment | Problem {
  const any = anyType.safeParse(value)
  if (!any.success) return invalid(any.error)
  const { type } = any.data
  if (type !== 'payment') return { type, dataId: dataIdOf.safeParse(value).data?.data.id ?? null, liveMode: null }
  const payment = PaymentNotification.safeParse(value)
  if (!payment.success) return invalid(payment.error)
  const { data, live_mode } = payment.data
  return { type, dataId: data.id, liveMode: live_mode }
}

const invalid = (error: z.ZodError): Problem =>
  new Problem('invalid_notification', { fields: describeIssues(error).fields })

/** Undefined if the body is not JSON, has a member twice, or cannot be stored unchanged. */
function parsed(bytes: Buffer, body: string): unknown {
  try {
    const value: unknown = JSON.parse(body)
    const isWhole = Buffer.from(body).equals(bytes) && !isDeeper(value, MAX_DEPTH)
    return isWhole && !hasRepeatedMember(body, value) ? value : undefined
  } catch {
    return undefined
  }
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}
