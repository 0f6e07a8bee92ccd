import {
  CreateCustomerInput,
  CustomerChanges,
  createCustomer,
  deleteCustomer,
  updateCustomer,
} from '#commands/people/customers.ts'
import {
  CreateSupplierInput,
  createSupplier,
  deleteSupplier,
  SupplierChanges,
  updateSupplier,
} from '#commands/people/suppliers.ts'
import * as format from '#domain/brazilian-format.ts'
import type { CustomerObject, SupplierObject } from '#projections/people.ts'
import { openBalanceOfParty } from '#queries/finance/open-balances.ts'
import {
  customerListing,
  getCustomer,
  getCustomerOrDebtor,
  getSupplier,
  getSupplierOrCreditor,
  supplierListing,
} from '#queries/people.ts'
import { dataExportActions } from '../data-export/links.ts'
import { formText } from '../forms/form.ts'
import { lineInput } from '../forms/kinds.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../route.ts'
import { loadRecord, type RecordPages, recordPages } from '../ui/record-pages.tsx'
import { IE_INDICATOR_NAMES } from '../words/values.ts'
import { forgetAction, forgetPages } from './erase-person.tsx'
import { accountCount, type BalancePageSide, PAYABLE, PartyBalanceCard, RECEIVABLE } from './finance/open-balances.tsx'
import {
  CUSTOMER_TAX_INPUTS,
  PERSON_TYPE_NAMES,
  type Person,
  personFields,
  sentIn,
  sharingNotice,
  takenName,
} from './person-form.tsx'
import { personColumns, personCountOf, personFile, personFilters, personPageOf } from './person-list.tsx'
import { PurchasesCard } from './sales/purchases.tsx'
import { StoreCreditCard } from './sales/returns.tsx'

const customerFacts = (customer: CustomerObject): Facts => [
  ['Inscrição estadual', customer.state_registration],
  ['Contribuinte do ICMS', customer.ie_indicator && IE_INDICATOR_NAMES[customer.ie_indicator]],
]

type Facts = ReturnType<RecordPages<Person>['facts']>

const personFacts = (person: Person, { readModel }: PageContext, ...afterName: Facts): Facts => [
  ['Nome', format.formatPersonName(person.name)],
  ...afterName,
  ['Tipo de pessoa', PERSON_TYPE_NAMES[person.person_type]],
  ['CPF ou CNPJ', person.document && format.formatTaxNumber(person.document)],
  ['Telefone', person.phone && format.formatPhone(person.phone)],
  ['E-mail', person.email],
  ['Endereço', addressText(person.address)],
  ['Código externo', person.external_id],
  ['Observações', person.notes],
  ['Cadastro', format.formatDateTime(person.created_at, readModel.timezone)],
  [
    'Dados pessoais excluídos (LGPD) em',
    person.forgotten_at && format.formatDateTime(person.forgotten_at, readModel.timezone),
  ],
  ['Exclusão do restante', forgettingText(person, readModel.today)],
  ['Excluído em', person.deleted_at && format.formatDateTime(person.deleted_at, readModel.timezone)],
  ['Última alteração', format.formatDateTime(person.updated_at, readModel.timezone)],
]

/** A due day that has come is that of open accounts or orders, which have no date (PRIV-5). */
function forgettingText({ forgetting_due_on: day }: Person, today: string): string | null {
  if (day === null) return null
  return day > today ? `em ${format.formatDay(day)}` : 'quando não houver mais conta ou pedido em aberto'
}

