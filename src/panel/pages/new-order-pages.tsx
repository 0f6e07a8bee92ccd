import * as z from 'zod'
import { DeliveryInput, OrderInput, placeOrder } from '#commands/order-commands.ts'
import { Money } from '#domain/money.ts'
import { formatMoney } from '#domain/person-values.ts'
import { sameBarcodes } from '#domain/record-values.ts'
import { describeIssues, type Refusal, refuseField } from '#domain/refusals.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ItemObject } from '#projections/catalog.ts'
import { listStores } from '#queries/company-queries.ts'
import { searchItems } from '#queries/item-queries.ts'
import { DELIVERY_METHOD_NAMES } from '#records/list-filters.ts'
import { ADDRESS_FIELDS } from '#records/persons.ts'
import {
  amountInput,
  choiceInput,
  lineInput,
  momentInput,
  namedOptions,
  phoneInput,
  quantityInput,
} from '../forms/input-kinds.ts'
import { type Field, type Fields, type FormBody, formText, formTexts } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { fieldInputs } from '../record-fields.ts'
import { formPages } from '../ui/form-pages.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import { ORDERS_PATH } from './order-lists.tsx'
import { partyField, sentIn } from './person-form.tsx'

const PATH = `${ORDERS_PATH}/novo`

/** Lines of the form; a larger order is placed by API. */
const MAX_LINES = 20

/** Pressed for one more line. */
const ADD = 'mais'

/** Items to choose from; more are found by more words. */
const MAX_FOUND = 6

type Item = Pick<ItemObject, 'id' | 'name' | 'price' | 'barcode' | 'sku'>

/** A line of the form as typed, with what its text finds. */
interface TypedLine {
  readonly at: number
  readonly typed: string
  readonly found: readonly Item[]
  /** The one that is meant; null while none is, or several are. */
  readonly item: Item | null
}

interface NewOrder {
  /** Aliases of the stores that take orders. */
  readonly stores: readonly string[]
  readonly lines: readonly TypedLine[]
}

const Typed = boundedText(120)

const fieldOf = (at: number): string => `item${at}`

/** Number of the lines that the form has: those with a text, one at least, and one more if that is asked for. */
function countLines(visit: PageContext, form: FormBody): number {
  const isFilled = (at: number) => formText(form, fieldOf(at)).trim() !== '' || visit.query[fieldOf(at)] !== undefined
  const last = Array.from({ length: MAX_LINES }, (_, at) => at).findLast(isFilled) ?? 0
  return Math.min(last + 1 + (formText(form, ADD) === '' ? 0 : 1), MAX_LINES)
}

async function readLine(visit: PageContext, form: FormBody, at: number): Promise<TypedLine> {
  const [typed = visit.query[fieldOf(at)]?.trim() ?? '', chosen] = formTexts(form, fieldOf(at)).map((text) =>
    text.trim(),
  )
  const text = Typed.safeParse(typed)
  const { reader } = visit.readModel
  const page = text.success ? await searchItems(reader, { q: text.data, limit: MAX_FOUND }) : null
  const found = page === null ? [] : recordsOnPage<Item>(page)
  const meant = (item: Item) =>
    nameKey(item.name) === nameKey(typed) || sameBarcodes(typed).includes(item.barcode ?? '') || item.sku === typed
  const named = found.filter(meant)
  const item = found.find(({ id }) => String(id) === chosen) ?? (named.length === 1 ? named[0] : null)
  return { at, typed, found, item: item ?? (found.length === 1 ? found[0] : null) ?? null }
}

async function newOrderOf(visit: PageContext): Promise<NewOrder> {
  const form = sentIn(visit)
  const stores = (await listStores(visit.readModel.reader, MAX_STORES)).filter(({ enabled }) => enabled)
  const lines: TypedLine[] = []
  for (let at = 0; at < countLines(visit, form); at++) lines.push(await readLine(visit, form, at))
  return { stores: stores.map(({ alias }) => alias), lines }
}

const MAX_STORES = 200

