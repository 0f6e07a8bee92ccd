import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { createSessions, deriveCsrfToken } from '#access/sessions.ts'
import { createUser } from '#commands/user-commands.ts'
import { ROLES, type Role } from '#domain/rights.ts'
import { PACK_DOWNLOAD } from '#panel/audit-pack-pages.tsx'
import { RECEIPT_FILE_PATH } from '#panel/csv-files.ts'
import { MONTH_FILE_PATH } from '#panel/month-file.ts'
import { PANEL } from '#panel/page-context.ts'
import { LIVE_PATH } from '#panel/panel-live.tsx'
import { DATA_EXPORT_PATH } from '#panel/person-file.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { addressOf } from '../browser/samples/all.ts'
import type { Reply } from '../support/api.ts'
import { usePanel } from '../support/browser.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { cheapHash } from '../support/passwords.ts'
import { type Service, startService } from '../support/process.ts'
import { DEPTH, explore, TITLE } from '../support/random.ts'
import { openTill } from '../support/till.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { type LiveFigures, type LiveWatch, watchLive } from './live-watch.ts'
import { expectPage, fieldsIn, type Pairs, written } from './pages.ts'
import { type Attack, attack, multipart, pairsOf, pathOf } from './panel-attack.ts'

/** Per role and route: some 800 requests in all; `--depth 65` makes 50,000. */
const CASES = 1

/** Longest wait of other requests. CI machines are busy: there it detects blocking of seconds only. */
const WAIT_MS = DEPTH > 1 && !process.env.CI ? 250 : 2_000
const MEMORY_MIB = 350
/** A request without a response by then is stuck. */
const STUCK_MS = 40_000

/** Records of each kind in the company, beside those of samples. */
const RECORDS = 2_000

interface Target {
  readonly method: 'GET' | 'POST'
  /** Path below the panel, as Express writes it. */
  readonly path: string
  readonly takesFile?: boolean
  readonly address: () => Promise<string>
}

interface Attacker {
  readonly role: Role | 'nobody'
  readonly cookie: string
  readonly csrf: string
}

