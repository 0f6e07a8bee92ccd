import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { itemTaxProblem } from '#domain/fiscal-values.ts'
import { isBrokenPiece, SignedQuantity, toCents } from '#domain/money.ts'
import { barcodeProblem } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { apostropheSpellings, Id, NewExternalId } from '#domain/text.ts'
import { type DataOf, EVENT_TYPES, type EventName, event, optionalMembers } from '#events/catalogue.ts'
import { type Grant, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { changesShape, type wholeShape } from '#records/field.ts'
import { ITEM_FIELDS } from '#records/items.ts'

/** Body of PATCH /catalog/items/{id}. Absent fields stay unchanged; null clears optional ones. */
export const ItemChanges = z
  .strictObject({
    ...changesShape(ITEM_FIELDS),
    /** Added to the current stock, so that it cannot overwrite concurrent sales. */
    stock_adjustment: SignedQuantity.nullish(),
  })
  .superRefine(({ stock, stock_adjustment, ...item }, context) => {
    checkVariant(item, context)
    if (stock === undefined || typeof stock_adjustment !== 'string') return
    context.addIssue({ code: 'custom', path: ['stock_adjustment'], message: 'não pode ser enviado junto com stock' })
  })
export type ItemChanges = z.infer<typeof ItemChanges>

export type ItemInput = z.infer<z.ZodObject<ReturnType<typeof wholeShape<typeof ITEM_FIELDS>>>>

export const NO_STOCK_OF_SERVICES = 'um serviço não tem estoque'

/** For `superRefine` in schemas of whole items. */
export function checkItem({ type, ...item }: ItemInput, context: z.RefinementCtx): void {
  for (const field of ['stock', 'min_stock'] as const)
    if (type !== 'product' && (item[field] ?? null) !== null)
      context.addIssue({ code: 'custom', path: [field], message: NO_STOCK_OF_SERVICES })
  checkVariant(item, context)
  const problem = itemTaxProblem(item)
  if (problem) context.addIssue({ code: 'custom', path: [problem.field], message: problem.message })
}

/** A variant has an item and a size or colour: they are sent together. */
function checkVariant(
  { parent_id, variant }: { readonly parent_id?: unknown; readonly variant?: unknown },
  context: z.RefinementCtx,
): void {
  if (
    (parent_id === undefined) === (variant === undefined) &&
    ((parent_id ?? null) === null) === ((variant ?? null) === null)
  )
    return
  context.addIssue({ code: 'custom', path: ['variant'], message: 'parent_id e variant são informados juntos' })
}

export const WARNING_CODES = [
  'barcode_check_digit',
  'barcode_not_gtin',
  'barcode_in_use',
  'name_in_use',
  'gtin_in_use',
  'price_zero',
  'price_below_cost',
  'quantity_not_whole',
  'payment_already_used',
] as const

/** Problem to review, in a request that is carried out. */
export interface Warning {
  readonly code: (typeof WARNING_CODES)[number]
  readonly field: string
  /** In Portuguese. */
  readonly message: string
  /** The other record, of a warning about one. */
  readonly conflicting_id?: number
  readonly sale_id?: number
}

/** Remarks of a command with warnings that depend on other records. */
export interface CommandWarnings {
  readonly warnings: readonly Warning[]
}

const BARCODE_WARNINGS = {
  wrong_check_digit: { code: 'barcode_check_digit', message: 'o dígito verificador deste GTIN está errado' },
  not_gtin: { code: 'barcode_not_gtin', message: 'não é um GTIN-8, GTIN-12, GTIN-13 ou GTIN-14' },
} as const

/** Warnings about a barcode: shops have codes of their own, and labels with errors. */
export function itemWarnings({ barcode }: { readonly barcode?: string | null | undefined }): Warning[] {
  const problem = barcode ? barcodeProblem(barcode) : null
  return problem ? [{ field: 'barcode', ...BARCODE_WARNINGS[problem] }] : []
}

/** Warning of a quantity that is a fraction of a piece (ITEM-102). */
export const brokenPieceWarnings = (
  unit: string | null | undefined,
  quantities: Readonly<Record<string, string | null | undefined>>,
): Warning[] =>
  Object.entries(quantities).flatMap(([field, quantity]) =>
    typeof quantity === 'string' && isBrokenPiece(unit, quantity)
      ? [{ code: 'quantity_not_whole', field, message: `não é uma quantidade inteira de ${unit}` }]
      : [],
  )

/** Warnings of prices that lose money: only of what a request sets. */
export function priceWarnings({ price, cost }: Pick<ItemInput, 'price' | 'cost'>, isSet: boolean): Warning[] {
  if (!isSet) return []
  if (toCents(price) === 0) return [{ code: 'price_zero', field: 'price', message: 'o preço é R$ 0,00' }]
  return cost && toCents(price) < toCents(cost) ? [{ ...BELOW_COST, field: 'price' }] : []
}

const BELOW_COST = { code: 'price_below_cost', message: 'o preço está abaixo do custo' } as const

/** Warning of a purchase at more than the item's price. */
export const costWarnings = (price: string, unit_cost: string): Warning[] =>
  toCents(price) < toCents(unit_cost) ? [{ ...BELOW_COST, field: 'unit_cost' }] : []

/** Grant of several permissions, or the first refusal. */
export function permitAll(permit: Permit, permissions: readonly Permission[]): Grant | Refusal {
  let grant: Grant = {}
  for (const permission of permissions) {
    const granted = permit(permission)
    if (isRefusal(granted)) return granted
    grant = { ...grant, ...granted }
  }
  return grant
}

/** Input of commands that need only the record's id. */
export const RecordId = z.strictObject({ id: Id })
export type RecordId = z.infer<typeof RecordId>

/**
 * Fields of `after` that differ from `before`. Events record only these, so a repeated request records nothing.
 * Undefined fields stay unchanged.
 */
export function pickChanges<A extends object>(before: { readonly [F in keyof A]: unknown }, after: A): Partial<A> {
  const fields = Object.keys(after) as (keyof A)[]
  const changed = fields.filter(
    (field) => after[field] !== undefined && !isDeepStrictEqual(after[field], before[field]),
  )
  return Object.fromEntries(changed.map((field) => [field, after[field]])) as Partial<A>
}

/** Data of an event with null for what it leaves out if it is empty. */
type WholeData<D> = { readonly [M in keyof D as null extends D[M] ? M : never]-?: Exclude<D[M], undefined> } & {
  readonly [M in keyof D as null extends D[M] ? never : M]: D[M]
}

/** Event with all fields of a record: it leaves out those that may be absent and are null. */
export function recordEvent<N extends EventName>(name: N, fields: WholeData<DataOf<N>>): NewEvent {
  const data: Record<string, unknown> = { ...fields }
  for (const member of OPTIONAL.get(name) ?? []) if (data[member] === null) delete data[member]
  return event(name, data as DataOf<N>)
}

const OPTIONAL = new Map((Object.keys(EVENT_TYPES) as EventName[]).map((name) => [name, optionalMembers(name)]))

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0

/** Record with a unique value; a deleted one still occupies its external id. */
interface Holder {
  readonly id: number
  readonly deleted_at?: string | null
}

/** Refusal if a record other than `ownId` has this value. Deleted ones are marked, because no list shows them. */
export function refuseDuplicate(field: string, holder: Holder | null, ownId: number | null): Refusal | null {
  if (!holder || holder.id === ownId) return null
  const details = { field, conflicting_id: holder.id }
  return refuse('duplicate_resource', holder.deleted_at ? { ...details, deleted: true } : details)
}

/** References of a unique name, and of its spellings with another apostrophe. */
export const namedRefs = <R>(byName: (name: string) => Ref<R>, name: string | null | undefined): Ref<R>[] =>
  typeof name === 'string' ? [name, ...apostropheSpellings(name)].map(byName) : []

/** Warning if another record has this name with another apostrophe (PERSON-820). */
export function warnSpelledAlike<R extends { id: number }>(
  rows: Rows,
  { byName }: { byName(name: string): Ref<R> },
  name: string | null | undefined,
  ownId: number | null,
): CommandWarnings | undefined {
  const found = name ? apostropheSpellings(name).map((one) => rows.get(byName(one))) : []
  const other = found.find((one) => one && one.id !== ownId)
  if (!other) return undefined
  const message = `o cadastro ${other.id} tem o mesmo nome, com outro apóstrofo`
  return { warnings: [{ code: 'name_in_use', field: 'name', message, conflicting_id: other.id }] }
}

/**
 * Input of PUT by-external: the body with the external id of the path. The body may repeat it; a different one is
 * refused, because it would rename the record.
 */
export function atExternalId<B extends { external_id?: string | null }>(
  externalId: string,
  body: B,
): (Omit<B, 'external_id'> & { external_id: string }) | Refusal {
  const parsed = NewExternalId.safeParse(externalId)
  if (!parsed.success) return refuseField('external_id', parsed.error.issues[0]?.message ?? 'tem um valor inválido')
  if (typeof body.external_id === 'string' && body.external_id !== parsed.data) {
    return refuseField('external_id', 'deve ser igual ao do endereço')
  }
  return { ...body, external_id: parsed.data }
}
