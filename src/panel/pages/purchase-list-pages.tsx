import * as z from 'zod'
import { normalizeQuantity } from '#commands/stock-commands.ts'
import { fromBigCents, halfUp, StockQuantity, toBigCents, toBigThousandths } from '#domain/money.ts'
import { formatCount, formatMoney, formatPersonName, formatUnits, formatWhatsAppUrl } from '#domain/person-values.ts'
import { refuseField } from '#domain/refusals.ts'
import { may } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { groupBy } from '#lib/collections.ts'
import { listSuppliersOfGoods } from '#queries/item-queries.ts'
import { listProductsToBuy, type PurchaseListItem } from '#queries/stock-queries.ts'
import { wholeShape } from '#records/field.ts'
import { LOW_STOCK_SEARCH } from '#records/list-filters.ts'
import { amountCell, type FileColumn } from '../csv-files.ts'
import { integerInput, quantityInput, recordChoiceInput } from '../forms/input-kinds.ts'
import { type Fields, fillFromBody, filterProblems, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { FieldList, Form } from '../ui/form-fields.tsx'
import { ListTable, type OptionalColumn } from '../ui/list-table.tsx'
import { Alert, Card, Figure, FigureUnits } from '../ui/page-parts.tsx'
import { FileLink, listFiltered } from '../ui/panel-list.tsx'
import { categoryFilterOptions } from './category-pages.tsx'
import { loadCompany } from './company-pages.tsx'
import { coverText } from './stock-pages.tsx'

const PATH = '/catalogo/lista-de-compras'

/** Products of a list; a form of the panel has a thousand fields. */
const MAX_PRODUCTS = 900

/** Longest address that phones open. */
const MAX_LINK_LENGTH = 8_000

const DEFAULT_DAYS = 30

const Search = z.object({
  ...wholeShape(LOW_STOCK_SEARCH),
  /** 0: of none. */
  supplier_id: z.coerce.number().int().min(0).optional(),
  days: z.coerce.number().int().min(1).max(365, 'no máximo 365 dias').optional(),
})

const CHOICE = ['supplier_id', 'category_id', 'q', 'days'] as const

async function choiceFields(visit: PageContext): Promise<Fields> {
  const suppliers = await listSuppliersOfGoods(visit.readModel.reader)
  const options = suppliers.map(({ id, name }) => ({ value: String(id), label: formatPersonName(name) }))
  return {
    supplier_id: {
      label: 'Fornecedor',
      kind: recordChoiceInput([...options, { value: '0', label: 'Sem fornecedor' }], 'Todos'),
      columns: 3,
    },
    category_id: fieldInput(LOW_STOCK_SEARCH.category_id, {
      kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'),
      columns: 3,
    }),
    q: fieldInput(LOW_STOCK_SEARCH.q, 3),
    days: { label: 'Comprar para quantos dias', kind: integerInput, columns: 3, hint: 'Se vazio, 30.' },
  }
}

type Typed = Readonly<Record<string, string>>

/** What was chosen; a submitted form has it in hidden fields. */
const typedIn = (visit: PageContext | FormSubmission): Typed =>
  Object.fromEntries(
    CHOICE.map((name) => [name, ('form' in visit ? formText(visit.form, name) : (visit.query[name] ?? '')).trim()]),
  )

async function readList(visit: PageContext, fields: Fields, typed: Typed) {
  const given = Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== ''))
  const { reader } = visit.readModel
  const found =
    filterProblems(fields, given) ??
    (await listFiltered(Search, given, ({ days = DEFAULT_DAYS, ...search }) =>
      listProductsToBuy(reader, { ...search, days, limit: MAX_PRODUCTS + 1 }, visit.readModel),
    ))
  if (isRefusal(found) || found.length <= MAX_PRODUCTS) return found
  return refuseField(
    'q',
    `há mais de ${MAX_PRODUCTS} produtos: escolha um fornecedor, uma categoria ou palavras da busca`,
  )
}

/** A product with the quantity to buy: as typed, and as read; null if that is none. */
interface ToBuy {
  readonly item: PurchaseListItem
  readonly typed: string
  readonly quantity: string | null
}

const fieldName = ({ id }: PurchaseListItem): string => `comprar-${id}`

