import { CreateItemInput, createItem, updateItem } from '#commands/item-commands.ts'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  CustomerChanges,
  createCustomer,
  createSupplier,
  SupplierChanges,
  updateCustomer,
  updateSupplier,
} from '#commands/person-commands.ts'
import { ItemChanges, priceWarnings } from '#commands/record-commands.ts'
import { bareTaxNumber, STATES, stateName } from '#domain/person-values.ts'
import { barcodeProblem, gtinKey, plainBarcode, sameBarcodes } from '#domain/record-values.ts'
import { nameKey, plainApostrophes, searchKey, sortKey } from '#domain/text.ts'
import { ownValue } from '#lib/collections.ts'
import {
  type AlikeRecord,
  type CodeTable,
  CUSTOMER_CODES,
  ITEM_CODES,
  itemsWithBarcodes,
  matchingItems,
  matchingPersons,
  personsNamedLike,
  SUPPLIER_CODES,
} from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import { VARIANT_DEFINITIONS } from '#records/items.ts'
import { type Kind, lineInput } from '../forms/input-kinds.ts'
import type { Field, Fields } from '../forms/panel-form.ts'
import { itemFields } from '../pages/item-pages.tsx'
import { customerInputs, supplierInputs } from '../pages/person-form.tsx'
import type { PageContext, Section } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { ITEM_HEADS, PERSON_HEADS, type Synonyms } from './column-titles.ts'
import type { KeyField, PartField } from './import-lines.ts'
import { type ColumnMapping, type ImportedKind, isWrong, type PlannedRow } from './import-plan.ts'

/** Keys under which two spellings of a value are the same, and the records that have them. */
export interface AlikeRecords {
  /** Null: the line has nothing that is spelled in several ways. */
  keyOf(line: PlannedRow): string | null
  readonly records: ReadonlyMap<string, AlikeRecord>
}

type FindAlike = (reader: Reader, lines: readonly PlannedRow[]) => Promise<AlikeRecords>

export interface LineWarning {
  readonly number: number
  readonly text: string
}

const textOf = (line: PlannedRow, field: 'name' | 'barcode'): string => {
  const value = isWrong(line) || line.id !== null ? null : line.input[field]
  return typeof value === 'string' ? value : ''
}

/** The search key of names with an apostrophe. */
const nameKeyOf = (line: PlannedRow): string | null => {
  const name = textOf(line, 'name')
  return plainApostrophes(name).includes("'") ? searchKey(name) : null
}

const barcodeKeyOf = (line: PlannedRow): string | null => gtinKey(textOf(line, 'barcode'))

const keysOf = (lines: readonly PlannedRow[], keyOf: AlikeRecords['keyOf']): string[] => [
  ...new Set(lines.flatMap((line) => keyOf(line) ?? [])),
]

/** Items with the same GTIN, with other zeros before it. */
const alikeItems: FindAlike = async (reader, lines) => {
  const found = await itemsWithBarcodes(reader, keysOf(lines, barcodeKeyOf).flatMap(sameBarcodesOf))
  return { keyOf: barcodeKeyOf, records: new Map(found.map((record) => [gtinKey(record.key) ?? record.key, record])) }
}

/** A key has no zeros before it, and may be too short for a GTIN. */
const sameBarcodesOf = (key: string): string[] => sameBarcodes(key.padStart(11, '0'))

/** Persons with the same name, with another kind of apostrophe. */
const alikePersons =
  (table: 'customers' | 'suppliers'): FindAlike =>
  async (reader, lines) => {
    const found = await personsNamedLike(reader, table, keysOf(lines, nameKeyOf))
    return { keyOf: nameKeyOf, records: new Map(found.map((record) => [record.key, record])) }
  }

/** Warnings about new records that have a key of a known record, or of a line before. They are imported all the same. */
export function warnAlikeRecords(lines: readonly PlannedRow[], { keyOf, records }: AlikeRecords): LineWarning[] {
  const numbers = new Map<string, number>()
  return lines.flatMap((line) => {
    const key = keyOf(line)
    if (key === null) return []
    const [record, before] = [records.get(key), numbers.get(key)]
    numbers.set(key, before ?? line.number)
    if (record) return [{ number: line.number, text: `parece repetir o cadastro ${record.text} (${record.id})` }]
    return before === undefined ? [] : [{ number: line.number, text: `parece repetir a linha ${before}` }]
  })
}

