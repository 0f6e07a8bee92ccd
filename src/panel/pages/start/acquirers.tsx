import { formatCents } from '#domain/brazilian-format.ts'
import { type CommissionSums, sumCommission } from '#queries/orders.ts'
import {
  type AcquirerFees,
  type AcquirerPayments,
  acquirerCalendar,
  sumAcquirerFees,
} from '#queries/sales/acquirers.ts'
import type { SalesSums } from '#queries/sales/rollups.ts'
import { link } from '../../link.ts'
import type { PageContext } from '../../route.ts'
import { Card, Facts } from '../../ui/parts.tsx'
import { ACQUIRERS_PATH, addPayments, comingDays, FeeFigure, NetFigure } from '../finance/acquirers.tsx'
import type { StartPeriod } from './period.ts'
import { lessReturned, sumBars } from './sales.tsx'

/** What acquirers and the online stores' service keep of a period, and what acquirers pay from today on. */
interface Kept {
  readonly fees: AcquirerFees
  readonly commission: CommissionSums
  readonly coming: readonly AcquirerPayments[]
}

export async function keptOf({ primary, readModel }: PageContext, { bounds }: StartPeriod): Promise<Kept> {
  const { reader, today } = readModel
  const days = { from: bounds[0] as string, to: bounds.at(-1) as string }
  // Costs are hidden in the read model of some roles; of them only a sum is shown.
  const [fees, commission, coming] = await Promise.all([
    sumAcquirerFees(primary, days),
    sumCommission(primary, days),
    acquirerCalendar(reader, comingDays(today)),
  ])
  return { fees, commission, coming }
}

interface AcquirersProps {
  readonly period: StartPeriod
  readonly sums: Pick<SalesSums, 'bars' | 'returned_costs'>
  readonly kept: Kept
  readonly seesCosts: boolean
}

/** Takings and margin after returns and the acquirers' rates; nothing without an acquirer. */
export const AfterAcquirers = ({ period, sums, kept, seesCosts }: AcquirersProps) => {
  const { fees, commission, coming } = kept
  if (fees.count === 0 && coming.length === 0 && commission.cents === 0n) return null
  const sold = sumBars(sums.bars)
  const left = lessReturned(sold, sums.returned_costs)
  const margin = left.known_cents - left.cost_cents - fees.known_fee_cents - commission.known_cents
  const returned = sums.returned_costs.cents
  return (
    <Card title="Depois das operadoras">
      <Facts
        facts={[
          [`Vendas ${period.words}`, formatCents(sold.cents)],
          ['Devolvido', returned !== 0n && formatCents(returned)],
          ['Taxas das operadoras', <FeeFigure key="fees" of="total" cents={fees.fee_cents} />],
          ['Comissão da loja online', commission.cents !== 0n && formatCents(commission.cents)],
          ['Líquido depois das taxas', formatCents(left.cents - fees.fee_cents - commission.cents)],
          ['Margem depois das taxas', seesCosts && left.known_cents > 0 && formatCents(margin)],
          [
            'A receber das operadoras',
            <a key="coming" href={link(ACQUIRERS_PATH)}>
              <NetFigure cents={addPayments(coming).net} /> em 31 dias
            </a>,
          ],
        ]}
      />
    </Card>
  )
}