function toBuy(item: PurchaseListItem, visit: PageContext | FormSubmission): ToBuy {
  const sent = 'form' in visit && visit.form[fieldName(item)] !== undefined
  if (!sent) return { item, typed: quantityInput.show(item.suggested, ''), quantity: item.suggested }
  const typed = formText(visit.form, fieldName(item)).trim().slice(0, 40)
  const read = StockQuantity.safeParse(quantityInput.read(typed === '' ? '0' : typed, ''))
  return { item, typed, quantity: read.success ? normalizeQuantity(read.data) : null }
}

const isBought = ({ quantity }: ToBuy): boolean => quantity !== null && /[1-9]/.test(quantity)

/** Null without a quantity or cost. */
function costOf({ item: { cost }, quantity }: ToBuy): bigint | null {
  return cost === null || quantity === null ? null : halfUp(toBigCents(cost) * toBigThousandths(quantity), 1000n)
}

const sumOf = (rows: readonly ToBuy[]): string => fromBigCents(rows.reduce((sum, row) => sum + (costOf(row) ?? 0n), 0n))

const seesCosts = ({ session }: PageContext): boolean => may(session.permissions, 'see_costs')

const columnsFor = (visit: PageContext): readonly OptionalColumn<ToBuy>[] => [
  { head: 'Produto', cell: ({ item: { id, name } }) => <a href={link(`/catalogo/${id}`)}>{name}</a> },
  {
    head: 'Vendido em 30 dias',
    cell: ({ item: { id, sold_30_days, unit } }) => (
      <FigureUnits name="vendido-30-dias" of={`item/${id}`} quantity={sold_30_days} unit={unit} />
    ),
    isNumber: true,
    isExtra: true,
  },
  {
    head: 'Estoque',
    cell: ({ item: { id, stock, unit } }) => (
      <FigureUnits name="estoque" of={`item/${id}`} quantity={stock} unit={unit} />
    ),
    isNumber: true,
  },
  { head: 'Dura', cell: ({ item }) => coverText(item), isNumber: true, isExtra: true },
  {
    head: 'Comprar',
    cell: ({ item, typed, quantity }) => (
      <input
        name={fieldName(item)}
        value={typed}
        size={6}
        inputMode="decimal"
        aria-label={`Comprar: ${item.name}`}
        aria-invalid={quantity === null ? 'true' : undefined}
      />
    ),
    isNumber: true,
  },
  seesCosts(visit) && {
    head: 'Último custo',
    cell: ({ item: { cost } }) => cost && formatMoney(cost),
    isNumber: true,
    isExtra: true,
  },
  seesCosts(visit) && {
    head: 'Total',
    cell: (row) => {
      const cents = costOf(row)
      return cents === null ? 'Sem custo' : formatMoney(fromBigCents(cents))
    },
    isNumber: true,
    isExtra: true,
  },
]

const orderText = (rows: readonly ToBuy[], company: string): string =>
  [
    `Olá! Pedido de ${company}:`,
    ...rows.map(
      ({ item, quantity }) => `• ${formatUnits(quantity ?? '0', item.unit).replace('\u00A0', ' ')} ${item.name}`,
    ),
  ].join('\n')

interface GroupProps {
  readonly visit: PageContext
  readonly rows: readonly ToBuy[]
  readonly company: string
}

/** Products of one supplier, or of none. */
const Group = ({ visit, rows, company }: GroupProps) => {
  const [first] = rows as [ToBuy]
  const { supplier_id, supplier_name, supplier_phone } = first.item
  const bought = rows.filter(isBought)
  const url = formatWhatsAppUrl(supplier_phone, orderText(bought, company))
  const unknown = bought.filter((row) => costOf(row) === null).length
  return (
    <section>
      <h2>{supplier_id === null ? 'Sem fornecedor' : formatPersonName(supplier_name)}</h2>
      <ListTable caption="Produtos a comprar" rows={rows} empty="" columns={columnsFor(visit)} />
      {seesCosts(visit) && (
        <p class="sums">
          {'Total '}
          <Figure name="total-a-comprar" of={`fornecedor/${supplier_id ?? 0}`}>
            {formatMoney(sumOf(bought))}
          </Figure>
          {unknown > 0 && `, sem ${unknown === 1 ? 'um produto' : `${formatCount(unknown)} produtos`} sem custo`}
        </p>
      )}
      {bought.length > 0 &&
        (url.length > MAX_LINK_LENGTH ? (
          <p class="hint">A lista é longa demais para o WhatsApp: imprima, ou baixe a planilha.</p>
        ) : (
          <div class="actions">
            <a class="button" href={url} rel="noreferrer">
              Enviar por WhatsApp
            </a>
          </div>
        ))}
    </section>
  )
}

