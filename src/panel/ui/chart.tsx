import type { ComponentChildren } from 'preact'
import { ListTable } from './list.tsx'

export interface ChartBar {
  /** Below the bar, where there is room for it. */
  readonly label: string
  /** In whole units, as cents; below zero for none. */
  readonly value: number
  /** What the bar is and what it comes to, for whoever points at it. */
  readonly title: string
}

interface BarsProps {
  readonly bars: readonly ChartBar[]
  /** What the chart says, for whoever does not see it. */
  readonly summary: string
  /** A value as the axis has it, as short as it can be. */
  readonly axis: (value: number) => string
}

/** Labels that fit below each other on 360 px. */
const LABELS = 6
const [WIDTH, HEIGHT] = [100, 100]
/** Of the step from one bar to the next. */
const GAP = 0.2

/**
 * Bars over an axis. They are drawn without an aspect of their own, and fill what room there is; words are text beside the
 * drawing, so that they have the size of all other text at any width.
 */
export const Bars = ({ bars, summary, axis }: BarsProps) => {
  const top = niceTop(bars.reduce((highest, { value }) => Math.max(highest, value), 0))
  const step = WIDTH / Math.max(1, bars.length)
  const every = Math.ceil(bars.length / LABELS)
  return (
    <div class="bars">
      <div class="scale" aria-hidden="true">
        <span>{axis(top)}</span>
        <span>{axis(top / 2)}</span>
        <span>{axis(0)}</span>
      </div>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line key={y} x1="0" x2={WIDTH} y1={y} y2={y} />
        ))}
        {bars.map(({ value, title }, at) => {
          const height = heightOf(value, top)
          return (
            <rect
              key={at}
              x={round((at + GAP / 2) * step)}
              y={HEIGHT - height}
              width={round(step * (1 - GAP))}
              height={height}
            >
              <title>{title}</title>
            </rect>
          )
        })}
      </svg>
      <div class="labels" aria-hidden="true">
        {bars.map(({ label }, at) => (
          <span key={at}>{(bars.length - 1 - at) % every === 0 ? label : ''}</span>
        ))}
      </div>
    </div>
  )
}

/** The next of 1, 2, 4, 6, 8 times a power of ten: half of it is a round number too. */
export function niceTop(highest: number): number {
  if (highest <= 0) return 2
  const power = 10 ** Math.floor(Math.log10(highest))
  const factor = [1, 2, 4, 6, 8, 10].find((each) => each * power >= highest) ?? 10
  return Math.max(2, factor * power)
}

/** A value above nothing is never invisible. */
const heightOf = (value: number, top: number): number => (value <= 0 ? 0 : Math.max(1, round((value * HEIGHT) / top)))

const round = (value: number): number => Math.round(value * 100) / 100

interface FigureProps {
  readonly children: ComponentChildren
  readonly caption: string
  readonly heads: readonly [string, ...string[]]
  readonly rows: readonly (readonly ComponentChildren[])[]
}

/** A chart with the same figures as a table below it, for whoever does not see it. */
export const ChartFigure = ({ children, caption, heads, rows }: FigureProps) => (
  <figure class="chart">
    {children}
    <details>
      <summary>Ver em números</summary>
      <ListTable
        caption={caption}
        rows={rows}
        empty=""
        columns={heads.map((head, at) => ({
          head,
          cell: (row: readonly ComponentChildren[]) => row[at],
          ...(at > 0 && { isNumber: true as const }),
        }))}
      />
    </details>
  </figure>
)
