import { formatMoney, formatPercentage } from '#domain/brazilian-format.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { PanelBadge } from '../../ui/parts.tsx'
import type { Item } from './stock.tsx'

type Priced = Pick<Item, 'price' | 'cost'>

/** Price of an item; one that loses money is marked, its cost only for roles that see costs (PANEL-532). */
export const PriceInfo = ({
  item: { price, cost },
  seesCosts,
}: {
  readonly item: Priced
  readonly seesCosts: boolean
}) => {
  const problem = priceProblem(price, seesCosts ? cost : null)
  return problem === null ? (
    formatMoney(price)
  ) : (
    <PanelBadge tone="warn">{`${formatMoney(price)}: ${problem}`}</PanelBadge>
  )
}

function priceProblem(price: string, cost: string | null): string | null {
  if (toCents(price) === 0) return 'preço zerado'
  return cost !== null && toCents(price) < toCents(cost) ? 'abaixo do custo' : null
}

/** Part of the price that is not cost; null without a cost or a price. */
export function marginText({ price, cost }: Priced): string | null {
  const cents = toCents(price)
  if (cost === null || cents === 0) return null
  const margin = cents - toCents(cost)
  return `${formatMoney(fromCents(margin))} (${formatPercentage(fromCents(Math.round((margin * 10_000) / cents)))})`
}
