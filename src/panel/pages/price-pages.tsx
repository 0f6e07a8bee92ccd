import * as z from 'zod'
import { ChangePricesInput, changePrices, MAX_PRICED_ITEMS } from '#commands/price-commands.ts'
import { Instant } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { formatCents, formatCount, formatMoney, formatPersonName } from '#domain/person-values.ts'
import { applyPriceRule, PriceRule } from '#domain/prices.ts'
import { describeIssues, type Refusal, refuseField, refuseInvalid } from '#domain/refusals.ts'
import { may } from '#domain/rights.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { NewPrice } from '#projections/price-changes.ts'
import { listSuppliersOfGoods, readEffectOfPrices, searchItems } from '#queries/item-queries.ts'
import { wholeShape } from '#records/field.ts'
import { ITEM_SEARCH } from '#records/items.ts'
import { choiceInput, momentInput, recordChoiceInput, suggestedInput } from '../forms/input-kinds.ts'
import { type Fields, type FilledForm, fillFromBody, filterProblems, formText, formTexts } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { FieldList, Form } from '../ui/form-fields.tsx'
import { formRoute } from '../ui/form-pages.tsx'
import { ListTable, type OptionalColumn } from '../ui/list-table.tsx'
import { Alert, Card, PanelBadge, Stat, Stats } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { categoryFilterOptions } from './category-pages.tsx'
import { namesText, PRICES_PATH, PriceChangesCard } from './price-change-pages.tsx'
import { readSalesRollups } from './start-period.ts'
import type { Item } from './stock-pages.tsx'
import { marginChange } from './variant-pages.tsx'

const ENDINGS = ['90', '99', '95', '50', '00']

const seesCosts = ({ session }: PageContext): boolean => may(session.permissions, 'see_costs')

/** Which items, and how their prices change. */
async function choiceFields(visit: PageContext): Promise<Fields> {
  const examples = ['+5 %', '−10 %', ...(seesCosts(visit) ? ['custo × 1,4'] : [])]
  const suppliers = await listSuppliersOfGoods(visit.readModel.reader)
  const options = suppliers.map(({ id, name }) => ({ value: String(id), label: formatPersonName(name) }))
  return {
    category_id: fieldInput(ITEM_SEARCH.category_id, {
      kind: recordChoiceInput(await categoryFilterOptions(visit), 'Todas'),
      columns: 4,
    }),
    ...(options.length > 0 && {
      supplier_id: { label: 'Fornecedor', kind: recordChoiceInput(options, 'Todos'), columns: 4 } as const,
    }),
    q: fieldInput(ITEM_SEARCH.q, options.length > 0 ? 4 : 8),
    change: {
      label: 'Novo preço',
      kind: suggestedInput(examples),
      isRequired: true,
      columns: 4,
      hint: `Ex.: ${examples.join(', ')}`,
    },
    ending: {
      label: 'Final do preço',
      kind: choiceInput(
        ENDINGS.map((value) => ({ value, label: `,${value}` })),
        'Qualquer',
      ),
      columns: 4,
    },
  }
}

const Search = z.object(
  wholeShape({ q: ITEM_SEARCH.q, category_id: ITEM_SEARCH.category_id, supplier_id: ITEM_SEARCH.category_id }),
)

const WRITTEN = 'escreva como +5 %, −10 % ou custo × 1,4'

/** Longest text of a rule. */
const MAX_RULE_LENGTH = 40

/** The rule that a text means; `5` is a percentage. */
export function parsePriceRule(text: string, ending: string): PriceRule | Refusal {
  const typed = text.length > MAX_RULE_LENGTH ? '' : text.replace(/\s/g, '').replace(',', '.').toLowerCase()
  const [, factor] = /^(?:custo)?[×x*](\d{1,4}(?:\.\d{1,4})?)$/.exec(typed) ?? []
  const [, sign, percent] = /^([+−-]?)(\d{1,5}(?:\.\d{1,2})?)%?$/.exec(typed) ?? []
  if (factor === undefined && percent === undefined) return refuseField('change', WRITTEN)
  const amount = (decimal: string, parts: number) => Math.round(Number(decimal) * parts)
  const rule = PriceRule.safeParse({
    ...(factor === undefined
      ? { kind: 'percent', amount: amount(percent as string, 100) * (sign === '' || sign === '+' ? 1 : -1) }
      : { kind: 'cost', amount: amount(factor, 10_000) }),
    ending: ENDINGS.includes(ending) ? Number(ending) : null,
  })
  return rule.success
    ? rule.data
    : refuseField('change', Object.values(describeIssues(rule.error).fields).flat().join('; '))
}

/** What was typed; a submitted form has it in hidden fields. */
type Typed = Readonly<Record<string, string>>

const CHOICE = ['category_id', 'supplier_id', 'q', 'change', 'ending'] as const

const typedIn = (visit: PageContext | FormSubmission): Typed =>
  Object.fromEntries(
    CHOICE.map((name) => [name, ('form' in visit ? formText(visit.form, name) : (visit.query[name] ?? '')).trim()]),
  )

