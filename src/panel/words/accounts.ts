import type { ACCOUNT_ORIGINS } from '#events/accounts.ts'
import type { Tone } from '../ui/parts.tsx'
import { ORIGINS } from './events.ts'

/** Where an account comes from. */
export const ACCOUNT_ORIGIN_NAMES: Readonly<Record<(typeof ACCOUNT_ORIGINS)[number], string>> = {
  ...ORIGINS,
  sale: 'Venda a prazo',
}

/** How things stand with an account; that its day has passed is no stored status. */
export function accountStatus({
  status,
  is_overdue,
}: {
  readonly status: 'pending' | 'settled'
  readonly is_overdue: boolean
}): readonly [name: string, tone: Tone] {
  if (status === 'settled') return ['Liquidada', 'good']
  return is_overdue ? ['Vencida', 'bad'] : ['Pendente', 'plain']
}
