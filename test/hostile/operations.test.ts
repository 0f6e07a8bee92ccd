import { expect } from 'chai'
import fc from 'fast-check'
import { createWorld, type World } from '../api/contract/world.ts'
import { expectDocumentedCall } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { explore, TITLE } from '../support/random.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { expectAnswered } from './answers.ts'
import { fitting } from './schema.ts'
import { garbling, type Spoiler, spoiled, spoiler } from './spoil.ts'
import { type GoodCall, TARGETS, type Target } from './targets.ts'
import { encoded, oddText, printed } from './values.ts'

/** Cases per operation and kind of client. */
const CASES = 6

/** Makes a valid call invalid or unusual. */
type Twist = (call: GoodCall) => Sent
interface Sent extends Omit<GoodCall, 'body'> {
  readonly body?: Buffer
}

const JSON_HEADER = ['Content-Type', 'application/json'] as const

/** The call with another body; `undefined` sends none. */
const withBody = ({ headers, ...call }: GoodCall, body: Buffer | undefined): Sent => ({
  ...call,
  body,
  headers: body === undefined ? headers : [...headers, JSON_HEADER],
})
const plainBody = ({ body }: GoodCall) => (body === undefined ? undefined : Buffer.from(JSON.stringify(body)))

/** Spoils one position of the body; adds a body to calls without one. */
const bodyTwist: fc.Arbitrary<Twist> = fc.tuple(spoiler, garbling).map(
  ([how, garble]) =>
    (call) =>
      withBody(call, garble(spoiled(call.body ?? {}, how))),
)

/** Replaces some members of the body by other valid ones, and sometimes spoils one position. */
const variedTwist = (body: NonNullable<Target['body']>): fc.Arbitrary<Twist> =>
  fc
    .tuple(
      fitting(body),
      fc.array(fc.constantFrom('own', 'own', 'other'), { minLength: 7, maxLength: 7 }),
      fc.option(spoiler),
    )
    .map(([other, picks, how]) => (call) => {
      const mixed = mix(call.body, other, picks)
      return withBody(call, Buffer.from(how ? spoiled(mixed, how as Spoiler) : JSON.stringify(mixed)))
    })