interface NewPriceRow {
  readonly item: Item
  readonly after: string
  /** From 0. */
  readonly place: number
}

/** The items of a choice with their new prices, and those that have none. */
interface PriceTable {
  readonly rule: PriceRule
  readonly rows: readonly NewPriceRow[]
  readonly unchanged: number
  readonly withoutCost: readonly Item[]
  readonly impossible: readonly Item[]
}

async function readTable(visit: PageContext, typed: Typed): Promise<PriceTable | Refusal> {
  const rule = parsePriceRule(typed.change ?? '', typed.ending ?? '')
  if (isRefusal(rule)) return rule
  if (rule.kind === 'cost' && !seesCosts(visit)) return refuseField('change', 'seu perfil não vê custos')
  const given = Object.entries(typed).filter(([name, value]) => name in Search.shape && value !== '')
  const search = Search.safeParse(Object.fromEntries(given))
  if (!search.success) return refuseInvalid(search.error)
  const page = await searchItems(visit.readModel.reader, { ...search.data, limit: MAX_PRICED_ITEMS })
  if (isRefusal(page)) return page
  const items = recordsOnPage<Item>(page).map((item) => (seesCosts(visit) ? item : { ...item, cost: null }))
  if (page.next !== null)
    return refuseField(
      'q',
      `há mais de ${MAX_PRICED_ITEMS} itens: escolha uma categoria ou palavras da busca, e altere em partes`,
    )
  const rows = items.map((item) => ({ item, after: applyPriceRule(rule, item) }))
  const withoutCost = rule.kind === 'cost' ? items.filter(({ cost }) => cost === null) : []
  return {
    rule,
    rows: rows
      .flatMap(({ item, after }) => (after === null || after === item.price ? [] : [{ item, after }]))
      .map((row, place) => ({ ...row, place })),
    unchanged: rows.filter(({ item, after }) => after === item.price).length,
    withoutCost,
    impossible: rows.flatMap(({ item, after }) => (after === null && !withoutCost.includes(item) ? [item] : [])),
  }
}

/** Ticked rows; a name has at most 500 values. */
const TICKS = ['item', 'item-2'] as const
const PER_NAME = 500

const tokenOf = ({ item, after }: NewPriceRow): string => `${item.id}:${item.price}:${after}`

function tickedIn({ form }: FormSubmission) {
  return TICKS.flatMap((name) => formTexts(form, name)).map((token) => {
    const [id, before = '', after = ''] = token.slice(0, 60).split(':')
    return { catalog_item_id: Number(id), before, after }
  })
}

const isBelowCost = ({ after, cost }: Pick<CostedPrice, 'after' | 'cost'>): boolean =>
  cost !== null && toCents(after) < toCents(cost)

const priceOf = ({ item: { id, price, cost }, after }: NewPriceRow): CostedPrice => ({
  ...{ catalog_item_id: id, before: price, after, cost },
})

const columnsFor = (visit: PageContext, ticked: ReadonlySet<number> | null): OptionalColumn<NewPriceRow>[] => [
  {
    head: 'Produto',
    cell: (row) => (
      <label class="choice">
        <input
          type="checkbox"
          name={TICKS[Math.floor(row.place / PER_NAME)]}
          value={tokenOf(row)}
          checked={ticked?.has(row.item.id) ?? true}
        />
        {row.item.name}
      </label>
    ),
  },
  { head: 'Antes', cell: ({ item }) => formatMoney(item.price), isNumber: true },
  {
    head: 'Depois',
    cell: (row) => <PriceAfter price={priceOf(row)} />,
    isNumber: true,
  },
  seesCosts(visit) && {
    head: 'Margem',
    cell: ({ item, after }) => marginChange(item.price, after, item.cost),
    isNumber: true,
  },
]

/** Items that the rule gives no price, with the reason. */
const LeftOut = ({ items, reason }: { readonly items: readonly Item[]; readonly reason: string }) =>
  items.length === 0 ? null : (
    <p class="problem" role="note">{`${reason}: ${namesText(items.map(({ name }) => name))}.`}</p>
  )

/** Sales of others count in it. */
const showsSold = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

/** A new price, with the cost that its margin follows from; null if unknown or hidden. */
interface CostedPrice extends NewPrice {
  readonly cost: string | null
}

interface PriceSummaryProps {
  readonly visit: PageContext
  readonly prices: readonly CostedPrice[]
  readonly unchanged?: number
}

/** How many prices change, what is below cost, and what the last 30 days would have brought. */
export async function PriceSummary({ visit, prices, unchanged = 0 }: PriceSummaryProps) {
  const effect =
    showsSold(visit) && (await readSalesRollups(visit, (reader) => readEffectOfPrices(reader, prices, visit.readModel)))
  const below = prices.filter(isBelowCost).length
  return (
    <Stats>
      <Stat
        label="Preços que mudam"
        value={formatCount(prices.length)}
        hint={unchanged > 0 ? `${formatCount(unchanged)} ficam iguais` : undefined}
      />
      {seesCosts(visit) && <Stat label="Abaixo do custo" value={formatCount(below)} />}
      {effect !== false && (
        <Stat
          label="Nos últimos 30 dias"
          value={`${effect < 0n ? '−' : '+'}${formatCents(effect < 0n ? -effect : effect)}`}
          hint="teriam rendido as mesmas vendas, com estes preços"
        />
      )}
    </Stats>
  )
}

