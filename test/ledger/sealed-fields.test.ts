import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { openValue, type PersonSecret, plainId, sealedKeyId } from '#crypto/vault.ts'
import type { PersonPart } from '#domain/person-values.ts'
import { type Envelope, hashOf, type NewEvent } from '#ledger/command.ts'
import { readNewest } from '#ledger/reading.ts'
import {
  CannotOpen,
  openData,
  type PersonalField,
  type PersonKeys,
  sealData,
  sealedWith,
} from '#ledger/sealed-fields.ts'
import { readModel } from '#projections/index.ts'
import { EVERY_EVENT } from '../support/every-event.ts'
import { expectSealed, personalValues } from '../support/opened.ts'
import { explore } from '../support/random.ts'

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
  return { ...unhashed, hash: hashOf(unhashed), data: unhashed.data }
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
        expect(sealedWith(stored, fields)).to.have.length(personalValues(clear).length)
        expect(openData(stored, fields, secrets)).to.deep.equal(clear.data)
        expect(Object.keys(stored.data)).to.deep.equal(Object.keys(clear.data))
        const { hash, ...rest } = stored
        expect(hash).to.equal(hashOf(rest))
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
