import { formatCents, formatCount, formatDay } from '#domain/brazilian-format.ts'
import { addDays, CalendarDate } from '#domain/instant.ts'
import { holidayOn, workingDayFrom } from '#domain/working-days.ts'
import { type AcquiredSums, type AcquirerPayments, acquirerCalendar } from '#queries/sales/acquirers.ts'
import { link } from '../../link.ts'
import type { PageContext, PageRoute, PanelPage } from '../../route.ts'
import { Figure } from '../../ui/figure.tsx'
import { type Column, ListTable } from '../../ui/list-table.tsx'
import { Nothing, Stat, Stats } from '../../ui/parts.tsx'

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
export const NetFigure = ({ cents }: { readonly cents: bigint }) => (
  <Figure name="a-receber" of="operadoras">
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
export const comingDays = (today: string) => ({ from: today, to: addDays(today, DAYS - 1) })

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
        <Stat label="Hoje" value={formatCents(within(today).net)} />
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
