import fc from 'fast-check'
import { z } from 'zod'
import { DeleteInput, SettleInput } from '../../commands/accounts/account-input.ts'
import { CreateApiKeyInput, createApiKey } from '../../commands/api-keys/create-api-key.ts'
import { RevokeApiKeyInput, revokeApiKey } from '../../commands/api-keys/revoke-api-key.ts'
import { CreateItemInput, createItem } from '../../commands/catalog/create-item.ts'
import { DeactivateItemInput, deactivateItem } from '../../commands/catalog/deactivate-item.ts'
import { ReplaceItemInput, replaceItem } from '../../commands/catalog/replace-item.ts'
import { UpdateItemInput, updateItem } from '../../commands/catalog/update-item.ts'
import { CreateCategoryInput, createCategory } from '../../commands/categories/create-category.ts'
import { UpdateCompanyInput, updateCompany } from '../../commands/companies/update-company.ts'
import { CreateCustomerInput, createCustomer } from '../../commands/customers/create-customer.ts'
import { deleteCustomer } from '../../commands/customers/delete-customer.ts'
import { ReplaceCustomerInput, replaceCustomer } from '../../commands/customers/replace-customer.ts'
import { UpdateCustomerInput, updateCustomer } from '../../commands/customers/update-customer.ts'
import {
  CreatePayableInput,
  createPayable,
  deletePayable,
  PayableChanges,
  ReplacePayableInput,
  replacePayable,
  settlePayable,
  updatePayable,
} from '../../commands/payables/payable-commands.ts'
import { CreatePaymentTypeInput, createPaymentType } from '../../commands/payment-types/create-payment-type.ts'
import { UpdatePaymentTypeInput, updatePaymentType } from '../../commands/payment-types/update-payment-type.ts'
import {
  CreateReceivableInput,
  createReceivable,
  deleteReceivable,
  ReceivableChanges,
  ReplaceReceivableInput,
  replaceReceivable,
  settleReceivable,
  updateReceivable,
} from '../../commands/receivables/receivable-commands.ts'
import { authorizeFiscalDocument, FiscalDocumentInput } from '../../commands/sales/authorize-fiscal-document.ts'
import { CancelSaleInput, cancelSale } from '../../commands/sales/cancel-sale.ts'
import { OfflineSaleInput } from '../../commands/sales/offline-sale-input.ts'
import { recordOfflineSale } from '../../commands/sales/record-offline-sale.ts'
import { registerSale, SaleInput } from '../../commands/sales/register-sale.ts'
import { CreateSupplierInput, createSupplier } from '../../commands/suppliers/create-supplier.ts'
import { deleteSupplier } from '../../commands/suppliers/delete-supplier.ts'
import { ReplaceSupplierInput, replaceSupplier } from '../../commands/suppliers/replace-supplier.ts'
import { UpdateSupplierInput, updateSupplier } from '../../commands/suppliers/update-supplier.ts'
import { CreateUserInput, createUser } from '../../commands/users/create-user.ts'
import { hashKey } from '../../src/access/api-keys.ts'
import { SCOPES } from '../../src/access/scopes.ts'
import { PAYMENT_METHODS } from '../../src/domain/payment-method.ts'
import { Id } from '../../src/domain/text.ts'
import { PAYMENT_KINDS, PLANS } from '../../src/events/companies.ts'
import type { Invocation } from '../../src/ledger/command.ts'
import { type Act, ById, byId, maybe, nullable, place } from './acts/act.ts'
import { ACCESS_TOKEN, NOTIFICATION_SECRET, orderActs } from './acts/orders.ts'
import { SIGNING_SECRET, webhookActs } from './acts/webhooks.ts'

/** Ids that a company's records have so far, by kind. */
export type Known = Map<string, number[]>

/** What may be tried. Ids in `input` are places in the list of those known, so that a history can be shrunk and still holds. */
export interface Step {
  readonly act: keyof typeof ACTS
  readonly input: Readonly<Record<string, unknown>>
}

