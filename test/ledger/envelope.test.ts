import { createHash, randomBytes } from 'node:crypto'
import canonicalizeModule from 'canonicalize'
import { expect } from 'chai'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { openValue, type PersonSecret, plainId, sealedKeyId } from '#crypto/vault.ts'
import type { PersonPart } from '#domain/person-values.ts'
import {
  canonicalJson,
  companyIdOfStream,
  type Envelope,
  GENESIS_HASH,
  hashEnvelope,
  type NewEvent,
  streamName,
} from '#ledger/command.ts'
import { readNewest } from '#ledger/port.ts'
import {
  CannotOpen,
  listSealingKeys,
  openData,
  type PersonalField,
  type PersonKeys,
  sealData,
} from '#ledger/sealed-fields.ts'
import { readModel } from '#projections/index.ts'
import { EVERY_EVENT } from '../support/every-event.ts'
import { expectSealed, personalValues } from '../support/opened.ts'
import { anyCharacter, explore } from '../support/random.ts'
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
    expect(hashEnvelope(ENVELOPE)).to.equal(HASH)
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
    expect(hashEnvelope(reversed(ENVELOPE) as typeof ENVELOPE)).to.equal(HASH)
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (data) => {
        const envelope = { ...ENVELOPE, data }
        expect(hashEnvelope(JSON.parse(JSON.stringify(envelope)))).to.equal(hashEnvelope(envelope))
        expect(hashEnvelope(reversed(envelope) as typeof ENVELOPE)).to.equal(hashEnvelope(envelope))
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
    const hashes = changed.map((envelope) => hashEnvelope(envelope as typeof ENVELOPE))
    expect(new Set([...hashes, HASH]).size).to.equal(changed.length + 1)
  })

  it('cannot be hashed with values that JSON cannot represent', () => {
    for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, 1n]) {
      expect(() => hashEnvelope({ ...ENVELOPE, data: { amount } })).to.throw()
    }
  })

  it('is chained: each event contains the hash of its predecessor, the first one 64 zeros [LEDGER-2]', () => {
    const [first, second] = sealedAfter('company-7', null, ordinary(2))
    expect(first?.previous_hash).to.equal('0'.repeat(64))
    expect(second?.previous_hash).to.equal(first?.hash)
  })

  it('belongs to the stream of its company, and the stream name identifies the company [LEDGER-1]', () => {
    expect(streamName(7)).to.equal('company-7')
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (id) => companyIdOfStream(streamName(id)) === id,
      ),
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

/** Keys by owner and part, and by id. */
function keyring() {
  const keys = new Map<string, PersonSecret>()
  const secrets = new Map<string, Buffer | null>()
  const keyOf = (subject: string, part: PersonPart): PersonSecret => {
    const name = `${subject} ${part}`
    const key = keys.get(name) ?? { id: v7(), secret: randomBytes(32) }
    keys.set(name, key)
    secrets.set(plainId(key.id), key.secret)
    return key
  }
  return { keys, secrets, keyOf }
}

/** The event with other values in its personal fields. */
function withValues(event: NewEvent, fields: readonly PersonalField[], values: readonly unknown[]): NewEvent {
  const data = structuredClone(event.data) as Record<string, unknown>
  for (const [place, { path, person }] of fields.entries()) {
    let holder: Record<string, unknown> | null | undefined = data
    for (const name of path.slice(0, -1)) holder = holder?.[name] as typeof holder
    const last = path.at(-1) as string
    if (!holder || !(last in holder)) continue
    holder[last] = values[place]
    if (person !== 'subject') holder[person.id] = 9
  }
  return { ...event, data }
}

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constant(null),
  fc.record({ zip: fc.string(), sealed: fc.string() }),
  fc.string({ minLength: 500, maxLength: 2000 }),
)
const personal = EVERY_EVENT.filter((event) => readModel.personalFields(event).length > 0)

const sealedBy = (event: Envelope, keyOf: (subject: string, part: PersonPart) => PersonSecret | null): Envelope => {
  const { hash: _, ...unhashed } = {
    ...event,
    data: sealData(event, event.id, readModel.personalFields(event), keyOf).stored,
  }
  return { ...unhashed, hash: hashEnvelope(unhashed), data: unhashed.data }
}

/** Event with many personal fields. */
const CREATED = EVERY_EVENT.find(({ type }) => type === 'CustomerCreated') as Envelope

