import { expect } from 'chai'
import * as z from 'zod'
import { forgetPerson } from '#commands/forget-person.ts'
import { isSealed } from '#crypto/vault.ts'
import { MASKED, type PersonKind } from '#domain/person-values.ts'
import { RoleCode } from '#domain/rights.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import { listSubjectKinds } from '#events/event-definitions.ts'
import { accept, command, type Envelope, type NewEvent, streamName } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { maskPersonalData, type PersonalField } from '#ledger/sealed-fields.ts'
import { markTable } from '#ledger/table.ts'
import { exportPersonData } from '#privacy/data-export.ts'
import { toTextErasure } from '#privacy/erase-person.ts'
import { readModel } from '#projections/index.ts'
import { fullReader, presentSource, Reader, WHOLE } from '#queries/reader.ts'
import type { Json } from '../support/api.ts'
import {
  attemptId,
  customerCreated,
  noDetails,
  orderPlaced,
  payableCreated,
  paymentStarted,
  receivableCreated,
  saleCompleted,
  storeCreated,
  supplierCreated,
  userCreated,
} from '../support/facts.ts'
import { openedEvents } from '../support/opened.ts'
import { useCompany } from '../support/use-api.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly personal?: object
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | false
  readonly items?: Schema
  readonly minItems?: number
  readonly anyOf?: readonly Schema[]
}

/** An event type with personal fields, and the number that all ids of its records have. */
interface Marked {
  readonly type: EventName
  readonly n: number
  readonly subject: string
  readonly fields: readonly PersonalField[]
}

const MARKED: readonly Marked[] = Object.entries(EVENT_TYPES).flatMap(([type, declared], index) => {
  const fields = readModel.personalFields({ type, version: declared.version })
  const n = index + 101
  return fields.length === 0
    ? []
    : [{ type: type as EventName, n, subject: `${listSubjectKinds(declared)[0]}/${n}`, fields }]
})

/** The person of a field, such as `customer/9`. */
const ownerOf = ({ subject, n }: Marked, { person }: PersonalField): string =>
  person === 'subject' ? subject : `${person.kind}/${n}`

/** Text of a personal field, which is nowhere else. */
const markerOf = ({ type }: Marked, path: readonly string[]): string => `zq-${type}-${path.join('-')}-zq`.toLowerCase()

const PATTERNS: Readonly<Record<string, string>> = {
  '^\\d+\\.\\d{2}$': '1.00',
  '^-?\\d+\\.\\d{3}$': '1.000',
  [z.toJSONSchema(RoleCode).pattern as string]: 'clerk',
}
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-05T12:00:00.000Z',
  date: '2026-01-05',
  uuid: attemptId(1),
}

/** A value of a shape, with its marker in each text of a personal field. */
function sample(marked: Marked, schema: Schema, path: readonly string[], field: readonly string[] | null): unknown {
  const personal = field ?? (schema.personal ? path : null)
  if (schema.anyOf) return sample(marked, schema.anyOf[0] as Schema, path, personal)
  if (schema.properties)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, member]) => [
        name,
        sample(marked, member, [...path, name], personal),
      ]),
    )
  if (schema.additionalProperties) return { nota: sample(marked, schema.additionalProperties, path, personal) }
  if (personal) return markerOf(marked, personal)
  if (schema.enum) return schema.enum[0]
  if (schema.const !== undefined) return schema.const
  if (schema.items) return (schema.minItems ?? 0) > 0 ? [sample(marked, schema.items, path, null)] : []
  const type = [schema.type].flat()[0]
  if (type === 'integer') return marked.n
  if (type === 'boolean') return false
  return PATTERNS[schema.pattern ?? ''] ?? FORMATS[schema.format ?? ''] ?? `${marked.n}`
}

