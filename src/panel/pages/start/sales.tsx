import type { ComponentChildren } from 'preact'
import { formatCents, formatCount, formatFraction, formatMoney, formatUnits } from '#domain/brazilian-format.ts'
import { fromThousandths } from '#domain/quantity.ts'
import type { Channel } from '#ledger/envelope.ts'
import type { NamedFigure, SalesBar, SalesFigure, SalesSums } from '#queries/sales/rollups.ts'
import { link } from '../../link.ts'
import { Bars, type ChartBar, ChartFigure } from '../../ui/chart.tsx'
import { ListTable } from '../../ui/list.tsx'
import { Card, Stat, Stats } from '../../ui/parts.tsx'
import { counted, ReconciliationTable } from '../../ui/reconciliation.tsx'
import { CHANNELS } from '../../words/events.ts'
import type { StartPeriod } from './period.ts'

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

const added = (bars: readonly SalesBar[]): SalesBar => {
  const sum = (name: keyof SalesBar) => bars.reduce((total, bar) => total + bar[name], 0)
  const [count, cents, units] = [sum('count'), sum('cents'), sum('units')]
  return { count, cents, units, known_cents: sum('known_cents'), cost_cents: sum('cost_cents') }
}

const countOf = (count: number): string => (count === 1 ? '1 venda' : `${formatCount(count)} vendas`)
const percent = (part: number, whole: number): string => `${formatFraction((part / whole) * 100, 1)}%`
const averageOf = ({ cents, count }: SalesFigure): number => Math.round(cents / count)

interface SalesFiguresProps extends SalesProps {
  readonly seesCosts: boolean
  /** Whether the sales of the earlier period are known to the user. */
  readonly isCompared: boolean
}

/** Figures and chart of a period; both come from the same rows, so that they agree (PANEL-123). */
export const SalesFigures = ({ period, sums, seesCosts, isCompared }: SalesFiguresProps) => {
  const all = added(sums.bars)
  const { cancelled, returned, before } = sums
  return (
    <>
      <Stats>
        <Stat
          label={`Vendas ${period.words}`}
          value={formatCents(all.cents)}
          to="/vendas"
          parameters={listOf(period)}
          {...(isCompared && { comparison: compared(all.cents, before.cents, period.than) })}
          hint={countOf(all.count)}
        />
        <Stat
          label="Ticket médio"
          value={all.count === 0 ? '—' : formatCents(averageOf(all))}
          to="/vendas"
          parameters={listOf(period)}
          comparison={
            all.count > 0 && before.count > 0 ? compared(averageOf(all), averageOf(before), period.than) : null
          }
        />
        <Stat label="Itens" value={formatCount(all.units)} hint={perSale(all)} />
        {seesCosts && <Margin all={all} />}
        {cancelled.count > 0 && (
          <Stat
            label="Canceladas"
            value={formatMoney(cancelled.amount)}
            to="/vendas"
            parameters={listOf(period, { status: 'cancelled' })}
            hint={countOf(cancelled.count)}
          />
        )}
        {returned.amount !== '0.00' && (
          <Stat
            label="Devolvido"
            value={formatMoney(returned.amount)}
            hint={`${counted(returned.count, 'devolução', 'devoluções')}; líquido de ${formatMoney(sums.net)}`}
          />
        )}
      </Stats>
      <Card title={`Vendas ${period.words}, por ${period.bar}`}>
        <Chart period={period} bars={sums.bars} />
      </Card>
    </>
  )
}

const perSale = ({ units, count }: SalesBar): string | undefined =>
  count === 0 ? undefined : `${formatFraction(units / count, 1)} por venda`

/** Margin over the sales with known costs, and the covered amount. */
const Margin = ({ all }: { readonly all: SalesBar }) =>
  all.known_cents === 0 ? (
    <Stat
      label="Margem"
      value="—"
      hint={all.count === 0 ? undefined : 'Nenhuma venda com todos os custos conhecidos'}
    />
  ) : (
    <Stat
      label="Margem"
      value={formatCents(all.known_cents - all.cost_cents)}
      hint={`${percent(all.known_cents - all.cost_cents, all.known_cents)}, sobre ${
        all.known_cents === all.cents
          ? 'todas as vendas'
          : `${percent(all.known_cents, all.cents)} das vendas, de custos conhecidos`
      }`}
    />
  )

function compared(now: number, before: number, than: string): ['good' | 'bad' | 'plain', string] | null {
  if (before === 0) return now === 0 ? null : ['plain', `nada vendido ${than.replace(/^que /, '')}`]
  const change = Math.round(((now - before) / before) * 1000) / 10
  if (change === 0) return ['plain', `o mesmo ${than}`]
  return [change > 0 ? 'good' : 'bad', `${change > 0 ? '+' : '−'}${formatFraction(Math.abs(change), 1)}% ${than}`]
}

