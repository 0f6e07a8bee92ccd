import type { ComponentChildren } from 'preact'
import { ListTable } from './list-table.tsx'

export interface ChartBar {
  /** Below the bar, if there is room. */
  readonly label: string
  /** In whole units, such as cents; negative values are drawn as zero. */
  readonly value: number
  /** The same of the period before, drawn as a line. */
  readonly before: number
  /** Tooltip: name and value of the bar. */
  readonly title: string
  /** Address of what the bar is about. */
  readonly to?: string
}

interface BarsProps {
  readonly bars: readonly ChartBar[]
  /** Text alternative of the chart. */
  readonly summary: string
  /** Shortest label of a value on the axis. */
  readonly axis: (value: number) => string
}

/** Labels that fit on 360 px. */
const LABELS = 6
const [WIDTH, HEIGHT] = [100, 100]
/** Share of the step between two bars. */
const GAP = 0.2

/**
 * Bar chart with the period before as a line. The drawing has no fixed aspect ratio and fills its box; labels are HTML
 * beside it, so that they keep the size of other text at any width.
 */
export const Bars = ({ bars, summary, axis }: BarsProps) => {
  const top = niceTop(bars.reduce((highest, { value, before }) => Math.max(highest, value, before), 0))
  const step = WIDTH / Math.max(1, bars.length)
  const every = Math.ceil(bars.length / LABELS)
  const points = bars.map(({ before }, at) => `${round((at + 0.5) * step)},${HEIGHT - heightOf(before, top)}`)
  return (
    <div class="bars">
      <div class="scale" aria-hidden="true">
        <span>{axis(top)}</span>
        <span>{axis(top / 2)}</span>
        <span>{axis(0)}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing has no fieldset */}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="group" aria-label={summary}>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line key={y} x1="0" x2={WIDTH} y1={y} y2={y} />
        ))}
        {bars.map((bar, at) => (
          <Bar key={at} bar={bar} x={round(at * step)} step={round(step)} height={heightOf(bar.value, top)} />
        ))}
        {bars.some(({ before }) => before > 0) && <polyline points={points.join(' ')} />}
      </svg>
      <div class="labels" aria-hidden="true">
        {bars.map(({ label }, at) => (
          <span key={at}>{(bars.length - 1 - at) % every === 0 ? label : ''}</span>
        ))}
      </div>
    </div>
  )
}

interface BarProps {
  readonly bar: ChartBar
  readonly x: number
  readonly step: number
  readonly height: number
}

/** All of its column can be touched. */
const Bar = ({ bar: { title, to }, x, step, height }: BarProps) => {
  const drawn = (
    <>
      <title>{title}</title>
      <rect class="column" x={x} y="0" width={step} height={HEIGHT} />
      <rect x={round(x + (GAP / 2) * step)} y={HEIGHT - height} width={round(step * (1 - GAP))} height={height} />
    </>
  )
  return to === undefined ? (
    <g>{drawn}</g>
  ) : (
    <a href={to} aria-label={title}>
      {drawn}
    </a>
  )
}

/** Rounds up to 1, 2, 4, 6 or 8 times a power of ten, because half of these is a round number too. */
export function niceTop(highest: number): number {
  if (highest <= 0) return 2
  const power = 10 ** Math.floor(Math.log10(highest))
  const factor = [1, 2, 4, 6, 8, 10].find((each) => each * power >= highest) ?? 10
  return Math.max(2, factor * power)
}

/** Positive values are always visible. */
const heightOf = (value: number, top: number): number => (value <= 0 ? 0 : Math.max(1, round((value * HEIGHT) / top)))

const round = (value: number): number => Math.round(value * 100) / 100

interface FigureProps {
  readonly children: ComponentChildren
  readonly caption: string
  readonly heads: readonly [string, ...string[]]
  readonly rows: readonly (readonly ComponentChildren[])[]
}

/** A chart and a table of the same figures, for screen readers. */
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
