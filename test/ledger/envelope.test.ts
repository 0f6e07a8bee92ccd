import { createHash } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import { canonicalJson, companyIdOfStream, GENESIS_HASH, hashOf, streamOf } from '#ledger/command.ts'
import { anyCharacter } from '../support/random.ts'
import { ordinary, sealedAfter } from './sealed-events.ts'

const canonicalize = canonicalizeModule as unknown as (value: unknown) => string | undefined

/** Not in canonical order, with values that RFC 8785 has rules for. */
const ENVELOPE = {
  version: 1,
  type: 'SaleRegistered',
  stream: 'company-7',
  revision: 0,
  recorded_at: '2026-03-10T15:00:00.123Z',
  request_id: null,
  subject: 'sale/981',
  origin: 'api',
  actor: 'api_key/7',
  id: '0195f3a0-0000-7000-8000-000000000001',
  idempotency: { status: 201, request_hash: 'aa', key: 'k-1' },
  data: {
    '\ufb33': 'last, by UTF-16 units',
    '😀': 'before it, though its code point is higher',
    '€': [],
    ß: {},
    name: 'São "João" \\ / é 😀\n\u000f\u2028',
    items: [{ note: null, id: 981 }, 1.0, 0.5, 1e30, 1e-7, 9007199254740991, -0, true],
    amount: '10.50',
  },
  previous_hash: GENESIS_HASH,
} as const

const CANONICAL =
  '{"actor":"api_key/7","data":{"amount":"10.50","items":[{"id":981,"note":null},1,0.5,1e+30,1e-7,9007199254740991,0,true],' +
  '"name":"São \\"João\\" \\\\ / é 😀\\n\\u000f\u2028","ß":{},"€":[],' +
  '"😀":"before it, though its code point is higher","\ufb33":"last, by UTF-16 units"},' +
  '"id":"0195f3a0-0000-7000-8000-000000000001","idempotency":{"key":"k-1","request_hash":"aa","status":201},' +
  '"origin":"api","previous_hash":"0000000000000000000000000000000000000000000000000000000000000000",' +
  '"recorded_at":"2026-03-10T15:00:00.123Z","request_id":null,"revision":0,"stream":"company-7","subject":"sale/981",' +
  '"type":"SaleRegistered","version":1}'

/** sha256sum of the text above, computed outside of this project. */
const HASH = 'e6477bfc4cb969ea8fb90fffbace70c041a8c6951b7c55f1178df1657549cff3'

describe('envelope', () => {
  it('is hashed as lowercase hex SHA-256 of the UTF-8 of its canonical JSON (RFC 8785) [LEDGER-2]', () => {
    expect(createHash('sha256').update(Buffer.from(CANONICAL, 'utf8')).digest('hex')).to.equal(HASH)
    expect(hashOf(ENVELOPE)).to.equal(HASH)
  })

  it('has the same hash for any order of members, and after a JSON round trip [LEDGER-2]', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, member]) => [key, reversed(member)]),
      )
    }
    expect(hashOf(reversed(ENVELOPE) as typeof ENVELOPE)).to.equal(HASH)
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (data) => {
        const envelope = { ...ENVELOPE, data }
        expect(hashOf(JSON.parse(JSON.stringify(envelope)))).to.equal(hashOf(envelope))
        expect(hashOf(reversed(envelope) as typeof ENVELOPE)).to.equal(hashOf(envelope))
      }),
    )
  })

  it('has the canonical JSON of the reference implementation for any names and values [LEDGER-2]', () => {
    const name = fc.oneof(fc.constantFrom('a', 'B', 'aa', 'a_1', 'Z9', 'é', '10', '9', '__proto__', '_'), fc.string())
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.jsonValue({ maxDepth: 0 }),
        fc.string({ unit: anyCharacter }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.array(tie('value')),
        // Parsed, so that `__proto__` is an ordinary member.
        fc.array(fc.tuple(name, tie('value'))).map((members) => {
          const texts = members.map((member) => member.map((part) => JSON.stringify(part)).join(':'))
          return JSON.parse(`{${texts.join()}}`)
        }),
      ),
    }))
    fc.assert(
      fc.property(value, (data) => {
        expect(canonicalJson({ data })).to.equal(canonicalize({ data }))
      }),
    )
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) expect(() => canonicalJson({ value })).to.throw()
    expect(canonicalJson({ nothing: undefined, at: [undefined] })).to.equal('{"at":[null]}')
    expect(canonicalJson({ at: new Date(0) })).to.equal('{"at":"1970-01-01T00:00:00.000Z"}')
  })

  it('changes its hash if anything is changed, an empty member is left out, or one is added [LEDGER-2]', () => {
    const changed: object[] = [
      { ...ENVELOPE, revision: 1 },
      { ...ENVELOPE, previous_hash: `1${GENESIS_HASH.slice(1)}` },
      { ...ENVELOPE, request_id: 'r-1' },
      { ...ENVELOPE, recorded_at: '2026-03-10T15:00:00.124Z' },
      { ...ENVELOPE, data: { ...ENVELOPE.data, amount: '10.5' } },
      { ...ENVELOPE, data: { ...ENVELOPE.data, name: ENVELOPE.data.name.normalize('NFD') } },
      { ...ENVELOPE, note: null },
      (({ request_id: _, ...rest }) => rest)(ENVELOPE),
    ]
    const hashes = changed.map((envelope) => hashOf(envelope as typeof ENVELOPE))
    expect(new Set([...hashes, HASH]).size).to.equal(changed.length + 1)
  })

  it('cannot be hashed with values that JSON cannot represent', () => {
    for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, 1n]) {
      expect(() => hashOf({ ...ENVELOPE, data: { amount } })).to.throw()
    }
  })

  it('is chained: each event contains the hash of its predecessor, the first one 64 zeros [LEDGER-2]', () => {
    const [first, second] = sealedAfter('company-7', null, ordinary(2))
    expect(first?.previous_hash).to.equal('0'.repeat(64))
    expect(second?.previous_hash).to.equal(first?.hash)
  })

  it('belongs to the stream of its company, and the stream name identifies the company [LEDGER-1]', () => {
    expect(streamOf(7)).to.equal('company-7')
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => companyIdOfStream(streamOf(id)) === id),
    )
    for (const other of [
      'company-',
      'company-0',
      'company-01',
      'company--1',
      'company-1 ',
      'company-1-2',
      '$ce-company',
      'order-1',
      '',
    ]) {
      expect(companyIdOfStream(other), other).to.equal(null)
    }
  })
})