/** Events without personal data that the event of a type needs before it. */
function earlierEvents({ type, n, subject, fields }: Marked): NewEvent[] {
  const [name, external_id] = [`Pessoa ${n}`, null]
  const customer = customerCreated({ id: n, ...noDetails, external_id, name })
  const supplier = supplierCreated({ id: n, ...noDetails, external_id, name })
  const earlier: Readonly<Record<string, readonly NewEvent[]>> = {
    customer: [customer],
    supplier: [supplier],
    user: [userCreated({ id: n, name, email: `${n}@loja.example` })],
    receivable: [receivableCreated({ id: n, external_id })],
    payable: [payableCreated({ id: n, external_id })],
    sale: [saleCompleted({ id: n, external_id })],
    // A card may be shown beside the details of a payment by Pix and boleto.
    order: [orderPlaced({ id: n, store_id: n }), paymentStarted(1, { id: n, payment_method_id: 'visa' })],
  }
  const named = fields.flatMap(({ person }) => (person === 'subject' ? [] : [person.kind]))
  const isFirst = !/(Updated|Revived|Recorded|Assigned)$/.test(type)
  return [
    ...(parseSubject(subject).type === 'order' || type === 'SaleCompleted'
      ? [storeCreated({ id: n, alias: `loja-${n}` })]
      : []),
    // The sale of a paid order.
    ...(type === 'SaleCompleted' ? [orderPlaced({ id: n, store_id: n })] : []),
    ...(named.includes('customer') ? [customer] : []),
    ...(named.includes('supplier') ? [supplier] : []),
    ...(named.includes('user') ? [userCreated({ id: n, name, email: `${n}@loja.example` })] : []),
    ...(isFirst ? [] : (earlier[parseSubject(subject).type] ?? [])),
  ]
}

function eventOf(marked: Marked): NewEvent {
  const { version, data } = EVENT_TYPES[marked.type]
  const values = sample(marked, z.toJSONSchema(data as z.ZodType) as Schema, [], null) as Json
  // The provider shows how to pay only while the payment is pending.
  const pending = marked.type === 'PaymentRecorded' && { status: 'pending', attempt_id: attemptId(1) }
  return {
    type: marked.type,
    version,
    subject: marked.subject,
    data: data.parse({ ...values, ...pending, id: marked.n }) as object,
  }
}

const append = command<NewEvent>({
  needs: () => [],
  decide: (_rows, event) => accept('created', event.subject, [event]),
})

const valueAt = (data: object, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Json)?.[name], data)

