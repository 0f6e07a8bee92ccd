import { formatCents } from '#domain/brazilian-format.ts'
import type { AcquirerFees, AcquirerPayments } from '#queries/sales/acquirers.ts'
import type { SalesSums } from '#queries/sales/rollups.ts'
import { link } from '../../link.ts'
import { Card, Facts } from '../../ui/parts.tsx'
import { ACQUIRERS_PATH, addPayments } from '../finance/acquirers.tsx'
import type { StartPeriod } from './period.ts'
import { lessReturned, sumBars } from './sales.tsx'

interface AcquirersProps {
  readonly period: StartPeriod
  readonly sums: Pick<SalesSums, 'bars' | 'returned_costs'>
  readonly fees: AcquirerFees
  /** What acquirers pay from today on. */
  readonly coming: readonly AcquirerPayments[]
  readonly seesCosts: boolean
}

/** Takings and margin after returns and the acquirers' rates (PANEL-381); nothing without an acquirer. */
export const AfterAcquirers = ({ period, sums, fees, coming, seesCosts }: AcquirersProps) => {
  if (fees.count === 0 && coming.length === 0) return null
  const sold = sumBars(sums.bars)
  const left = lessReturned(sold, sums.returned_costs)
  const margin = left.known_cents - left.cost_cents - fees.known_fee_cents
  const returned = sums.returned_costs.cents
  return (
    <Card title="Depois das operadoras">
      <Facts
        facts={[
          [`Vendas ${period.words}`, formatCents(sold.cents)],
          ['Devolvido', returned !== 0n && formatCents(returned)],
          ['Taxas das operadoras', formatCents(fees.fee_cents)],
          ['Líquido depois das taxas', formatCents(left.cents - fees.fee_cents)],
          ['Margem depois das taxas', seesCosts && left.known_cents > 0 && formatCents(margin)],
          [
            'A receber das operadoras',
            <a key="coming" href={link(ACQUIRERS_PATH)}>
              {`${formatCents(addPayments(coming).net)} em 31 dias`}
            </a>,
          ],
        ]}
      />
    </Card>
  )
}
