import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSessions, csrfTokenOf } from '#access/sessions.ts'
import { createUser } from '#commands/users.ts'
import { fromCents } from '#domain/money.ts'
import { ROLES, type Role } from '#domain/roles.ts'
import { PANEL } from '#panel/link.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { isStream, operations } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'
import { cheapHash } from '../support/passwords.ts'
import { type Service, startService } from '../support/process.ts'
import { DEPTH, explore, TITLE } from '../support/random.ts'
import { shardsEnv } from '../support/shards.ts'
import { openTill } from '../support/till.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { type LiveWatch, watchLive } from './live-watch.ts'
import { written } from './pages.ts'
import { fitting, type Schema } from './schema.ts'

/** Rounds of 40 requests, 10 at once: 800 requests; `--depth 63` makes 50,000. */
const [ROUNDS, STEPS, AT_ONCE] = [20, 40, 10]

/** As of the random attack on the panel. */
const WAIT_MS = DEPTH > 1 && !process.env.CI ? 250 : 2_000
const STUCK_MS = 40_000

/** Stands in texts of the other company. */
const ALIEN = 'alheio-7f3a9c'

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
  ...['9999-12-31T23:30:00Z', '1900-01-01T00:00:00Z', '2026-03-10T14:00:00Z', '9999-12-31', '1989-12-31', 'null'],
]

interface Step {
  readonly who: Role | 'api' | 'till' | 'other till' | 'public'
  readonly what: number
  readonly ids: readonly number[]
  readonly texts: readonly string[]
  readonly amount: string
  readonly quantity: string
  readonly body: unknown
}

const OPERATIONS = operations.filter((operation) => !isStream(operation))

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

const step: fc.Arbitrary<Step> = fc.nat({ max: 100_000 }).chain((what) =>
  fc.record({
    who: fc.constantFrom(
      ...ROLES,
      'api' as const,
      'api' as const,
      'till' as const,
      'other till' as const,
      'public' as const,
    ),
    what: fc.constant(what),
    ids: fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 400 })), {
      minLength: 4,
      maxLength: 4,
    }),
    texts: fc.array(fc.constantFrom(...TEXTS), { minLength: 4, maxLength: 4 }),
    amount: fc.constantFrom('0.01', '5.00', '10.00', '90.00', '9999999999.99'),
    quantity: fc.constantFrom('1', '0.5', '2', '999999.999', '999999999.999'),
    body: bodies[what % bodies.length] as fc.Arbitrary<unknown>,
  }),
)

/** Not shrunk: what a request meets depends on all before it. */
const rounds = fc.noShrink(fc.array(step, { minLength: STEPS, maxLength: STEPS }))

/** Money that went out for a sale beyond what came in for it. */
const UNRECONCILED = `
  select s.id, taken.cents as taken, back.cents as back
  from read.sales s
  cross join lateral (
    select coalesce(sum(replace(p.net, '.', '')::bigint + replace(p.surcharge, '.', '')::bigint), 0)
      + coalesce((select sum(r.received_cents) from read.receivable_payments r
          where r.company_id = s.company_id and r.kind = 'payment'
            and r.account_id in (select own.id::bigint from json_array_elements_text(s.receivable_ids) as own (id))), 0) as cents
    from json_to_recordset(s.doc -> 'payments') p (payment_type_id bigint, net text, surcharge text)
    left join read.payment_types t on t.company_id = s.company_id and t.id = p.payment_type_id
    where t.doc ->> 'kind' is distinct from 'credit_account') taken
  cross join lateral (
    select coalesce(sum(replace(p.amount, '.', '')::bigint), 0) as cents
    from read.returns r cross join lateral json_to_recordset(r.doc -> 'refunds') p (payment_type_id bigint, amount text)
    left join read.payment_types t on t.company_id = s.company_id and t.id = p.payment_type_id
    where r.company_id = s.company_id and r.sale_id = s.id and r.doc ->> 'reversed_at' is null
      and t.doc ->> 'kind' is distinct from 'credit_account') back
  where s.company_id = $1 and s.status = 'completed' and back.cents > taken.cents`

