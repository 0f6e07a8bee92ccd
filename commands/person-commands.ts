import * as z from 'zod'
import { isCnpj, isCpf } from '#domain/person-values.ts'
import { type MetadataInput, mergeMetadata, wholeMetadata } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { Id, NewExternalId, nameKey } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, type Command, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { IS_OPEN } from '#projections/finance.ts'
import {
  type CustomerFields,
  customerByExternalId,
  customerById,
  customerByName,
  type PersonFields,
  type PersonRow,
  type SupplierFields,
  supplierByExternalId,
  supplierById,
  supplierByName,
} from '#projections/people.ts'
import { changesShape, toRecordedValues, wholeShape } from '#records/field.ts'
import {
  ADDRESS_FIELDS,
  type AddressInput,
  CUSTOMER_FIELDS,
  MAX_PERSON_NAME,
  SUPPLIER_FIELDS,
} from '#records/persons.ts'
import {
  isEmpty,
  namedRefs,
  pickChanges,
  type RecordId,
  recordEvent,
  refuseDuplicate,
  warnSpelledAlike,
} from './record-commands.ts'

/** Numbered names that are tried: `(2)` to `(20)`. */
const LAST_NUMBER = 20

/** Characters of a document that tell two persons apart. */
const DOCUMENT_END = 4

const NUMBERED = / \(\d{1,2}\)$/

/**
 * Names to suggest instead of a taken one, the best first: `José da Silva (2)`, and at last one with the end of the
 * document.
 */
export function namesLike(name: string, document: string | null | undefined): string[] {
  const base = name.replace(/\s+/g, ' ').replace(NUMBERED, '')
  const numbered = Array.from({ length: LAST_NUMBER - 1 }, (_, at) => withSuffix(base, `(${at + 2})`))
  const names = document ? [...numbered, withSuffix(base, `(${document.slice(-DOCUMENT_END)})`)] : numbered
  return names.filter((one) => nameKey(one) !== nameKey(name))
}

/** Shortens the name where both together would be too long. */
const withSuffix = (name: string, suffix: string): string =>
  `${[...name]
    .slice(0, MAX_PERSON_NAME - suffix.length - 1)
    .join('')
    .trimEnd()} ${suffix}`

/** Fields of requests that are recorded otherwise than they come. */
interface DerivingFields {
  readonly person_type?: PersonFields['person_type'] | null | undefined
  readonly document?: string | null | undefined
  readonly address?: z.output<typeof AddressInput> | null | undefined
  readonly metadata?: MetadataInput | null | undefined
}

/** Person type that a document implies; a natural person without a document. */
const typeOf = (document: string | null | undefined): PersonFields['person_type'] =>
  document && isCnpj(document) ? 'PJ' : 'PF'

/** Message if document and person type contradict each other, else null. */
function documentProblem({ person_type, document }: Pick<DerivingFields, 'person_type' | 'document'>): string | null {
  if (!document || !person_type) return null
  if (person_type === 'PF') return isCpf(document) ? null : 'deve ser um CPF válido: o tipo de pessoa é PF'
  return isCnpj(document) ? null : 'deve ser um CNPJ válido: o tipo de pessoa é PJ'
}

/** For `superRefine` in schemas of whole persons. */
function checkDocument(input: Pick<DerivingFields, 'person_type' | 'document'>, context: z.RefinementCtx): void {
  const message = documentProblem(input)
  if (message !== null) context.addIssue({ code: 'custom', path: ['document'], message })
}

/** Fields of a PATCH of a person with the fields `F`; the address may be partial. */
type PersonPatch<F extends PersonFields> = Partial<Omit<F, 'address' | 'person_type' | 'metadata'>> &
  Pick<DerivingFields, 'address' | 'person_type' | 'metadata'>

/** Values of a whole person that follow from others, or from a part of their own. */
const derivedOf = ({ person_type, document, address, metadata }: DerivingFields) => ({
  person_type: person_type ?? typeOf(document),
  address: address ? addressOf(address) : null,
  metadata: wholeMetadata(metadata),
})

