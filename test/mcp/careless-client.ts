import { expect } from 'chai'
import type { Scope } from '#domain/rights.ts'
import { callTool } from '../support/agent.ts'
import type { Json, TestApi } from '../support/api.ts'

/** Uniform numbers in [0, 1) by a seed (mulberry32). */
export function numbersOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const SCOPES: readonly Scope[] = [
  'catalog:read',
  'catalog:write',
  'customers:write',
  'finance:write',
  'sales:read',
  'sales:write',
]
const PER_CALL_CENTS = 50_000
const text = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`

/** What the client wants, once; `mark` stands in the record that it makes. */
interface Intent {
  readonly name: string
  readonly given: Json
  readonly mark: string
  /** What may come of it: an effect, or none. */
  readonly wants: 'effect' | 'nothing'
}

/** What the client did, for the oracle. */
export interface CarelessRun {
  readonly calls: number
  readonly dropped: number
  readonly done: number
  readonly refused: ReadonlyMap<string, number>
}

/**
 * A client that loses 30 % of its answers and repeats, sends twins at once and wrong arguments, and names records of
 * others. Afterwards each intent has had the effect that its last answer said, once.
 */
export async function runCarelessly(api: TestApi, calls: number, random: () => number): Promise<CarelessRun> {
  const company = await api.company()
  const other = await api.company({ idsFrom: 5_000_000 })
  const alien = (await other.post('/customers', { name: 'Alheio' })).body.data.id as number
  const cash = await company.paymentType('cash')
  const perDay = calls * 1_500
  const { key } = await company.newKey(SCOPES, undefined, {
    max_amount_per_call: text(PER_CALL_CENTS),
    max_amount_per_day: text(perDay),
  })
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  let marks = 0
  const categories: number[] = []

  const sale = (mark: string, cents: number, customer?: number): Json => ({
    items: [{ description: mark, quantity: '1', unit_price: text(cents) }],
    payments: [{ payment_type_id: cash, amount: text(cents) }],
    ...(customer !== undefined && { customer_id: customer }),
  })
  const account = (mark: string, cents: number): Json => ({
    description: mark,
    amount: text(cents),
    due_date: '2030-01-01',
  })
  const cents = () => 1 + Math.floor(random() * 20_000)

  function nextIntent(): Intent {
    const mark = `intento-${++marks}-`
    const effects: (() => Omit<Intent, 'mark' | 'wants'>)[] = [
      () => ({ name: 'createSale', given: sale(mark, cents()) }),
      () => ({ name: 'createReceivable', given: account(mark, cents()) }),
      () => ({ name: 'createCategory', given: { name: mark } }),
      () => ({ name: 'createCustomer', given: { name: mark } }),
      () => ({ name: 'batchReceivables', given: { items: [{ external_id: mark, ...account(mark, cents()) }] } }),
      () =>
        categories.length === 0
          ? { name: 'createCategory', given: { name: mark } }
          : { name: 'updateCategory', given: { id: pick(categories), name: mark } },
    ]
    const nothings: (() => Omit<Intent, 'mark' | 'wants'>)[] = [
      () => ({ name: 'createSale', given: sale(mark, cents(), alien) }),
      () => ({ name: 'updateCustomer', given: { id: alien, name: mark } }),
      () => ({ name: 'createSale', given: sale(mark, PER_CALL_CENTS + 1) }),
      () => ({ name: 'createPayable', given: account(mark, PER_CALL_CENTS + cents()) }),
      () => ({ name: 'createSupplier', given: { name: mark } }),
      () => ({ name: 'createOrder', given: { items: [] } }),
      () => ({ name: 'createSale', given: { ...sale(mark, cents()), dry_run: true } }),
      () => ({ name: 'createCategory', given: { name: mark, dry_run: true } }),
      () => ({ name: 'createCategory', given: { name: mark, colour: 1 } }),
      () => ({
        name: 'createReceivable',
        given: { ...account(mark, 1), amount: pick([1, '-1.00', '1', null, {}, '1e9']) },
      }),
      () => ({ name: 'getCategory', given: { id: pick(['x', -1, 1e20, null, {}]) } }),
      () => ({ name: 'listSales', given: { limit: pick([0, 'x', 1e9]) } }),
    ]
    return random() < 0.6
      ? { ...pick(effects)(), mark, wants: 'effect' }
      : { ...pick(nothings)(), mark, wants: 'nothing' }
  }

  const counted = { calls: 0, dropped: 0, done: 0 }
  const refused = new Map<string, number>()
  const marksDone = new Set<string>()
  const send = (intent: Intent, idempotency_key: string) => {
    counted.calls++
    const given =
      intent.name.startsWith('get') || intent.name.startsWith('list')
        ? intent.given
        : { ...intent.given, idempotency_key }
    return callTool(api, key, intent.name, given)
  }

  async function pursue(intent: Intent): Promise<void> {
    const idempotencyKey = `k-${intent.mark}`
    for (;;) {
      const twins = random() < 0.15 ? 2 : 1
      // A refusal of HTTP, as of a request that came too slowly, is an answer that was lost.
      const sent = Array.from({ length: twins }, () => send(intent, idempotencyKey).catch(() => null))
      const answers = (await Promise.all(sent)).filter((answer) => answer !== null)
      if (answers.length === 0 || random() < 0.3) {
        counted.dropped++
        continue
      }
      const succeeded = answers.filter(({ isError }) => !isError)
      for (const { content } of answers.filter(({ isError }) => isError)) {
        const { code } = JSON.parse(content[0].text).error
        refused.set(code, (refused.get(code) ?? 0) + 1)
      }
      if (intent.wants === 'nothing') return
      const failed = succeeded.some(({ structuredContent }) => structuredContent.meta?.failed > 0)
      if (succeeded.length === 0 || failed) return
      expect(new Set(succeeded.map(({ structuredContent }) => JSON.stringify(structuredContent.data))).size).to.equal(1)
      marksDone.add(intent.mark)
      counted.done++
      if (intent.name === 'createCategory') categories.push(succeeded[0].structuredContent.data.id)
      return
    }
  }

  while (counted.calls < calls) await Promise.all(Array.from({ length: 6 }, () => pursue(nextIntent())))
  await assertEffects(company, { marks, marksDone, perDay })
  return { ...counted, refused }
}

interface Claimed {
  readonly marks: number
  readonly marksDone: ReadonlySet<string>
  readonly perDay: number
}

const MONEY: Readonly<Record<string, (data: Json) => string>> = {
  SaleCompleted: ({ total }) => total,
  ReceivableCreated: ({ amount }) => amount,
  ReceivableUpdated: ({ changes }) => changes.amount ?? '0.00',
  PayableCreated: ({ amount }) => amount,
}

const centsOf = (amount: string): number => Math.round(Number(amount) * 100)

/** The ledger: each effect once, none of what was refused or tried, nothing beyond scopes and limits. */
async function assertEffects(
  company: Awaited<ReturnType<TestApi['company']>>,
  { marks, marksDone, perDay }: Claimed,
): Promise<void> {
  const seen = new Map<string, number>()
  const kinds = new Set<string>()
  let sum = 0
  for (let after = -1, more = true; more; ) {
    const { body } = await company.get(`/events?after=${after}&limit=200&opened=true`)
    for (const { via, type, opened, subject, revision } of body.data as Json[]) {
      after = revision
      if (via === undefined) continue
      kinds.add(subject.split('/')[0])
      const found = new Set(JSON.stringify(opened).match(/intento-\d+-/g) ?? [])
      for (const mark of found) seen.set(mark, (seen.get(mark) ?? 0) + 1)
      const cents = centsOf(MONEY[type]?.(opened) ?? '0.00')
      expect(cents).to.be.at.most(PER_CALL_CENTS)
      sum += cents
    }
    more = body.meta.has_more
  }
  expect(marks).to.be.above(0)
  expect(
    [...seen].filter(([, times]) => times !== 1),
    'effects that came twice',
  ).to.deep.equal([])
  expect(
    [...marksDone].filter((mark) => !seen.has(mark)),
    'effects that were lost',
  ).to.deep.equal([])
  expect(
    [...seen.keys()].filter((mark) => !marksDone.has(mark)),
    'effects that were refused',
  ).to.deep.equal([])
  expect([...kinds]).to.have.members(
    [...kinds].filter((kind) => ['sale', 'receivable', 'category', 'customer'].includes(kind)),
  )
  expect(sum).to.be.at.most(perDay)
}