function noteOf({ typed, found }: TypedLine): string | null {
  if (typed === '') return null
  if (found.length === 0) return 'Não está no catálogo: informe o preço para vender como item avulso.'
  return found.length < MAX_FOUND ? null : 'Há mais resultados: escreva mais do nome ou o código.'
}

const lineFields = (line: TypedLine): Fields => ({
  [fieldOf(line.at)]: {
    label: line.at === 0 ? 'Item' : `Item ${line.at + 1}`,
    columns: 6,
    scans: 'fill',
    ...(line.at === 0 && { hint: 'Procure pelo nome ou código.' }),
    kind: {
      ...lineInput,
      control: {
        as: 'search',
        path: PATH,
        note: noteOf(line),
        found: line.found.map(({ id, name, price }) => ({
          ...{ value: String(id), label: name, details: [formatMoney(price)] },
        })),
      },
    },
  },
  [`quantity${line.at}`]: { label: 'Quantidade', kind: quantityInput, columns: 3 },
  [`price${line.at}`]: { label: 'Preço, se avulso', kind: amountInput, columns: 3 },
})

/** A person who is not found, or not chosen, is only named. */
async function buyerField(visit: PageContext): Promise<Field> {
  const field = await partyField(visit, SEARCHED_CUSTOMER, { path: PATH })
  const { kind } = field
  const { control } = kind
  if (control.as !== 'search') return field
  const note =
    control.note === null || control.found.length > 0 ? control.note : 'Sem cadastro: o pedido leva este nome.'
  return {
    ...field,
    group: 'Quem compra',
    hint: 'Procure um cliente, ou escreva só o nome.',
    isRequired: true,
    kind: {
      ...kind,
      control: { ...control, note },
      read: (typed, timezone) => kind.read(typed, timezone) ?? typed,
      problem: () => null,
    },
  }
}

const FOLD = 'Endereço de entrega'

const ADDRESS: Fields = Object.fromEntries(
  Object.entries(
    fieldInputs(ADDRESS_FIELDS, { street: 6, number: 2, district: 4, complement: 4, city: 4, state: 2, zip: 2 }),
  ).map(([name, field]) => [`delivery.address.${name}`, { ...field, fold: FOLD }]),
)

const DELIVERY: Fields = {
  'delivery.method': {
    label: 'Como',
    kind: choiceInput(namedOptions(DELIVERY_METHOD_NAMES), 'A combinar'),
    columns: 4,
    group: 'Entrega',
    hint: 'Para um cliente com endereço no cadastro, basta escolher Entrega.',
  },
  'delivery.due_at': { label: 'Para quando', kind: momentInput, columns: 4 },
  delivery_fee: { label: 'Taxa de entrega', kind: amountInput, columns: 4 },
  ...ADDRESS,
}

async function fieldsOf({ stores, lines }: NewOrder, visit: PageContext): Promise<Fields> {
  return {
    ...Object.assign({}, ...lines.map(lineFields)),
    [SEARCHED_CUSTOMER.field]: await buyerField(visit),
    phone: { label: 'Telefone (WhatsApp)', kind: phoneInput, columns: 6 },
    ...DELIVERY,
    ...(stores.length > 1 && {
      store_alias: {
        label: 'Loja',
        kind: choiceInput(stores.map((alias) => ({ value: alias, label: alias }))),
        isRequired: true,
        columns: 6,
      },
    }),
  }
}

/** Further fields are checked with the order. */
const Sent = z.object({
  customer_id: z.union([z.int(), z.string()]),
  phone: z.string().nullish(),
  store_alias: z.string().nullish(),
  delivery_fee: Money.nullish(),
  delivery: DeliveryInput.nullish(),
})