async function page(visit: PageContext | FormSubmission): Promise<PanelPage> {
  const [fields, typed] = [await choiceFields(visit), typedIn(visit)]
  const found = await readList(visit, fields, typed)
  const refusal = isRefusal(found) ? found : undefined
  const rows = isRefusal(found) ? [] : found.map((item) => toBuy(item, visit))
  const wrong = rows.filter(({ quantity }) => quantity === null)
  const filled = fillFromBody(fields, typed, refusal)
  const company = (await loadCompany(visit))?.name ?? ''
  const groups = [...groupBy(rows, ({ item }) => item.supplier_id).values()]
  const body = (
    <>
      <Card title="Escolher">
        <search aria-label="Escolher produtos">
          <form method="get" action={link(PATH)} class="form">
            {filled.problem && <Alert>{filled.problem}</Alert>}
            <FieldList fields={fields} filled={filled} />
            <div class="actions">
              <button type="submit">Ver lista</button>
            </div>
          </form>
        </search>
      </Card>
      {!refusal && rows.length === 0 && (
        <p class="empty">Nada a comprar: o estoque dura o período e está acima do mínimo.</p>
      )}
      {rows.length > 0 && (
        <Form
          visit={visit}
          to={PATH}
          label="Atualizar lista"
          problem={
            wrong.length > 0 &&
            `Informe uma quantidade válida, por exemplo 1,5: ${wrong.map(({ item }) => item.name).join(', ')}.`
          }
        >
          {CHOICE.map((name) => (
            <input key={name} type="hidden" name={name} value={typed[name]} />
          ))}
          {groups.map((group) => (
            <Group key={group[0]?.item.supplier_id} visit={visit} rows={group} company={company} />
          ))}
          <FileLink to={`${PATH}.csv`} parameters={typed} />
          <p class="hint">Mude as quantidades e atualize: os totais e as mensagens seguem o que está na lista.</p>
        </Form>
      )}
    </>
  )
  return {
    title: 'Lista de compras',
    parent: { label: 'Catálogo', to: '/catalogo' },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    body,
    ...((refusal || wrong.length > 0) && { status: 422 }),
  }
}

const COSTS_IN_FILE: readonly FileColumn<ToBuy>[] = [
  ['Último custo', ({ item }) => amountCell(item.cost)],
  ['Total', (row) => amountCell(costOf(row) === null ? null : sumOf([row]))],
]

const columnsOfFile = (visit: PageContext): readonly FileColumn<ToBuy>[] => [
  ['Fornecedor', ({ item }) => item.supplier_name],
  ['Produto', ({ item }) => item.name],
  ['Unidade', ({ item }) => item.unit],
  ['Vendido em 30 dias', ({ item }) => amountCell(item.sold_30_days)],
  ['Estoque', ({ item }) => amountCell(item.stock)],
  ['Dias de estoque', ({ item }) => item.days_of_stock],
  ['Comprar', ({ quantity }) => amountCell(quantity)],
  ...(seesCosts(visit) ? COSTS_IN_FILE : []),
]

/** The list as it is suggested. */
async function table(visit: PageContext) {
  const found = await readList(visit, await choiceFields(visit), typedIn(visit))
  if (isRefusal(found)) return found
  const columns = columnsOfFile(visit)
  async function* rows(items: readonly PurchaseListItem[]) {
    for (const item of items) yield columns.map(([, cell]) => cell(toBuy(item, visit)))
  }
  return { heads: columns.map(([head]) => head), rows: rows(found) }
}

const common = { path: PATH, section: 'catalog', access: 'see_all_sales' } as const

/** What to buy, by supplier. Nothing is stored: quantities stand in the form. */
export const purchaseListPages: readonly PanelRoute[] = [
  { ...common, show: (visit) => page(visit) },
  { ...common, changes: false, submit: (submission) => page(submission) },
  { ...common, path: `${PATH}.csv`, table },
]