describe('fields that the event catalogue marks as personal [PRIV-62]', function () {
  this.timeout(120_000)
  const { api, company } = useCompany()

  /** What a table shows a reader: its rows, all of them as one text, and the documents of each. */
  interface Seen {
    readonly table: string
    readonly text: string
    readonly docs: readonly string[]
  }

  async function seenBy(reader: Reader): Promise<Seen[]> {
    const seen: Seen[] = []
    for (const { name: table } of readModel.projections.flatMap((projection) => [...projection.tables])) {
      const { rows } = await reader.query({ text: `select *, $1::bigint from ${markTable(table)}` })
      const docs = rows.map((row: Json) => JSON.stringify(row.doc ?? null))
      seen.push({ table, text: JSON.stringify(rows).toLowerCase(), docs })
    }
    return seen
  }

  /** Tables that show a text. */
  const tablesWith = (seen: readonly Seen[], shown: string): string[] =>
    seen.flatMap(({ table, text }) => (text.includes(shown) ? [table] : []))

  const owners = new Set(MARKED.flatMap((marked) => marked.fields.map((field) => ownerOf(marked, field))))

  /** The data exports of all persons. */
  async function exportsOfAll(): Promise<Map<string, string>> {
    const all = new Map<string, string>()
    for (const owner of owners) all.set(owner, await exported(owner))
    return all
  }

  async function exported(subject: string): Promise<string> {
    const { type, id } = parseSubject(subject)
    const parts = await exportPersonData(
      api.core,
      company.id,
      { kind: type as PersonKind, id },
      '2026-11-22T12:00:00.000Z',
    )
    let text = ''
    for await (const part of parts ?? []) text += JSON.stringify(part)
    return text
  }

  const stored = new Map<string, Envelope>()
  const opened = new Map<string, Envelope>()
  let shown: Seen[]
  let masked: Seen[]
  let exports: Map<string, string>
  let fed: string

  before('append an event of each type, and read it everywhere', async () => {
    for (const marked of MARKED)
      for (const each of [...earlierEvents(marked), eventOf(marked)]) await company.run(append, each)
    const note = (events: Map<string, Envelope>, all: readonly Envelope[]) => {
      for (const event of all) events.set(`${event.type} ${event.subject}`, event)
    }
    for await (const event of api.core.store.read(streamName(company.id), 0)) note(stored, [event])
    note(opened, await openedEvents(api.core, company.id))
    shown = await seenBy(fullReader(api.core.pool, company.id))
    exports = await exportsOfAll()
    masked = await seenBy(new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, hidesPersons: true }))
    const { key } = await company.newKey(['audit:read'])
    const headers = { authorization: `Bearer ${key}` }
    fed = (await company.call('GET', '/events?opened=true&limit=200', undefined, headers)).text
  })

  for (const marked of MARKED)
    for (const field of marked.fields) {
      const title = `${marked.type}, ${field.path.join('.')}:`
      const marker = markerOf(marked, field.path)
      const key = `${marked.type} ${marked.subject}`
      const owner = ownerOf(marked, field)

      it(`${title} is sealed in the ledger and in clear in the read model`, () => {
        expect(isSealed(valueAt((stored.get(key) as Envelope).data, field.path))).to.equal(true)
        expect(JSON.stringify(valueAt((opened.get(key) as Envelope).data, field.path))).to.include(marker)
        expect(tablesWith(shown, marker)).not.to.deep.equal([])
      })

      it(`${title} is masked for auditors in all tables, and in events`, () => {
        expect(tablesWith(masked, marker)).to.deep.equal([])
        const event = opened.get(key) as Envelope
        expect(JSON.stringify(maskPersonalData(event, marked.fields, MASKED))).not.to.include(marker)
        expect(fed).to.include(`"type":"${marked.type}"`).and.not.to.include(marker)
      })

      it(`${title} is in the data export of its person`, () => {
        expect(exports.get(owner)).to.include(marker)
      })

      it(`${title} is erased from stored texts with its person, and kept otherwise`, () => {
        const about = shown.flatMap(({ docs }) => docs.filter((text) => text.includes(marker)))
        expect(about).not.to.deep.equal([])
        for (const text of about) {
          const without = (subjects: readonly string[]) =>
            toTextErasure({ subjects, parts: [field.part] }).redact(text).text ?? text
          expect(without([owner])).not.to.include(marker)
          expect(without([`${parseSubject(owner).type}/9`])).to.include(marker)
        }
      })
    }

  describe('once their persons are erased', () => {
    let left: Seen[]
    let events: readonly Envelope[]

    before('erase them', async () => {
      for (const owner of owners) {
        const { type, id } = parseSubject(owner)
        const person = { kind: type as PersonKind, id, ground: 'restored_backup', retention_years: 5 } as const
        await company.run(forgetPerson, person)
      }
      left = await seenBy(fullReader(api.core.pool, company.id))
      exports = await exportsOfAll()
      events = await openedEvents(api.core, company.id)
    })

    for (const marked of MARKED)
      for (const field of marked.fields)
        it(`${marked.type}, ${field.path.join('.')}: is null in tables, events and data export`, () => {
          const marker = markerOf(marked, field.path)
          expect(tablesWith(left, marker)).to.deep.equal([])
          const event = events.find(({ type, subject }) => type === marked.type && subject === marked.subject)
          expect(valueAt((event as Envelope).data, field.path)).to.equal(null)
          expect(exports.get(ownerOf(marked, field)))
            .to.be.a('string')
            .and.not.to.include(marker)
        })
  })
})
