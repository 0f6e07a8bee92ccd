import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSessions, deriveCsrfToken } from '#access/sessions.ts'
import { createUser } from '#commands/user-commands.ts'
import { fromCents } from '#domain/money.ts'
import { ROLES, type Role, SCOPES } from '#domain/rights.ts'
import { PANEL } from '#panel/page-context.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'
import { cheapHash } from '../support/passwords.ts'
import { type Service, startService } from '../support/process.ts'
import { DEPTH, explore, TITLE } from '../support/random.ts'
import { openTill } from '../support/till.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { unreconciled } from './books.ts'
import { filled, moneyOfApi, OPERATIONS, ofTill, type Step, step } from './everywhere-acts.ts'
import { type LiveWatch, watchLive } from './live-watch.ts'
import { fieldsIn, type Pairs, written } from './pages.ts'
import { multipart } from './panel-attack.ts'

/** Rounds of 40 requests, 10 at once: 800 requests; `--depth 63` makes 50,000. */
const [ROUNDS, STEPS, AT_ONCE] = [20, 40, 10]

/** As of the random attack on the panel. */
const WAIT_MS = DEPTH > 1 && !process.env.CI ? 250 : 2_000
const STUCK_MS = 40_000

/** Stands in texts of the other company; in those of sales of the attacked one that clerks, tills and others do not see. */
const [ALIEN, HIDDEN] = ['alheio-7f3a9c', 'escondido-5c1d2e']

const PROGRAMS = ['api', 'other company', 'till', 'other till'] as const

/** Forms of pages that a user has seen, the latest ones. */
const MAX_FORMS = 60

interface SeenForm {
  readonly path: string
  readonly fields: Pairs
  readonly takesFile: boolean
}

/** Not shrunk: what a request meets depends on all before it. */
const rounds = fc.noShrink(fc.array(step, { minLength: STEPS, maxLength: STEPS }))

