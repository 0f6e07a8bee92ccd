import { inZone } from '#domain/instant.ts'
import { PERSON_PARTS, type PersonKind, type PersonPart, phoneKey } from '#domain/person-values.ts'
import { RECORD_KINDS, type RecordKind } from '#domain/record-values.ts'
import { nameKey, searchText, sortKey } from '#domain/text.ts'
import { type DataOf, EVENT_TYPES, type EventName, type EventOf, indexPersonalFields } from '#events/catalogue.ts'
import { listSubjectKinds } from '#events/event-definitions.ts'
import type { PersonalField } from '#ledger/sealed-fields.ts'
import { byKey, byPk, type Table, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_DELETION,
  INDEX_BY_NAME,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'
import { emptyFields, type NameHolder, type RecordRow, recordHandlers, type ShownDeletion } from './record-handlers.ts'

/**
 * Personal field of an event in the records that show it: `path` starts at the record, and `*` is each element of a
 * list.
 */
export type PersonalMember = PersonalField

type Path = readonly string[]
type Json = Record<string, unknown>

/** Members of the record that show the fields of an event; by default the record itself. */
const SHOWN_IN: { readonly [N in EventName]?: readonly Path[] } = {
  PaymentRecorded: [['payment'], ['payments', '*']],
}

const fieldsOf = indexPersonalFields(EVENT_TYPES)

function membersOf(kind: RecordKind): PersonalMember[] {
  const members = new Map<string, PersonalMember>()
  for (const [type, declared] of Object.entries(EVENT_TYPES)) {
    if (!listSubjectKinds(declared).includes(kind)) continue
    for (const { path, ...mark } of fieldsOf({ type, version: declared.version }))
      for (const place of SHOWN_IN[type as EventName] ?? [[]]) {
        const shown = [...place, ...(path[0] === 'changes' ? path.slice(1) : path)]
        members.set(shown.join('.'), { path: shown, ...mark })
      }
  }
  return [...members.values()]
}

/** Personal members of each kind of record, as marked in the event catalogue. */
export const PERSONAL_MEMBERS: ReadonlyMap<RecordKind, readonly PersonalMember[]> = new Map(
  RECORD_KINDS.map((kind) => [kind, membersOf(kind)]),
)

/** Personal members about the record's own person, of these parts. */
export const ownMembers = (kind: RecordKind, parts: readonly PersonPart[] = PERSON_PARTS): readonly PersonalMember[] =>
  (PERSONAL_MEMBERS.get(kind) ?? []).filter(({ person, part }) => person === 'subject' && parts.includes(part))

/** The objects at a path. */
export function* holdersAt(value: unknown, [name, ...rest]: Path): Iterable<Json> {
  if (name === '*') {
    if (Array.isArray(value)) for (const element of value) yield* holdersAt(element, rest)
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    if (name === undefined) yield value as Json
    else yield* holdersAt((value as Json)[name], rest)
  }
}

/** Sets personal members of a record to null. Returns whether any of them had a value. */
export function eraseMembers(record: object, members: readonly Pick<PersonalMember, 'path'>[]): boolean {
  let isChanged = false
  for (const { path } of members)
    for (const holder of holdersAt(record, path.slice(0, -1))) {
      const name = path.at(-1) as string
      if (holder[name] === undefined || holder[name] === null) continue
      holder[name] = null
      isChanged = true
    }
  return isChanged
}

/** Copy of a record without these parts of its own person. */
export function withoutParts<T extends object>(
  kind: RecordKind,
  record: T,
  parts: readonly PersonPart[] = PERSON_PARTS,
): T {
  const copy = structuredClone(record)
  eraseMembers(copy, ownMembers(kind, parts))
  return copy
}

/** Writable fields common to customers and suppliers. */
export type PersonFields = Pick<SupplierFields, keyof SupplierFields & keyof CustomerFields>

/** Customer or supplier as the API returns it. */
type PersonObject<F extends PersonFields> = { id: number } & F &
  PersonErasure & { created_at: string; updated_at: string } & ShownDeletion

/** State of erasure. */
export interface PersonErasure {
  /** Complete erasure: all personal fields are null from then on. */
  forgotten_at: string | null
  /** Day from which the identity will be erased; data that is not needed until then is already null. */
  forgetting_due_on: string | null
}

interface PersonColumns extends NameHolder {
  sort_key: string
  /** Names and external id. */
  search: string
  document: string | null
  phone_key: string | null
}

export type PersonRow<F extends PersonFields = PersonFields> = RecordRow<PersonObject<F>> & PersonColumns

function personTable<F extends PersonFields>(name: string): Table<PersonRow<F>> {
  return table<PersonRow<F>>(name, {
    about: `All ${name} of companies, deleted ones included.`,
    columns: {
      company_id: 'bigint',
      id: 'bigint',
      external_id: 'text',
      name_key: 'text',
      sort_key: 'text',
      search: 'text',
      document: 'text',
      phone_key: 'text',
      deleted_at: 'timestamptz',
      ...changedColumns,
      doc: 'json',
    },
    keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
    indexes: [
      INDEX_BY_CHANGE,
      INDEX_BY_DELETION,
      INDEX_BY_NAME,
      INDEX_BY_PAST,
      '(company_id, document, id) where document is not null',
      '(company_id, phone_key, id) where phone_key is not null',
    ],
    past: { id: 'id', without: ['name_key'] },
  })
}

/** Sort key of erased persons: behind all names. */
const LAST = '\u{10FFFF}'

/** Suppliers only. */
const tradeNameOf = (person: object): string | null =>
  'trade_name' in person ? (person.trade_name as string | null) : null

/** Fields as events record them: those of a kind alone are absent if they are empty. */
type Recorded<F extends PersonFields> = Omit<PersonFields, 'metadata'> & Partial<F>

/** Lookups and event handlers of the persons of a table. `empty`: fields that events leave out if they are empty. */
function personKind<F extends PersonFields>(kind: PersonKind, persons: Table<PersonRow<F>>, empty: Partial<F>) {
  const byId = (id: number) => byPk(persons, id)
  const byName = (name: string) => byKey(persons, 'name', nameKey(name))
  const columnsOf = (person: PersonObject<F>) => ({
    sort_key: person.forgotten_at === null ? sortKey(person.name ?? '') : LAST,
    search: searchText(person.name, tradeNameOf(person), person.external_id),
    document: person.document,
    phone_key: person.phone && phoneKey(person.phone),
  })
  /** Handler of events about several kinds of persons. */
  const changing = <E extends AboutPerson>(change: (doc: PersonObject<F>, event: E, at: string) => object) => ({
    refs: ({ data }: E) => (data.kind === kind ? [byId(data.id)] : []),
    apply(rows: Changes, event: E) {
      if (event.data.kind !== kind) return
      const before = existing(rows, byId(event.data.id))
      const at = inZone(event.recorded_at, getTimezone(rows))
      const doc = { ...before.doc, ...change(before.doc, event, at), updated_at: at }
      const name_key = doc.name === null ? null : before.name_key
      rows.put(persons, { ...before, ...stamp(event), ...columnsOf(doc), name_key, doc })
    },
  })
  return {
    byId,
    byExternalId: (externalId: string) => byKey(persons, 'external', externalId),
    byName,
    on: {
      ...recordHandlers<{ id: number } & Recorded<F>, PersonObject<F>, PersonColumns>({
        table: persons,
        byId,
        empty: empty as Partial<PersonObject<F>>,
        create: (data, at) =>
          Object.assign({}, data as { id: number } & F, empty, data, {
            forgotten_at: null,
            forgetting_due_on: null,
            created_at: at,
            updated_at: at,
            deleted_at: null,
          }),
        columnsOf,
        freed: { name_key: null } as Partial<PersonColumns>,
        // The ledger keeps the personal data of a deleted person (PERSON-10).
        onDeleted: (doc) => withoutParts(kind, doc),
        hasUniqueNames: true,
        showsDeletion: true,
      }),
      forgotten: changing((doc, { data: { parts } }: EventOf<'PersonForgotten'>, at) => ({
        ...withoutParts(kind, doc, parts),
        ...(parts.includes('identity') && { forgotten_at: at, forgetting_due_on: null }),
      })),
      queued: changing((_doc, { data }: EventOf<'PersonForgettingQueued'>) => ({ forgetting_due_on: data.due_on })),
    },
  }
}

type AboutPerson = EventOf<'PersonForgotten'> | EventOf<'PersonForgettingQueued'>

export type CustomerFields = Required<Omit<DataOf<'CustomerCreated'>, 'id'>>

export type CustomerObject = PersonObject<CustomerFields>

export const customers = personTable<CustomerFields>('customers')

const customer = personKind('customer', customers, emptyFields('CustomerCreated'))

export const customerById = customer.byId
export const customerByExternalId = customer.byExternalId
export const customerByName = customer.byName

export const customersProjection = projection('customers', [customers], {
  CustomerCreated: customer.on.created,
  CustomerUpdated: customer.on.updated,
  CustomerDeleted: customer.on.deleted,
  CustomerRevived: customer.on.revived,
  PersonForgotten: customer.on.forgotten,
  PersonForgettingQueued: customer.on.queued,
})

export type SupplierFields = Required<Omit<DataOf<'SupplierCreated'>, 'id'>>

export type SupplierObject = PersonObject<SupplierFields>

export const suppliers = personTable<SupplierFields>('suppliers')

const supplier = personKind('supplier', suppliers, emptyFields('SupplierCreated'))

export const supplierById = supplier.byId
export const supplierByExternalId = supplier.byExternalId
export const supplierByName = supplier.byName

export const suppliersProjection = projection('suppliers', [suppliers], {
  SupplierCreated: supplier.on.created,
  SupplierUpdated: supplier.on.updated,
  SupplierDeleted: supplier.on.deleted,
  SupplierRevived: supplier.on.revived,
  PersonForgotten: supplier.on.forgotten,
  PersonForgettingQueued: supplier.on.queued,
})

type ForgettingQueued = DataOf<'PersonForgettingQueued'>

/** Queued erasure of a person, by subject (`customer/9`). */
export interface ErasureRow extends Pick<ForgettingQueued, 'ground' | 'reason'> {
  company_id: number
  subject: string
  /** Day in the company's time zone; null once it is done. */
  due_on: string | null
  /** Whether the contacts are still there, because of open accounts or orders. */
  keeps_contact: boolean
}

const queued_erasures = table<ErasureRow>('queued_erasures', {
  about: 'Queued erasures of persons, done or due on a day.',
  columns: {
    company_id: 'bigint',
    subject: 'text',
    due_on: 'date',
    keeps_contact: 'boolean',
    ground: 'text',
    reason: 'text',
  },
  keys: { pk: ['company_id', 'subject'] },
  indexes: ['(due_on, company_id, subject) where due_on is not null'],
})

export const erasureRef = (subject: string) => byPk(queued_erasures, subject)

export const erasuresProjection = projection('queued_erasures', [queued_erasures], {
  PersonForgettingQueued: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { due_on, keeps_contact = false, ground, reason } }) {
      const { company_id } = companyRef(rows)
      rows.put(queued_erasures, { company_id, subject, due_on, keeps_contact, ground, reason })
    },
  },
  PersonForgotten: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { parts } }) {
      const queued = rows.get(erasureRef(subject))
      if (!queued) return
      const due_on = parts.includes('identity') ? null : queued.due_on
      rows.put(queued_erasures, { ...queued, due_on, keeps_contact: false })
    },
  },
})