function addressText(address: Person['address']): string | null {
  if (!address) return null
  const { zip, street, number, complement, district, city, state } = address
  const place = [city, state].filter(Boolean).join('/')
  return [
    [street, number].filter(Boolean).join(', '),
    complement,
    district,
    place,
    zip && `CEP ${format.formatZipCode(zip)}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Deleted and erased persons, and those queued for erasure, cannot be changed. */
const isChangeable = ({ forgotten_at, forgetting_due_on, deleted_at }: Person): boolean =>
  forgotten_at === null && forgetting_due_on === null && deleted_at === null

/** A deleted person has a name while an account is open. */
const nameOf = ({ name, deleted_at }: Person): string => {
  if (deleted_at === null) return format.formatPersonName(name)
  return name === null ? 'Cadastro excluído' : `${name} (excluído)`
}

/** Hidden field: the page has shown the debt. */
const DEBT_SHOWN = 'saldo_visto'

/** What the person still owes or is owed, before the deletion. */
const openAccountsOf =
  (side: BalancePageSide) =>
  async ({ id }: Person, { readModel: { reader, today } }: PageContext) => {
    const { amount, count } = await openBalanceOfParty(reader, side.side, id, { today, limit: 1 })
    if (count === 0) return null
    return (
      <>
        <p class="problem" role="note">
          {`Há ${accountCount(count)} em aberto: ${format.formatMoney(amount)}. Excluir não cancela a dívida: o nome continua em ${side.words.all} até tudo ser pago.`}
        </p>
        <input type="hidden" name={DEBT_SHOWN} value="s" />
      </>
    )
  }

const forced = (form: FormSubmission['form']): object => (formText(form, DEBT_SHOWN) === 's' ? { force: true } : {})

const STAYS =
  'Ficam as vendas, contas e valores, sem o nome, o número do cadastro e o código externo. Documentos fiscais emitidos pelo seu sistema fiscal não são alterados.'

const customerPages = recordPages<CustomerObject>({
  path: '/clientes',
  section: 'customers',
  editing: 'edit_people',
  subject: 'customer',
  words: {
    all: 'Clientes',
    create: 'Novo cliente',
    none: 'Nenhum cliente encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns<CustomerObject>(RECEIVABLE),
    order: 'nome',
    page: personPageOf(customerListing),
    summary: personCountOf(customerListing, RECEIVABLE),
    file: (visit) => [
      ...personFile<CustomerObject>()(visit),
      ['Inscrição estadual', ({ state_registration }) => state_registration],
      ['Contribuinte do ICMS', ({ ie_indicator }) => ie_indicator],
    ],
    more: [{ label: 'Importar', to: '/clientes/importar' }],
  },
  get: ({ readModel }, id) => getCustomer(readModel.reader, id),
  getShown: ({ readModel }, id) => getCustomerOrDebtor(readModel.reader, id),
  nameOf,
  isOpen: isChangeable,
  head: (customer, visit) =>
    customer.deleted_at === null
      ? {
          more: dataExportActions('customer', customer, visit),
          dangers: [forgetAction(visit, customer, `/clientes/${customer.id}`)],
        }
      : {},
  notice: sharingNotice(customerListing, '/clientes'),
  problem: takenName(getCustomer, '/clientes'),
  facts: (customer, visit) => [...personFacts(customer, visit), ...customerFacts(customer)],
  more: async ({ id }, visit) => (
    <>
      {await PartyBalanceCard({ visit, side: RECEIVABLE, id })}
      {await PurchasesCard({ visit, id })}
      {await StoreCreditCard({ visit, id })}
    </>
  ),
  fields: (visit) => ({ ...personFields({}, sentIn(visit)), ...CUSTOMER_TAX_INPUTS }),
  create: { schema: CreateCustomerInput, command: createCustomer },
  update: { label: 'Editar cliente', schema: CustomerChanges, command: updateCustomer },
  remove: {
    label: 'Excluir cliente',
    question: 'O cliente deixa de aparecer nas listas. Vendas e contas já feitas ficam como estão.',
    intro: openAccountsOf(RECEIVABLE),
    inputOf: forced,
    command: deleteCustomer,
  },
})

const supplierPages = recordPages<SupplierObject>({
  path: '/fornecedores',
  section: 'suppliers',
  editing: 'edit_people',
  subject: 'supplier',
  words: {
    all: 'Fornecedores',
    create: 'Novo fornecedor',
    none: 'Nenhum fornecedor encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns<SupplierObject>(PAYABLE, {
      head: 'Nome fantasia',
      cell: ({ trade_name }) => trade_name,
      isExtra: true,
    }),
    order: 'nome',
    page: personPageOf(supplierListing),
    summary: personCountOf(supplierListing, PAYABLE),
    file: personFile<SupplierObject>(['Nome fantasia', ({ trade_name }) => trade_name]),
    more: [{ label: 'Importar', to: '/fornecedores/importar' }],
  },
  get: ({ readModel }, id) => getSupplier(readModel.reader, id),
  getShown: ({ readModel }, id) => getSupplierOrCreditor(readModel.reader, id),
  nameOf,
  isOpen: isChangeable,
  head: (supplier, visit) =>
    supplier.deleted_at === null
      ? {
          more: dataExportActions('supplier', supplier, visit),
          dangers: [forgetAction(visit, supplier, `/fornecedores/${supplier.id}`)],
        }
      : {},
  notice: sharingNotice(supplierListing, '/fornecedores'),
  problem: takenName(getSupplier, '/fornecedores'),
  facts: (supplier, visit) => personFacts(supplier, visit, ['Nome fantasia', supplier.trade_name]),
  more: ({ id }, visit) => PartyBalanceCard({ visit, side: PAYABLE, id }),
  fields: (visit) =>
    personFields({ trade_name: { label: 'Nome fantasia', kind: lineInput, columns: 4 } }, sentIn(visit)),
  create: { schema: CreateSupplierInput, command: createSupplier },
  update: { label: 'Editar fornecedor', schema: SupplierChanges, command: updateSupplier },
  remove: {
    label: 'Excluir fornecedor',
    question: 'O fornecedor deixa de aparecer nas listas. Contas já criadas ficam como estão.',
    intro: openAccountsOf(PAYABLE),
    inputOf: forced,
    command: deleteSupplier,
  },
})

const forgetting = [
  ...forgetPages({
    path: '/clientes/:id',
    section: 'customers',
    kind: 'customer',
    goes: 'Serão apagados nome, documento, endereço, telefone, e-mail e observações do cliente e os dados de quem comprou nos pedidos dele.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) => loadRecord<CustomerObject>(visit, ({ readModel }, id) => getCustomer(readModel.reader, id)),
    personOf: (customer) => customer,
  }),
  ...forgetPages({
    path: '/fornecedores/:id',
    section: 'suppliers',
    kind: 'supplier',
    goes: 'Serão apagados nome, nome fantasia, documento, endereço, telefone, e-mail e observações do fornecedor.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) => loadRecord<SupplierObject>(visit, ({ readModel }, id) => getSupplier(readModel.reader, id)),
    personOf: (supplier) => supplier,
  }),
]

export const peoplePages: readonly PanelRoute[] = [...customerPages, ...supplierPages, ...forgetting]
