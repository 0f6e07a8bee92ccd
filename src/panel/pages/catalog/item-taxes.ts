import type { ITEM_TAX_FIELDS } from '#domain/item-taxes.ts'
import type { Field } from '../../forms/form.ts'
import { choiceInput, lineInput, namedOptions } from '../../forms/kinds.ts'
import { GOODS_ORIGIN_NAMES } from '../../words/values.ts'
import type { Item } from './stock.tsx'

type ItemTaxField = (typeof ITEM_TAX_FIELDS)[number]

const fold = 'Dados fiscais'

/** Fields of the item's form, folded: most shops leave them to their accountant. */
export const ITEM_TAX_INPUTS: Readonly<Record<ItemTaxField, Field>> = {
  origin: { label: 'Origem da mercadoria', kind: choiceInput(namedOptions(GOODS_ORIGIN_NAMES)), columns: 8, fold },
  cfop: { label: 'CFOP', kind: lineInput, columns: 4, fold, hint: 'Ex.: 5102' },
  csosn: { label: 'CSOSN', kind: lineInput, columns: 4, fold, hint: 'Simples Nacional. Ex.: 102' },
  icms_cst: { label: 'CST do ICMS', kind: lineInput, columns: 4, fold, hint: 'Regime normal. Ex.: 00' },
  cbenef: { label: 'Código de benefício fiscal', kind: lineInput, columns: 4, fold, hint: 'cBenef, se houver.' },
  pis_cst: { label: 'CST do PIS', kind: lineInput, columns: 3, fold, hint: 'Ex.: 01' },
  cofins_cst: { label: 'CST da COFINS', kind: lineInput, columns: 3, fold, hint: 'Ex.: 01' },
  ibs_cbs_cst: { label: 'CST de IBS e CBS', kind: lineInput, columns: 3, fold, hint: 'Ex.: 000' },
  ibs_cbs_class: {
    label: 'Classificação tributária',
    kind: lineInput,
    columns: 3,
    fold,
    hint: 'cClassTrib, de IBS e CBS. Ex.: 000001',
  },
}

const textOf = (item: Item, field: ItemTaxField): string | null =>
  field === 'origin' && item.origin !== null ? (GOODS_ORIGIN_NAMES[item.origin] ?? item.origin) : item[field]

/** Tax fields that an item has, with their labels. */
export const itemTaxFacts = (item: Item): (readonly [label: string, value: string | null])[] =>
  (Object.keys(ITEM_TAX_INPUTS) as ItemTaxField[])
    .filter((field) => item[field] !== null)
    .map((field) => [ITEM_TAX_INPUTS[field].label, textOf(item, field)])

/** Columns of the item list's file. */
export const ITEM_TAX_COLUMNS = (Object.keys(ITEM_TAX_INPUTS) as ItemTaxField[]).map(
  (field) => [ITEM_TAX_INPUTS[field].label, (item: Item) => item[field]] as const,
)