/** Warnings about prices that lose money, as those of the command. They are imported all the same. */
export const linePriceWarnings = (lines: readonly PlannedRow[]): LineWarning[] =>
  lines.flatMap((line) => {
    const { price, cost } = isWrong(line) ? {} : (line.input as { price?: string; cost?: string | null })
    if (price === undefined) return []
    return priceWarnings({ price, cost }, true).map(({ message }) => ({ number: line.number, text: message }))
  })

/** Warnings about barcodes of the length of a GTIN with a wrong check digit. They are imported all the same. */
export const checkDigitWarnings = (lines: readonly PlannedRow[]): LineWarning[] =>
  lines.flatMap((line) => {
    const barcode = isWrong(line) ? null : line.input.barcode
    return typeof barcode === 'string' && barcodeProblem(barcode) === 'wrong_check_digit'
      ? [{ number: line.number, text: `o código de barras ${barcode} tem o dígito verificador errado` }]
      : []
  })

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
  readonly heads: Synonyms
  readonly reading: Omit<ColumnMapping, 'fields'>
  readonly matches: typeof matchingItems
  /** Codes that spreadsheets may have shortened. */
  readonly codes: CodeTable
  /** Records that may be those of new lines, in another spelling. */
  readonly alike: FindAlike
  /** Example line for the template file. */
  readonly example: Readonly<Record<string, string>>
}

const trimmed = (typed: string): string => typed.trim()

/** Names of the states as other programs write them, by search key. */
const STATES_BY_NAME: Readonly<Record<string, string>> = Object.fromEntries(
  STATES.map((state) => [searchKey(stateName(state)), state]),
)

const EXTERNAL: KeyField = { name: 'external_id', isUnique: true, normalized: trimmed }

const MAX_WORD_LENGTH = 100

