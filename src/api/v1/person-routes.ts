import * as z from 'zod'
import { ForgetInput, forgetPerson } from '#commands/forget-person.ts'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  CustomerChanges,
  createCustomer,
  createSupplier,
  deleteCustomer,
  deleteSupplier,
  ReplaceCustomerInput,
  ReplaceSupplierInput,
  replaceCustomer,
  replaceSupplier,
  SupplierChanges,
  updateCustomer,
  updateSupplier,
} from '#commands/person-commands.ts'
import { withId } from '#http/paths.ts'
import {
  type CustomerObject,
  customerByExternalId,
  type SupplierObject,
  supplierByExternalId,
} from '#projections/people.ts'
import {
  getAnyCustomer,
  getAnySupplier,
  getCustomerByExternalId,
  getSupplierByExternalId,
  listCustomers,
  listDeletedCustomers,
  listDeletedSuppliers,
  listSuppliers,
} from '#queries/person-queries.ts'
import { answerShape, ContractRecordId, queryShape, toRecordedValues } from '#records/field.ts'
import { ADDRESS_FIELDS, CUSTOMER_FIELDS, PERSON_FILTERS, PERSON_STATE, SUPPLIER_FIELDS } from '#records/persons.ts'
import { commandRoute, type Route } from '../api-route.ts'
import { singleSchema } from '../contract/contract-document.ts'
import { recordRoutes } from './record-routes.ts'

/** Request example of a person. */
export const personExample = {
  external_id: 'CLI-001',
  name: 'Maria da Silva',
  person_type: 'PF',
  document: '52998224725',
  phone: '(11) 98765-4321',
  email: 'maria@example.com',
  address: {
    zip: '01310100',
    street: 'Avenida Paulista',
    number: '1000',
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
  },
}

/** Request example of a customer. */
const customerExample = { ...personExample, ie_indicator: '9' }

/** Request example of a supplier. */
export const supplierExample = {
  external_id: 'FOR-001',
  name: 'Distribuidora Bom Grão Ltda',
  trade_name: 'Bom Grão',
  person_type: 'PJ',
  document: '11222333000181',
  phone: '(11) 3333-4444',
  email: 'vendas@bomgrao.example',
}

const shownAt = {
  forgotten_at: null,
  forgetting_due_on: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  deleted_at: null,
}

/** The same persons in answers. */
const shownCustomer = {
  id: 17,
  ...toRecordedValues(CUSTOMER_FIELDS, customerExample),
  phone: '11987654321',
  address: toRecordedValues(ADDRESS_FIELDS, personExample.address),
  ...shownAt,
}
const shownSupplier = {
  id: 5,
  ...toRecordedValues(SUPPLIER_FIELDS, supplierExample),
  phone: '1133334444',
  ...shownAt,
}

const Customer = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...CUSTOMER_FIELDS, ...PERSON_STATE }) })
  .meta({ id: 'Customer', examples: [shownCustomer] }) satisfies z.ZodType<CustomerObject>

const Supplier = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...SUPPLIER_FIELDS, ...PERSON_STATE }) })
  .meta({ id: 'Supplier', examples: [shownSupplier] }) satisfies z.ZodType<SupplierObject>

/** Request example of an erasure. */
const forgetExample = { ground: 'holder_request', reason: 'Protocolo 2026-118', queue: true }

const Forget = ForgetInput.meta({ id: 'ForgetInput' })

/** Erasure route of a kind of person; both kinds have the same body. */
const forgetRoute = (kind: 'customer' | 'supplier', name: string, one: string, record: z.ZodType) =>
  commandRoute({
    method: 'post',
    path: `/${kind}s/:id/forget`,
    scope: `${kind}s:write`,
    operation: `forget${name}`,
    summary: `Exclui os dados pessoais de ${one}`,
    description:
      'Esta ação não pode ser desfeita: nome, documento, endereço e contatos passam a `null` em toda parte, também no passado e no livro; valores e identificadores ficam. Enquanto um documento fiscal, uma conta em aberto, um saldo de crédito de troca ou um pedido não pago precisa da pessoa, a resposta é 409 `retention_required`; com `queue`, é 202: telefone, e-mail e observações são excluídos já (com conta ou pedido em aberto, quando não houver mais), e o resto no dia de `forgetting_due_on`. De um registro excluído a resposta é 204.',
    status: [200, 202, 204],
    body: Forget,
    example: forgetExample,
    reply: singleSchema(record),
    refusals: ['retention_required'],
    command: forgetPerson,
    input: (params, body, { retentionYears: retention_years }) => withId(params, { kind, ...body, retention_years }),
  })

/** What both resources have alike. */
const COMMON = {
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource', 'person_forgotten'],
    update: ['duplicate_resource', 'person_forgotten'],
    remove: ['open_balance'],
  },
  filters: queryShape(PERSON_FILTERS),
  canBeForced: {
    description:
      'Com contas em aberto a resposta é 409 `open_balance`, com a soma em `details.balance`; com `force=true`, exclui mesmo assim, e o nome fica nas contas até que sejam pagas.',
  },
  // They depend on other records: they are those of the commands (PERSON-820).
  warnings: () => [],
} as const

export const customerRoutes: readonly Route[] = [
  ...recordRoutes({
    ...COMMON,
    path: '/customers',
    area: 'customers',
    one: 'um cliente',
    all: 'os clientes',
    names: ['Customer', 'Customers'],
    record: Customer,
    target: { kind: 'customer', byExternalId: customerByExternalId },
    examples: { whole: customerExample, changes: { phone: '(11) 3333-4444', notes: null } },
    list: listCustomers,
    deleted: listDeletedCustomers,
    get: getAnyCustomer,
    getByExternalId: getCustomerByExternalId,
    create: { body: CreateCustomerInput.meta({ id: 'CustomerInput' }), command: createCustomer },
    replace: { item: ReplaceCustomerInput.meta({ id: 'CustomerBatchItem' }), command: replaceCustomer },
    update: { body: CustomerChanges.meta({ id: 'CustomerChanges' }), command: updateCustomer },
    remove: deleteCustomer,
  }),
  forgetRoute('customer', 'Customer', 'um cliente', Customer),
]

export const supplierRoutes: readonly Route[] = [
  ...recordRoutes({
    ...COMMON,
    path: '/suppliers',
    area: 'suppliers',
    one: 'um fornecedor',
    all: 'os fornecedores',
    names: ['Supplier', 'Suppliers'],
    record: Supplier,
    target: { kind: 'supplier', byExternalId: supplierByExternalId },
    examples: { whole: supplierExample, changes: { phone: '(11) 3333-5555', notes: null } },
    list: listSuppliers,
    deleted: listDeletedSuppliers,
    get: getAnySupplier,
    getByExternalId: getSupplierByExternalId,
    create: { body: CreateSupplierInput.meta({ id: 'SupplierInput' }), command: createSupplier },
    replace: { item: ReplaceSupplierInput.meta({ id: 'SupplierBatchItem' }), command: replaceSupplier },
    update: { body: SupplierChanges.meta({ id: 'SupplierChanges' }), command: updateSupplier },
    remove: deleteSupplier,
  }),
  forgetRoute('supplier', 'Supplier', 'um fornecedor', Supplier),
]
