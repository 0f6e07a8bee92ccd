import fc from 'fast-check'
import type { Invocation } from '#ledger/command.ts'
import { accountActs } from './acts/accounts.ts'
import type { Act } from './acts/act.ts'
import { catalogActs } from './acts/catalog.ts'
import { companyActs, KEY, PASSWORD_HASH } from './acts/company.ts'
import { ACCESS_TOKEN, NOTIFICATION_SECRET, orderActs } from './acts/orders.ts'
import { personActs } from './acts/persons.ts'
import { saleActs } from './acts/sales.ts'
import { SIGNING_SECRET, webhookActs } from './acts/webhooks.ts'

/** Ids of a company's records, by kind. */
export type Known = Map<string, number[]>

/**
 * One attempted action. Ids in `input` are positions in the list of known records, so that a shrunk history stays
 * valid.
 */
export interface Step {
  readonly act: keyof typeof ACTS
  readonly input: Readonly<Record<string, unknown>>
}

/** Secrets in stored answers and hashes that no event may contain. */
export const SECRETS = [KEY, PASSWORD_HASH, SIGNING_SECRET, ACCESS_TOKEN, NOTIFICATION_SECRET]

/** Id without a record. */
const NOBODY = 900_000_001

/** All possible actions in a company, with their inputs. */
const ACTS = {
  ...personActs,
  ...catalogActs,
  ...saleActs,
  ...accountActs,
  ...companyActs,
  ...webhookActs,
  ...orderActs,
} satisfies Record<string, Act>

/** Kinds that fields of an input refer to. */
const REFS: Readonly<Record<string, string>> = {
  category_id: 'category',
  catalog_item_id: 'catalog_item',
  product_id: 'catalog_item',
  payment_type_id: 'payment_type',
  customer_id: 'customer',
  supplier_id: 'supplier',
}

export const step: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.entries(ACTS) as [keyof typeof ACTS, Act][]).map(([act, { weight, input }]) => ({
    weight,
    arbitrary: fc.record({ act: fc.constant(act), input }),
  })),
)

export const kindOf = ({ act }: Step): string => ACTS[act].kind

/** Command of a step, with positions replaced by ids; null if no client could send it. */
export function invocationOf({ act, input }: Step, known: Known): Invocation | null {
  const { command, schema, kind }: Act = ACTS[act]
  const idOf = (of: string, place: unknown): number => {
    const ids = known.get(of) ?? []
    return ids[(place as number) % ids.length] ?? NOBODY
  }
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (value === null || typeof value !== 'object' || value instanceof Buffer) return value
    return Object.fromEntries(
      Object.entries(value).map(([field, inner]) => {
        const of = REFS[field]
        return [field, of !== undefined && typeof inner === 'number' ? idOf(of, inner) : resolve(inner)]
      }),
    )
  }
  const resolved = resolve(input) as Record<string, unknown>
  const parsed = schema.safeParse('id' in input ? { ...resolved, id: idOf(kind, input.id) } : resolved)
  return parsed.success ? { command, input: parsed.data } : null
}