/** Fields of a PATCH with their values after the change, metadata apart. */
function patchOf<F extends PersonFields>(
  before: F,
  { address, person_type, metadata: _, ...rest }: PersonPatch<F>,
): Partial<F> {
  const { document = before.document } = rest as Partial<PersonFields>
  // A new document determines the type. A null type counts as absent, since records may have none.
  const follows = person_type === null || (person_type === undefined && rest.document)
  const type = follows ? typeOf(document) : person_type
  const fields = { ...rest, ...(type && { person_type: type }) } as unknown as Partial<F>
  if (address === undefined) return fields
  // Absent parts of an address stay unchanged.
  return { ...fields, address: address && addressOf({ ...before.address, ...address }) }
}

/** Refuses changes that leave document and person type contradictory, naming the field that was sent. */
function documentTypeMismatch(before: PersonFields, changes: Partial<PersonFields>): Refusal | null {
  const message = documentProblem({ ...before, ...changes })
  if (message === null) return null
  return changes.document
    ? refuseField('document', message)
    : refuseField('person_type', 'não combina com o documento cadastrado: envie também o novo documento ou null')
}

/** Address with every part present; null if all are empty. */
function addressOf(
  input: { readonly [N in keyof typeof ADDRESS_FIELDS]?: string | null | undefined },
): PersonFields['address'] {
  const address = toRecordedValues(ADDRESS_FIELDS, input)
  return Object.values(address).some((part) => part !== null) ? address : null
}

/** Differences between customers and suppliers: lookups and events. `F`: the recorded fields. */
interface PersonCommandKind<F extends PersonFields> extends Lookups<PersonRow<F>> {
  /** Used in event subjects and for ids. */
  readonly name: 'customer' | 'supplier'
  /** Table of its accounts. */
  readonly accounts: 'receivables' | 'payables'
  byId(id: number): Ref<PersonRow<F>>
  created(id: number, fields: F): NewEvent
  updated(id: number, changes: Partial<F>): NewEvent
  deleted(id: number): NewEvent
  revived(id: number, fields: F): NewEvent
}

/** Creates a person with a name and external id that are unique in its kind. */
function createPerson<F extends PersonFields, I extends { name: string } & UniqueFields>(
  kind: PersonCommandKind<F>,
  fieldsOf: (input: I) => F,
): Command<I> {
  return command<I>({
    permission: 'edit_people',
    needs: (input) => uniqueRefs(kind, input),
    needsMore: (rows, input) => suggestedRefs(rows, kind, input, null),
    decide(rows, input, { nextId }) {
      const duplicate = findDuplicate(rows, kind, input, null)
      if (duplicate) return duplicate
      const created = kind.created(nextId(kind.name), fieldsOf(input))
      return accept('created', created.subject, [created], [], warnSpelledAlike(rows, kind, input.name, null))
    },
  })
}

interface Replacement extends UniqueFields {
  readonly name: string
  readonly external_id: string
  readonly metadata?: MetadataInput | null | undefined
}

/** Creates, replaces or revives the person with this external id. */
function replacePerson<F extends PersonFields, I extends Replacement>(
  kind: PersonCommandKind<F>,
  fieldsOf: (input: I) => F,
): Command<I> {
  return command<I>({
    permission: 'edit_people',
    needs: (input) => uniqueRefs(kind, input),
    needsMore: (rows, input) =>
      suggestedRefs(rows, kind, input, rows.get(kind.byExternalId(input.external_id))?.id ?? null),
    decide(rows, input, { nextId }) {
      const known = rows.get(kind.byExternalId(input.external_id))
      const closed = known && closedBy(kind, known)
      if (closed) return closed
      const duplicate = findDuplicate(rows, kind, { ...input, external_id: null }, known?.id ?? null)
      if (duplicate) return duplicate
      const given = fieldsOf(input)
      const fields = known && input.metadata === undefined ? { ...given, metadata: known.doc.metadata } : given
      const remarks = warnSpelledAlike(rows, kind, input.name, known?.id ?? null)
      if (!known) {
        const created = kind.created(nextId(kind.name), fields)
        return accept('created', created.subject, [created], [], remarks)
      }
      const { id } = known
      const subject = `${kind.name}/${id}`
      if (known.deleted_at) return accept('updated', subject, [kind.revived(id, fields)], [], remarks)
      const changes = pickChanges(known.doc, fields)
      if (isEmpty(changes)) return accept('unchanged', subject, [], [], remarks)
      return accept('updated', subject, [kind.updated(id, changes)], [], remarks)
    },
  })
}

interface Update<F extends PersonFields> extends RecordId {
  readonly changes: PersonPatch<F>
}

