import type { ComponentChildren } from 'preact'
import { formatQuantity } from '#domain/brazilian-format.ts'

interface FigureProps {
  /** Name of the figure; the same wherever it stands (docs/requirements/figures.md). */
  readonly name: string
  /** What it is of, as `caixa/user/3`; absent where a page has the name once. */
  readonly of?: string | undefined
  /** The number alone, as the page shows it. */
  readonly children: ComponentChildren
}

/** A number that stands in more than one place: tests compare all of them by its mark (FIG-800). */
export const Figure = ({ name, of, children }: FigureProps) => (
  <span data-figure={name} data-figure-of={of}>
    {children}
  </span>
)

interface UnitsProps {
  readonly of?: string | undefined
  readonly quantity: string
  readonly unit: string | null | undefined
}

/** A quantity with its unit, which is no part of the figure. */
export const FigureUnits = ({ of, quantity, unit }: UnitsProps) => (
  <>
    <Figure name="quantidade" of={of}>
      {formatQuantity(quantity)}
    </Figure>
    {unit && `\u00A0${unit}`}
  </>
)