describe(`third attack: all interfaces at once (${TITLE})`, function () {
  this.timeout(0)
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let service: Service
  let watch: LiveWatch
  let product = 0
  let types: number[] = []
  const tokens = new Map<string, string>()
  const cookies = new Map<Role, { cookie: string; csrf: string }>()
  let users = 0
  const counted = { requests: 0, accepted: 0 }

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    await fillOther(await api.company())
    const counter = await openCounter(company, '1000000')
    product = counter.product
    const credit = await company.paymentType('exchange_credit')
    types = [counter.cash, counter.account, credit]
    for (const name of ['Ana', 'Bia']) await company.post('/customers', { name })
    for (let n = 0; n < 10; n++) await counter.sell()
    service = await startService({
      DATABASE_URL: database.url,
      ...(await shardsEnv(database.url)),
      LOG_LEVEL: 'error',
      SEED_DEMO: 'false',
      QUOTA_PER_MINUTE: '1000000',
      PAYMENT_PROVIDER_URL: 'http://127.0.0.1:9',
    })
    watch = watchLive(service.url, service.pid)
    await watch.worst()
    for (const till of ['till', 'other till']) tokens.set(till, (await openTill(service.url, company)).token)
    for (const role of ROLES) cookies.set(role, await enter(role))
  })
  after(async () => {
    console.log(`    ${counted.requests} requests, ${counted.accepted} of them accepted`)
    await watch?.stop()
    await service?.stop()
    await api.close()
  })

  /** Records whose every text tells that they are another company's. */
  async function fillOther(other: TestCompany): Promise<void> {
    const item = { name: `${ALIEN} item`, price: '77.77', stock: '100', external_id: `${ALIEN}-1` }
    const { id } = (await other.post('/catalog/items', item)).body.data
    const payment_type_id = await other.paymentType('cash')
    for (const path of ['/customers', '/suppliers']) await other.post(path, { name: `${ALIEN} pessoa` })
    for (let n = 0; n < 5; n++) {
      const items = [{ catalog_item_id: id, quantity: '1' }]
      await other.post('/sales', {
        external_id: `${ALIEN}-${n}`,
        items,
        payments: [{ payment_type_id, amount: '77.77' }],
      })
    }
  }

  async function enter(role: Role) {
    const { id: userId } = await company.run(createUser, {
      name: `Atacante ${++users}`,
      email: `geral${users}@loja.example`,
      role,
      ...(role === 'auditor' && { access_until: '2099-12-31' }),
      password_hash: await cheapHash('uma senha de teste'),
    })
    const sessions = createSessions(company.core.pool, () => {})
    const { token } = await sessions.issue({ userId, companyId: company.id, generation: 0, personGeneration: 0 })
    return { cookie: `tillbook=${token}`, csrf: csrfTokenOf(token) }
  }

  const json = (
    method: string,
    path: string,
    token: string,
    body: unknown,
    more: readonly (readonly [string, string])[] = [],
  ) => {
    const headers = [['Authorization', `Bearer ${token}`] as const, ...more]
    if (method === 'GET' || body === undefined) return bytesOf({ method, path, headers })
    return bytesOf({
      ...{ method, path, body: JSON.stringify(body) },
      headers: [...headers, ['Content-Type', 'application/json']],
    })
  }

  /** Some texts of a body become long or odd ones. */
  const spoilt = (body: unknown, { texts, what }: Step): unknown => {
    if (what % 3 > 0) return body
    let place = 0
    return JSON.parse(JSON.stringify(body ?? {}), (_, value) =>
      typeof value === 'string' && ++place % 4 === what % 4 ? (texts[place % 4] ?? value) : value,
    )
  }

  /** Acts with money, in any order, of the API. */
  function moneyOfApi({ ids, amount, quantity, what }: Step): [path: string, body: object] {
    const [id = 1, other = 1] = ids
    const payment_type_id = types[what % types.length]
    const payments = [{ payment_type_id, amount }]
    const acts: readonly [string, object][] = [
      ['/sales', { items: [{ catalog_item_id: product, quantity }], payments, customer_id: other }],
      [
        `/sales/${id}/returns`,
        { reason: 'teste', items: [{ line: 0, quantity }], ...(what % 2 && { refunds: payments }) },
      ],
      [`/sales/${id}/cancel`, {}],
      [`/finance/receivables/${id}/payments`, { amount, payment_method: 'cash' }],
      [`/finance/receivables/${id}/payments/${other}/reverse`, {}],
      [`/returns/${id}/reverse`, { reason: 'teste' }],
      ['/finance/receivables', { description: 'a', amount, due_date: '2026-12-01', customer_id: other }],
    ]
    return acts[what % acts.length] as [string, object]
  }

  /** The same of a till, with times and sales of any kind. */
  function ofTill({ ids, texts, amount, quantity, what }: Step): [path: string, body: object] {
    const [id = 1, other = 1, third = 1] = ids
    const payments = [
      {
        payment_type_id: types[what % types.length],
        amount: Number(amount),
        status: what % 2 ? 'completed' : 'pending',
      },
    ]
    const created_at = texts[0]?.includes('T') ? texts[0] : '2026-03-10T14:00:00.000Z'
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

  const filled = (path: string, { ids, texts }: Step): string => {
    let place = 0
    return path.replace(/:\w+|\{\w+\}/g, () => {
      place += 1
      return place < 4 ? String(ids[place]) : encodeURIComponent((texts[0] ?? '').slice(0, 300))
    })
  }

  function ofPanel(role: Role, act: Step): Buffer {
    const { cookie, csrf } = cookies.get(role) as { cookie: string; csrf: string }
    const { what, texts, amount, quantity, ids } = act
    const route = PANEL_ROUTES[what % PANEL_ROUTES.length] as (typeof PANEL_ROUTES)[number]
    const path = `${PANEL}${filled(route.path, act)}`
    const headers = [
      ['Cookie', cookie],
      ['Sec-Fetch-Site', 'same-origin'],
    ] as const
    if (!('submit' in route)) {
      const query = written(
        ['q', 'sold_from', 'de', 'customer', 'numero', 'em', 'name', 'cursor'].map((name, n) => [
          name,
          (texts[n % 4] ?? '').slice(0, 1_500),
        ]),
      )
      return bytesOf({ method: 'GET', path: what % 2 ? path : `${path}?${query}`.slice(0, 8_000), headers })
    }
    // What forms with money and texts call their fields.
    const fields = [
      ...[
        'name',
        'phone',
        'email',
        'document',
        'reason',
        'lines',
        'quantity',
        'price',
        'external_id',
        'address.zip',
      ].map((name, n) => [name, texts[n % 4] ?? ''] as const),
      ...['amount', 'received', 'discount', 'open_amount', 'other_amount', 'balance'].map(
        (name) => [name, amount] as const,
      ),
      ...([
        ['q0', quantity],
        ['linhas', '0'],
        ['payment_type_id', String(types[0])],
        ['customer_id', String(ids[1])],
        ['payment_method', 'cash'],
      ] as const),
      ...([
        ['_csrf', csrf],
        ['_key', randomUUID()],
      ] as const),
    ]
    const type = ['Content-Type', 'application/x-www-form-urlencoded'] as const
    return bytesOf({ method: 'POST', path, headers: [...headers, type], body: written(fields) })
  }

  const PUBLIC = [
    '/',
    '/docs',
    '/pagar/loja/:id',
    '/recibo/:id',
    '/api/v1/openapi.json',
    '/painel/entrar',
    '/pictures/:id/:id/x.webp',
    '/health/ready',
    '/painel/nova-senha',
  ]

  function requestOf(act: Step): Buffer {
    const { who, what } = act
    const isMoney = what % 2 === 0
    if (who === 'public')
      return bytesOf({ method: what % 5 ? 'GET' : 'POST', path: filled(PUBLIC[what % PUBLIC.length] ?? '/', act) })
    if (who === 'till' || who === 'other till') {
      const [path, body] = ofTill(act)
      return json('POST', `/api${path}`, tokens.get(who) ?? '', what % 7 ? body : spoilt(body, act))
    }
    if (who !== 'api') return ofPanel(who, act)
    const key = [['Idempotency-Key', randomUUID()]] as const
    if (isMoney) {
      const [path, body] = moneyOfApi({ ...act, what: what / 2 })
      return json('POST', `/api/v1${path}`, company.key, body, key)
    }
    const operation = OPERATIONS[what % OPERATIONS.length] as (typeof OPERATIONS)[number]
    return json(operation.method, `/api/v1${filled(operation.path, act)}`, company.key, spoilt(act.body, act), key)
  }

  const isOver = ({ status, headers }: Reply): boolean =>
    status === 303 && /^\/painel\/entrar/.test(headers.get('location') ?? '')

  /** Most amounts are those of their quantities, so that much is accepted. */
  const priced = (act: Step): Step => {
    const cents = Math.round(Number(act.quantity) * 1_000)
    return act.texts[3] === '' || cents > 1e12 ? act : { ...act, amount: fromCents(cents) }
  }

  async function send(act: Step): Promise<void> {
    const bytes = requestOf(priced(act))
    const told = `as ${act.who}: ${bytes.subarray(0, 700).toString('latin1')}`
    const reply = await exchange(service.url, bytes, { wait_budget_ms: STUCK_MS })
    counted.requests += 1
    if (reply.status < 400) counted.accepted += 1
    expect(reply.status === 503 ? 200 : reply.status, `${told}\nanswered ${reply.text.slice(0, 300)}`).to.be.within(
      200,
      499,
    )
    expect(reply.text.includes(ALIEN), `${told}\ntells of another company`).to.equal(false)
    const role = ROLES.find((each) => each === act.who)
    if (role && isOver(reply)) cookies.set(role, await enter(role))
  }

  it('is answered, reconciles, tells nothing of others, and keeps nobody waiting [VAL-741]', async () => {
    await explore(
      fc.asyncProperty(rounds, async (steps) => {
        for (let from = 0; from < steps.length; from += AT_ONCE) {
          const some = steps.slice(from, from + AT_ONCE)
          await Promise.all(some.map(send))
          if ((await watch.worst()).stalled <= WAIT_MS) continue
          // Excludes the time of a garbage collection.
          await Promise.all(some.map(send))
          expect((await watch.worst()).stalled, 'kept the others waiting, twice; ms').to.be.at.most(WAIT_MS)
        }
        const { rows } = await company.core.pool.query(UNRECONCILED, [company.id])
        expect(rows, 'sales of which more went out than came in').to.deep.equal([])
      }),
      ROUNDS,
    )
    expect(counted.accepted, 'accepted').to.be.above(counted.requests / 20)
    // A few hundred requests reach no sale that may come back: then uploads were judged at least.
    const returns = `select count(*)::int as count from read.${DEPTH > 1 ? 'returns' : 'offline_returns'} where company_id = $1`
    expect((await company.core.pool.query(returns, [company.id])).rows[0].count, 'returns').to.be.above(0)
    expect((await company.get('/events/verify')).body.data.valid).to.equal(true)
  })
})
