import type * as z from 'zod'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatDay,
  formatMoney,
  formatPercentage,
  formatPersonName,
  formatPhone,
  formatQuantity,
  formatTaxNumber,
  formatZipCode,
} from '#domain/person-values.ts'
import type { Metadata } from '#domain/record-values.ts'
import { ownValue } from '#lib/collections.ts'
import { type FieldDefinition, listLeaves, type RecordDefinition, type ValueType } from '#records/field.ts'
import { amountCell, type FileColumn, metadataCell } from './csv-files.ts'
import {
  amountInput,
  choiceInput,
  dateInput,
  emailInput,
  integerInput,
  type Kind,
  lineInput,
  momentInput,
  namedOptions,
  paragraphInput,
  percentInput,
  phoneInput,
  quantityInput,
  taxNumberInput,
  yesOrNoInput,
  zipInput,
} from './forms/input-kinds.ts'
import type { Field } from './forms/panel-form.ts'
import type { Cell } from './panel-route.ts'
import type { Column, OptionalColumn } from './ui/list-table.tsx'
import type { Fact } from './ui/page-parts.tsx'

interface TypeView {
  /** How it is typed. */
  readonly kind: Kind
  /** How it is read on pages, and in files unless `file` is given. */
  text?(value: string, timezone: string): string
  file?(value: string, timezone: string): Cell
  /** Instead of nothing. */
  readonly empty?: string
  readonly isNumber?: true
  /** After a label of a control. */
  readonly unit?: string
  /** Digits that a spreadsheet must not take for a number. */
  readonly isCode?: true
}

/** How people read and type the values of each type. */
const VIEWS: Readonly<Record<ValueType, TypeView>> = {
  text: { kind: lineInput },
  person_name: { kind: lineInput, empty: formatPersonName(null) },
  paragraph: { kind: paragraphInput },
  code: { kind: lineInput, isCode: true },
  email: { kind: emailInput },
  phone: { kind: phoneInput, text: formatPhone, isCode: true },
  tax_number: { kind: taxNumberInput, text: formatTaxNumber, isCode: true },
  zip: { kind: zipInput, text: formatZipCode, isCode: true },
  choice: { kind: lineInput },
  coded_choice: { kind: lineInput, file: (code) => code, isCode: true },
  yes_or_no: { kind: yesOrNoInput, text: (value) => (value ? 'Sim' : 'Não') },
  number: { kind: integerInput, text: (value) => formatCount(Number(value)), file: Number, isNumber: true },
  money: { kind: amountInput, text: formatMoney, file: amountCell, isNumber: true, unit: 'R$' },
  quantity: { kind: quantityInput, text: formatQuantity, file: amountCell, isNumber: true },
  percentage: { kind: percentInput, text: formatPercentage, file: amountCell, isNumber: true, unit: '%' },
  day: { kind: dateInput, text: formatDay },
  moment: { kind: momentInput, text: formatDateTime, file: formatDateTimeSeconds },
  record: { kind: integerInput, file: Number },
  metadata: { kind: paragraphInput, file: (metadata) => metadataCell({ metadata: metadata as Metadata | string }) },
  reference: { kind: integerInput },
  group: { kind: lineInput },
  list: { kind: lineInput },
}

/** Display text of a value; null for nothing. */
export function fieldText({ type, names }: FieldDefinition, value: unknown, timezone: string): string | null {
  if (value === null || value === undefined) return VIEWS[type].empty ?? null
  if (names) return ownValue(names, String(value)) ?? String(value)
  return VIEWS[type].text?.(value as string, timezone) ?? String(value)
}

function fieldCell(field: FieldDefinition, value: unknown, timezone: string): Cell {
  const { file } = VIEWS[field.type]
  return value === null || value === undefined || !file
    ? fieldText(field, value, timezone)
    : file(value as string, timezone)
}

/** `address.city` of a record. */
const valueAt = (record: object, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], record)

function fieldAt(fields: RecordDefinition, path: string): FieldDefinition {
  const found = new Map([...Object.entries(fields), ...listLeaves(fields)]).get(path)
  if (!found) throw new Error(`no field ${path}`)
  return found
}

type Name<F> = keyof F & string