const Chart = ({ period, bars }: { readonly period: StartPeriod; readonly bars: readonly SalesBar[] }) => {
  const shown = bars.map((bar, at) => ({ ...bar, ...(period.bars[at] as StartPeriod['bars'][number]) }))
  const best = shown.reduce<(typeof shown)[number] | null>(
    (top, one) => (top && top.cents >= one.cents ? top : one),
    null,
  )
  if (!best || best.cents === 0) return <p class="empty">Nada foi vendido neste período.</p>
  const drawn = shown.map<ChartBar>(({ label, cents, count }) => ({
    label,
    value: cents,
    title: `${label}: ${formatCents(cents)}, ${countOf(count)}`,
  }))
  const summary = `Vendas ${period.words} por ${period.bar}. A maior barra é ${best.label}, com ${formatCents(best.cents)}.`
  const sold = shown.filter(({ count }) => count > 0).reverse()
  return (
    <ChartFigure
      caption={`Vendas por ${period.bar}`}
      heads={[period.bar === 'hora' ? 'Hora' : period.bar === 'dia' ? 'Dia' : 'Mês', 'Vendas', 'Total']}
      rows={sold.map((one) => [
        <a key={one.label} href={link('/vendas', listOf(one))}>
          {one.label}
        </a>,
        one.count,
        formatCents(one.cents),
      ])}
    >
      <Bars bars={drawn} summary={summary} axis={shortReais} />
    </ChartFigure>
  )
}

/** Short axis label: `R$ 1,5 mil`. */
function shortReais(cents: number): string {
  const amount = cents / 100
  const [unit, words] = amount >= 1_000_000 ? [1_000_000, ' mi'] : amount >= 1_000 ? [1_000, ' mil'] : [1, '']
  return `R$\u00A0${formatFraction(amount / unit, 2).replace(/,?0+$/, '')}${words}`
}

interface PartsProps extends SalesProps {
  /** Names of users and keys. */
  readonly actors: (actor: string | null) => string
}

/** Items sold, ways of paying, and channels. */
export const SalesParts = ({ period, sums, actors }: PartsProps) => (
  <div class="cards">
    <Figures
      title="Produtos que mais venderam"
      caption="Produtos que mais venderam"
      head="Produto"
      rows={sums.items}
      name={({ key, name }) => name ?? `Produto ${key}`}
      list={({ key }) => listOf(period, { item: key })}
      count={['Quantidade', (item) => formatUnits(fromThousandths(item.quantity), item.unit)]}
    />
    <Card title="Formas de pagamento">
      <ReconciliationTable
        caption="Formas de pagamento"
        sales={sums}
        empty="Nada foi vendido neste período."
        linked={({ key }, name) => (key === '' ? name : <a href={link('/vendas', wayList(period, key))}>{name}</a>)}
      />
    </Card>
    <Figures
      title="Por canal"
      caption="Vendas por canal"
      head="Canal"
      rows={sums.origins}
      name={({ key }) => CHANNELS[key as Channel] ?? key}
      list={({ key }) => listOf(period, { origin: key })}
      count={['Vendas', ({ count }) => count]}
    />
    <Figures
      title="Por vendedor(a)"
      caption="Vendas por vendedor(a)"
      head="Vendedor(a)"
      rows={sums.actors}
      name={({ key }) => actors(key === '' ? null : key)}
      list={({ key }) => listOf(period, { actor: key || 'system' })}
      count={['Vendas', ({ count }) => count]}
    />
  </div>
)

interface FiguresProps<F extends NamedFigure> {
  readonly title: string
  readonly caption: string
  readonly head: string
  readonly rows: readonly F[]
  readonly name: (row: F) => string
  /** Filters of the sales in a row. */
  readonly list: (row: F) => ReturnType<typeof listOf>
  readonly count: readonly [head: string, cell: (row: F) => ComponentChildren]
}

function Figures<F extends NamedFigure>({ title, caption, head, rows, name, list, count }: FiguresProps<F>) {
  const columns = [
    { head, cell: (row: F) => <a href={link('/vendas', list(row))}>{name(row)}</a> },
    { head: count[0], cell: count[1], isNumber: true },
    { head: 'Total', cell: ({ cents }: F) => formatCents(cents), isNumber: true },
  ] as const
  return (
    <Card title={title}>
      <ListTable caption={caption} rows={rows} empty="Nada foi vendido neste período." columns={columns} />
    </Card>
  )
}
