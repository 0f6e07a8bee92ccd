import { encodeBarcode } from '#domain/fiscal-values.ts'
import { formatMoney } from '#domain/person-values.ts'
import { priceByUnit } from '#domain/prices.ts'

/** Sizes of labels, and the gap to the next in a row, in mm; those of rolls have a page each. */
export const LABEL_FORMATS = {
  a4: { label: 'A4, 21 por folha (63,5 × 38,1 mm)', size: [63.5, 38.1], gap: 2.5 },
  r60: { label: 'Rolo, 60 × 40 mm', size: [60, 40], gap: 0 },
  r40: { label: 'Rolo, 40 × 25 mm', size: [40, 25], gap: 0 },
} as const

export type LabelFormat = keyof typeof LABEL_FORMATS

export interface LabelledItem {
  readonly name: string
  readonly unit: string | null
  readonly price: string
  readonly barcode: string | null
  readonly gtin: string | null
  /** A size or a colour in its name is no content. */
  readonly isVariant: boolean
}

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
}

/** Label of a shelf or of a product: name, price, price of a kilogram or litre, barcode. */
export const ShelfLabel = ({ item, format }: ShelfLabelProps) => {
  const { size, gap } = LABEL_FORMATS[format]
  const [width, height] = size
  const edge = width * 0.05
  const inner = width - 2 * edge
  const letters = height * 0.1
  const byUnit = item.isVariant ? null : priceByUnit(item.name, item.unit, item.price)
  const price = `${formatMoney(item.price)}${byUnit?.isOwn ? ` o ${byUnit.unit}` : ''}`
  const large = Math.min(height * 0.26, inner / (price.length * BOLD))
  const code = item.barcode ?? item.gtin
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
      {byUnit && !byUnit.isOwn && (
        <text x={edge} y={height * 0.62} font-size={letters * 0.8}>
          {`${formatMoney(byUnit.amount)} o ${byUnit.unit}`}
        </text>
      )}
      {code !== null && <Bars code={code} width={width} top={height * 0.66} height={height * 0.3} />}
    </svg>
  )
}
