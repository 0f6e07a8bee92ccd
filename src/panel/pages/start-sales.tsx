import type { ComponentChildren } from 'preact'
import { fromBigThousandths } from '#domain/money.ts'
import { formatCents, formatCount, formatFraction, formatMoney } from '#domain/person-values.ts'
import type { Channel } from '#ledger/command.ts'
import {
  type NamedFigure,
  NO_SALES_BAR,
  type ReturnedCosts,
  type SalesBar,
  type SalesFigure,
  type SalesSums,
} from '#queries/sales-sums.ts'
import { link } from '../page-context.ts'
import { Bars, type ChartBar, ChartFigure } from '../ui/chart.tsx'
import { ReconciliationTable } from '../ui/head.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Figure, FigureChange, FigureUnits, FoldedCard, Stat, type StatChange, Stats } from '../ui/page-parts.tsx'
import { CHANNELS } from '../words/event-words.ts'
import type { StartPeriod } from './start-period.ts'

interface SalesProps {
  readonly period: StartPeriod
  readonly sums: SalesSums
}

/** Link to the completed sales of some days: each figure has one. */
const listOf = ({ from, to }: Pick<StartPeriod, 'from' | 'to'>, more: Record<string, string> = {}) => ({
  sold_from: from,
  sold_to: to,
  status: 'completed',
  ...more,
})

/** All sales of a way of paying: its row has the cancelled ones too. */
const wayList = ({ from, to }: StartPeriod, payment_type_id: string) => ({
  sold_from: from,
  sold_to: to,
  payment_type_id,
})

/** All bars as one. */
export const sumBars = (bars: readonly SalesBar[]): SalesBar => {
  const sum = (name: 'cents' | 'units' | 'known_cents' | 'cost_cents') =>
    bars.reduce((total, bar) => total + bar[name], 0n)
  const count = bars.reduce((total, bar) => total + bar.count, 0)
  const [cents, units] = [sum('cents'), sum('units')]
  return { count, cents, units, known_cents: sum('known_cents'), cost_cents: sum('cost_cents') }
}

const countOf = (count: number): string => (count === 1 ? '1 venda' : `${formatCount(count)} vendas`)
const percent = (part: bigint, whole: bigint): string => `${formatFraction((Number(part) / Number(whole)) * 100, 1)}%`
const averageOf = ({ cents, count }: SalesFigure): bigint => (2n * cents + BigInt(count)) / (2n * BigInt(count))

interface SalesFiguresProps extends SalesProps {
  readonly seesCosts: boolean
  /** Whether the sales of the earlier period are known to the user. */
  readonly seesBefore: boolean
}

