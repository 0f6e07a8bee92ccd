import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { createSession, Refusal } from '#demo/till/demo-drawer.ts'
import { createLine, LineBroken } from '#demo/till/demo-sales.ts'

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
    expect((error as Refusal).message).to.equal('service responded 422: Há dados inválidos na requisição.')
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
