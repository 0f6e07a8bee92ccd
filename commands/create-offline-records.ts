import { createHash } from 'node:crypto'
import * as z from 'zod'
import { JsonMoney } from '#domain/money.ts'
import { sameBarcodes } from '#domain/record-values.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { accept, type Command, command, type Decision, isRefusal, type NewEvent } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemByBarcode } from '#projections/catalog.ts'
import { offlineRecord } from '#projections/offline-records.ts'
import { customerByName } from '#projections/people.ts'
import { ITEM_OWN_DEFINITIONS } from '#records/items.ts'
import { CUSTOMER_FIELDS } from '#records/persons.ts'
import { type CreateItemInput, createItem } from './item-commands.ts'
import { OfflineId } from './offline-sale-input.ts'
import { type CreateCustomerInput, createCustomer, namesLike } from './person-commands.ts'

const { name, sku, barcode, unit } = ITEM_OWN_DEFINITIONS

/** What a till may find in place of a new record, and what it then did. */
export type DraftWarning = 'barcode_in_use' | 'name_in_use'

/** An empty text is none, as in the download of products. */
const orEmpty = <T extends z.ZodType>(schema: T) => z.preprocess((value) => value || null, schema).optional()

/** A product typed in at a till. Unknown fields are ignored. */
export const OfflineItemInput = z
  .object({
    offline_id: OfflineId,
    name: name.whole,
    price: JsonMoney,
    barcode: orEmpty(barcode.whole),
    sku: sku.whole,
    unit: orEmpty(unit.whole),
  })
  .meta({ id: 'OfflineItemDraft' })

/** A customer typed in at a till. Unknown fields are ignored. */
export const OfflineCustomerInput = z
  .object({
    offline_id: OfflineId,
    name: CUSTOMER_FIELDS.name.whole,
    document: CUSTOMER_FIELDS.document.whole,
    phone: CUSTOMER_FIELDS.phone.whole,
    email: CUSTOMER_FIELDS.email.whole,
  })
  .meta({ id: 'OfflineCustomerDraft' })

interface Draft<I> {
  readonly offline_id: string
  readonly record: I
}

/** The decision about the record itself, with the name that the till gave it. */
function withName(decision: Decision, nameOf: (id: number) => NewEvent, warnings: readonly DraftWarning[]): Decision {
  if (isRefusal(decision)) return decision
  const named = nameOf(parseSubject(decision.subject).id)
  return { ...decision, events: [...decision.events, named], remarks: { warnings } }
}

/** An item that exists already, with its name at the till. */
const linked = (subject: string, nameOf: (id: number) => NewEvent, warnings: readonly DraftWarning[]): Decision =>
  withName(accept('updated', subject), nameOf, warnings)

const fingerprintOf = ({ name, price, barcode, sku, unit }: CreateItemInput): string =>
  createHash('sha256')
    .update(JSON.stringify([name, price, barcode, sku, unit]))
    .digest('hex')

/** The live item with a barcode, however many zeros it is written with. */
const holderOf = (rows: Rows, code: string) =>
  [code, ...sameBarcodes(code)].map((one) => rows.get(itemByBarcode(one))).find((item) => item !== null)

/** Creates an item once for its identifier at the till. One with its barcode is the item itself: its sales are of it. */
export const createOfflineItem: Command<Draft<CreateItemInput>> = command({
  needs: ({ offline_id, record }) => [offlineRecord('item', offline_id), ...createItem.needs(record)],
  needsMore: (rows, { record }) => createItem.needsMore?.(rows, record) ?? [],
  decide(rows, { offline_id, record }, context) {
    const fingerprint = fingerprintOf(record)
    const known = rows.get(offlineRecord('item', offline_id))
    if (known && known.fingerprint !== fingerprint)
      return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.record_id })
    if (known) return accept('unchanged', `catalog_item/${known.record_id}`)
    const granted = context.permit('edit_catalog')
    if (isRefusal(granted)) return granted
    const nameOf = (id: number) => event('OfflineItemNamed', { id, offline_id, fingerprint })
    const holder = record.barcode ? holderOf(rows, record.barcode) : undefined
    if (holder) return linked(`catalog_item/${holder.id}`, nameOf, ['barcode_in_use'])
    return withName(createItem.decide(rows, record, context), nameOf, [])
  },
})

/** The customer with a free name: two persons may have one name. */
function withFreeName(rows: Rows, record: CreateCustomerInput): CreateCustomerInput {
  if (rows.get(customerByName(record.name)) === null) return record
  const free = namesLike(record.name, record.document).find((one) => rows.get(customerByName(one)) === null)
  return free === undefined ? record : { ...record, name: free }
}

/**
 * Creates a customer once for its identifier at the till. One with its name and its document is the customer itself;
 * another one with its name is told apart by a number.
 */
export const createOfflineCustomer: Command<Draft<CreateCustomerInput>> = command({
  needs: ({ offline_id, record }) => [offlineRecord('customer', offline_id), ...createCustomer.needs(record)],
  needsMore: (rows, { record }) => createCustomer.needsMore?.(rows, record) ?? [],
  needsLast: (rows, { record }) => createCustomer.needs(withFreeName(rows, record)),
  decide(rows, { offline_id, record }, context) {
    const known = rows.get(offlineRecord('customer', offline_id))
    if (known) return accept('unchanged', `customer/${known.record_id}`)
    const granted = context.permit('edit_people')
    if (isRefusal(granted)) return granted
    const nameOf = (id: number) => event('OfflineCustomerNamed', { id, offline_id })
    const holder = rows.get(customerByName(record.name))
    if (holder && record.document && holder.doc.document === record.document)
      return linked(`customer/${holder.id}`, nameOf, ['name_in_use'])
    const free = withFreeName(rows, record)
    return withName(createCustomer.decide(rows, free, context), nameOf, free === record ? [] : ['name_in_use'])
  },
})