/** Takings, chart and figures of a period; all come from the same rows, so that they agree. */
export const SalesFigures = ({ period, sums, seesCosts, seesBefore }: SalesFiguresProps) => {
  const isCompared = seesBefore && hasWholePeriodBefore(sums, period)
  const all = sumBars(sums.bars)
  const { cancelled, returned } = sums
  const before = isCompared ? sums.before : NO_SALES_BAR
  const left = lessReturned(all, sums.returned_costs)
  const leftBefore = isCompared ? lessReturned(before, sums.returned_costs_before) : NO_SALES_BAR
  return (
    <section class="card takings" aria-label={`Vendas ${period.words}, por ${period.bar}`}>
      <dl>
        <div class="stat">
          <dt>{`Vendas ${period.words}`}</dt>
          <dd class="figure">
            <a href={link('/vendas', listOf(period))}>
              <Figure name="faturado" of="total">
                {formatCents(all.cents)}
              </Figure>
            </a>
          </dd>
          {isCompared ? (
            <Comparison now={all.cents} before={before.cents} period={period} />
          ) : (
            seesBefore && <NoComparison now={all.cents} before={sums.before.cents} period={period} />
          )}
        </div>
      </dl>
      <Chart period={period} sums={seesBefore ? sums : { ...sums, bars_before: [] }} />
      <Stats>
        <Stat
          label="Número de vendas"
          value={
            <Figure name="concluidas" of="total">
              {formatCount(all.count)}
            </Figure>
          }
          to="/vendas"
          parameters={listOf(period)}
          comparison={changeOf(all.count, before.count)}
        />
        <Stat
          label="Ticket médio"
          value={all.count === 0 ? '—' : formatCents(averageOf(all))}
          to="/vendas"
          parameters={listOf(period)}
          comparison={all.count > 0 && before.count > 0 ? changeOf(averageOf(all), averageOf(before)) : null}
        />
        <Stat
          label="Itens"
          value={
            <Figure name="itens" of="total">
              {formatCount(left.units)}
            </Figure>
          }
          hint={perSale(all)}
          comparison={changeOf(left.units, leftBefore.units)}
        />
        {seesCosts && <Margin sold={all.count} all={left} before={leftBefore} />}
        {cancelled.count > 0 && (
          <Stat
            label="Canceladas"
            value={
              <Figure name="cancelado" of="total">
                {formatMoney(cancelled.amount)}
              </Figure>
            }
            to="/vendas"
            parameters={listOf(period, { status: 'cancelled' })}
            hint={
              <>
                <Figure name="canceladas" of="total">
                  {formatCount(cancelled.count)}
                </Figure>
                {cancelled.count === 1 ? ' venda' : ' vendas'}
              </>
            }
          />
        )}
        {returned.amount !== '0.00' && (
          <Stat
            label="Devolvido"
            value={
              <Figure name="devolvido" of="total">
                {formatMoney(returned.amount)}
              </Figure>
            }
            to="/devolucoes"
            parameters={{ returned_from: period.from, returned_to: period.to }}
            hint={
              <>
                <Figure name="devolucoes" of="total">
                  {formatCount(returned.count)}
                </Figure>
                {returned.count === 1 ? ' devolução; líquido de ' : ' devoluções; líquido de '}
                <Figure name="liquido" of="total">
                  {formatMoney(sums.net)}
                </Figure>
              </>
            }
          />
        )}
      </Stats>
    </section>
  )
}

const perSale = ({ units, count }: SalesBar): string | undefined =>
  count === 0 ? undefined : `${formatFraction(Number(units) / count, 1)} por venda`

/** What is left of the sales of a period after its returns. */
export const lessReturned = (sold: ReturnedCosts, returned: ReturnedCosts): ReturnedCosts => ({
  units: sold.units - returned.units,
  cents: sold.cents - returned.cents,
  known_cents: sold.known_cents - returned.known_cents,
  cost_cents: sold.cost_cents - returned.cost_cents,
})

const marginOf = ({ known_cents, cost_cents }: ReturnedCosts): bigint => known_cents - cost_cents

interface MarginProps {
  /** Number of sales. */
  readonly sold: number
  readonly all: ReturnedCosts
  readonly before: ReturnedCosts
}

/** Margin over the sales with known costs, less returns, and the covered amount. */
const Margin = ({ sold, all, before }: MarginProps) =>
  all.known_cents === 0n && all.cost_cents === 0n ? (
    <Stat label="Margem" value="—" hint={sold === 0 ? undefined : 'Nenhuma venda com todos os custos conhecidos'} />
  ) : (
    <Stat
      label="Margem"
      value={formatCents(marginOf(all))}
      comparison={marginOf(before) > 0 ? changeOf(marginOf(all), marginOf(before)) : null}
      hint={marginHint(all)}
    />
  )

/** Percentages of what is left of the sales; none where the returns of earlier sales exceed them. */
function marginHint(all: ReturnedCosts): string | undefined {
  if (all.known_cents <= 0 || all.cents <= 0) return undefined
  const margin = percent(marginOf(all), all.known_cents)
  if (all.known_cents === all.cents) return `${margin} das vendas`
  return `${margin} das vendas com custo conhecido, que são ${percent(all.known_cents, all.cents)} do total`
}

const DAY_MS = 86_400_000

/** A shop that opened within the earlier period has nothing to compare with. */
const hasWholePeriodBefore = ({ first_sold_at }: SalesSums, { before }: StartPeriod): boolean =>
  first_sold_at !== null && Date.parse(first_sold_at) < Date.parse(before.from) + DAY_MS

/** A larger change says nothing, in tenths of a percent. */
const MOST_TENTHS = 9_999