describe(`random attack on the panel (${TITLE})`, function () {
  this.timeout(0)
  const panel = usePanel({ log: () => {} })
  const attackers = new Map<Role | 'nobody', Attacker>()
  let service: Service
  let watch: LiveWatch
  let hasEnded = true
  /** Addresses by target, from before the attack: later a sample may fail. */
  const addresses = new Map<Target, string>()
  /** Field names that any page accepts. */
  let names: readonly string[] = []
  let requests = 0
  let longest: LiveFigures = { waited: 0, stalled: 0 }
  let users = 0

  before(async () => {
    await fill()
    await start()
    for (const role of ROLES) attackers.set(role, await attackerOf(role))
    attackers.set('nobody', { role: 'nobody', cookie: '', csrf: '' })
    names = await namesOfPages()
  })
  after(async () => {
    const [waited, stalled] = [longest.waited, longest.stalled].map(Math.round)
    console.log(
      `    ${requests} requests; /health/live took ${waited} ms at most, ${stalled} ms of them the process's own`,
    )
    await watch?.stop()
    await service?.stop()
  })

  async function start(): Promise<void> {
    service = await startService({
      DATABASE_URL: panel.databaseUrl,
      LOG_LEVEL: 'error',
      SEED_DEMO: 'false',
      WEBHOOK_ALLOW_PRIVATE: 'false',
      // No server listens there.
      PAYMENT_PROVIDER_URL: 'http://127.0.0.1:9',
    })
    hasEnded = false
    void service.ended().then(() => {
      hasEnded = true
    })
    watch = watchLive(service.url, service.pid)
    await watch.worst()
  }

  /** Restarts a process that ended, so that each route is judged separately, and failing cases can be shrunk. */
  async function startAgain(): Promise<void> {
    await watch.stop()
    await start()
  }

  /** Fills a company until costs per record become visible. */
  async function fill(): Promise<void> {
    const { company } = panel
    const batch = async (path: string, item: (n: number) => object) => {
      for (let from = 0; from < RECORDS; from += 500) {
        const items = Array.from({ length: 500 }, (_, n) => item(from + n))
        expect((await company.post(`${path}/batch`, { items })).status).to.equal(200)
      }
    }
    await batch('/customers', (n) => ({ name: `Maria da Silva ${n}`, external_id: `c-${n}` }))
    await batch('/catalog/items', (n) => ({ name: `Café ${n}`, price: '10.00', external_id: `i-${n}` }))
    const counter = await openCounter(company, '100000')
    const till = await openTill(panel.api.url, company)
    for (let from = 0; from < RECORDS; from += 500)
      await upload(
        till,
        Array.from({ length: 500 }, (_, n) => counter.sale(`cheia-${from + n}`)),
      )
  }

  async function attackerOf(role: Role): Promise<Attacker> {
    const { company } = panel
    const { id: userId } = await company.run(createUser, {
      name: `Atacante ${++users}`,
      email: `atacante${users}@loja.example`,
      role,
      ...(role === 'auditor' && { access_until: '2099-12-31' }),
      password_hash: await cheapHash('uma senha de teste'),
    })
    const sessions = createSessions(company.core.pool, () => {})
    const { token } = await sessions.issue({ userId, companyId: company.id, generation: 0, personGeneration: 0 })
    return { role, cookie: `tillbook=${token}`, csrf: deriveCsrfToken(token) }
  }

  async function shown(address: string): Promise<string> {
    const headers = [['Cookie', attackers.get('owner')?.cookie ?? '']] as const
    return (
      await exchange(service.url, bytesOf({ method: 'GET', path: address, headers }), { wait_budget_ms: STUCK_MS })
    ).text
  }

  const queryNames = (html: string): string[] =>
    [...html.matchAll(/href="[^"?]*\?([^"]*)"/g)].flatMap(([, query = '']) => [
      ...new URLSearchParams(query.replaceAll('&amp;', '&')).keys(),
    ])

  async function namesOfPages(): Promise<string[]> {
    const found = new Set(['em', 'parte', 'ordem', 'linhas', 'cursor', 'antes', 'feito', 'para', 'codigo', 'periodo'])
    for (const target of TARGETS) {
      const address = await target.address()
      addresses.set(target, address)
      if (target.method === 'POST') continue
      const html = await shown(address)
      for (const name of [...fieldsIn(html).map(([name]) => name), ...queryNames(html)]) found.add(name)
    }
    return [...found].sort()
  }

  const ofPanel = (path: string) => () => addressOf(panel, path)
  /** A new session each time, because a hostile owner may end it. */
  const ofUser = (path: string) => async () => {
    const { id } = await panel.company.run(createUser, {
      name: `Vítima ${++users}`,
      email: `vitima${users}@loja.example`,
      role: 'clerk',
      password_hash: await cheapHash('uma senha de teste'),
    })
    return `${PANEL}${path.replace(':id', String(id))}`
  }
  const beside = (path: string, record: string) => async () => `${await addressOf(panel, record)}${path}`
  const plain = (path: string) => async () => `${PANEL}${path}`

  const TARGETS: readonly Target[] = [
    ...PANEL_ROUTES.map((route) => ({
      method: 'submit' in route ? ('POST' as const) : ('GET' as const),
      path: route.path,
      takesFile: 'takesFile' in route && route.takesFile === true,
      address: (route.path.startsWith('/configuracoes/usuarios/:id') ? ofUser : ofPanel)(route.path),
    })),
    { method: 'GET', path: PACK_DOWNLOAD, address: plain(PACK_DOWNLOAD) },
    { method: 'GET', path: MONTH_FILE_PATH, address: plain('/fechamento-do-mes/2026-01/arquivo') },
    { method: 'GET', path: RECEIPT_FILE_PATH, address: beside('/recibo/arquivo', '/vendas/:id') },
    ...['customer', 'supplier', 'order'].map((kind) => ({
      method: 'GET' as const,
      path: DATA_EXPORT_PATH.replace(':kind', kind),
      address: plain(`/dados-pessoais/${kind}/1/json`),
    })),
    { method: 'GET', path: '/assets/:digest/:file', address: plain('/assets/0/panel.css') },
    ...(['GET', 'POST'] as const).flatMap((method) =>
      ['/entrar', '/convite', '/esqueci', '/nova-senha'].map((path) => ({ method, path, address: plain(path) })),
    ),
    { method: 'POST', path: '/sair', address: plain('/sair') },
  ]

  /** Bytes of a request. */
  function bytesFor({ method, takesFile }: Target, who: Attacker, how: Attack, page: KnownPage): Buffer {
    const path = pathOf(how, page.address)
    const headers = [
      ...(who.cookie === '' ? [] : [['Cookie', who.cookie] as const]),
      ...(how.headers.some(([name]) => name === 'Sec-Fetch-Site') ? [] : [['Sec-Fetch-Site', 'same-origin'] as const]),
    ]
    if (method === 'GET') {
      const query = `${written(pairsOf(how, page.own, names, []))}${how.garbled ?? ''}`.slice(0, 8_000)
      const asked = query === '' ? path : `${path}?${query}`
      return bytesOf({ method: how.isHead ? 'HEAD' : 'GET', path: asked, headers: [...headers, ...how.headers] })
    }
    const fields = [['_csrf', who.csrf], ['_key', how.key], ...pairsOf(how, page.own, names, page.own)] as Pairs
    if (takesFile && how.file.length > 0) {
      const { type, body } = multipart(fields, how.file)
      return bytesOf({ method, path, headers: [...headers, ['Content-Type', type]], body })
    }
    const form = `${written(fields)}${how.garbled ?? ''}`
    const type = ['Content-Type', 'application/x-www-form-urlencoded'] as const
    return bytesOf({ method, path, headers: [...headers, type], body: form })
  }

  /** Asserts that a response is a page, a file or a redirect, and no fault. */
  function judge(request: string, { status, headers, text }: Reply): void {
    const told = `${status} ${text.slice(0, 300)}`
    expect(status === 503 ? 200 : status, `${request}\nanswered ${told}`).to.be.within(200, 499)
    if (status === 503 || status === 429) expect(headers.get('retry-after'), `${request}\n${told}`).not.to.equal(null)
    if (
      status !== 503 &&
      headers.get('content-type')?.startsWith('text/html') &&
      headers.get('content-disposition') === null &&
      text !== ''
    )
      expectPage(request.split(' ')[1] ?? '', { status, headers, text, body: null })
  }

  async function send(target: Target, role: Role | 'nobody', how: Attack, page: KnownPage): Promise<number> {
    const who = attackers.get(role) as Attacker
    const bytes = bytesFor(target, who, how, page)
    requests += 1
    const isHead = how.isHead && target.method === 'GET'
    const request = `as ${role}: ${bytes
      .subarray(0, 1_500)
      .toString('latin1')
      .replace(/^(\w+) /, '$1 ')}`
    const reply = await exchange(service.url, bytes, { isHead, wait_budget_ms: STUCK_MS }).catch((error: unknown) => {
      const end = hasEnded ? `: the process has ended\n${service.output().slice(-2_000)}` : ''
      throw new Error(`${request}\nwas not answered: ${(error as Error).message}${end}`)
    })
    judge(bytes.subarray(0, bytes.indexOf('\r\n')).toString('latin1'), reply)
    // A hostile form may have ended the session, or the user.
    const isOver =
      role !== 'nobody' && target.path !== '/entrar' && /^\/painel\/entrar/.test(reply.headers.get('location') ?? '')
    if (isOver) attackers.set(role, await attackerOf(role))
    return reply.status
  }

  interface KnownPage {
    readonly address: string
    readonly own: Pairs
  }

  async function pageOf(target: Target): Promise<KnownPage> {
    const address = await target.address().catch(() => addresses.get(target) as string)
    const html = await shown(address)
    const above = target.method === 'POST' ? await shown(address.slice(0, address.lastIndexOf('/'))) : ''
    const fields = fieldsIn(html + above).filter(([name]) => name !== '_csrf' && name !== '_key')
    const asked = queryNames(html).map((name) => [name, ''] as const)
    return { address, own: target.method === 'POST' ? fields : [...fields, ...asked] }
  }

  /** Longest time that the process was blocked since the last call, in ms. */
  async function lookOut(): Promise<number> {
    const { waited, stalled } = await watch.worst()
    longest = { waited: Math.max(waited, longest.waited), stalled: Math.max(stalled, longest.stalled) }
    return stalled
  }

  async function attackAt(target: Target, offset: number): Promise<void> {
    if (hasEnded) await startAgain()
    let page = await pageOf(target)
    const everybody = [...ROLES, 'nobody'] as const
    const batch = fc.tuple(...everybody.map(() => attack))
    const isAnswered = fc.asyncProperty(batch, async (hows) => {
      if (hasEnded) await startAgain()
      const together = () => Promise.all(everybody.map((role, n) => send(target, role, hows[n] as Attack, page)))
      const statuses = await together()
      if ((await lookOut()) > WAIT_MS) {
        // Excludes the time of a garbage collection.
        await together()
        const what = `${target.method} ${target.path} kept the others waiting, twice; ms`
        expect(await lookOut(), what).to.be.at.most(WAIT_MS)
      }
      // A changed record is not attacked again: another one replaces it.
      if (target.method === 'POST' && statuses.includes(303)) page = await pageOf(target)
    })
    await explore(isAnswered, CASES, offset)
  }

  for (const [place, target] of TARGETS.entries())
    it(`blocks no other requests, at ${target.method} ${target.path} [OPS-121]`, () => attackAt(target, 10_000 + place))

  const FORM = ['Content-Type', 'application/x-www-form-urlencoded'] as const
  for (const [what, method, path, body] of [
    ['days up to the end of the calendar', 'GET', '?periodo=intervalo&de=9999-12-01&ate=9999-12-31'],
    ['the last day of the calendar', 'GET', '?periodo=intervalo&de=9999-12-31&ate=9999-12-31'],
    ['months up to the end of the calendar', 'GET', '?periodo=intervalo&de=9999-01-01&ate=9999-12-31'],
    ['all days of the calendar', 'GET', '?periodo=intervalo&de=1900-01-01&ate=9999-12-31'],
    ['a form with a name that is too long', 'POST', '/clientes', `${'a'.repeat(201)}=1`],
    ['a form with a value that is too long', 'POST', '/clientes', `name=${'a'.repeat(20_001)}`],
  ] as const)
    it(`ends no process by ${what}, in any role and without a session [OPS-121]`, async () => {
      if (hasEnded) await startAgain()
      for (const { role, cookie } of attackers.values()) {
        const headers = [['Cookie', cookie] as const, ...(body === undefined ? [] : [FORM])]
        const bytes = bytesOf({ method, path: `${PANEL}${path}`, headers, ...(body !== undefined && { body }) })
        const { status } = await exchange(service.url, bytes, { wait_budget_ms: STUCK_MS })
        // A clerk sees today's own sales, whatever period is asked for.
        if (role === 'clerk' && path.startsWith('?')) expect(status, role).to.equal(200)
        else expect(status, role).to.be.within(303, 422)
      }
      expect(await lookOut()).to.be.at.most(WAIT_MS)
    })

  it('opens and leaves live pages [OPS-121]', async () => {
    for (let n = 0; n < 20 * DEPTH; n++) {
      const gone = new AbortController()
      const { cookie } = attackers.get('clerk') as Attacker
      const { status } = await fetch(`${service.url}${PANEL}${LIVE_PATH}?desde=${n % 3 === 0 ? 'x' : '99999999'}`, {
        headers: { cookie },
        signal: gone.signal,
      })
      gone.abort()
      expect(status).to.equal(200)
    }
    expect(await lookOut()).to.be.at.most(WAIT_MS)
  })

  it('stays below the memory limit [OPS-121]', async function () {
    if (process.platform !== 'linux') this.skip()
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
    const peak_mib = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
    console.log(`    at most ${Math.round(peak_mib)} MiB of memory`)
    expect(peak_mib).to.be.at.most(MEMORY_MIB)
  })

  it('leaves no errors in the log, and a valid ledger', async () => {
    const logged = (service.output().match(/^\{.*$/gm) ?? []).map((line) => JSON.parse(line))
    // No payment provider is configured.
    expect(logged.filter(({ err }) => err?.type !== 'ProviderUnavailable')).to.deep.equal([])
    const { key } = await panel.company.newKey(['audit:read'])
    const verified = await panel.company.call('GET', '/events/verify', undefined, { authorization: `Bearer ${key}` })
    expect(verified.body.data).to.include({ valid: true })
  })
})