/** Lines of the command; the price of an item is that of the catalog. */
function typedItems({ lines }: NewOrder, { form, readModel }: FormSubmission): object[] | Refusal {
  const items: object[] = []
  for (const { at, typed, found, item } of lines) {
    const read = (name: string, { read }: typeof amountInput) => {
      const text = formText(form, `${name}${at}`).trim()
      return text === '' ? null : read(text, readModel.timezone)
    }
    const [quantity, unit_price] = [read('quantity', quantityInput) ?? '1', read('price', amountInput)]
    if (typed === '' && at > 0) continue
    if (item !== null && unit_price !== null)
      return refuseField(`price${at}`, 'deixe em branco: vale o preço do catálogo')
    if (item === null && found.length > 0 && unit_price === null)
      return refuseField(fieldOf(at), 'escolha um dos encontrados')
    items.push(item ? { catalog_item_id: item.id, quantity } : { description: typed, quantity, unit_price })
  }
  return items
}

const OF_LINES: Readonly<Record<string, string>> = {
  catalog_item_id: 'item',
  description: 'item',
  quantity: 'quantity',
  unit_price: 'price',
}

/** Names of the form for those of the command; lines without a text are left out of the order. */
function toFormRefusal(refusal: Refusal, { lines }: NewOrder): Refusal {
  const places = lines.filter(({ at, typed }) => at === 0 || typed !== '').map(({ at }) => at)
  const named = (path: string): string => {
    const [, position = '', member = ''] = /^items\[(\d+)\]\.?(\w*)/.exec(path) ?? []
    if (position !== '') return `${OF_LINES[member] ?? 'item'}${places[Number(position)] ?? 0}`
    if (path === 'items') return fieldOf(0)
    if (path.startsWith('customer')) return path === 'customer.phone' ? 'phone' : SEARCHED_CUSTOMER.field
    return path
  }
  const { fields } = (refusal.details ?? {}) as { readonly fields?: Readonly<Record<string, string[]>> }
  if (!fields) return refusal
  const renamed = Object.entries(fields).map(([path, messages]) => [named(path), messages])
  return { ...refusal, details: { ...refusal.details, fields: Object.fromEntries(renamed) } }
}

async function place(submission: FormSubmission, asked: NewOrder, sent: z.infer<typeof Sent>) {
  const items = typedItems(asked, submission)
  if (isRefusal(items)) return items
  const { customer_id: buyer, phone, store_alias, ...rest } = sent
  const order = OrderInput.safeParse({
    ...rest,
    store_alias: store_alias ?? asked.stores[0],
    items,
    ...(typeof buyer === 'number'
      ? { customer_id: buyer, ...(phone && { customer: { phone } }) }
      : { customer: { name: buyer, phone: phone ?? null } }),
  })
  if (!order.success)
    return toFormRefusal({ refused: 'validation_failed', details: { ...describeIssues(order.error) } }, asked)
  const answer = await submission.run(placeOrder, order.data)
  if (isRefusal(answer)) return toFormRefusal(answer, asked)
  return { to: `${ORDERS_PATH}/${(answer.record as { id: number }).id}`, flash: 'pedido-criado' as const }
}

const pages = formPages({
  path: PATH,
  section: 'store',
  access: 'sell',
  subject: newOrderOf,
  title: () => 'Novo pedido',
  obstacle: ({ stores }) => (stores.length === 0 ? 'Nenhuma loja ligada: crie ou ligue uma em Loja online.' : null),
  label: 'Criar pedido e link',
  back: () => '/loja',
  fields: fieldsOf,
  initial: (_order, { query }) => Object.fromEntries(Object.entries(query).filter(([name]) => name.startsWith('item'))),
  summary: ({ lines }) =>
    lines.length < MAX_LINES && (
      <p>
        <button type="submit" name={ADD} value="1">
          Mais um item
        </button>
      </p>
    ),
  schema: Sent,
  act: place,
})

/** An order to be paid by a link, made by people. */
export const newOrderPages: readonly PanelRoute[] = pages.map((page) =>
  'submit' in page && page.refill
    ? {
        ...page,
        submit: (sent: FormSubmission) =>
          formText(sent.form, ADD) !== '' && page.refill ? page.refill(sent) : page.submit(sent),
      }
    : page,
)
