import * as z from 'zod'
import { MAX_PRICED_ITEMS } from '#commands/price-commands.ts'
import { encodeBarcode } from '#domain/fiscal-values.ts'
import { formatCount, formatMoney } from '#domain/person-values.ts'
import { priceByUnit } from '#domain/prices.ts'
import { type Refusal, refuseField, refuseInvalid } from '#domain/refusals.ts'
import { pathId } from '#http/paths.ts'
import { isRefusal } from '#ledger/command.ts'
import type { PriceChangeObject } from '#projections/price-changes.ts'
import { findPricedItems, getPriceChange, type PricedItem, searchItems } from '#queries/item-queries.ts'
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
import { categoryFilterOptions } from './category-pages.tsx'
import type { Item } from './stock-pages.tsx'

/** Sizes of labels, and the gap to the next in a row, in mm; those of rolls have a page each. */
const LABEL_FORMATS = {
  a4: { label: 'A4, 21 por folha (63,5 × 38,1 mm)', size: [63.5, 38.1], gap: 2.5 },
  r60: { label: 'Rolo, 60 × 40 mm', size: [60, 40], gap: 0 },
  r40: { label: 'Rolo, 40 × 25 mm', size: [40, 25], gap: 0 },
} as const

type LabelFormat = keyof typeof LABEL_FORMATS

type LabelledItem = Omit<PricedItem, 'id' | 'is_deleted'>

/** Widths of a character, in parts of the height of the letters. */
const [CHARACTER, BOLD] = [0.56, 0.7]

/** Lines of a name, of so many characters; the last one says that there is more. */
function linesOf(name: string, width: number, most: number): string[] {
  const lines: string[] = []
  for (const word of name.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && `${last} ${word}`.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word.slice(0, width))
  }
  if (lines.length <= most) return lines
  return [...lines.slice(0, most - 1), `${(lines[most - 1] as string).slice(0, width - 1)}…`]
}

/** Module of a barcode in mm: no wider than printed on goods, no narrower than scanners read. */
const [WIDEST, NARROWEST] = [0.33, 0.19]
/** Light modules beside the bars. */
const QUIET = 11

/** To a thousandth of a millimetre. */
const rounded = (mm: number): number => Math.round(mm * 1000) / 1000

interface BarsProps {
  readonly code: string
  /** In mm. */
  readonly width: number
  readonly top: number
  readonly height: number
}

/** A barcode with its digits; the digits alone if the bars would be too narrow. */
const Bars = ({ code, width, top, height }: BarsProps) => {
  const modules = encodeBarcode(code)
  const module = modules === null ? 0 : Math.min(WIDEST, width / (modules.length + 2 * QUIET))
  const letters = Math.min(height * 0.28, 2.6)
  const left = modules === null ? 0 : (width - modules.length * module) / 2
  const runs = module < NARROWEST ? [] : [...(modules ?? '').matchAll(/1+/g)]
  return (
    <>
      {runs.map(({ index, 0: run }) => (
        <rect
          key={index}
          x={rounded(left + index * module)}
          y={top}
          width={rounded(run.length * module)}
          height={rounded(height - letters * 1.2)}
        />
      ))}
      <text x={width / 2} y={top + height} font-size={letters} text-anchor="middle">
        {code}
      </text>
    </>
  )
}

interface ShelfLabelProps {
  readonly item: LabelledItem
  readonly format: LabelFormat
  readonly shop: string
}

/** Label of a shelf or of a product: name, price, price of a kilogram or litre, barcode, and the shop's name where it has room. */
const ShelfLabel = ({ item, format, shop }: ShelfLabelProps) => {
  const { size, gap } = LABEL_FORMATS[format]
  const [width, height] = size
  const edge = width * 0.05
  const inner = width - 2 * edge
  const letters = height * 0.1
  const byUnit = item.isVariant ? null : priceByUnit(item.name, item.unit, item.price)
  const price = `${formatMoney(item.price)}${byUnit?.isOwn ? ` o ${byUnit.unit}` : ''}`
  const large = Math.min(height * 0.26, inner / (price.length * BOLD))
  const code = item.barcode ?? item.gtin
  const small = byUnit && !byUnit.isOwn ? `${formatMoney(byUnit.amount)} o ${byUnit.unit}` : ''
  const hasRoom = (small.length * 0.8 + shop.length * 0.7 + 1) * letters * CHARACTER <= inner
  return (
    <svg
      width={`${width + gap}mm`}
      height={`${height}mm`}
      viewBox={`0 0 ${width + gap} ${height}`}
      font-family="Inter, Arial, sans-serif"
      role="img"
      aria-label={`${item.name}, ${price}`}
    >
      <rect width={width} height={height} fill="#fff" />
      {linesOf(item.name, Math.floor(inner / (letters * CHARACTER)), 2).map((line, at) => (
        <text key={line} x={edge} y={height * (0.13 + at * 0.11)} font-size={letters}>
          {line}
        </text>
      ))}
      <text x={edge} y={height * 0.51} font-size={large} font-weight="700">
        {price}
      </text>
      {small && (
        <text x={edge} y={height * 0.62} font-size={letters * 0.8}>
          {small}
        </text>
      )}
      {hasRoom && (
        <text x={width - edge} y={height * 0.62} font-size={letters * 0.7} text-anchor="end">
          {shop}
        </text>
      )}
      {code !== null && <Bars code={code} width={width} top={height * 0.66} height={height * 0.3} />}
    </svg>
  )
}

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
              <ShelfLabel key={`${at}-${copy}`} item={item} format={format} shop={visit.session.companyName} />
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
