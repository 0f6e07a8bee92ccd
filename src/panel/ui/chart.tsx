import { toCents } from '#domain/money.ts'
import type { DayOfSales } from '#queries/sales/totals.ts'
import { day, money } from '../format.ts'
import { Table } from './table.tsx'

const WIDTH = 720
const HEIGHT = 180
/** Below the bars: the days. Above them: the highest amount. */
const [FOOT, HEAD] = [20, 20]
const GAP = 4
/** Every so many days have their date below. */
const LABELLED = 5

/** Bars of sales by day; the same figures stand below it as a table, for whoever does not see it. */
export const SalesChart = ({ days }: { readonly days: readonly DayOfSales[] }) => {
  const highest = days.reduce<DayOfSales | null>((best, one) => (best && cents(best) >= cents(one) ? best : one), null)
  if (!highest || cents(highest) === 0) return <p class="empty">Nada foi vendido nos últimos {days.length} dias.</p>
  const step = WIDTH / days.length
  const summary = `Vendas por dia, de ${day(days[0]?.day ?? '')} a ${day(days.at(-1)?.day ?? '')}. O maior dia foi ${day(highest.day)}, com ${money(highest.gross)}.`
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={summary}>
        <text x="0" y="12">
          {money(highest.gross)}
        </text>
        <line x1="0" x2={WIDTH} y1={HEIGHT - FOOT} y2={HEIGHT - FOOT} />
        {days.map((one, at) => {
          const height = barHeight(one, highest)
          return (
            <g key={one.day}>
              <rect x={at * step + GAP / 2} y={HEIGHT - FOOT - height} width={step - GAP} height={height}>
                <title>{`${day(one.day)}: ${money(one.gross)}, ${countOf(one)}`}</title>
              </rect>
              {(days.length - 1 - at) % LABELLED === 0 && (
                <text x={(at + 1) * step - GAP / 2} y={HEIGHT - 4} text-anchor="end">
                  {day(one.day).slice(0, 5)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <details>
        <summary>Ver em números</summary>
        <Table
          caption="Vendas por dia"
          rows={[...days].reverse()}
          empty=""
          columns={[
            { head: 'Dia', cell: (one) => day(one.day) },
            { head: 'Vendas', cell: (one) => one.count, isNumber: true },
            { head: 'Total', cell: (one) => money(one.gross), isNumber: true },
          ]}
        />
      </details>
    </figure>
  )
}

const cents = ({ gross }: DayOfSales): number => toCents(gross)

const countOf = ({ count }: DayOfSales): string => (count === 1 ? '1 venda' : `${count} vendas`)

/** In whole units of the drawing; what was sold is never invisible. */
function barHeight(one: DayOfSales, highest: DayOfSales): number {
  const room = HEIGHT - FOOT - HEAD
  return cents(one) === 0 ? 0 : Math.max(2, Math.round((cents(one) * room) / cents(highest)))
}
