import { expect } from 'chai'
import fc from 'fast-check'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { explore, TITLE } from '../support/random.ts'
import { bytesOf, openWire } from '../support/wire.ts'
import { expectAnswered } from './answers.ts'

const CASES = 360

/** Damage to the bytes of requests in transit. Positions are fractions of the whole, so that a case can be shrunk. */
type Corruption = (bytes: Buffer) => Buffer

const share = fc.double({ min: 0, max: 1, noNaN: true })
const at = (bytes: Buffer, where: number) => Math.floor(bytes.length * where)
const splice = (bytes: Buffer, from: number, to: number, by: Buffer) =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)])

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  ' ',
  ':',
  '\u0000',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n',
  '0\r\n\r\n',
  'ffffffffffffffff\r\n',
  '5;a=b\r\nhello\r\n',
  'GET /api/v1/me HTTP/1.1\r\n',
]

const corruption: fc.Arbitrary<Corruption> = fc.oneof(
  share.map(
    (where): Corruption =>
      (bytes) =>
        bytes.subarray(0, at(bytes, where)),
  ),
  fc
    .tuple(
      share,
      fc.oneof(fc.constantFrom(...TOKENS).map(Buffer.from), fc.uint8Array({ maxLength: 6 }).map(Buffer.from)),
    )
    .map(
      ([where, by]): Corruption =>
        (bytes) =>
          splice(bytes, at(bytes, where), at(bytes, where), by),
    ),
  fc.tuple(share, fc.uint8Array({ minLength: 1, maxLength: 3 })).map(
    ([where, by]): Corruption =>
      (bytes) =>
        splice(bytes, at(bytes, where), at(bytes, where) + by.length, Buffer.from(by)),
  ),
  fc.tuple(share, share).map(
    ([from, to]): Corruption =>
      (bytes) =>
        splice(bytes, at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to)), Buffer.alloc(0)),
  ),
  fc.tuple(share, share).map(
    ([from, to]): Corruption =>
      (bytes) => {
        const slice = bytes.subarray(at(bytes, Math.min(from, to)), at(bytes, Math.max(from, to)))
        return splice(bytes, at(bytes, to), at(bytes, to), slice)
      },
  ),
)

describe(`hostile bytes (${TITLE})`, function () {
  this.timeout(0)
  const database = useDatabase()
  const logged: unknown[] = []
  let api: TestApi
  let company: TestCompany

  before(async () => {
    const log = (message: string, error: unknown) => logged.push(message, error)
    api = await startApi(database.url, { log, server: { request_ms: 2_000, headers_ms: 2_000, check_ms: 50 } })
    company = await api.company()
  })
  after(() => api.close())

  /** Sends bytes, ends the sending side, and returns all responses before the service ended the connection. */
  async function speak(bytes: Buffer): Promise<Reply[]> {
    const wire = await openWire(api.url)
    try {
      wire.write(bytes)
      wire.socket.end()
      await wire.ended()
      return wire.answers()
    } finally {
      wire.close()
    }
  }

  const headers = () =>
    [
      ['Authorization', `Bearer ${company.key}`],
      ['Content-Type', 'application/json'],
    ] as const
  const requests = (name: string): Buffer[] => {
    const body = JSON.stringify({ name })
    const chunked = `5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`
    const creating = { method: 'POST', path: '/api/v1/customers' }
    return [
      bytesOf({ method: 'GET', path: '/api/v1/customers?limit=1', headers: headers() }),
      bytesOf({ ...creating, headers: headers(), body }),
      bytesOf({ ...creating, headers: [...headers(), ['Transfer-Encoding', 'chunked']], body: chunked }),
      bytesOf({
        method: 'POST',
        path: '/api/auth/login',
        headers: headers(),
        body: '{"email":"a@b.example","password":"x"}',
      }),
      bytesOf({ method: 'POST', path: '/webhook/paymentprovider/loja/1', headers: headers(), body: '{"type":"plan"}' }),
    ]
  }

  it('get a response or a closed connection, and never hang [HTTP-32]', async () => {
    let count = 0
    await explore(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 3 }),
        fc.array(corruption, { minLength: 1, maxLength: 2 }),
        async (which, corruptions) => {
          const told = requests(`Nome ${++count}`)
          const whole = Buffer.concat(which.map((n) => told[n] as Buffer))
          const bytes = corruptions.reduce<Buffer>((left, corrupt) => corrupt(left), whole)
          for (const reply of await speak(bytes)) expectAnswered(pathFor(reply), reply)
        },
      ),
      CASES,
      1_000,
    )
    expect(logged).to.deep.equal([])
    expect((await company.get('/me')).status).to.equal(200)
  })
})

/** The damaged request is unknown, but the format of its response shows the interface. */
const pathFor = ({ body }: Reply): string => (body && 'success' in body ? '/api/sync' : '/api/v1')