function mix(own: unknown, other: unknown, picks: readonly string[]): unknown {
  if (!isObject(own) || !isObject(other)) return own
  const names = [...new Set([...Object.keys(own), ...Object.keys(other)])]
  const members = names.map((name, n) => [name, (picks[n % picks.length] === 'own' ? own : other)[name]])
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Query parameters of the contract with valid and invalid values, and others. */
const queryTwist = (query: Target['query']): fc.Arbitrary<Twist> => {
  const known = query.map(({ name, schema }) => fc.tuple(fc.constant(name), fitting(schema).map(String)))
  const odd = fc.tuple(fc.oneof(fc.constantFrom('limit', 'cursor', ...query.map(({ name }) => name)), oddText), oddText)
  const shapes = fc.constantFrom('=', '[]=', '[a][b]=', '[__proto__]=', '=&')
  return fc
    .tuple(fc.array(fc.oneof(odd, ...known), { maxLength: 4 }), shapes, fc.boolean())
    .map(([pairs, shape, raw]) => (call) => {
      const written = (text: string) => (raw ? printed(text) : encoded(text))
      const search = pairs.map(
        ([name, value]) => `${written(name.slice(0, 500))}${shape}${written(value.slice(0, 2_000))}`,
      )
      return { ...withBody(call, plainBody(call)), path: `${call.path.split('?')[0]}?${search.join('&')}` }
    })
}

/** Replaces one part of the path. */
const pathTwist: fc.Arbitrary<Twist> = fc
  .tuple(
    fc.nat({ max: 8 }),
    fc.oneof(oddText, fc.constantFrom('%', '%zz', '%ff', '%2f', '..', '.', '%2e%2e', '//', ';a=b')),
    fc.boolean(),
  )
  .map(([place, text, raw]) => (call) => {
    const [path = '', search] = call.path.split('?')
    const parts = path.split('/').slice(1)
    parts[place % parts.length] = raw ? printed(text.slice(0, 2_000)) : encoded(text.slice(0, 1_000))
    const twisted = `/${parts.join('/')}`
    return { ...withBody(call, plainBody(call)), path: search === undefined ? twisted : `${twisted}?${search}` }
  })

const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'application/json;charset=utf-7;charset=utf-8'],
  ['Content-Type', ';'],
  ['Content-Type', 'application/json, application/json'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'deflate, gzip'],
  ['Content-Encoding', '\u00ff'],
  ['Accept', 'text/html'],
  ['Accept', '\u00e9'.repeat(4_000)],
  ['Accept-Encoding', 'x'.repeat(4_000)],
  ['Authorization', 'Bearer a b c'],
  ['Authorization', `Bearer ${'x'.repeat(8_000)}`],
  ['Authorization', 'Basic Og=='],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'x'.repeat(256)],
  ['Idempotency-Key', '\u00e9'],
  ['Idempotency-Key', '__proto__'],
  ['If-None-Match', '*'],
  ['If-Modified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['Range', 'bytes=0-0'],
  ['Expect', '100-continue'],
  ['Expect', 'wonders'],
  ['Upgrade', 'h2c'],
  ['Connection', 'Upgrade, HTTP2-Settings'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', `${'1.2.3.4,'.repeat(500)}x`],
  ['X-Forwarded-Proto', 'http'],
  ['X-Forwarded-Host', 'a, b'],
  ['Forwarded', 'for="[::1'],
  ['X-Request-Id', '\u00e9'.repeat(200)],
  ['X-Signature', 'ts=,v1='],
  ['X-Signature', `ts=1,v1=${'a'.repeat(4_000)}`],
  ['Cookie', 'x=%ff; __proto__=1'],
  ['Host', 'a b'],
  ['Host', ''],
  ['Origin', 'null'],
  ['__proto__', 'x'],
  ['Transfer-Encoding', 'identity'],
  ['TE', 'trailers'],
  ['Trailer', 'Content-Length'],
]

/** Headers that are wrong or duplicated, or whose first value differs from the second. */
const headerTwist: fc.Arbitrary<Twist> = fc
  .tuple(fc.uniqueArray(fc.constantFrom(...ODD_HEADERS), { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([odd, first]) => (call) => {
    const sent = withBody(call, plainBody(call))
    return { ...sent, headers: first ? [...odd, ...sent.headers] : [...sent.headers, ...odd] }
  })

function twistOf({ body, query }: Target, method: string): fc.Arbitrary<Twist> {
  const of = (weight: number, arbitrary: fc.Arbitrary<Twist>) => ({ weight, arbitrary })
  return fc.oneof(
    ...(method === 'GET' ? [] : [of(5, bodyTwist)]),
    ...(body ? [of(4, variedTwist(body))] : []),
    of(method === 'GET' ? 6 : 1, queryTwist(query)),
    of(1, pathTwist),
    of(2, headerTwist),
  )
}

/** Number of variants of one valid call. */
const CALLS_OF_ONE = 3

/** Codes of malformed HTTP, which belong to no operation. */
const OF_HTTP = ['malformed_request', 'headers_too_large']

/** The call as printed on failure. */
const shown = ({ method, path, headers, body }: Sent): string =>
  [`${method} ${path}`, ...headers.map((header) => header.join(': ')), body?.toString() ?? '']
    .map((line) => line.slice(0, 600))
    .join('\n')

describe(`hostile requests to every operation (${TITLE})`, function () {
  this.timeout(0)
  const database = useDatabase()
  const logged: unknown[] = []
  let world: World

  before(async () => {
    world = await createWorld(database.url, (message, error) => logged.push(message, error))
  })
  after(() => world.close())

  for (const [place, target] of TARGETS.entries()) {
    it(`get a response from ${target.name} [HTTP-12]`, async () => {
      let asked = 0
      let call = await target.prepare(world, 0)
      await explore(
        fc.asyncProperty(twistOf(target, call.method), async (twist) => {
          // Earlier variants may have used up the prepared state, but preparing costs more than calling.
          if (asked++ % CALLS_OF_ONE === 0) call = await target.prepare(world, asked)
          const sent = twist(call)
          try {
            const reply = await exchange(world.api.url, bytesOf(sent))
            expectAnswered(sent.path, reply)
            const path = /^\/api\/v1(\/.*)$/.exec(sent.path)?.[1]
            if (path && !OF_HTTP.includes(reply.body?.error?.code)) expectDocumentedCall(sent.method, path, reply)
          } catch (error) {
            throw new Error(`${error instanceof Error ? error.message : error}\n${shown(sent)}`)
          }
        }),
        CASES,
        place,
      )
    })
  }

  it('cause no fault, and the service still responds', async () => {
    expect(logged).to.deep.equal([])
    expect((await world.company.get('/me')).status).to.equal(200)
    expect((await world.company.get('/events/verify')).body.data).to.include({ valid: true })
  })
})
