import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  createDrawer,
  createReturnDesk,
  createSession,
  type OfflineReturn,
  Refusal,
  type ReturnDesk,
} from '#demo/till/demo-drawer.ts'
import { createLine, LineBroken, type OfflineSale, openQueue, type Queue } from '#demo/till/demo-sales.ts'
import { createTill, playDay, type Report, type Till } from '#demo/till/demo-till.ts'
import { fromThousandths } from '#domain/money.ts'
import type { TestCompany } from '../support/api.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { createTestUser } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

/** Scripted responses: status, body, headers; null cuts the connection. */
type Scripted = { status: number; body?: object; headers?: Record<string, string> } | null

const LOGGED_IN: Scripted = { status: 200, body: { data: { token: 'tb_sync_1', user: { name: 'Ana' } } } }
const OK: Scripted = { status: 200, body: { success: true } }

describe('session of the reference till', () => {
  let server: Server
  let script: Scripted[]
  let received: { path: string; token: string | undefined; body: string }[]

  before(async () => {
    server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    received = []
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const { authorization } = request.headers
    received.push({ path: request.url ?? '', token: authorization, body: Buffer.concat(chunks).toString() })
    const next = script.shift()
    if (!next) return void request.socket.destroy()
    response.writeHead(next.status, next.headers).end(JSON.stringify(next.body ?? {}))
  }

  function open() {
    const line = createLine(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const credentials = { email: 'ana@loja.example', password: 'segredo' }
    const session = createSession({
      line,
      credentials,
      say: () => {},
      random: () => 0,
      firstWait_ms: 1,
      longestWait_ms: 4,
    })
    return { line, session }
  }
  const status = { method: 'GET', path: '/sync/status' } as const
  const paths = () => received.map(({ path }) => path)

  it('logs in before the first call, and only then', async () => {
    script = [LOGGED_IN, OK, OK]
    const { session } = open()
    await session.call(status)
    await session.call(status)
    expect(paths()).to.deep.equal(['/api/auth/login', '/api/sync/status', '/api/sync/status'])
    expect(received[1]?.token).to.equal('Bearer tb_sync_1')
    expect(JSON.parse(received[0]?.body ?? '')).to.deep.equal({ email: 'ana@loja.example', password: 'segredo' })
  })

  it('logs in again when its token is rejected, and repeats the call', async () => {
    const renewed = { status: 200, body: { data: { token: 'tb_sync_2', user: { name: 'Ana' } } } }
    script = [LOGGED_IN, OK, { status: 401 }, renewed, OK]
    const { session } = open()
    await session.call(status)
    expect(await session.call(status)).to.deep.equal({ success: true })
    expect(received.at(-1)).to.include({ path: '/api/sync/status', token: 'Bearer tb_sync_2' })
  })

  it('fails at once if a retry would not help', async () => {
    script = [LOGGED_IN, { status: 422, body: { message: 'Há dados inválidos na requisição.' } }]
    const { session } = open()
    const error = await session.call(status).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(Refusal)
    expect((error as Refusal).message).to.equal('The service answered 422: the request is wrong.')
    expect(session.retries()).to.equal(0)
    script = [{ status: 401 }]
    expect(
      await open()
        .session.call(status)
        .catch((reason: unknown) => reason),
    ).to.be.instanceOf(Refusal)
  })

  for (const [what, failure] of [
    ['the connection is cut', null],
    ['the service is unavailable', { status: 503, headers: { 'retry-after': '0' } }],
    ['the service fails', { status: 500 }],
    ['the quota is exhausted', { status: 429 }],
  ] as [string, Scripted][]) {
    it(`retries while ${what}`, async () => {
      script = [failure, LOGGED_IN, failure, failure, OK]
      const { session } = open()
      expect(await session.call(status)).to.deep.equal({ success: true })
      expect(session.retries()).to.equal(3)
    })
  }

  it('fails in the end with the result of the last attempt', async () => {
    script = []
    const error = await open()
      .session.call(status)
      .catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(LineBroken)
    expect(received).to.have.length(10)
  })

  it('sends half of a request when broken while sending, and all of it when broken while receiving', async () => {
    script = [LOGGED_IN, OK, OK, OK]
    const { line, session } = open()
    await session.call(status)
    const upload = { method: 'POST', path: '/sync/sales', body: { sales: ['ã'.repeat(100_000)] } } as const
    line.breakNext('while sending', () => line.breakNext('while receiving'))
    await session.call(upload)
    expect(session.retries()).to.equal(2)
    const whole = received.filter(({ path }) => path === '/api/sync/sales')
    expect(whole).to.have.length(2)
    for (const { body } of whole) expect(JSON.parse(body)).to.deep.equal(upload.body)
  })
})

const sale = (offline_id: string) => offlineSaleOf({ offline_id }) as OfflineSale

describe('queue of the reference till', () => {
  let directory: string
  let file: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-till-'))
    file = join(directory, 'queue.json')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('returns sales in order until they are removed', async () => {
    const queue = await openQueue(null)
    for (const id of ['a', 'b', 'c']) await queue.add(sale(id))
    expect(queue.first(2).map(({ offline_id }) => offline_id)).to.deep.equal(['a', 'b'])
    await queue.remove(new Set(['a', 'x']))
    expect(queue.first(9).map(({ offline_id }) => offline_id)).to.deep.equal(['b', 'c'])
    expect(queue.size()).to.equal(2)
  })

  it('loads the file of another run, and leaves no temporary files', async () => {
    const before = await openQueue(file)
    for (const id of ['a', 'b']) await before.add(sale(id))
    await before.remove(new Set(['a']))
    expect((await openQueue(file)).first(9)).to.deep.equal([sale('b')])
    expect(await readdir(directory)).to.deep.equal(['queue.json'])
  })

  it('refuses an invalid file instead of overwriting it', async () => {
    await writeFile(file, 'oops')
    const error = await openQueue(file).catch((reason: Error) => reason.message)
    expect(error).to.equal(`${file} is not a queue of a till`)
  })
})

const STOCK = 10

describe('a day at the reference till', () => {
  const api = useApi()
  let company: TestCompany
  let items: number[]
  let queue: Queue

  beforeEach(async () => {
    company = await api.company()
    for (const kind of ['cash', 'pix', 'credit_account'] as const) await company.paymentType(kind)
    items = []
    for (let n = 0; n < 5; n++) {
      const item = { name: `Produto ${n}`, price: `${n + 1}.99`, stock: String(STOCK) }
      items.push((await company.post('/catalog/items', item)).body.data.id)
    }
    queue = await openQueue(null)
  })

  /** Records sales on their way through the queue. */
  function watched(sold: OfflineSale[]): Queue {
    return {
      ...queue,
      add: (sale) => {
        sold.push(sale)
        return queue.add(sale)
      },
    }
  }

  async function open(sold: OfflineSale[] = [], returned: OfflineReturn[] = []) {
    // Without a limit for what is given back in a day.
    const user = await createTestUser(company, 'owner')
    const line = createLine(api.url)
    const say = () => {}
    const session = createSession({ line, credentials: user, say, random: Math.random, firstWait_ms: 5 })
    const world = { random: Math.random, now: () => new Date(), newId: randomUUID }
    const own = watched(sold)
    const drawer = createDrawer({ session, queue: await openQueue(null), world, say })
    const till: Till = createTill({ session, queue: own, drawer, world, say, portion: 10 })
    const desk = createReturnDesk({
      session,
      queue: await openQueue(null),
      drawer,
      world: { ...world, random: often },
      say,
    })
    const serve: ReturnDesk['serve'] = async (sale) => {
      const back = await desk.serve(sale)
      if (back) returned.push(back)
      return back
    }
    const parts = { line, session, queue: own, drawer, desk: { ...desk, serve }, till, say }
    return { till, play: (sales: number): Promise<Report> => playDay(parts, sales) }
  }

  const stocks = async (): Promise<string[]> =>
    Promise.all(items.map(async (id) => (await company.get(`/catalog/items/${id}`)).body.data.stock))

  /** Half of the sales come back in part. */
  const often = () => Math.random() / 6

  function stocksAfter(sales: readonly OfflineSale[], returned: readonly OfflineReturn[]): string[] {
    const backOf = (sale: OfflineSale) => returned.some((each) => each.sale_offline_id === sale.offline_id)
    const lines = sales
      .filter(({ status }) => status === 'completed')
      .flatMap((sale) => sale.items.slice(backOf(sale) ? 1 : 0))
    return items.map((id) => {
      const taken = lines.filter(({ product_id }) => product_id === id)
      const thousandths = taken.reduce((sum, { quantity }) => sum + Math.round(quantity * 1000), 0)
      return fromThousandths(STOCK * 1000 - thousandths)
    })
  }

  it('uploads every sale once despite two connection failures, and the stock is exact [UP-15]', async () => {
    const sold: OfflineSale[] = []
    const returned: OfflineReturn[] = []
    const { play, till } = await open(sold, returned)
    const report = await play(35)
    expect(report).to.include({ sold: 35, sale_ids: 35, refused: 0, retries: 2, conflicts: 0, waiting: 0 })
    expect(report).to.include({ returned: returned.length, returns_refused: 0 })
    // The response to the first ten was lost.
    expect(report).to.include({ created: 25, duplicate: 10 })
    const { data } = (await company.get('/sales?limit=200')).body
    expect(data.map((sale: { id: number }) => sale.id)).to.have.members([...till.tally().saleIds.values()])
    expect(await stocks()).to.deep.equal(stocksAfter(sold, returned))
    const known = till.products().map(({ stock }) => fromThousandths(Math.round(stock * 1000)))
    expect(known, 'what the till took over in the end').to.deep.equal(await stocks())
  })

  it('counts the drawer to the cent of what its session expects [CASH-10]', async () => {
    const report = await (await open()).play(35)
    const [session, ...others] = (await company.get('/cash-sessions')).body.data
    expect(others).to.deep.equal([])
    expect(session).to.include({ status: 'closed', difference: '0.00', counted: report.counted })
    expect(session).to.include({ sales_count: 35 - report.cancelled, changed_after_close: false })
    for (const { difference } of session.by_payment_type) expect(difference).to.equal('0.00')
    expect(report).to.include({ movements_refused: 0, returns_refused: 0 })
    expect((await company.get('/returns?limit=200')).body.data)
      .to.have.length(report.returned)
      .above(0)
  })

  it('continues with sales that an earlier day left in the queue', async () => {
    await queue.add(
      offlineSaleOf({
        items: [{ product_id: items[0], quantity: 1, price: 1.99, total: 1.99 }],
        total: 1.99,
        amount_received: 1.99,
        payments: [{ payment_type_id: await company.paymentType('cash'), amount: 1.99, status: 'completed' }],
      }) as OfflineSale,
    )
    const report = await (await open()).play(0)
    expect(report).to.include({ sold: 0, left_from_before: 1, sale_ids: 1, waiting: 0 })
  })

  it('removes a refused sale from its queue, because the service stores it', async () => {
    await queue.add(offlineSaleOf({ total: 11 }) as OfflineSale)
    const report = await (await open()).play(3)
    expect(report).to.include({ refused: 1, waiting: 0, sale_ids: 3 })
  })

  it('downloads changes made at the service meanwhile', async () => {
    const { till } = await open()
    await till.download()
    await company.call('PATCH', `/catalog/items/${items[0]}`, { price: '7.77' })
    await company.call('DELETE', `/catalog/items/${items[1]}`)
    expect(await till.checkConflicts()).to.deep.equal({ updated: 1, deleted: 1, unknown: 0 })
    expect(await till.refresh()).to.deep.equal({ changed: 1, deleted: 1 })
    expect(till.products().find(({ id }) => id === items[0])?.price).to.equal(7.77)
    expect(await till.checkConflicts()).to.deep.equal({ updated: 0, deleted: 0, unknown: 0 })
  })

  it('fails without products or payment types', async () => {
    company = await api.company()
    const error = await (await open()).play(1).catch((reason: Error) => reason.message)
    expect(error).to.equal('company has no products or no payment types')
  })
})
