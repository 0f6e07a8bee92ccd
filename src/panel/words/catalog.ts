import { toThousandths } from '#domain/quantity.ts'
import type { ITEM_TYPES } from '#events/catalog.ts'
import { quantity } from '../format.ts'
import type { Tone } from '../ui/parts.tsx'

export const ITEM_TYPE_NAMES: Readonly<Record<(typeof ITEM_TYPES)[number], string>> = {
  product: 'Produto',
  service: 'Serviço',
}

/** What there is of an item, and how that is to be taken; null where it says nothing special. */
export function stockText(stock: string | null, unit: string | null): readonly [text: string, tone: Tone | null] {
  if (stock === null) return ['Sem controle', null]
  const amount = `${quantity(stock).replace('-', '−')}${unit ? ` ${unit}` : ''}`
  const thousandths = toThousandths(stock)
  if (thousandths > 0) return [amount, null]
  return thousandths === 0 ? ['Sem estoque', 'warn'] : [`Negativo: ${amount}`, 'bad']
}