/** One of a few words: abbreviations as they are, others recognised by their first letters. */
function word(
  expected: string,
  abbreviations: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Kind {
  function meaningOf(typed: string): string | undefined {
    const key = searchKey(typed.slice(0, MAX_WORD_LENGTH))
    return ownValue(abbreviations, key) ?? Object.entries(values).find(([begin]) => key.startsWith(begin))?.[1]
  }
  return {
    ...lineInput,
    read: (typed) => meaningOf(typed) ?? typed,
    problem: (typed) => (meaningOf(typed) === undefined ? expected : null),
  }
}

/** As shops, Bling, Tiny, WooCommerce and Square write them. */
const ITEM_TYPES: Kind = word(
  'deve ser produto ou serviço',
  { p: 'product', s: 'service', physical: 'product', 'physical good': 'product', kit: 'product' },
  {
    prod: 'product',
    serv: 'service',
    'simple, virtual': 'service',
    simp: 'product',
    varia: 'product',
    grouped: 'product',
    external: 'product',
    bundle: 'product',
    subscription: 'product',
    'com varia': 'product',
    mercadoria: 'product',
  },
)

const PERSON_TYPES: Kind = word(
  'deve ser pessoa física ou pessoa jurídica',
  { f: 'PF', j: 'PJ' },
  { pf: 'PF', fis: 'PF', 'pessoa f': 'PF', pj: 'PJ', jur: 'PJ', 'pessoa j': 'PJ' },
)

/** A state by its abbreviation or name; WooCommerce writes `BR:SP`. */
const stateWord: Kind = {
  ...lineInput,
  read(typed) {
    const key = searchKey(typed.slice(0, MAX_WORD_LENGTH)).replace(/^br[:-]/, '')
    return ownValue(STATES_BY_NAME, key) ?? key.toUpperCase()
  },
}

/** A code of so many digits: spreadsheets leave out the zeros at its beginning. */
const codeOf = (digits: number): Kind => ({
  ...lineInput,
  read: (typed) => (/^\d+$/.test(typed) ? typed.padStart(digits, '0') : typed),
})

/** `0 - Nacional` is 0. */
const leadingDigit: Kind = { ...lineInput, read: (typed) => /^(\d)(\s*[-–].*)?$/.exec(typed)?.[1] ?? typed }

async function fieldsOfItems(visit: PageContext): Promise<Fields> {
  const { category_id: _, ...fields } = await itemFields(visit)
  const withCode = (field: Field, digits: number): Field => ({ ...field, kind: codeOf(digits) })
  return {
    ...fields,
    type: { label: fields.type.label, kind: ITEM_TYPES },
    origin: { ...fields.origin, kind: leadingDigit },
    icms_cst: withCode(fields.icms_cst, 2),
    pis_cst: withCode(fields.pis_cst, 2),
    cofins_cst: withCode(fields.cofins_cst, 2),
    ibs_cbs_cst: withCode(fields.ibs_cbs_cst, 3),
    ibs_cbs_class: withCode(fields.ibs_cbs_class, 6),
    category: { label: 'Categoria', kind: lineInput },
    parent: { label: 'Produto da variação', kind: lineInput, isCode: true },
    size: fieldInput(VARIANT_DEFINITIONS.size),
    color: fieldInput(VARIANT_DEFINITIONS.color),
  }
}

const fieldsOfPersons = <F extends Record<'person_type' | 'address.state', Field>>(fields: F) => ({
  ...fields,
  person_type: { ...fields.person_type, kind: PERSON_TYPES },
  'address.state': { ...fields['address.state'], kind: stateWord },
  last_name: { label: 'Sobrenome', kind: lineInput },
  area_code: { label: 'DDD', kind: lineInput, isCode: true as const },
})

const PERSON_PARTS: readonly PartField[] = [
  { name: 'last_name', of: 'name', join: (last, first) => `${first} ${last}` },
  // Local numbers have up to nine digits.
  {
    name: 'area_code',
    of: 'phone',
    join: (code, phone) => (phone.replace(/\D/g, '').length > 9 ? phone : code + phone),
  },
]

const PERSON_KEYS: readonly KeyField[] = [
  EXTERNAL,
  { name: 'document', isUnique: false, normalized: bareTaxNumber },
  { name: 'name', isUnique: true, normalized: nameKey },
]

const PERSON_READING = { onlyNew: [], shared: ['phone', 'document'], parts: PERSON_PARTS, keyFields: PERSON_KEYS }

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
    heads: ITEM_HEADS,
    reading: {
      onlyNew: ['stock'],
      shared: [],
      parts: [],
      keyFields: [
        EXTERNAL,
        { name: 'barcode', isUnique: true, normalized: plainBarcode },
        { name: 'sku', isUnique: false, normalized: trimmed },
        { name: 'name', isUnique: false, isLast: true, normalized: sortKey },
      ],
      create: { schema: CreateItemInput, command: createItem },
      update: { schema: ItemChanges, command: updateItem },
    },
    matches: matchingItems,
    codes: ITEM_CODES,
    alike: alikeItems,
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
    fields() {
      const fields = fieldsOfPersons(customerInputs())
      return { ...fields, ie_indicator: { ...fields.ie_indicator, kind: leadingDigit } }
    },
    heads: PERSON_HEADS,
    reading: {
      ...PERSON_READING,
      create: { schema: CreateCustomerInput, command: createCustomer },
      update: { schema: CustomerChanges, command: updateCustomer },
    },
    matches: matchingPersons('customers'),
    codes: CUSTOMER_CODES,
    alike: alikePersons('customers'),
    example: PERSON_EXAMPLE,
  },
  {
    kind: 'suppliers',
    path: '/fornecedores',
    section: 'suppliers',
    words: { all: 'Fornecedores', title: 'Importar fornecedores' },
    fields: () => fieldsOfPersons(supplierInputs()),
    heads: { ...PERSON_HEADS, trade_name: ['fantasia', 'company name', 'company'] },
    reading: {
      ...PERSON_READING,
      create: { schema: CreateSupplierInput, command: createSupplier },
      update: { schema: SupplierChanges, command: updateSupplier },
    },
    matches: matchingPersons('suppliers'),
    codes: SUPPLIER_CODES,
    alike: alikePersons('suppliers'),
    example: { ...PERSON_EXAMPLE, name: 'Torrefação Serra Azul Ltda', document: '12.345.678/0001-95' },
  },
]
