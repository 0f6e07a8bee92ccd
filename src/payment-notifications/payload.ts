import { z } from 'zod'
import { text } from '#domain/text.ts'
import { describeIssues } from '#domain/validation.ts'
import { Problem } from '#http/problems.ts'

/** What a notification says, as far as it is looked at. It sets no state: it only says which payment to ask the provider about. */
export interface Told {
  readonly type: string
  /** Payment id at the provider; null only for types other than `payment`. */
  readonly dataId: string | null
  readonly liveMode: boolean | null
}

/** Payment ids are digits; letters are foreseen by the provider's signature. Whatever it is, it becomes part of an address. */
const DataId = z
  .union([z.string().regex(/^[A-Za-z0-9_-]{1,100}$/), z.int().positive()], 'deve ser o id de um pagamento')
  .transform(String)

const anyType = z.object({ type: text(100) })

/** The provider may send more, and sends ids as numbers and as texts; only what is decided on must be there. */
const ofPayment = z.object({
  type: z.literal('payment'),
  live_mode: z.boolean('deve ser true ou false'),
  data: z.object({ id: DataId }),
  id: z.union([z.number(), z.string()]).optional(),
  date_created: z.string().optional(),
  user_id: z.union([z.number(), z.string()]).nullish(),
  api_version: z.string().nullish(),
  action: z.string().optional(),
})

const dataIdOf = z.object({ data: z.object({ id: DataId }) })

/** Deeper than any notification; who reads the log must not be broken by what somebody sent. */
const MAX_DEPTH = 32

/** A body as received, and what it says. */
export interface Payload {
  /** JSON text for the log: the body itself, or a string that holds it where it is no JSON. */
  readonly text: string
  /** What it says, or why that cannot be made out: malformed_json, invalid_notification. */
  readonly told: Told | Problem
}

export function payloadOf(bytes: Buffer): Payload {
  const body = bytes.toString('utf8')
  const value = parsed(bytes, body)
  return {
    text: value === undefined ? JSON.stringify(body) : body,
    told: value === undefined ? new Problem('malformed_json') : toldBy(value),
  }
}

function toldBy(value: unknown): Told | Problem {
  const any = anyType.safeParse(value)
  if (!any.success) return invalid(any.error)
  const { type } = any.data
  if (type !== 'payment') return { type, dataId: dataIdOf.safeParse(value).data?.data.id ?? null, liveMode: null }
  const payment = ofPayment.safeParse(value)
  if (!payment.success) return invalid(payment.error)
  const { data, live_mode } = payment.data
  return { type, dataId: data.id, liveMode: live_mode }
}

const invalid = (error: z.ZodError): Problem =>
  new Problem('invalid_notification', { fields: describeIssues(error).fields })

/** Undefined when it is no JSON, or none that can be kept as it is. */
function parsed(bytes: Buffer, body: string): unknown {
  try {
    const value: unknown = JSON.parse(body)
    return Buffer.from(body).equals(bytes) && !isDeeper(value, MAX_DEPTH) ? value : undefined
  } catch {
    return undefined
  }
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}
