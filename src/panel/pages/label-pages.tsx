import * as z from 'zod'
import { MAX_PRICED_ITEMS } from '#commands/price-commands.ts'
import { formatCount } from '#domain/person-values.ts'
import { type Refusal, refuseField, refuseInvalid } from '#domain/refusals.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { PriceChangeObject } from '#projections/price-changes.ts'
import { searchItems } from '#queries/item-queries.ts'
import { findPricedItems, getPriceChange } from '#queries/price-queries.ts'
import { wholeShape } from '#records/field.ts'
import { ITEM_SEARCH } from '#records/items.ts'
import { choiceInput, integerInput, recordChoiceInput } from '../forms/input-kinds.ts'
import { type Fields, fillFromBody, filterProblems } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { FieldList } from '../ui/form-fields.tsx'
import { Alert } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { LABEL_FORMATS, type LabelFormat, type LabelledItem, ShelfLabel } from '../ui/shelf-label.tsx'
import { categoryFilterOptions } from './category-pages.tsx'
import type { Item } from './stock-pages.tsx'

export const LABELS_PATH = '/catalogo/etiquetas'

/** Labels of a page: more would be too much for a browser to print at once. */
const MAX_LABELS = 1_000
const MAX_COPIES = 50

/** Labels of one item, or of a change of prices, are chosen by its page. */
const CHOSEN = ['item', 'alteracao'] as const

async function fieldsOf(visit: PageContext): Promise<Fields> {
  const isChosen = CHOSEN.some((name) => visit.query[name])
  return {
    ...(!isChosen && {
      category_id: fieldInput(ITEM_SEARCH.category_id, {
        kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'),
        columns: 6,
      }),
      q: fieldInput(ITEM_SEARCH.q, 6),
    }),
    formato: {
      label: 'Formato',
      kind: choiceInput(Object.entries(LABEL_FORMATS).map(([value, { label }]) => ({ value, label }))),
      isRequired: true,
      columns: 6,
    },
    copias: { label: 'Etiquetas de cada produto', kind: integerInput, columns: 6, hint: 'Se vazio, uma.' },
  }
}

const Search = z.object(wholeShape({ q: ITEM_SEARCH.q, category_id: ITEM_SEARCH.category_id }))

const Copies = z.coerce.number().int().min(1).max(MAX_COPIES)

/** Items with the prices that labels show: those that a scheduled change will give them. */
async function itemsOfChange({ readModel: { reader } }: PageContext, id: number): Promise<readonly LabelledItem[]> {
  const { record } = await getPriceChange(reader, id)
  if (!record) return []
  const { status, prices, left } = JSON.parse(record) as PriceChangeObject
  const changed = prices.filter(({ catalog_item_id }) => !left.includes(catalog_item_id))
  const next = new Map(status === 'scheduled' ? changed.map((price) => [price.catalog_item_id, price.after]) : [])
  const items = await findPricedItems(
    reader,
    changed.map(({ catalog_item_id }) => catalog_item_id),
  )
  return items.filter((item) => !item.is_deleted).map((item) => ({ ...item, price: next.get(item.id) ?? item.price }))
}

async function chosenItems(visit: PageContext): Promise<readonly LabelledItem[] | Refusal> {
  const { query, readModel } = visit
  const [item, change] = CHOSEN.map((name) => pathId(query[name]))
  if (change) return itemsOfChange(visit, change)
  if (item) return (await findPricedItems(readModel.reader, [item])).filter(({ is_deleted }) => !is_deleted)
  const given = Object.entries(query).filter(([name, value]) => name in Search.shape && value.trim() !== '')
  if (given.length === 0) return []
  const search = Search.safeParse(Object.fromEntries(given))
  if (!search.success) return refuseInvalid(search.error)
  const page = await searchItems(readModel.reader, { ...search.data, limit: MAX_PRICED_ITEMS })
  if (isRefusal(page)) return page
  if (page.next !== null) return refuseField('q', `há mais de ${MAX_PRICED_ITEMS} itens: escolha menos`)
  return recordsOnPage<Item>(page).map((each) => ({ ...each, isVariant: each.parent_id !== null }))
}

async function show(visit: PageContext): Promise<PanelPage> {
  const { query } = visit
  const fields = await fieldsOf(visit)
  const copies = Copies.safeParse(query.copias?.trim() || '1')
  const wrong =
    filterProblems(fields, query) ??
    (copies.success ? null : refuseField('copias', `informe um número de 1 a ${MAX_COPIES}`))
  const found = wrong ?? (await chosenItems(visit))
  const tooMany = !isRefusal(found) && found.length * (copies.data ?? 1) > MAX_LABELS
  const items = tooMany ? refuseField('copias', `no máximo ${formatCount(MAX_LABELS)} etiquetas por vez`) : found
  const refusal = isRefusal(items) ? items : undefined
  const filled = fillFromBody(fields, query, refusal)
  const format = (Object.hasOwn(LABEL_FORMATS, query.formato ?? '') ? query.formato : 'a4') as LabelFormat
  const isAsked = CHOSEN.some((name) => query[name]) || Object.keys(Search.shape).some((name) => query[name])
  const body = (
    <>
      <search aria-label="Escolher etiquetas">
        <form method="get" action={link(LABELS_PATH)} class="form">
          {filled.problem && <Alert>{filled.problem}</Alert>}
          {CHOSEN.map((name) => query[name] && <input key={name} type="hidden" name={name} value={query[name]} />)}
          <FieldList fields={fields} filled={filled} />
          <div class="actions">
            <button type="submit">Ver etiquetas</button>
          </div>
        </form>
      </search>
      {!isRefusal(items) && items.length === 0 && (
        <p class="empty">
          {isAsked
            ? 'Nenhum produto com esta escolha.'
            : 'Escolha uma categoria ou palavras da busca: as etiquetas aparecem aqui.'}
        </p>
      )}
      {!isRefusal(items) && items.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class={`scroll tags ${format}`} aria-label="Etiquetas" tabIndex={0}>
          {items.flatMap((item, at) =>
            Array.from({ length: copies.data ?? 1 }, (_, copy) => (
              <ShelfLabel key={`${at}-${copy}`} item={item} format={format} />
            )),
          )}
        </section>
      )}
    </>
  )
  return {
    title: 'Etiquetas',
    parent: { label: 'Catálogo', to: '/catalogo' },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    body,
    ...(refusal && { status: 422 }),
  }
}

export const labelPages: readonly PanelRoute[] = [{ path: LABELS_PATH, section: 'catalog', show }]