/** Names of fields; the members of groups by `group.member`. */
export type LeafName<F extends RecordDefinition> = {
  [N in Name<F>]: F[N] extends { readonly members: infer M } ? `${N}.${Name<M>}` : N
}[Name<F>]

/** Fields that people write. */
type Written<F extends RecordDefinition> = {
  [N in Name<F>]: F[N] extends { readonly whole: z.ZodNever } | { readonly type: 'metadata' | 'reference' } ? never : N
}[Name<F>]

type NamesIn<L> = L extends string ? L : L extends readonly [infer N, unknown] ? N : never

/** A list that names all of these; else its missing names, which no list can be. */
type Complete<L extends readonly unknown[], N> =
  Exclude<N, NamesIn<L[number]>> extends never ? L : readonly { readonly missing: Exclude<N, NamesIn<L[number]>> }[]

/** Columns of a file with every field that people write: names, or columns of the page's own. */
export const fileColumns = <
  R extends object,
  F extends RecordDefinition,
  const L extends readonly (LeafName<F> | FileColumn<R>)[],
>(
  fields: F,
  timezone: string,
  columns: Complete<L, LeafName<Pick<F, Written<F>>>>,
): FileColumn<R>[] =>
  (columns as L).map((column) => {
    if (typeof column !== 'string') return [ownValue(fields, column[0])?.label ?? column[0], column[1]]
    const field = fieldAt(fields, column)
    return [field.label, (record) => fieldCell(field, valueAt(record, column), timezone)]
  })

/** Facts of a record with every field that people write: names, names with a value of the page's own, or other facts. */
export const fieldFacts = <F extends RecordDefinition, const L extends readonly (Name<F> | Fact)[]>(
  fields: F,
  record: object,
  timezone: string,
  facts: Complete<L, Written<F>>,
): Fact[] =>
  (facts as L).map((fact) => {
    if (typeof fact === 'string') {
      const field = fieldAt(fields, fact)
      return [field.label, fieldText(field, valueAt(record, fact), timezone)]
    }
    const [name, value] = fact as Fact
    return [ownValue(fields, name)?.label ?? name, value]
  })

/** A column of a field, with what the page makes of it. */
type FieldColumn<F, R> = { readonly field: Name<F> } & Partial<Column<R>>

/** Columns of a list: names of fields, fields with something special, or columns that are no field. */
export const fieldColumns = <R extends object, F extends RecordDefinition>(
  fields: F,
  timezone: string,
  columns: readonly (Name<F> | FieldColumn<F, R> | OptionalColumn<R>)[],
): OptionalColumn<R>[] =>
  columns.map((column) => {
    if (column === false || (typeof column === 'object' && !('field' in column))) return column
    const { field: name, ...own } = typeof column === 'string' ? { field: column } : column
    const field = fieldAt(fields, name)
    return {
      head: field.label,
      cell: (record: R) => fieldText(field, valueAt(record, name), timezone),
      ...(VIEWS[field.type].isNumber && { isNumber: true as const }),
      ...own,
    }
  })

/** Width of a control, or what is special about it. */
export type Layout = NonNullable<Field['columns']> | Partial<Field>

/** Controls of a form with every field that people write, in the order of the layout. */
export const fieldInputs = <F extends RecordDefinition>(
  fields: F,
  layout: { readonly [N in LeafName<Pick<F, Written<F>>>]: Layout },
): Record<LeafName<Pick<F, Written<F>>>, Field> =>
  Object.fromEntries(
    Object.entries<Layout>(layout).map(([name, special]) => [name, fieldInput(fieldAt(fields, name), special)]),
  ) as Record<LeafName<Pick<F, Written<F>>>, Field>

export function fieldInput({ type, label, hint, names, isRequired }: FieldDefinition, special: Layout = {}): Field {
  const { kind, unit, isCode } = VIEWS[type]
  return {
    label: unit === undefined ? label : `${label} (${unit})`,
    kind: names ? choiceInput(namedOptions(names)) : kind,
    ...(isRequired && { isRequired }),
    ...(hint !== undefined && { hint }),
    ...(isCode && { isCode }),
    ...(typeof special === 'number' ? { columns: special } : special),
  }
}
