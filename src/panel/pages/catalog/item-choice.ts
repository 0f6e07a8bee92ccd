import { nameKey } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import { getAnyItem, listItems, searchItems } from '#queries/catalog/items.ts'
import type { Field } from '../../forms/form.ts'
import { suggestedInput } from '../../forms/kinds.ts'
import type { PageContext, PageReadModel } from '../../route.ts'
import { recordsOnPage } from '../../ui/list.tsx'
import type { Item } from './stock.tsx'

/** Items that a search offers. */
const OFFERED = 8

/** Separates an item's name from its code. */
const DOT = ' · '

/** Name of an item with a code that distinguishes it from others of that name. */
export const itemLabel = ({ id, name, barcode, sku, external_id }: Item): string =>
  `${name}${DOT}${barcode ?? sku ?? external_id ?? `nº ${id}`}`

/** Finds an item by its number, as in a label of an item without codes. */
async function findByNumber({ reader }: PageReadModel, text: string): Promise<Item[]> {
  const [, number] = /(?:^| )nº ([1-9]\d{0,14})$/.exec(text) ?? []
  const { record } = number === undefined ? { record: null } : await getAnyItem(reader, Number(number))
  return record ? [JSON.parse(record) as Item] : []
}

/** Finds items by barcode, SKU or external id; only active ones have them. */
async function findByCode({ reader }: PageReadModel, code: string): Promise<Item[]> {
  if (code.length > 60) return []
  const pages = await Promise.all(
    [{ barcode: code }, { sku: code }, { external_id: code }].map((by) => listItems(reader, { ...by, limit: OFFERED })),
  )
  const found = pages.flatMap((page) => recordsOnPage<Item>(page))
  return found.filter(({ id }, at) => found.findIndex((other) => other.id === id) === at)
}

/** Finds items by words of name and codes; deactivated ones if no active one has the words. */
async function findByWords({ reader }: PageReadModel, text: string): Promise<Item[]> {
  const q = text.replaceAll(DOT.trim(), ' ').trim().slice(0, 120)
  if (q === '') return []
  for (const state of ['active', 'inactive'] as const) {
    const page = await searchItems(reader, { q, state, limit: OFFERED })
    const found = isRefusal(page) ? [] : recordsOnPage<Item>(page)
    const named = found.filter(({ name }) => nameKey(name) === nameKey(text))
    if (found.length > 0) return named.length === 1 ? named : found
  }
  return []
}

/** Items that a typed name or code may mean, at most eight; one if it is unambiguous. */
export async function findItemsByText(readModel: PageReadModel, text: string): Promise<readonly Item[]> {
  const numbered = await findByNumber(readModel, text)
  if (numbered.length > 0) return numbered
  const coded = await findByCode(readModel, text.split(DOT).at(-1)?.trim() ?? '')
  return coded.length > 0 ? coded : findByWords(readModel, text)
}

/** Labels in a message, for browsers without a data list. */
const MENTIONED = 5

/** Why a text names no single item; null if it does. */
export function itemProblem(found: readonly Item[]): string | null {
  if (found.length === 1) return null
  if (found.length === 0) return 'não há produto ou serviço com este nome ou código'
  const more = found.length > MENTIONED ? ' …' : ''
  return `há mais de um: ${found.slice(0, MENTIONED).map(itemLabel).join('; ')}${more}`
}

interface ItemFieldOptions extends Pick<Field, 'label' | 'columns' | 'hint'> {
  /** Name and id that the field has before it is changed; null for an unknown item. */
  readonly current: { readonly id: unknown; readonly name: string } | null
  /** Submitted text; empty before. */
  readonly typed: string
}

/** Field for an item by name, barcode, SKU or external id; an ambiguous text offers what it may mean. */
export async function itemField(
  { readModel }: PageContext,
  { current, typed, ...field }: ItemFieldOptions,
): Promise<Field> {
  const isSame = typed === '' || typed === current?.name
  const found = isSame ? [] : await findItemsByText(readModel, typed)
  return {
    ...field,
    kind: {
      ...suggestedInput(found.map(itemLabel)),
      read: () => (isSame ? current?.id : found[0]?.id),
      problem: () => (isSame ? null : itemProblem(found)),
      show: () => current?.name ?? '',
    },
  }
}