/** Text in every answer and hash that must be in no event. */
export const SECRETS = [
  'tb_test_SECRETKEYSECRETKEYSECRETKEYSECRETKEYSECRET',
  '$argon2id$v=19$SECRETPASSWORD',
  SIGNING_SECRET,
  ACCESS_TOKEN,
  NOTIFICATION_SECRET,
]
const [KEY = '', PASSWORD_HASH = ''] = SECRETS

/** A record that nobody has. */
const NOBODY = 900_000_001

/** Few values, so that they meet: the same in another case, with other blanks, and now and then anything. */
const name = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: 40 }).map((n) => `Nome ${n}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('Ana', 'ana', ' ANA ', 'São João', 'SA\u0303O  JOA\u0303O', 'Pão 🥖', '"\\\n'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
)
const externalId = fc.constantFrom('a', 'b', 'c', 'A', 'é/🥖')
const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const money = fc.constantFrom('0.00', '0.01', '1.15', '18.90', '1000.00')
const quantity = fc.constantFrom('1', '0.5', '2.345', '0.001', '40')

/** Documents that fit, mostly, and so are not refused. */
const identity = fc.constantFrom(
  {},
  { document: '52998224725' },
  { person_type: 'PF', document: null },
  { person_type: 'PJ' },
  { person_type: 'PJ', document: '11222333000181' },
  { person_type: 'PJ', document: '12ABC34501DE35' },
)
const personShape = {
  phone: nullable(fc.constant('+55 11 98765-4321')),
  email: nullable(fc.constantFrom('A@Example.com', 'b@example.com')),
  address: nullable(fc.record({ zip: nullable(fc.constant('01310100')), city: nullable(name) })),
  notes: nullable(name),
}
const personWith = <T extends object>(fields: fc.Arbitrary<T>) =>
  fc.tuple(fields, identity).map(([rest, some]) => ({ ...rest, ...some }))
const person = personWith(fc.record({ external_id: nullable(externalId), name, ...personShape }))
const personAtExternalId = personWith(fc.record({ external_id: externalId, name, ...personShape }))
const personChanges = personWith(fc.record({ external_id: nullable(externalId), name: maybe(name), ...personShape }))

/** A person that trades: a supplier. */
const trading = <T extends object>(fields: fc.Arbitrary<T>) =>
  fc.tuple(fields, nullable(name)).map(([rest, trade_name]) => ({ ...rest, trade_name }))

const itemShape = {
  type: maybe(fc.constantFrom('product', 'product', 'product', 'product', 'product', 'service')),
  sku: nullable(name),
  barcode: nullable(fc.nat({ max: 30 }).map(String)),
  category_id: nullable(place),
  unit: nullable(fc.constant('UN')),
  cost: nullable(money),
  stock: maybe(fc.constantFrom('5', '100.5', '100.5', '999999999.999', null)),
}
const item = fc.record({ external_id: nullable(externalId), name, price: money, ...itemShape })
const itemAtExternalId = fc.record({ external_id: externalId, name, price: money, ...itemShape })
const itemChanges = fc.record({
  external_id: nullable(externalId),
  name: maybe(name),
  price: maybe(money),
  ...itemShape,
  stock_adjustment: rarely(fc.constantFrom('1', '-0.5', '0.001')),
})

const saleItem = fc.oneof(
  { weight: 3, arbitrary: fc.record({ catalog_item_id: place, quantity, unit_price: maybe(money) }) },
  { weight: 1, arbitrary: fc.record({ catalog_item_external_id: externalId, quantity, unit_price: maybe(money) }) },
  { weight: 1, arbitrary: fc.record({ description: name, quantity, unit_price: money }) },
)
const sale = fc.record({
  external_id: rarely(externalId),
  customer_external_id: rarely(externalId),
  sold_at: maybe(fc.constantFrom('2026-03-10T23:30:00-03:00', '1999-12-31T23:59:59.999Z', '2018-11-04T03:00:00Z')),
  delivery_fee: maybe(money),
  items: fc.array(saleItem, { minLength: 1, maxLength: 4 }),
  // Mostly cash, which makes the rest its change: the sale goes through.
  payments: fc.oneof(
    { weight: 5, arbitrary: fc.constant([{ payment_type_id: 0, amount: '9999999.00' }]) },
    { weight: 1, arbitrary: fc.array(fc.record({ payment_type_id: place, amount: money }), { maxLength: 3 }) },
  ),
})

/** What a till sends, adding up; now and then the same again, or another one under the same identifier. */
const offlineSale = fc
  .record({
    offline_id: fc.nat({ max: 60 }).map((n) => `pdv-${n}`),
    status: fc.constantFrom('completed', 'completed', 'completed', 'cancelled'),
    created_at: fc.constantFrom('2026-03-10T23:30:00-03:00', '1999-12-31T23:59:59.999Z', '2099-01-01T00:00:00Z'),
    lines: fc.array(
      fc.record({ product_id: place, units: fc.constantFrom(1, 3, 40), price: fc.constantFrom(0, 2, 19) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
    payment_type_id: place,
    payment_status: fc.constantFrom('completed', 'pending'),
    change: fc.constantFrom(0, 5.5),
  })
  .map(({ lines, payment_type_id, payment_status, change, ...sale }) => {
    const items = lines.map(({ product_id, units, price }) => ({
      product_id,
      quantity: units,
      price,
      total: units * price,
    }))
    const total = items.reduce((sum, line) => sum + line.total, 0)
    const payments = [{ payment_type_id, amount: total + change, status: payment_status }]
    return { ...sale, items, payments, total, change, amount_received: total + change }
  })

const paymentShape = {
  name,
  kind: fc.constantFrom(...PAYMENT_KINDS),
  fee_percentage: maybe(fc.constantFrom('0', '2.5', '3.49', '100')),
  due_days: maybe(fc.constantFrom(0, 30)),
}

const changing = (changes: fc.Arbitrary<unknown>) => fc.record({ id: place, changes })

const accountShape = {
  description: name,
  amount: fc.constantFrom('0.01', '150.00', '9999999999.99'),
  due_date: fc.constantFrom('1999-12-31', '2026-03-10', '2099-02-28'),
}
const accountChanges = {
  external_id: rarely(externalId),
  description: maybe(name),
  amount: maybe(accountShape.amount),
  due_date: maybe(accountShape.due_date),
}
/** One side of the finances; `party` is who owes or is owed. */
const accountActs = (party: 'customer' | 'supplier') => {
  const parties = { [`${party}_id`]: nullable(place) }
  return {
    create: fc.record({ external_id: nullable(externalId), ...accountShape, ...parties }),
    replace: fc.record({ external_id: externalId, ...accountShape, [`${party}_external_id`]: rarely(externalId) }),
    update: changing(fc.record({ ...accountChanges, ...parties })),
    settle: fc.record({
      id: place,
      payment_method: fc.constantFrom(...PAYMENT_METHODS),
      paid_at: nullable(fc.constantFrom('2026-03-10T23:30:00-03:00', '2000-01-01T00:00:00Z')),
    }),
  }
}
const receivable = accountActs('customer')
const payable = accountActs('supplier')
const accountUpdate = (changes: z.ZodType) => z.strictObject({ id: Id, changes })

/** Everything that may happen in a company, with what is tried. */
const ACTS = {
  createCustomer: { kind: 'customer', weight: 3, command: createCustomer, schema: CreateCustomerInput, input: person },
  replaceCustomer: {
    kind: 'customer',
    weight: 4,
    command: replaceCustomer,
    schema: ReplaceCustomerInput,
    input: personAtExternalId,
  },
  updateCustomer: {
    kind: 'customer',
    weight: 3,
    command: updateCustomer,
    schema: UpdateCustomerInput,
    input: changing(personChanges),
  },
  deleteCustomer: { kind: 'customer', weight: 3, command: deleteCustomer, schema: ById, input: byId },
  createSupplier: {
    kind: 'supplier',
    weight: 1,
    command: createSupplier,
    schema: CreateSupplierInput,
    input: trading(person),
  },
  replaceSupplier: {
    kind: 'supplier',
    weight: 2,
    command: replaceSupplier,
    schema: ReplaceSupplierInput,
    input: trading(personAtExternalId),
  },
  updateSupplier: {
    kind: 'supplier',
    weight: 1,
    command: updateSupplier,
    schema: UpdateSupplierInput,
    input: changing(trading(personChanges)),
  },
  deleteSupplier: { kind: 'supplier', weight: 1, command: deleteSupplier, schema: ById, input: byId },
  createCategory: {
    kind: 'category',
    weight: 2,
    command: createCategory,
    schema: CreateCategoryInput,
    input: fc.record({ external_id: nullable(externalId), name }),
  },
  createItem: { kind: 'catalog_item', weight: 4, command: createItem, schema: CreateItemInput, input: item },
  replaceItem: {
    kind: 'catalog_item',
    weight: 5,
    command: replaceItem,
    schema: ReplaceItemInput,
    input: itemAtExternalId,
  },
  updateItem: {
    kind: 'catalog_item',
    weight: 4,
    command: updateItem,
    schema: UpdateItemInput,
    input: changing(itemChanges),
  },
  deactivateItem: {
    kind: 'catalog_item',
    weight: 4,
    command: deactivateItem,
    schema: DeactivateItemInput,
    input: byId,
  },
  registerSale: { kind: 'sale', weight: 10, command: registerSale, schema: SaleInput, input: sale },
  recordOfflineSale: {
    kind: 'sale',
    weight: 6,
    command: recordOfflineSale,
    schema: OfflineSaleInput,
    input: offlineSale,
  },
  cancelSale: {
    kind: 'sale',
    weight: 4,
    command: cancelSale,
    schema: CancelSaleInput,
    input: fc.record({ id: place, reason: nullable(name) }),
  },
  authorizeFiscalDocument: {
    kind: 'sale',
    weight: 2,
    command: authorizeFiscalDocument,
    schema: FiscalDocumentInput,
    input: fc.record({ id: place, number: fc.constantFrom('1', '2') }),
  },
  createReceivable: {
    kind: 'receivable',
    weight: 2,
    command: createReceivable,
    schema: CreateReceivableInput,
    input: receivable.create,
  },
  replaceReceivable: {
    kind: 'receivable',
    weight: 3,
    command: replaceReceivable,
    schema: ReplaceReceivableInput,
    input: receivable.replace,
  },
  updateReceivable: {
    kind: 'receivable',
    weight: 2,
    command: updateReceivable,
    schema: accountUpdate(ReceivableChanges),
    input: receivable.update,
  },
  deleteReceivable: { kind: 'receivable', weight: 2, command: deleteReceivable, schema: DeleteInput, input: byId },
  settleReceivable: {
    kind: 'receivable',
    weight: 1,
    command: settleReceivable,
    schema: SettleInput,
    input: receivable.settle,
  },
  createPayable: {
    kind: 'payable',
    weight: 2,
    command: createPayable,
    schema: CreatePayableInput,
    input: payable.create,
  },
  replacePayable: {
    kind: 'payable',
    weight: 3,
    command: replacePayable,
    schema: ReplacePayableInput,
    input: payable.replace,
  },
  updatePayable: {
    kind: 'payable',
    weight: 2,
    command: updatePayable,
    schema: accountUpdate(PayableChanges),
    input: payable.update,
  },
  deletePayable: { kind: 'payable', weight: 2, command: deletePayable, schema: DeleteInput, input: byId },
  settlePayable: { kind: 'payable', weight: 1, command: settlePayable, schema: SettleInput, input: payable.settle },
  createPaymentType: {
    kind: 'payment_type',
    weight: 1,
    command: createPaymentType,
    schema: CreatePaymentTypeInput,
    input: fc.record(paymentShape),
  },
  updatePaymentType: {
    kind: 'payment_type',
    weight: 1,
    command: updatePaymentType,
    schema: UpdatePaymentTypeInput,
    // The first one stays cash, so that sales go on.
    input: fc.record({
      id: fc.integer({ min: 1, max: 6 }),
      name: maybe(name),
      fee_percentage: paymentShape.fee_percentage,
    }),
  },
  updateCompany: {
    kind: 'company',
    weight: 2,
    command: updateCompany,
    schema: UpdateCompanyInput,
    input: fc.record({
      name: maybe(name),
      plan: maybe(fc.constantFrom(...PLANS)),
      timezone: maybe(fc.constantFrom('America/Sao_Paulo', 'Asia/Kolkata', 'America/St_Johns', 'UTC')),
      logo_url: nullable(fc.constant('https://example.com/logo.png')),
    }),
  },
  createUser: {
    kind: 'user',
    weight: 1,
    command: createUser,
    schema: CreateUserInput,
    input: fc.record({
      name,
      email: fc.uuid().map((id) => `${id}@example.com`),
      role: fc.constantFrom('owner', 'clerk'),
      password_hash: fc.constant(PASSWORD_HASH),
    }),
  },
  createApiKey: {
    kind: 'api_key',
    weight: 1,
    command: createApiKey,
    schema: CreateApiKeyInput,
    input: fc.record({
      name,
      scopes: fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 }),
      expires_at: nullable(fc.constant('2099-01-01T00:00:00Z')),
      prefix: fc.constant(KEY.slice(0, 12)),
      // Hashes are unique in the service.
      hash: fc.uuid().map((id) => hashKey(KEY + id)),
    }),
  },
  revokeApiKey: { kind: 'api_key', weight: 2, command: revokeApiKey, schema: RevokeApiKeyInput, input: byId },
  ...webhookActs,
  ...orderActs,
} satisfies Record<string, Act>

/** Kinds that fields of an input refer to. */
const REFS: Readonly<Record<string, string>> = {
  category_id: 'category',
  catalog_item_id: 'catalog_item',
  product_id: 'catalog_item',
  payment_type_id: 'payment_type',
  customer_id: 'customer',
  supplier_id: 'supplier',
}

export const step: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.entries(ACTS) as [keyof typeof ACTS, Act][]).map(([act, { weight, input }]) => ({
    weight,
    arbitrary: fc.record({ act: fc.constant(act), input }),
  })),
)

export const kindOf = ({ act }: Step): string => ACTS[act].kind

/** The command of a step, with ids in the places of places; null where no caller could have sent it. */
export function invocationOf({ act, input }: Step, known: Known): Invocation | null {
  const { command, schema, kind }: Act = ACTS[act]
  const idOf = (of: string, place: unknown): number => {
    const ids = known.get(of) ?? []
    return ids[(place as number) % ids.length] ?? NOBODY
  }
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (value === null || typeof value !== 'object' || value instanceof Buffer) return value
    return Object.fromEntries(
      Object.entries(value).map(([field, inner]) => {
        const of = REFS[field]
        return [field, of !== undefined && typeof inner === 'number' ? idOf(of, inner) : resolve(inner)]
      }),
    )
  }
  const resolved = resolve(input) as Record<string, unknown>
  const parsed = schema.safeParse('id' in input ? { ...resolved, id: idOf(kind, input.id) } : resolved)
  return parsed.success ? { command, input: parsed.data } : null
}