/** Rows per statement. Bounds the statement's time, during which the ledger is locked. */
const BATCH_ROWS = 2_000

/** Table with records that name persons of other records by an id column. */
interface NamingTable {
  readonly kind: RecordKind
  readonly table: 'sales' | 'receivables' | 'payables'
  /** Column with the person's id, by kind of person; each has an index. */
  readonly idColumns: { readonly [K in PersonKind]?: 'customer_id' | 'seller_id' | 'party_id' }
}

/** SQL text of a JSON value with null at a path that has a value. All other bytes stay equal to those of a replay. */
function nulledAt(json: string, [name, ...rest]: readonly string[]): string {
  if (name === undefined) return `'null'`
  const member = `${json}->'${name}'`
  return `replace((${json})::text, '"${name}":' || (${member})::text, '"${name}":' || ${nulledAt(member, rest)})`
}

/** Erases a member of the documents that name a person ($2) by a column, in rows after an id ($3). */
const statementOf = (table: NamingTable['table'], idColumn: string, path: readonly string[]) => ({
  name: `erase_${path.join('_')}_of_${table}`,
  text: `with batch as (
           select id from ${table} where company_id = $1 and ${idColumn} = $2 and id > $3 order by id limit ${BATCH_ROWS}
         ), erased as (
           update ${table} t set doc = (${nulledAt('t.doc', path)})::json
           from batch where t.company_id = $1 and t.id = batch.id and t.doc #>> '{${path.join(',')}}' is not null
         )
         select max(id) as last from batch`,
})

/** Handler that erases the fields of a person from all records of a table that name the person. */
export function erasing(naming: NamingTable) {
  const members = (PERSONAL_MEMBERS.get(naming.kind) ?? []).flatMap(({ path, part, person }) => {
    if (person === 'subject') return []
    const kind = person.kind as PersonKind
    const column = naming.idColumns[kind]
    if (!column) throw new Error(`erasing: ${naming.table} has no column with the ids of a ${kind}`)
    return [{ part, kind, statement: statementOf(naming.table, column, path) }]
  })
  return {
    async erase(tx: Transaction, companyId: number, { data }: { data: DataOf<'PersonForgotten'> }) {
      for (const { part, kind, statement } of members) {
        if (kind !== data.kind || !data.parts.includes(part)) continue
        for (let last: number | null = 0; last !== null; ) {
          const found: { rows: { last: number | null }[] } = await tx.query(statement, [companyId, data.id, last])
          last = found.rows[0]?.last ?? null
        }
      }
    },
  }
}