/** A price after a change; one below cost is marked. */
export const PriceAfter = ({ price }: { readonly price: Pick<CostedPrice, 'after' | 'cost'> }) =>
  isBelowCost(price) ? (
    <PanelBadge tone="warn">{`${formatMoney(price.after)}: abaixo do custo`}</PanelBadge>
  ) : (
    formatMoney(price.after)
  )

interface TableProps {
  readonly visit: PageContext
  readonly typed: Typed
  readonly table: PriceTable
  readonly filled: FilledForm
  /** Ids of the rows that were ticked when the form was refused; null: all. */
  readonly ticked: ReadonlySet<number> | null
}

const SCHEDULE: Fields = {
  starts_at: {
    label: 'A partir de',
    kind: momentInput,
    columns: 4,
    hint: 'Deixe em branco para mudar agora.',
  },
}

async function NewPrices(props: TableProps) {
  const { visit, typed, table, filled, ticked } = props
  const { rows, withoutCost, impossible } = table
  return (
    <Card title="Novos preços" id="precos">
      <LeftOut items={withoutCost} reason="Sem custo cadastrado, ficam de fora" />
      <LeftOut items={impossible} reason="O preço ficaria zerado ou alto demais; ficam de fora" />
      {rows.length === 0 ? (
        <p class="empty">Nenhum preço muda com esta escolha.</p>
      ) : (
        <>
          {await PriceSummary({ visit, prices: rows.map(priceOf), unchanged: table.unchanged })}
          <Form
            visit={visit}
            to={PRICES_PATH}
            label="Alterar preços"
            fields={SCHEDULE}
            filled={filled}
            problem={filled.problem}
          >
            {CHOICE.map((name) => (
              <input key={name} type="hidden" name={name} value={typed[name]} />
            ))}
            <ListTable caption="Novos preços" rows={rows} empty="" columns={columnsFor(visit, ticked)} />
          </Form>
        </>
      )}
    </Card>
  )
}

const EMPTY: FilledForm = { values: {}, errors: {}, problem: null }

/** What a refused form is shown again with. */
interface Refused {
  readonly refusal: Refusal
  readonly submission: FormSubmission
}

async function show(visit: PageContext, refused?: Refused): Promise<PanelPage> {
  const fields = await choiceFields(visit)
  const typed = typedIn(refused?.submission ?? visit)
  const isAsked = typed.change !== ''
  const table = isAsked ? (filterProblems(fields, typed) ?? (await readTable(visit, typed))) : null
  const wrong = table && isRefusal(table) ? table : undefined
  const filled = refused ? fillFromBody(SCHEDULE, refused.submission.form, refused.refusal) : EMPTY
  const ticked = refused ? new Set(tickedIn(refused.submission).map(({ catalog_item_id: id }) => id)) : null
  const chosen = fillFromBody(fields, typed, wrong)
  const body = (
    <>
      <search aria-label="Escolher itens e regra">
        <form method="get" action={link(PRICES_PATH)} class="form">
          {chosen.problem && <Alert>{chosen.problem}</Alert>}
          <FieldList fields={fields} filled={chosen} />
          <div class="actions">
            <button type="submit" class={isAsked ? undefined : 'main'}>
              Ver preços
            </button>
          </div>
        </form>
      </search>
      {table && !isRefusal(table) && (await NewPrices({ visit, typed, table, filled, ticked }))}
      {!isAsked && (await PriceChangesCard({ visit }))}
    </>
  )
  const status = refused ? toHttpStatus(refused.refusal.refused) : wrong && 422
  return { title: 'Alterar preços', parent: { label: 'Catálogo', to: '/catalogo' }, body, ...(status && { status }) }
}

const Moment = z.object({ starts_at: Instant.nullable() })

const ACCESS = ['edit_catalog', 'change_price'] as const

export const pricePages: readonly PanelRoute[] = [
  { path: PRICES_PATH, section: 'catalog', access: ACCESS, changes: true, show: (visit) => show(visit) },
  formRoute<Typed, z.infer<typeof Moment>>({
    path: PRICES_PATH,
    section: 'catalog',
    access: ACCESS,
    subject: typedIn,
    fields: () => SCHEDULE,
    schema: Moment,
    async act(submission, typed, { starts_at }) {
      const rule = parsePriceRule(typed.change ?? '', typed.ending ?? '')
      if (isRefusal(rule)) return rule
      const input = ChangePricesInput.safeParse({ rule, starts_at, items: tickedIn(submission) })
      if (!input.success) return refuseInvalid(input.error)
      const answer = await submission.run(changePrices, input.data)
      if (isRefusal(answer)) return answer
      const { id } = answer.record as { id: number }
      return { to: `${PRICES_PATH}/${id}`, flash: starts_at === null ? 'precos-alterados' : 'precos-agendados' }
    },
    again: (submission, _typed, refusal) => show(submission, { refusal, submission }),
  }),
]
