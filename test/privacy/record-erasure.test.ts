import { expect } from 'chai'
import { type ErasedPerson, eraseSale, toTextErasure } from '#privacy/erase-person.ts'

const PERSON = {
  person_type: 'PF',
  name: 'Ana',
  document: '1',
  phone: '2',
  email: 'a@x',
  address: { city: 'B' },
  notes: 'n',
}
const CUSTOMER = { id: 9, external_id: 'c9', ...PERSON }
const SUPPLIER = { ...CUSTOMER, trade_name: 'Loja da Ana' }
const USER = { id: 9, name: 'Ana', email: 'a@x', role: 'clerk', status: 'active' }
const PAYMENT = { card: { last_four: '1234', brand: 'visa' }, pix: { qr_code: 'q', ticket_url: 't' }, boleto: null }
const ORDER = {
  id: 9,
  provider_reference: 'order-9-x',
  customer: { id: 7, external_id: null, name: 'Ana', email: 'a@x', document: '1', phone: '2' },
  payment: PAYMENT,
  payments: [PAYMENT],
}
const SALE = {
  id: 9,
  total: '1.00',
  customer: { id: 9, external_id: 'c9', name: 'Ana' },
  items: [{ name: 'Ana Maria', id: 9 }],
}
const RECEIVABLE = { id: 9, customer_id: 9, customer_name: 'Ana', description: 'Venda 9' }
const PAYABLE = { id: 9, supplier_id: 9, supplier_name: 'Ana' }

const both = (...subjects: string[]): ErasedPerson => ({ subjects, parts: ['identity', 'contact'] })

/** Rest of a record in a response after the erasure. */
function left(record: object, forgotten: ErasedPerson): unknown {
  const { needles, redact } = toTextErasure(forgotten)
  const text = JSON.stringify(record)
  const redacted = redact(text)
  if (redacted.isAbout) expect(needles.some((needle) => text.includes(needle))).to.equal(true)
  return redacted.text === null ? 'unchanged' : JSON.parse(redacted.text)
}

describe('erasure of a person from JSON texts [PRIV-31]', () => {
  const nobody = { name: null, document: null, phone: null, email: null, address: null, notes: null }

  it('removes all personal fields of the record at any depth, and nothing else', () => {
    expect(left({ results: [{ record: CUSTOMER }] }, both('customer/9'))).to.deep.equal({
      results: [{ record: { ...CUSTOMER, ...nobody } }],
    })
    expect(left(SUPPLIER, both('supplier/9'))).to.deep.equal({ ...SUPPLIER, ...nobody, trade_name: null })
    expect(left(USER, both('user/9'))).to.deep.equal({ ...USER, name: null, email: null })
    const paid = { card: { last_four: null, brand: 'visa' }, pix: { qr_code: 'q', ticket_url: null }, boleto: null }
    expect(left(ORDER, both('order/9'))).to.deep.equal({
      ...ORDER,
      customer: { id: 7, external_id: null, name: null, email: null, document: null, phone: null },
      payment: paid,
      payments: [paid],
    })
  })

  it('removes the name from other records that contain it', () => {
    expect(left(SALE, both('customer/9'))).to.deep.equal({ ...SALE, customer: { ...SALE.customer, name: null } })
    expect(left(RECEIVABLE, both('customer/9'))).to.deep.equal({ ...RECEIVABLE, customer_name: null })
    expect(left(PAYABLE, both('supplier/9'))).to.deep.equal({ ...PAYABLE, supplier_name: null })
  })

  it('keeps the identity if only the contact data is erased', () => {
    const forgotten = { subjects: ['customer/9'], parts: ['contact'] } as const
    expect(left(CUSTOMER, forgotten)).to.deep.equal({ ...CUSTOMER, phone: null, email: null, notes: null })
    expect(left(SALE, forgotten)).to.equal('unchanged')
  })

  it('keeps other persons with the same id or name, and texts that are not JSON', () => {
    for (const record of [
      SUPPLIER,
      USER,
      ORDER,
      PAYABLE,
      { ...CUSTOMER, id: 90 },
      { id: 9, name: 'Ana', price: '1.00' },
    ])
      expect(left(record, both('customer/9'))).to.equal('unchanged')
    for (const record of [CUSTOMER, USER, RECEIVABLE, SALE])
      expect(left(record, both('supplier/9'))).to.equal('unchanged')
    expect(toTextErasure(both('customer/9')).redact('').isAbout).to.equal(false)
  })

  it('recognises texts about a person even if nothing is left to remove', () => {
    const empty = JSON.stringify({ ...CUSTOMER, ...nobody })
    expect(toTextErasure(both('customer/9')).redact(empty)).to.deep.equal({ isAbout: true, text: null })
  })
})

describe('erasure of a customer from a refused sale [PRIV-35]', () => {
  const line = { product_id: 1, quantity: 1, price: 2, total: 2 }
  const sale = {
    offline_id: 'a',
    total: 2,
    items: [{ ...line, note: 'para Ana' }],
    payments: [],
    cpf: '1',
    customer_name: 'Ana',
  }
  const kept = { offline_id: 'a', total: 2, items: [line], payments: [] }
  const isForgotten = (customer: number | string) => customer === 9 || customer === 'c-9'

  it('keeps the fields that the service reads, however the sale names the customer', () => {
    for (const named of [
      { customer_id: 9 },
      { customer_id: '9' },
      { customer: { id: 9, nome: 'Ana' } },
      { customer_id: { id: 9 } },
    ]) {
      const left = JSON.parse(eraseSale(JSON.stringify({ ...sale, ...named }), isForgotten) ?? '{}')
      expect(left).to.deep.equal({ ...kept, customer_id: 9 })
    }
  })

  it('keeps them of a customer that the till has made', () => {
    const named = { ...sale, offline_customer_id: 'c-9' }
    const left = JSON.parse(eraseSale(JSON.stringify(named), isForgotten) ?? '{}')
    expect(left).to.deep.equal({ ...kept, offline_customer_id: 'c-9' })
  })

  it('keeps everything if the sale names another customer or none', () => {
    for (const named of [{ customer_id: 8 }, {}, { customer_id: 'Ana' }, { offline_customer_id: 'c-8' }])
      expect(eraseSale(JSON.stringify({ ...sale, ...named }), isForgotten)).to.equal(null)
  })
})
