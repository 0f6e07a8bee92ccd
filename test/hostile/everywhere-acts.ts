import fc from 'fast-check'
import { ROLES, type Role } from '#domain/rights.ts'
import { isStream, operations } from '../support/contract.ts'
import { fitting, type Schema } from './schema.ts'

const LONG = 20_000
const TEXTS = [
  ...['9', '.', ' ', '1.', 'á', '(', '"', '\\', '<a ', '%', '-', '0', '\u200d', '🏳️‍🌈', "'='", '[['].map((part) =>
    part.repeat(LONG / part.length),
  ),
  ...[
    'sale/5',
    'user/1',
    '',
    '0',
    '-1',
    '1e308',
    '999999999.999',
    '9999999999.99',
    '0.01',
    '10.00',
    '9007199254740993',
  ],
  ...['9999-12-31', '1989-12-31', 'null'],
]
const TIMES = [
  ...Array<string>(4).fill('2026-03-10T14:00:00.000Z'),
  ...['9999-12-31T23:30:00Z', '0001-01-01T00:00:00Z', '1989-12-31T23:59:59Z', '1990-01-01T00:00:00Z'],
  ...['2036-01-01T00:00:00Z', '+275760-09-13T00:00:00Z', '2026-02-30T10:00:00Z', '2262-04-11T23:47:16.855Z'],
]

/** Request of an attacker. */
export interface Step {
  readonly who: Role | 'api' | 'till' | 'other till' | 'other company' | 'public'
  readonly what: number
  readonly ids: readonly number[]
  readonly texts: readonly string[]
  readonly at: string
  readonly amount: string
  readonly quantity: string
  readonly body: unknown
}

export const OPERATIONS = operations.filter((operation) => !isStream(operation))

const bodySchemaOf = (at: number): Schema | undefined => {
  const { requestBody } = (OPERATIONS[at % OPERATIONS.length] as { node: unknown }).node as {
    requestBody?: { content: { 'application/json': { schema: Schema } } }
  }
  return requestBody?.content['application/json'].schema
}

const bodies = OPERATIONS.map((_, at) => {
  const schema = bodySchemaOf(at)
  return schema === undefined ? fc.constant(undefined) : fitting(schema)
})

export const step: fc.Arbitrary<Step> = fc.nat({ max: 100_000 }).chain((what) =>
  fc.record({
    who: fc.constantFrom(
      ...ROLES,
      'api' as const,
      'api' as const,
      'till' as const,
      'other till' as const,
      'other company' as const,
      'public' as const,
    ),
    what: fc.constant(what),
    ids: fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 400 })), {
      minLength: 4,
      maxLength: 4,
    }),
    texts: fc.array(fc.constantFrom(...TEXTS), { minLength: 4, maxLength: 4 }),
    at: fc.constantFrom(...TIMES),
    amount: fc.constantFrom('0.01', '5.00', '10.00', '90.00', '9999999999.99'),
    quantity: fc.constantFrom('1', '0.5', '2', '999999.999', '999999999.999'),
    body: bodies[what % bodies.length] as fc.Arbitrary<unknown>,
  }),
)

/** What attackers know of the attacked company. */
interface Counter {
  readonly product: number
  /** Payment types: cash, on account, store credit. */
  readonly types: readonly number[]
}

const ONE_BACK = { reason: 'teste', items: [{ line: 0, quantity: '1' }] }

/** Acts with money, in any order, of the API. */
export function moneyOfApi(
  { product, types }: Counter,
  { ids, amount, quantity, what }: Step,
): [path: string, body: object] {
  const [id = 1, other = 1] = ids
  const payment_type_id = types[what % types.length]
  const payments = [{ payment_type_id, amount }]
  const acts: readonly [string, object][] = [
    ['/sales', { items: [{ catalog_item_id: product, quantity }], payments, customer_id: other }],
    [
      `/sales/${id}/returns`,
      { reason: 'teste', items: [{ line: 0, quantity }], ...(what % 2 && { refunds: payments }) },
    ],
    // One that is due of most sales.
    [`/sales/${id}/returns`, { ...ONE_BACK, refunds: [{ payment_type_id: types[0], amount: '10.00' }] }],
    [`/sales/${id}/cancel`, {}],
    [`/finance/receivables/${id}/payments`, { amount, payment_method: 'cash' }],
    [`/finance/receivables/${id}/payments/${other}/reverse`, {}],
    [`/returns/${id}/reverse`, { reason: 'teste' }],
    ['/finance/receivables', { description: 'a', amount, due_date: '2026-12-01', customer_id: other }],
  ]
  return acts[what % acts.length] as [string, object]
}

/** The same of a till, with times and sales of any kind. */
export function ofTill(
  { product, types }: Counter,
  { ids, texts, at: created_at, amount, quantity, what }: Step,
): [path: string, body: object] {
  const [id = 1, other = 1, third = 1] = ids
  const payments = [
    {
      payment_type_id: types[what % types.length],
      amount: Number(amount),
      status: what % 2 ? 'completed' : 'pending',
    },
  ]
  const items = [{ product_id: product, quantity: Number(quantity), price: 10, total: Number(amount) }]
  const total = Number(amount)
  const sale = {
    offline_id: `v${third}`,
    total,
    amount_received: total,
    change: 0,
    status: what % 5 ? 'completed' : 'cancelled',
  }
  const acts: readonly [string, object][] = [
    [
      '/sync/sales',
      { sales: [{ ...sale, created_at, items, payments, customer_id: other }, { offline_id: texts[1] }] },
    ],
    [
      '/sync/returns',
      {
        returns: [
          {
            offline_id: `d${third}`,
            ...(what % 2 ? { sale_id: id } : { sale_offline_id: `v${other}` }),
            reason: 'teste',
            returned_at: created_at,
            items: [{ line: 0, quantity: Number(quantity) }],
            refunds: [{ payment_type_id: types[what % types.length], amount: Number(amount) }],
          },
        ],
      },
    ],
    [
      '/sync/cash',
      {
        movements: ['opened', 'in', 'out', 'received', 'closed'].map((kind, n) => ({
          ...{ offline_id: `m${third}-${n}`, session_id: `s${other % 3}`, kind, at: created_at },
          amount: kind === 'closed' ? null : Number(amount),
          ...(kind === 'received' && { receivable_id: id }),
          ...(kind === 'closed' && { counted: { cash: Number(amount) } }),
        })),
      },
    ],
    ['/sync/check-conflicts', { products: [{ id, updated_at: texts[2] }] }],
    ['/auth/login', { email: texts[1], password: texts[2] }],
  ]
  return acts[what % acts.length] as [string, object]
}

export const filled = (path: string, { ids, texts }: Step): string => {
  let place = 0
  return path.replace(/:\w+|\{\w+\}/g, () => {
    place += 1
    return place < 4 ? String(ids[place]) : encodeURIComponent((texts[0] ?? '').slice(0, 300))
  })
}