describe('sealed fields', () => {
  it('open to their original values for every event type; no personal data is in clear [LEDGER-40]', async () => {
    const event = fc.constantFrom(...personal)
    await explore(
      fc.property(event, fc.array(value, { minLength: 8, maxLength: 8 }), (sample, values) => {
        const { keyOf, secrets } = keyring()
        const fields = readModel.personalFields(sample)
        const clear = { ...sample, ...withValues(sample, fields, values) }
        const before = structuredClone(clear)
        const stored = JSON.parse(JSON.stringify(sealedBy(clear, keyOf))) as Envelope
        expect(clear).to.deep.equal(before)
        expectSealed([stored])
        expect(listSealingKeys(stored, fields)).to.have.length(personalValues(clear).length)
        expect(openData(stored, fields, secrets)).to.deep.equal(clear.data)
        expect(Object.keys(stored.data)).to.deep.equal(Object.keys(clear.data))
        const { hash, ...rest } = stored
        expect(hash).to.equal(hashEnvelope(rest))
      }),
      150,
    )
    const seen = new Set(personal.map(({ type }) => type))
    for (const { type, version } of EVERY_EVENT)
      expect(readModel.personalFields({ type, version }).length > 0, type).to.equal(seen.has(type))
  })

  it('open as an earlier process has stored them', () => {
    const sealed = 'AQGJCl2slndLvM6zAgmagFdi-3TElVbm_OqYNrl2ejv0aCSR-YZGJdXWn-D-MQYed7HdghSX'
    expect(sealedKeyId({ sealed })).to.equal(plainId('01890a5d-ac96-774b-bcce-b302099a8057'))
    expect(openValue({ sealed }, Buffer.alloc(32, 2), 'event/name')).to.equal('Zuleica')
  })

  it('are null once their key is destroyed; other parts and other persons stay readable [LEDGER-41]', () => {
    const { keyOf, secrets } = keyring()
    const fields = readModel.personalFields(CREATED)
    const stored = sealedBy(CREATED, keyOf)
    secrets.set(plainId(keyOf(CREATED.subject, 'contact').id), null)
    expect(openData(stored, fields, secrets)).to.deep.equal({
      ...CREATED.data,
      phone: null,
      email: null,
      notes: null,
    })
  })

  it('are stored and shown as null if their key was destroyed before [LEDGER-41]', () => {
    const { keyOf } = keyring()
    const sealed = sealData(CREATED, CREATED.id, readModel.personalFields(CREATED), (subject, part) =>
      part === 'contact' ? null : keyOf(subject, part),
    )
    expect(sealed.opened).to.deep.equal({ ...CREATED.data, phone: null, email: null, notes: null })
    expect(sealed.stored).to.include({ phone: null, email: null, notes: null })
  })

  describe('that were tampered with', () => {
    /** Result of reading a ledger with one event. */
    async function readingOf(event: Envelope, secrets: ReadonlyMap<string, Buffer | null>): Promise<unknown> {
      const store = {
        async *read() {
          yield event
        },
      }
      const keys = {
        find: async (ids) => new Map([...secrets].filter(([id]) => ids.includes(id))),
      } as Partial<PersonKeys> as PersonKeys
      const reading = { store: store as never, model: readModel, keys }
      try {
        const events: Envelope[] = []
        for await (const opened of readNewest(reading, event.stream, 0)) events.push(opened)
        return events
      } catch (error) {
        return error
      }
    }
    const expectFailure = (outcome: unknown, why: string): void => {
      expect(outcome).to.be.instanceOf(CannotOpen)
      const { type, stream, revision } = CREATED
      expect((outcome as Error).message).to.include(
        `of ${type} (${stream}, revision ${revision}) cannot be opened: ${why}`,
      )
    }
    type Sealed = { readonly sealed: string }

    it('fail with the name of the event for any changed byte [LEDGER-42]', async () => {
      const { keyOf, secrets } = keyring()
      const stored = sealedBy(CREATED, keyOf)
      expect(await readingOf(stored, secrets)).to.deep.equal([{ ...stored, data: CREATED.data }])
      const bytes = Buffer.from((stored.data as { name: Sealed }).name.sealed, 'base64url')
      for (let place = 0; place < bytes.length; place++) {
        const changed = Buffer.from(bytes)
        changed[place] = (changed[place] as number) ^ (1 << (place % 8))
        const name = { sealed: changed.toString('base64url') }
        const why = place === 0 ? 'it is nothing that was sealed' : place < 17 ? 'key ' : 'it was changed'
        expectFailure(await readingOf({ ...stored, data: { ...stored.data, name } }, secrets), why)
      }
      const short = { sealed: bytes.subarray(0, -1).toString('base64url') }
      expectFailure(await readingOf({ ...stored, data: { ...stored.data, name: short } }, secrets), 'it was changed')
    })

    it('fail if they were moved to another field or event [LEDGER-42]', async () => {
      const { keyOf, secrets } = keyring()
      const stored = sealedBy(CREATED, keyOf)
      const { name, document } = stored.data as { name: Sealed; document: Sealed }
      const swapped = { ...stored, data: { ...stored.data, name: document, document: name } }
      expectFailure(await readingOf(swapped, secrets), 'it was changed')
      const other = sealedBy({ ...CREATED, id: v7() }, keyOf)
      expectFailure(await readingOf({ ...stored, data: other.data }, secrets), 'it was changed')
    })

    it('fail if they are in clear [LEDGER-42]', async () => {
      expectFailure(await readingOf(CREATED, new Map()), 'it is nothing that was sealed')
    })

    it('fail if their key is missing, and never count as erased [LEDGER-42]', async () => {
      const { keyOf } = keyring()
      expectFailure(await readingOf(sealedBy(CREATED, keyOf), new Map()), 'key ')
    })
  })
})
