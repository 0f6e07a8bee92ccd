import { addDays, CalendarDate, holidayOn, workingDayFrom } from '#domain/instant.ts'
import { formatCents, formatCount, formatDay } from '#domain/person-values.ts'
import {
  type AcquiredSums,
  type AcquirerFees,
  type AcquirerPayments,
  acquirerCalendar,
  sumAcquirerFees,
} from '#queries/finance-summary.ts'
import { type CommissionSums, sumCommission } from '#queries/order-queries.ts'
import type { SalesSums } from '#queries/sales-sums.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageRoute, PanelPage } from '../panel-route.ts'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, Facts, Figure, Nothing, Stat, Stats } from '../ui/page-parts.tsx'
import type { StartPeriod } from './start-period.ts'
import { lessReturned, sumBars } from './start-sales.tsx'

export const ACQUIRERS_PATH = '/contas-a-receber/operadoras'

/** Days shown unless others are asked for, and bound of a period. */
const [DAYS, MAX_DAYS] = [31, 366]

/** Sum of the payments, in cents. */
export function addPayments(payments: readonly AcquiredSums[]) {
  const sum = (cents: (each: AcquiredSums) => bigint) => payments.reduce((total, each) => total + cents(each), 0n)
  const [gross, fee] = [sum((each) => each.gross_cents), sum((each) => each.fee_cents)]
  return { gross, fee, net: gross - fee }
}

/** What acquirers keep (FIG-910). */
export const FeeFigure = ({ of, cents }: { readonly of: string; readonly cents: bigint }) => (
  <Figure name="taxas" of={of}>
    {formatCents(cents)}
  </Figure>
)

/** What acquirers pay. */
const NetFigure = ({ of = 'operadoras', cents }: { readonly of?: string; readonly cents: bigint }) => (
  <Figure name="a-receber" of={of}>
    {formatCents(cents)}
  </Figure>
)

/** Columns of money through acquirers. */
export const ACQUIRED_COLUMNS: readonly Column<AcquiredSums>[] = [
  { head: 'Valor', cell: ({ gross_cents }) => formatCents(gross_cents), isNumber: true },
  { head: 'Taxa', cell: ({ fee_cents }) => formatCents(fee_cents), isNumber: true },
  { head: 'A receber', cell: ({ gross_cents, fee_cents }) => formatCents(gross_cents - fee_cents), isNumber: true },
]

const CALENDAR_COLUMNS: readonly Column<AcquirerPayments>[] = [
  { head: 'Dia', cell: ({ day }) => <DayPaid day={day} /> },
  { head: 'Forma', cell: ({ name }) => name },
  { head: 'Pagamentos', cell: ({ count }) => formatCount(count), isNumber: true, isExtra: true },
  ...ACQUIRED_COLUMNS,
]

/** From today on, as the page shows them. */
const comingDays = (today: string) => ({ from: today, to: addDays(today, DAYS - 1) })

/** The days of `?de=` and `?ate=`, by default from today on. */
function periodOf({ query, readModel: { today } }: PageContext) {
  const from = CalendarDate.safeParse(query.de).data ?? today
  const asked = CalendarDate.safeParse(query.ate).data
  const to = asked !== undefined && asked >= from ? asked : comingDays(from).to
  const last = addDays(from, MAX_DAYS - 1)
  return { from, to: [to, last].sort()[0] as string }
}

/** What the acquirers pay on each day. */
async function show(visit: PageContext): Promise<PanelPage> {
  const { reader, today } = visit.readModel
  const { from, to } = periodOf(visit)
  const week = { from: today, to: addDays(today, 6) }
  const [payments, coming] = await Promise.all([acquirerCalendar(reader, { from, to }), acquirerCalendar(reader, week)])
  const within = (last: string) => addPayments(coming.filter(({ day }) => day <= last))
  const all = addPayments(payments)
  const body = (
    <>
      <Stats>
        <Stat label="Hoje" value={<NetFigure of="operadoras/hoje" cents={within(today).net} />} />
        <Stat label="Em 7 dias" value={formatCents(within(week.to).net)} />
        <Stat
          label={`De ${formatDay(from)} a ${formatDay(to)}`}
          value={<NetFigure cents={all.net} />}
          hint={
            <>
              {`${formatCents(all.gross)} menos `}
              <FeeFigure of="operadoras" cents={all.fee} />
              {' de taxas'}
            </>
          }
        />
      </Stats>
      <PeriodForm from={from} to={to} />
      {payments.length === 0 ? (
        <Nothing title="Nada a receber das operadoras nestes dias">
          Diga em cada forma de pagamento a taxa da operadora e em quantos dias ela paga: as vendas seguintes aparecem
          aqui.
        </Nothing>
      ) : (
        <ListTable isList caption="A receber das operadoras" rows={payments} columns={CALENDAR_COLUMNS} empty="" />
      )}
      <p class="hint">
        Calculado com a taxa e o prazo que a forma de pagamento tinha no dia da venda, parcela por parcela, em dias
        úteis. O que voltou ao cartão está descontado; o que voltou em dinheiro não muda o que a operadora paga.
      </p>
    </>
  )
  return { title: 'A receber das operadoras', parent: { label: 'Contas', to: '/contas-a-receber' }, body }
}

/** Holidays right before the day, because of which the acquirer pays on it and not earlier. */
function holidayBefore(day: string): string | null {
  for (let n = 1; n <= MOST_DAYS_OFF; n++) {
    const before = addDays(day, -n)
    const name = holidayOn(before)
    if (name !== null) return name
    if (workingDayFrom(before) === before) return null
  }
  return null
}

/** A weekend, and two days of Carnival or a Friday. */
const MOST_DAYS_OFF = 5

const DayPaid = ({ day }: { readonly day: string }) => {
  const holiday = holidayBefore(day)
  return (
    <>
      {formatDay(day)}
      {holiday && <small>{` depois do feriado (${holiday})`}</small>}
    </>
  )
}

const PeriodForm = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <form method="get" action={link(ACQUIRERS_PATH)} class="toolbar">
    <label for="de">De</label>
    <input id="de" name="de" type="date" value={from} />
    <label for="ate">Até</label>
    <input id="ate" name="ate" type="date" value={to} />
    <button type="submit">Ver</button>
  </form>
)

export const acquirersPage: PageRoute = { path: ACQUIRERS_PATH, section: 'receivables', fromReplica: true, show }

/** What acquirers and the online stores' service keep of a period, and what acquirers pay from today on. */
interface Kept {
  readonly fees: AcquirerFees
  readonly commission: CommissionSums
  readonly coming: readonly AcquirerPayments[]
}

export async function loadKeptAmounts({ primary, readModel }: PageContext, { bounds }: StartPeriod): Promise<Kept> {
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