/** Change against the period before, in tenths of a percent; null if it says nothing. */
function tenthsOf(now: number, before: number): number | null {
  if (before === 0) return null
  const tenths = Math.round(((now - before) / before) * 1000)
  return Math.abs(tenths) > MOST_TENTHS ? null : tenths
}

/** Change of a figure: `▲ 12,9%`. The takings say against what. */
function changeOf(now: number | bigint, before: number | bigint): StatChange | null {
  const tenths = tenthsOf(Number(now), Number(before))
  if (tenths === null || tenths === 0) return null
  const size = `${formatFraction(Math.abs(tenths) / 10, 1)}%`
  return tenths > 0 ? ['good', '▲', `${size} a mais`] : ['bad', '▼', `${size} a menos`]
}

interface ComparisonProps {
  readonly now: bigint
  readonly before: bigint
  readonly period: Pick<StartPeriod, 'compared' | 'isUntilNow' | 'than'>
}

/** The earlier period has no sales, or the shop was not open in all of it. */
const NoComparison = ({ now, before, period: { compared, isUntilNow } }: ComparisonProps) =>
  now === 0n ? null : (
    <dd class="compared">
      {before === 0n
        ? `Sem vendas ${compared}${isUntilNow ? ' até esta hora' : ''} para comparar`
        : 'Ainda não há um período anterior completo para comparar'}
    </dd>
  )

/** The same of the takings, with the period that they are compared with. */
const Comparison = ({ now, before, period: { compared, isUntilNow, than } }: ComparisonProps) => {
  const change = changeOf(now, before)
  if (before === 0n) return <NoComparison now={now} before={before} period={{ compared, isUntilNow, than }} />
  if (tenthsOf(Number(now), Number(before)) === null) return null
  return change === null ? (
    <dd class="compared">{`O mesmo que ${than}`}</dd>
  ) : (
    <dd class="compared">
      <FigureChange change={change} />
      {` que ${than}`}
    </dd>
  )
}

const NO_SALES = 'Nenhuma venda no período.'

const BAR_HEADS = { hora: 'Hora', dia: 'Dia', mês: 'Mês' } as const

type DrawnBar = SalesBar & StartPeriod['bars'][number] & { readonly before: bigint }

/** Hours without sales before the first and after the last are left out. */
function inOpenHours(bars: readonly DrawnBar[], { bar }: StartPeriod): readonly DrawnBar[] {
  if (bar !== 'hora') return bars
  const isOpen = ({ cents, count, before }: DrawnBar) => cents > 0 || count > 0 || before > 0
  return bars.slice(bars.findIndex(isOpen), bars.findLastIndex(isOpen) + 1)
}

const Chart = ({ period, sums: { bars, bars_before } }: SalesProps) => {
  const all = bars.map<DrawnBar>((bar, at) => ({
    ...bar,
    ...(period.bars[at] as StartPeriod['bars'][number]),
    before: bars_before[at] ?? 0n,
  }))
  const shown = inOpenHours(all, period)
  const best = shown.reduce<DrawnBar | null>((top, one) => (top && top.cents >= one.cents ? top : one), null)
  if (!best || shown.every(({ count }) => count === 0)) return <p class="empty">{NO_SALES}</p>
  const drawn = shown.map<ChartBar>((bar) => ({
    label: bar.label,
    value: Number(bar.cents),
    before: Number(bar.before),
    title: `${bar.label}: ${formatCents(bar.cents)}, ${countOf(bar.count)}; antes ${formatCents(bar.before)}`,
    ...(bar.count > 0 && { to: link('/vendas', listOf(bar)) }),
  }))
  const summary = `Vendas ${period.words} por ${period.bar}. A maior barra é ${best.label}, com ${formatCents(best.cents)}.`
  const sold = shown.filter(({ count, before }) => count > 0 || before > 0).reverse()
  return (
    <ChartFigure
      caption={`Vendas por ${period.bar}`}
      heads={[BAR_HEADS[period.bar], 'Vendas', 'Total', 'Antes']}
      rows={sold.map((one) => [
        <a key={one.label} href={link('/vendas', listOf(one))}>
          {one.label}
        </a>,
        one.count,
        formatCents(one.cents),
        formatCents(one.before),
      ])}
    >
      <Bars bars={drawn} summary={summary} axis={shortReais} />
      {drawn.some(({ before }) => before > 0) && (
        <p class="hint legend">{`Linha: ${period.compared.replace(/^(no|na|nos|nas|em) /, '')}`}</p>
      )}
    </ChartFigure>
  )
}

