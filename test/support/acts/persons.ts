import fc from 'fast-check'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  createCustomer,
  createSupplier,
  deleteCustomer,
  deleteSupplier,
  ReplaceCustomerInput,
  ReplaceSupplierInput,
  replaceCustomer,
  replaceSupplier,
  UpdateCustomerInput,
  UpdateSupplierInput,
  updateCustomer,
  updateSupplier,
} from '#commands/person-commands.ts'
import { type Act, ById, byId, maybe, nullable } from './act.ts'
import { changing, externalId, name } from './values.ts'

/** Documents that mostly match the person type, and so are not refused. */
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

/** Fields of a supplier. */
const trading = <T extends object>(fields: fc.Arbitrary<T>) =>
  fc.tuple(fields, nullable(name)).map(([rest, trade_name]) => ({ ...rest, trade_name }))

/** Customers and suppliers. */
export const personActs = {
  createCustomer: { kind: 'customer', weight: 3, command: createCustomer, schema: CreateCustomerInput, input: person },
  replaceCustomer: {
    kind: 'customer',
    weight: 5,
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
} satisfies Record<string, Act>
