import { formatMoney } from '#domain/brazilian-format.ts'
import { fromCents } from '#domain/money.ts'
import type { AcquirerFees, AcquirerPayments } from '#queries/sales/acquirers.ts'
import type { SalesSums } from '#queries/sales/rollups.ts'
import { link } from '../../link.ts'
import { Card, Facts } from '../../ui/parts.tsx'
import { ACQUIRERS_PATH, addPayments } from '../finance/acquirers.tsx'
import type { StartPeriod } from './period.ts'

interface AcquirersProps {
  readonly period: StartPeriod
  readonly sums: Pick<SalesSums, 'bars'>
  readonly fees: AcquirerFees
  /** What acquirers pay from today on. */
  readonly coming: readonly AcquirerPayments[]
  readonly seesCosts: boolean
}

const reais = (cents: number): string => formatMoney(fromCents(cents))

/** Takings and margin after the acquirers' rates (PANEL-381); nothing without an acquirer. */
export const AfterAcquirers = ({ period, sums, fees, coming, seesCosts }: AcquirersProps) => {
  if (fees.count === 0 && coming.length === 0) return null
  const sum = (name: 'cents' | 'known_cents' | 'cost_cents') => sums.bars.reduce((total, bar) => total + bar[name], 0)
  const known = sum('known_cents')
  const margin = known - sum('cost_cents') - fees.known_fee_cents
  return (
    <Card title="Depois das operadoras">
      <Facts
        facts={[
          [`Vendas ${period.words}`, reais(sum('cents'))],
          ['Taxas das operadoras', reais(fees.fee_cents)],
          ['Líquido depois das taxas', reais(sum('cents') - fees.fee_cents)],
          ...(seesCosts && known > 0 ? [['Margem depois das taxas', reais(margin)] as const] : []),
          [
            'A receber das operadoras',
            <a key="coming" href={link(ACQUIRERS_PATH)}>
              {`${reais(addPayments(coming).net)} em 31 dias`}
            </a>,
          ],
        ]}
      />
    </Card>
  )
}
