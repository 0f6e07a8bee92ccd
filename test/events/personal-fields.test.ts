import { expect } from 'chai'
import * as z from 'zod'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { PERSON_KINDS } from '#domain/person-values.ts'
import { EVENT_TYPES, indexPersonalFields } from '#events/catalogue.ts'
import { listSubjectKinds } from '#events/event-definitions.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly personal?: object
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Unmarked texts of any content: about the company and its goods, or names given by programs. */
const IMPERSONAL = [
  'external_id store_alias alias prefix scopes[] idempotency_key payment_method_id provider_payment_id provider_refund_id offline_id fingerprint',
  'customer_external_id supplier_external_id customer.external_id items[].external_id',
  'role role_name name cnpj timezone logo_url state_registration sku barcode unit gtin ncm cest items[].description payments[].name refunds[].name',
  // Session of a till's drawer, named by the till.
  // Of a paper, and of the shop's account at its bank.
  'payments[].voucher refunds[].voucher vouchers[].voucher pix_key pix_city',
  'x y cash_session_id session_id cancel_session_id timed_drawer.session_id sale_offline_id',
  'reference number model series access_key protocol xml_sha256 xml_url url events[] description',
  'subjects[] provider_status status_detail pix.qr_code pix.qr_code_base64 boleto.barcode boleto.digitable_line',
  // Account of a shop at the provider; former code of an item; way of paying, by name.
  'account_id former_gtin payment_method picture_url variant.size variant.color',
  ...ITEM_TAX_FIELDS,
  ...['gtin', 'ncm', 'cest', ...ITEM_TAX_FIELDS].map((field) => `items[].${field}`),
  'payments[].card.nsu payments[].card.authorization payments[].card.acquirer_cnpj payments[].end_to_end_id',
  // Reasons of actions, refusals and manual recordings, and notes about them.
  'lines[].code lines[].unit reason note warnings[].found warnings[].expected listed[]',
].flatMap((line) => line.split(' '))

/** A shop's own, which it shows to everyone. */
const OF_SHOPS = ['address', 'phone']

/** Types with a `name` that is not a person's. */
const NAMED_THINGS = ['company', 'payment_type', 'api_key', 'catalog_item', 'category', 'inventory', 'till']

/** Paths of unmarked texts of any content. */
function openTexts(schema: Schema, path: string): string[] {
  if (schema.personal) return []
  const isText = [schema.type].flat().includes('string') && !schema.format && !schema.pattern && !schema.enum
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    openTexts(member, path === '' ? name : `${path}.${name}`),
  )
  const items = schema.items ? openTexts(schema.items, `${path}[]`) : []
  return [...(isText ? [path] : []), ...inner, ...items, ...(schema.anyOf ?? []).flatMap((one) => openTexts(one, path))]
}

describe('personal fields of events', () => {
  for (const [type, declared] of Object.entries(EVENT_TYPES)) {
    const { version, data, former } = declared
    it(`${type} marks every text about a person [LEDGER-5]`, () => {
      for (const shape of [...former.map(({ data }) => data), data]) {
        const texts = openTexts(z.toJSONSchema(shape) as Schema, '').map((path) => path.replace(/^changes\./, ''))
        const impersonal = listSubjectKinds(declared).includes('company') ? [...IMPERSONAL, ...OF_SHOPS] : IMPERSONAL
        expect(texts.filter((path) => !impersonal.includes(path))).to.deep.equal([])
        if (!listSubjectKinds(declared).some((kind) => NAMED_THINGS.includes(kind)))
          expect(texts).not.to.include('name')
      }
      for (const { person } of indexPersonalFields(EVENT_TYPES)({ type, version }))
        expect(PERSON_KINDS).to.include.members(person === 'subject' ? listSubjectKinds(declared) : [person.kind])
    })
  }

  it('are found at any depth, but never in lists', () => {
    const marks = (schema: Schema): number =>
      (schema.personal ? 1 : 0) +
      [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
        .map(marks)
        .reduce((sum, count) => sum + count, 0)
    const fieldsOf = indexPersonalFields(EVENT_TYPES)
    let found = 0
    for (const [type, { version, data }] of Object.entries(EVENT_TYPES)) {
      const fields = fieldsOf({ type, version })
      expect(fields, type).to.have.length(marks(z.toJSONSchema(data) as Schema))
      found += fields.length
    }
    expect(found).to.be.greaterThan(50)
    expect(fieldsOf({ type: 'Unheard', version: 1 })).to.deep.equal([])
  })
})