describe(`third attack: all interfaces at once (${TITLE})`, function () {
  this.timeout(0)
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let other: TestCompany
  let service: Service
  let watch: LiveWatch
  let product = 0
  let types: number[] = []
  /** Keys of programs, and tokens of tills. */
  const tokens = new Map<Step['who'], string>()
  const cookies = new Map<Role, { cookie: string; csrf: string }>()
  const forms = new Map<Role, SeenForm[]>()
  let users = 0
  const counted = { requests: 0, accepted: 0 }

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    other = await api.company()
    await fillOther()
    const counter = await openCounter(company, '1000000')
    product = counter.product
    const credit = await company.paymentType('exchange_credit')
    types = [counter.cash, counter.account, credit]
    for (const name of ['Ana', 'Bia']) await company.post('/customers', { name })
    for (let n = 0; n < 10; n++) await counter.sell({ external_id: `${HIDDEN}-${n}` })
    service = await startService({
      DATABASE_URL: database.url,
      LOG_LEVEL: 'error',
      SEED_DEMO: 'false',
      QUOTA_PER_MINUTE: '1000000',
      QUOTA_PER_DAY: '1000000',
      QUOTA_BYTES_PER_DAY: '1000000000000',
      PAYMENT_PROVIDER_URL: 'http://127.0.0.1:9',
    })
    watch = watchLive(service.url, service.pid)
    await watch.worst()
    for (const who of PROGRAMS) await renew(who)
    for (const role of ROLES) cookies.set(role, await enter(role))
  })
  after(async () => {
    console.log(`    ${counted.requests} requests, ${counted.accepted} of them accepted`)
    await watch?.stop()
    await service?.stop()
    await api.close()
  })

  /** Records whose every text tells that they are another company's. */
  async function fillOther(): Promise<void> {
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

  /** A new key or token: owners revoke keys and deactivate users. */
  async function renew(who: (typeof PROGRAMS)[number]): Promise<void> {
    const isTill = who === 'till' || who === 'other till'
    const of = who === 'other company' ? other : company
    tokens.set(who, isTill ? (await openTill(service.url, company)).token : (await of.newKey(SCOPES)).key)
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
    return { cookie: `tillbook=${token}`, csrf: deriveCsrfToken(token) }
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

  function ofPanel(role: Role, act: Step): Buffer {
    const { cookie, csrf } = cookies.get(role) as { cookie: string; csrf: string }
    const { what, texts, amount, quantity, ids } = act
    const route = PANEL_ROUTES[what % PANEL_ROUTES.length] as (typeof PANEL_ROUTES)[number]
    const path = `${PANEL}${filled(route.path, act)}`
    const headers = [
      ['Cookie', cookie],
      ['Sec-Fetch-Site', 'same-origin'],
    ] as const
    const seen = forms.get(role) ?? []
    if (what % 3 === 0 && seen.length > 0) return ofForm(seen[what % seen.length] as SeenForm, role, act)
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

  /** A form that the user has seen, maybe long ago, with some odd values. */
  function ofForm({ path, fields, takesFile }: SeenForm, role: Role, { what, texts, amount, quantity, ids }: Step) {
    const { cookie, csrf } = cookies.get(role) as { cookie: string; csrf: string }
    const given = [...texts, amount, quantity, String(ids[0]), String(types[0])]
    const pairs = fields.map(([name, value], n): [string, string] => {
      if (name === '_csrf') return [name, csrf]
      // Sometimes the answer to an earlier request with the key.
      if (name === '_key') return [name, what % 7 === 0 ? value : randomUUID()]
      return [name, (what + n) % 4 === 0 || value === '' ? (given[(what + n) % given.length] ?? '') : value]
    })
    const headers = [
      ['Cookie', cookie],
      ['Sec-Fetch-Site', 'same-origin'],
    ] as const
    if (!takesFile) {
      const type = ['Content-Type', 'application/x-www-form-urlencoded'] as const
      return bytesOf({ method: 'POST', path, headers: [...headers, type], body: written(pairs) })
    }
    const { type, body } = multipart(pairs, Buffer.from(`Nome;Telefone\n${(texts[0] ?? '').repeat(4)};${texts[1]}\n`))
    return bytesOf({ method: 'POST', path, headers: [...headers, ['Content-Type', type]], body })
  }

  function noteForms(role: Role, html: string): void {
    const found = [...html.matchAll(/<form method="post" action="([^"]+)"([^>]*)>(.*?)<\/form>/gs)]
    const seen = found.flatMap(([, path = '', more = '', body = '']) =>
      // Who leaves has nothing more to attack with.
      /sair|\/sessoes|\/senha/.test(path)
        ? []
        : { path, fields: fieldsIn(body), takesFile: more.includes('multipart') },
    )
    forms.set(role, [...seen, ...(forms.get(role) ?? [])].slice(0, MAX_FORMS))
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
      const [path, body] = ofTill({ product, types }, act)
      return json('POST', `/api${path}`, tokens.get(who) ?? '', what % 7 ? body : spoilt(body, act))
    }
    if (who !== 'api' && who !== 'other company') return ofPanel(who, act)
    const token = tokens.get(who) ?? ''
    const key = [['Idempotency-Key', randomUUID()]] as const
    if (isMoney) {
      const [path, body] = moneyOfApi({ product, types }, { ...act, what: what / 2 })
      return json('POST', `/api/v1${path}`, token, body, key)
    }
    const operation = OPERATIONS[what % OPERATIONS.length] as (typeof OPERATIONS)[number]
    return json(operation.method, `/api/v1${filled(operation.path, act)}`, token, spoilt(act.body, act), key)
  }

  const isOver = ({ status, headers }: Reply): boolean =>
    status === 303 && /^\/painel\/entrar/.test(headers.get('location') ?? '')

  /** Most amounts are those of their quantities, so that much is accepted. */
  const priced = (act: Step): Step => {
    const cents = Math.round(Number(act.quantity) * 1_000)
    return act.texts[3] === '' || cents > 1e12 ? act : { ...act, amount: fromCents(cents) }
  }

  /** Texts that an attacker may not see. */
  function secretsOf(who: Step['who']): readonly string[] {
    if (who === 'other company') return [HIDDEN]
    return who === 'clerk' || who === 'till' || who === 'other till' || who === 'public' ? [ALIEN, HIDDEN] : [ALIEN]
  }

  /** Whether an owner has given clerks other permissions, or a clerk another role. */
  async function hasBeenAllowed(who: Step['who']): Promise<boolean> {
    if (who === 'public' || who === 'other company') return false
    const { rows } = await company.core.pool.query(
      `select 1 from ledger.events where stream = $1 and envelope::json ->> 'type' in ('RoleAdjusted', 'UserUpdated') limit 1`,
      [`company-${company.id}`],
    )
    return rows.length > 0
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
    const role = ROLES.find((each) => each === act.who)
    const secret = secretsOf(act.who).find((each) => reply.text.includes(each))
    if (secret && !(await hasBeenAllowed(act.who))) expect.fail(`${told}\ntells of another: ${secret}`)
    const program = PROGRAMS.find((each) => each === act.who)
    if (program && reply.status === 401) await renew(program)
    if (role && isOver(reply)) cookies.set(role, await enter(role))
    if (role && reply.status === 200) noteForms(role, reply.text)
  }

  it('is answered, reconciles, shows nothing of others, and delays no request [VAL-741]', async () => {
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
        expect(await unreconciled(company.core.pool, company.id), 'does not reconcile').to.deep.equal([])
      }),
      ROUNDS,
    )
    expect(counted.accepted, 'accepted').to.be.above(counted.requests / 20)
    // A few hundred requests reach no sale that may come back: then uploads were judged at least.
    const returns = `select count(*)::int as count from read.${DEPTH > 1 ? 'returns' : 'offline_returns'} where company_id = $1`
    expect((await company.core.pool.query(returns, [company.id])).rows[0].count, 'returns').to.be.above(0)
    const verified = await fetch(`${api.url}/api/v1/events/verify`, {
      headers: { authorization: `Bearer ${(await company.newKey(SCOPES)).key}` },
    })
    expect(((await verified.json()) as { data: object }).data).to.include({ valid: true })
  })
})