/** Short axis label: `R$ 1,5 mil`. */
function shortReais(cents: number): string {
  const amount = cents / 100
  const [unit, words] = amount >= 1_000_000 ? [1_000_000, ' mi'] : amount >= 1_000 ? [1_000, ' mil'] : [1, '']
  return `R$\u00A0${formatFraction(amount / unit, 2).replace(/,?0+$/, '')}${words}`
}

/** Items sold, and ways of paying. */
export const SalesParts = ({ period, sums }: SalesProps) => (
  <>
    <Card title="Produtos que mais venderam">
      <FigureTable
        caption="Produtos que mais venderam"
        head="Produto"
        rows={sums.items}
        empty="Nenhum produto do catálogo vendido no período."
        name={({ key, name }) => name ?? `Produto ${key}`}
        list={({ key }) => listOf(period, { item: key })}
        of={({ key }) => `item/${key}`}
        count={[
          'Quantidade',
          (item) => (
            <FigureUnits of={`item/${item.key}`} quantity={fromBigThousandths(item.quantity)} unit={item.unit} />
          ),
        ]}
      />
    </Card>
    <Card title="Formas de pagamento">
      <ReconciliationTable
        caption="Formas de pagamento"
        of="total"
        sales={sums}
        empty={NO_SALES}
        linked={({ key }, name) => (key === '' ? name : <a href={link('/vendas', wayList(period, key))}>{name}</a>)}
      />
    </Card>
  </>
)

interface PartsProps extends SalesProps {
  /** Names of sellers by key. */
  readonly sellers: (key: string) => string
}

/** Folded, as most shops have one of each. */
export const ChannelsAndSellers = ({ period, sums, sellers }: PartsProps) => (
  <FoldedCard title="Por canal e por vendedor">
    <FigureTable
      caption="Vendas por canal"
      head="Canal"
      rows={sums.origins}
      name={({ key }) => CHANNELS[key as Channel] ?? key}
      list={({ key }) => listOf(period, { origin: key })}
      of={({ key }) => `canal/${key}`}
      count={['Vendas', soldCount('canal')]}
    />
    <FigureTable
      caption="Vendas por vendedor"
      head="Vendedor"
      rows={sums.sellers}
      name={({ key }) => sellers(key)}
      list={({ key }) => listOf(period, { seller: key })}
      of={({ key }) => `vendedor/${key}`}
      count={['Vendas', soldCount('vendedor')]}
    />
  </FoldedCard>
)

/** Completed sales of a row. */
const soldCount = (kind: string) =>
  function SoldCount({ key, count }: NamedFigure) {
    return (
      <Figure name="concluidas" of={`${kind}/${key}`}>
        {formatCount(count)}
      </Figure>
    )
  }

interface FiguresProps<F extends NamedFigure> {
  readonly caption: string
  readonly head: string
  readonly rows: readonly F[]
  readonly empty?: string
  readonly name: (row: F) => string
  /** Filters of the sales in a row. */
  readonly list: (row: F) => ReturnType<typeof listOf>
  /** Scope of its figures. */
  readonly of: (row: F) => string
  readonly count: readonly [head: string, cell: (row: F) => ComponentChildren]
}

function FigureTable<F extends NamedFigure>(props: FiguresProps<F>) {
  const { caption, head, rows, empty = NO_SALES, name, list, of, count } = props
  const columns = [
    { head, cell: (row: F) => <a href={link('/vendas', list(row))}>{name(row)}</a> },
    { head: count[0], cell: count[1], isNumber: true },
    {
      head: 'Total',
      cell: (row: F) => (
        <Figure name="liquido" of={of(row)}>
          {formatCents(row.cents)}
        </Figure>
      ),
      isNumber: true,
    },
  ] as const
  return <ListTable caption={caption} rows={rows} empty={empty} columns={columns} />
}
