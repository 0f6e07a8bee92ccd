import { expect } from 'chai'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { verifyLedger } from '#integrity/verify.ts'
import { GENESIS_HASH, streamOf } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { explore } from '../../support/random.ts'
import { tamperBy } from '../../support/tamper.ts'
import { eventsOf, insertEvent, notePosition, rehashed, replaceEvent, writeLedger } from './tampering.ts'
import { useVerifying } from './verifying.ts'

const LENGTH = 7

describe('verification of a stored ledger', () => {
  const ledgers = useVerifying()
  const { verify, faultIn } = ledgers

  /** Changes columns of the row of revision 3. */
  const set = (companyId: number, assignment: string, ...values: unknown[]) =>
    tamperBy(ledgers.pool, `update ledger.events set ${assignment} where stream = $1 and revision = 3`, [
      streamOf(companyId),
      ...values,
    ])

  const edit = (companyId: number, pattern: string, replacement: string) =>
    set(companyId, 'envelope = regexp_replace(envelope::text, $2, $3)::json', pattern, replacement)

  it('finds no error in an untouched ledger of any length', async () => {
    // 200 rows are fetched at a time.
    for (const length of [0, 1, 2, 199, 200, 201, 450]) {
      const companyId = await writeLedger(ledgers.pool, length)
      const last = (await eventsOf(ledgers.pool, companyId)).at(-1)
      expect(await verify(companyId)).to.deep.equal({
        valid: true,
        checked: length,
        revision: length - 1,
        hash: last?.hash ?? GENESIS_HASH,
        first_error: null,
      })
    }
  })

  it('accepts every text that an event can contain', async () => {
    const texts = ['São "João" \\ / 😀\n\u000f\u2028\u2029', '\ufb33', '', '__proto__', ' ']
    const companyId = await writeLedger(
      ledgers.pool,
      texts.map((text) => ({ data: { id: 1, [text]: text, nested: [{ [text]: null }, 0.1, -1] } })),
    )
    expect(await faultIn(companyId)).to.equal('none')
  })

  const tamperings: Record<string, [found: string, tamper: (companyId: number) => Promise<unknown>]> = {
    'a value in its data': ['3 wrong_hash', (id) => edit(id, '"by":3', '"by":30')],
    'its time': ['3 wrong_hash', (id) => edit(id, '"recorded_at":"2026', '"recorded_at":"2027')],
    'its author': ['3 wrong_hash', (id) => edit(id, '"actor":null', '"actor":"user/1"')],
    'its id': ['3 wrong_hash', (id) => edit(id, '"id":"0', '"id":"1')],
    'its hash': ['3 wrong_hash', (id) => edit(id, '"hash":"..', '"hash":"zz')],
    'its link to the one before': ['3 wrong_hash', (id) => edit(id, '"previous_hash":"..', '"previous_hash":"zz')],
    'its revision': ['3 wrong_revision', (id) => edit(id, '"revision":3', '"revision":4')],
    'its stream': ['3 wrong_stream', (id) => edit(id, '"stream":"company-', '"stream":"company-9')],
    'a member that was empty, by leaving it out': ['3 malformed', (id) => edit(id, '"actor":null,', '')],
    'its members, by one more': ['3 malformed', (id) => edit(id, '"actor":null', '"actor":null,"note":null')],
    'its text, with a member twice': ['3 malformed', (id) => edit(id, '"by":3', '"by":30,"by":3')],
    'its text, with blanks': ['3 malformed', (id) => edit(id, '"by":3', '"by": 3')],
    'everything, to something else': ['3 malformed', (id) => set(id, `envelope = '[1]'`)],
    'the column revision': ['3 wrong_revision', (id) => set(id, 'revision = 100')],
    'the column stream': ['3 wrong_revision', (id) => set(id, `stream = 'company-0'`)],
    'the column id': ['3 columns_differ', (id) => set(id, 'id = $2', v7())],
    'the column type': ['3 columns_differ', (id) => set(id, `type = 'Other'`)],
    'the column subject': ['3 columns_differ', (id) => set(id, `subject = 'counter/9'`)],
    'the column recorded_at, by a microsecond': [
      '3 columns_differ',
      (id) => set(id, `recorded_at = recorded_at + interval '1 microsecond'`),
    ],
    'the column recorded_at, to no time at all': ['3 columns_differ', (id) => set(id, `recorded_at = 'infinity'`)],
  }

  for (const [what, [found, tamper]] of Object.entries(tamperings)) {
    it(`finds an altered event: ${what} [AUDIT-1]`, async () => {
      const companyId = await writeLedger(ledgers.pool, LENGTH)
      await tamper(companyId)
      expect(await faultIn(companyId)).to.equal(found)
    })
  }

  it('finds an event that was altered and rehashed [AUDIT-1]', async () => {
    const companyId = await writeLedger(ledgers.pool, LENGTH)
    const event = (await eventsOf(ledgers.pool, companyId))[3]
    if (event) await replaceEvent(ledgers.pool, companyId, 3, rehashed(event, { data: { id: 1, by: 1_000 } }))
    expect(await faultIn(companyId)).to.equal('4 broken_chain')
  })

  it('finds any change anywhere in a stored event [AUDIT-1]', async () => {
    await explore(
      fc.asyncProperty(
        fc.nat({ max: LENGTH - 1 }),
        fc.nat(),
        fc.constantFrom('replace', 'insert', 'remove'),
        fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
        async (revision, place, how, character) => {
          const companyId = await writeLedger(ledgers.pool, LENGTH)
          const before = JSON.stringify((await eventsOf(ledgers.pool, companyId))[revision])
          const at = place % before.length
          const rest = before.slice(how === 'insert' ? at : at + 1)
          const after = before.slice(0, at) + (how === 'remove' ? '' : character) + rest
          fc.pre(after !== before && isJson(after))
          await tamperBy(ledgers.pool, 'update ledger.events set envelope = $3 where stream = $1 and revision = $2', [
            streamOf(companyId),
            revision,
            after,
          ])
          expect((await verify(companyId)).valid, after).to.equal(false)
        },
      ),
      150,
    )
  })

  it('continues while events are appended, and ends at a complete ledger [AUDIT-3]', async () => {
    // 200 rows are fetched at a time, in parallel with the checks of the previous ones.
    const companyId = await writeLedger(ledgers.pool, 500)
    const events = await eventsOf(ledgers.pool, companyId)
    const more = sealedAfter(streamOf(companyId), events.at(-1) ?? null, [{}, {}])
    let appended = false
    const growing: EventStore = {
      ...ledgers.store,
      async *stored(stream, after) {
        for await (const event of ledgers.store.stored?.(stream, after) ?? []) {
          yield event
          if (appended) continue
          appended = true
          for (const each of more) await insertEvent(ledgers.pool, companyId, each.revision, each)
          await notePosition(ledgers.pool, companyId, more.at(-1) as never)
        }
      },
    }
    const found = await verifyLedger({ pool: ledgers.pool, store: growing }, companyId)
    expect(found).to.include({ valid: true, checked: 502 })
  })

  it('verifies an outside store as it is, even if it is ahead of the read model [AUDIT-3]', async () => {
    const outside = createOutsideStore()
    const companyId = await writeLedger(ledgers.pool, 2)
    const known = await eventsOf(ledgers.pool, companyId)
    const more = sealedAfter(streamOf(companyId), known.at(-1) ?? null, [{}])
    const append = { stream: streamOf(companyId), expectedRevision: -1, commands: [[...known, ...more]] }
    await outside.append([append], { query: () => Promise.reject(new Error('has no transaction')) })
    const found = await verifyLedger({ pool: ledgers.pool, store: outside }, companyId)
    expect(found).to.include({ valid: true, checked: 3 })
    const event = outside.events(streamOf(companyId))[1] as { data: object }
    event.data = { id: 1, by: 5 }
    const altered = await verifyLedger({ pool: ledgers.pool, store: outside }, companyId)
    expect(altered.first_error).to.deep.equal({ revision: 1, reason: 'wrong_hash' })
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