/** Changes the given fields. Values that are equal already record nothing. */
function updatePerson<F extends PersonFields>(kind: PersonCommandKind<F>): Command<Update<F>> {
  return command<Update<F>>({
    permission: 'edit_people',
    needs: ({ id, changes }) => [kind.byId(id), ...uniqueRefs(kind, changes)],
    needsMore: (rows, { id, changes: { name, document } }) =>
      suggestedRefs(rows, kind, { name, document: document ?? rows.get(kind.byId(id))?.doc.document }, id),
    decide(rows, { id, changes: patch }) {
      const known = rows.get(kind.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const closed = closedBy(kind, known)
      if (closed) return closed
      const metadata = mergeMetadata(known.doc.metadata, patch.metadata)
      if (metadata && isRefusal(metadata)) return metadata
      const after: Partial<F> = { ...patchOf(known.doc, patch), metadata }
      const named = { document: known.doc.document, ...after }
      const refusal = documentTypeMismatch(known.doc, after) ?? findDuplicate(rows, kind, named, id)
      if (refusal) return refusal
      const changes = pickChanges(known.doc, after)
      const subject = `${kind.name}/${id}`
      const remarks = warnSpelledAlike(rows, kind, patch.name, id)
      if (isEmpty(changes)) return accept('unchanged', subject, [], [], remarks)
      return accept('updated', subject, [kind.updated(id, changes)], [], remarks)
    },
  })
}

interface Deletion extends RecordId {
  /** Deletes a person with open accounts too. */
  readonly force?: boolean | undefined
}

/** Statement that returns what is open of a person ($2), as `balance`; no row without any. */
const balanceStatement = ({ accounts }: Pick<PersonCommandKind<PersonFields>, 'accounts'>) => ({
  name: `open_balance_of_${accounts}`,
  text: `select (sum(open_cents) * 0.01)::text as balance from ${accounts} where company_id = $1 and party_id = $2 and ${IS_OPEN} having count(*) > 0`,
})

/**
 * Removes a person from lists and frees the name. The external id stays, so that PUT by-external can revive the record.
 * A person with open accounts stays among the debtors, by the name on them, until they are paid.
 */
function deletePerson<F extends PersonFields>(kind: PersonCommandKind<F>): Command<Deletion> {
  return command<Deletion>({
    permission: 'edit_people',
    needs: ({ id }) => [kind.byId(id)],
    lookup: (_rows, { id }) => ({ ...balanceStatement(kind), values: [id] }),
    decide(rows, { id, force }, { found }) {
      const known = rows.get(kind.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const [open] = found as { readonly balance: string }[]
      if (open && !force) return refuse('open_balance', { balance: open.balance })
      return accept('deleted', `${kind.name}/${id}`, [kind.deleted(id)])
    },
  })
}

/** Refusal if the person is erased or queued for erasure: its record no longer changes. */
function closedBy<F extends PersonFields>(
  { name }: PersonCommandKind<F>,
  { id, doc }: Readonly<PersonRow<F>>,
): Refusal | null {
  return doc.forgotten_at === null && doc.forgetting_due_on === null ? null : refuseForgotten(`${name}/${id}`)
}

/** Lookups of persons of one kind by unique values. */
interface Lookups<R> {
  byName(name: string): Ref<R>
  byExternalId(externalId: string): Ref<R>
}

/** Absent and null values are never duplicates. */
interface UniqueFields {
  readonly name?: string | null | undefined
  readonly external_id?: string | null
  /** Not unique; a part of it tells persons of one name apart. */
  readonly document?: string | null | undefined
}

function uniqueRefs<R>({ byName, byExternalId }: Lookups<R>, { name, external_id }: UniqueFields): Ref<R>[] {
  return [...namedRefs(byName, name), ...(external_id ? [byExternalId(external_id)] : [])]
}

/** Refusal if another person of the kind has this name or external id; the name is checked first. */
function findDuplicate<R extends { id: number; deleted_at: string | null }>(
  rows: Rows,
  { byName, byExternalId }: Lookups<R>,
  { name, external_id, document }: UniqueFields,
  ownId: number | null,
): Refusal | null {
  const sameName = typeof name === 'string' ? refuseDuplicate('name', rows.get(byName(name)), ownId) : null
  if (sameName) {
    const suggested_name = namesLike(name as string, document).find((one) => rows.get(byName(one)) === null)
    return suggested_name === undefined ? sameName : refuse(sameName.refused, { ...sameName.details, suggested_name })
  }
  return external_id ? refuseDuplicate('external_id', rows.get(byExternalId(external_id)), ownId) : null
}

/** Rows that tell which of the suggested names are free; none unless the name is taken. */
function suggestedRefs<R extends { id: number }>(
  rows: Rows,
  { byName }: Lookups<R>,
  { name, document }: UniqueFields,
  ownId: number | null,
): Ref<R>[] {
  const holder = typeof name === 'string' ? rows.get(byName(name)) : null
  return holder && holder.id !== ownId ? namesLike(name as string, document).map(byName) : []
}

const customerKind: PersonCommandKind<CustomerFields> = {
  name: 'customer',
  accounts: 'receivables',
  byId: customerById,
  byExternalId: customerByExternalId,
  byName: customerByName,
  created: (id, fields) => recordEvent('CustomerCreated', { id, ...fields }),
  updated: (id, changes) => event('CustomerUpdated', { id, changes }),
  deleted: (id) => event('CustomerDeleted', { id }),
  revived: (id, fields) => recordEvent('CustomerRevived', { id, ...fields }),
}

/** Body of POST /customers and of PUT by-external (its external id comes from the path). */
export const CreateCustomerInput = z.strictObject(wholeShape(CUSTOMER_FIELDS)).superRefine(checkDocument)
export type CreateCustomerInput = z.infer<typeof CreateCustomerInput>

const customerOf = (input: CreateCustomerInput): CustomerFields => ({
  ...toRecordedValues(CUSTOMER_FIELDS, input),
  ...derivedOf(input),
})

export const createCustomer = createPerson(customerKind, customerOf)

/** Body of PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ ...wholeShape(CUSTOMER_FIELDS), external_id: NewExternalId })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

export const replaceCustomer = replacePerson<CustomerFields, ReplaceCustomerInput>(customerKind, customerOf)

/** Body of PATCH /customers/{id}. */
export const CustomerChanges = z.strictObject(changesShape(CUSTOMER_FIELDS))

export const UpdateCustomerInput = z.strictObject({ id: Id, changes: CustomerChanges })
export type UpdateCustomerInput = z.infer<typeof UpdateCustomerInput>

export const updateCustomer = updatePerson(customerKind)

export const deleteCustomer = deletePerson(customerKind)

const supplierKind: PersonCommandKind<SupplierFields> = {
  name: 'supplier',
  accounts: 'payables',
  byId: supplierById,
  byExternalId: supplierByExternalId,
  byName: supplierByName,
  created: (id, fields) => recordEvent('SupplierCreated', { id, ...fields }),
  updated: (id, changes) => event('SupplierUpdated', { id, changes }),
  deleted: (id) => event('SupplierDeleted', { id }),
  revived: (id, fields) => recordEvent('SupplierRevived', { id, ...fields }),
}

/** Body of POST /suppliers and of PUT by-external (its external id comes from the path). */
export const CreateSupplierInput = z.strictObject(wholeShape(SUPPLIER_FIELDS)).superRefine(checkDocument)
export type CreateSupplierInput = z.infer<typeof CreateSupplierInput>

const supplierOf = (input: CreateSupplierInput): SupplierFields => ({
  ...toRecordedValues(SUPPLIER_FIELDS, input),
  ...derivedOf(input),
})

export const createSupplier = createPerson(supplierKind, supplierOf)

/** Event of a supplier that is made within another decision; its name is free. */
export const createdSupplier = (id: number, input: CreateSupplierInput): NewEvent =>
  supplierKind.created(id, supplierOf(input))

/** Body of PUT /suppliers/by-external/{external_id}, and each item of a batch. */
export const ReplaceSupplierInput = z
  .strictObject({ ...wholeShape(SUPPLIER_FIELDS), external_id: NewExternalId })
  .superRefine(checkDocument)
export type ReplaceSupplierInput = z.infer<typeof ReplaceSupplierInput>

export const replaceSupplier = replacePerson<SupplierFields, ReplaceSupplierInput>(supplierKind, supplierOf)

/** Body of PATCH /suppliers/{id}. */
export const SupplierChanges = z.strictObject(changesShape(SUPPLIER_FIELDS))

export const UpdateSupplierInput = z.strictObject({ id: Id, changes: SupplierChanges })
export type UpdateSupplierInput = z.infer<typeof UpdateSupplierInput>

export const updateSupplier = updatePerson(supplierKind)

export const deleteSupplier = deletePerson(supplierKind)
