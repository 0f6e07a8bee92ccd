import { ItemChanges } from '#commands/catalog/item-input.ts'
import { CreateItemInput, createItem, updateItem } from '#commands/catalog/items.ts'
import { CreateCustomerInput, CustomerChanges, createCustomer, updateCustomer } from '#commands/people/customers.ts'
import { CreateSupplierInput, createSupplier, SupplierChanges, updateSupplier } from '#commands/people/suppliers.ts'
import { bareTaxNumber } from '#domain/tax-number.ts'
import { nameKey, searchKey } from '#domain/text.ts'
import type { ImportedKind } from '#imports/stored-file.ts'
import { matchingItems, matchingPersons } from '#queries/import-matches.ts'
import type { Fields } from '../forms/form.ts'
import { type Kind, lineInput } from '../forms/kinds.ts'
import { itemFields } from '../pages/catalog/items.tsx'
import { personFields } from '../pages/people.tsx'
import type { PageContext, Section } from '../route.ts'
import type { ColumnMapping, KeyField } from './plan.ts'

/** A kind of record that can be imported: its page, texts and mapping. */
export interface ImportableKind {
  readonly kind: ImportedKind
  /** Path of the list, below the panel. */
  readonly path: string
  readonly section: Section
  readonly words: { readonly all: string; readonly title: string }
  /** Fields that a column may contain. */
  fields(visit: PageContext): Fields | Promise<Fields>
  /** Accepted column heads besides labels and names. */
  readonly heads: Readonly<Record<string, readonly string[]>>
  readonly reading: Omit<ColumnMapping, 'fields'>
  readonly matches: typeof matchingItems
  /** Example line for the template file. */
  readonly example: Readonly<Record<string, string>>
}

const trimmed = (typed: string): string => typed.trim()

const EXTERNAL: KeyField = { name: 'external_id', isUnique: true, normalized: trimmed }

const MAX_WORD_LENGTH = 100

/** One of a few words, recognised by its first letters. */
const wordInput = (values: Readonly<Record<string, string>>): Kind => ({
  ...lineInput,
  read(typed) {
    const key = searchKey(typed.slice(0, MAX_WORD_LENGTH))
    return Object.entries(values).find(([begin]) => key.startsWith(begin))?.[1] ?? typed
  },
})

async function fieldsOfItems(visit: PageContext): Promise<Fields> {
  const { category_id: _, type, ...fields } = await itemFields(visit)
  return {
    ...fields,
    type: { label: type?.label ?? 'Tipo', kind: wordInput({ prod: 'product', serv: 'service' }) },
    category: { label: 'Categoria', kind: lineInput },
  }
}

const fieldsOfPersons = (afterName?: Fields): Fields => ({
  ...personFields(afterName),
  person_type: {
    label: 'Tipo de pessoa',
    kind: wordInput({ pf: 'PF', fis: 'PF', 'pessoa f': 'PF', pj: 'PJ', jur: 'PJ', 'pessoa j': 'PJ' }),
  },
})

const PERSON_KEYS: readonly KeyField[] = [
  EXTERNAL,
  { name: 'document', isUnique: false, normalized: bareTaxNumber },
  { name: 'name', isUnique: true, normalized: nameKey },
]

const PERSON_HEADS = {
  external_id: ['codigo', 'id'],
  name: ['razao social', 'cliente', 'fornecedor'],
  document: ['cpf', 'cnpj', 'documento', 'cpf/cnpj'],
  phone: ['fone', 'celular', 'whatsapp'],
  email: ['email'],
  'address.street': ['endereco', 'logradouro'],
  'address.state': ['estado'],
  'address.city': ['municipio'],
}

const PERSON_EXAMPLE = {
  name: 'Maria da Silva',
  document: '529.982.247-25',
  phone: '(11) 98765-4321',
  email: 'maria@example.com',
}

export const IMPORTED: readonly ImportableKind[] = [
  {
    kind: 'items',
    path: '/catalogo',
    section: 'catalog',
    words: { all: 'Catálogo', title: 'Importar produtos e serviços' },
    fields: fieldsOfItems,
    heads: {
      external_id: ['codigo', 'id'],
      name: ['produto', 'descricao', 'item'],
      price: ['preco', 'valor', 'preco venda'],
      cost: ['preco de custo', 'custo'],
      barcode: ['codigo barras', 'ean'],
      sku: ['referencia'],
      stock: ['estoque', 'quantidade', 'saldo'],
      unit: ['un'],
    },
    reading: {
      onlyNew: ['stock'],
      keyFields: [
        EXTERNAL,
        { name: 'barcode', isUnique: true, normalized: trimmed },
        { name: 'sku', isUnique: false, normalized: trimmed },
      ],
      create: { schema: CreateItemInput, command: createItem },
      update: { schema: ItemChanges, command: updateItem },
    },
    matches: matchingItems,
    example: {
      name: 'Café torrado 500 g',
      price: '18,90',
      cost: '11,40',
      unit: 'UN',
      barcode: '7891234567895',
      sku: 'CAF500',
      stock: '24',
      category: 'Mercearia',
    },
  },
  {
    kind: 'customers',
    path: '/clientes',
    section: 'customers',
    words: { all: 'Clientes', title: 'Importar clientes' },
    fields: () => fieldsOfPersons(),
    heads: PERSON_HEADS,
    reading: {
      onlyNew: [],
      keyFields: PERSON_KEYS,
      create: { schema: CreateCustomerInput, command: createCustomer },
      update: { schema: CustomerChanges, command: updateCustomer },
    },
    matches: matchingPersons('customers'),
    example: PERSON_EXAMPLE,
  },
  {
    kind: 'suppliers',
    path: '/fornecedores',
    section: 'suppliers',
    words: { all: 'Fornecedores', title: 'Importar fornecedores' },
    fields: () => fieldsOfPersons({ trade_name: { label: 'Nome fantasia', kind: lineInput } }),
    heads: { ...PERSON_HEADS, trade_name: ['fantasia'] },
    reading: {
      onlyNew: [],
      keyFields: PERSON_KEYS,
      create: { schema: CreateSupplierInput, command: createSupplier },
      update: { schema: SupplierChanges, command: updateSupplier },
    },
    matches: matchingPersons('suppliers'),
    example: { ...PERSON_EXAMPLE, name: 'Torrefação Serra Azul Ltda', document: '12.345.678/0001-95' },
  },
]
