import { addDays, CalendarDate, startOfDay } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { acquirerPaymentsOfTills } from '#queries/sales/acquirers.ts'
import { type TillDay, type TillsDay, tillsOfDay } from '#queries/sales/tills.ts'
import { formatDay as dayText, formatDateTime, formatDecimal, formatMoney } from '../../format.ts'
import { link } from '../../link.ts'
import type { PageContext, PageRoute, PanelPage } from '../../route.ts'
import { namesOfActors } from '../../ui/history.tsx'
import { ListTable } from '../../ui/list.tsx'
import { Card, Chips, Facts, Nothing } from '../../ui/parts.tsx'
import { ACQUIRER_COLUMNS, addPayments } from '../finance/acquirers.tsx'
import { salesOfTill, TooMany } from './tills-today.tsx'

export const CLOSING = '/caixas/fechamento'

/** The requested day, by default the company's day; never a future one. */
function dayAsked({ query, readModel: { today } }: PageContext): string {
  const asked = CalendarDate.safeParse(query.dia).data
  return asked !== undefined && asked <= today ? asked : today
}

/** Sales of each till on a day by payment type, and the expected cash; printable (PANEL-167). */
async function show(visit: PageContext): Promise<PanelPage> {
  const { readModel, session } = visit
  const { pool, companyId, timezone, today } = readModel
  const day = dayAsked(visit)
  const found = await tillsOfDay(pool, companyId, { day, timezone })
  const body = (
    <>
      <Days day={day} today={today} />
      {found.isPartial ? <TooMany /> : await Tills({ visit, day, found })}
      {await AcquirersOfDay({ visit, day })}
      <p class="hint">
        {`Impresso em ${formatDateTime(session.now, timezone)}. A gaveta deve ter o dinheiro das vendas, sem o troco e sem o das vendas canceladas neste dia, mais o que havia nela na abertura, que o sistema não conhece.`}
      </p>
    </>
  )
  return {
    title: `Fechamento de ${dayText(day)}`,
    parent: { label: 'Caixas', to: '/caixas' },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    body,
  }
}

const Days = ({ day, today }: { readonly day: string; readonly today: string }) => {
  const yesterday = addDays(today, -1)
  return (
    <>
      <Chips
        label="Dia"
        chips={[
          { label: 'Hoje', to: CLOSING, isCurrent: day === today },
          { label: 'Ontem', to: CLOSING, parameters: { dia: yesterday }, isCurrent: day === yesterday },
        ]}
      />
      <form method="get" action={link(CLOSING)} class="toolbar">
        <label for="dia">Outro dia</label>
        <input id="dia" name="dia" type="date" max={today} value={day} />
        <button type="submit">Ver</button>
      </form>
    </>
  )
}

/** What acquirers keep of the day's sales at tills, without cancelled ones (PANEL-382). */
async function AcquirersOfDay({ visit, day }: { readonly visit: PageContext; readonly day: string }) {
  const { pool, companyId, timezone } = visit.readModel
  const [from, to] = [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)]
  const payments = await acquirerPaymentsOfTills(pool, companyId, { day, from, to })
  if (payments.length === 0) return null
  const { gross, fee, net } = addPayments(payments)
  return (
    <Card title="Operadoras">
      <ListTable caption="Pagamentos por operadora" rows={payments} columns={ACQUIRER_COLUMNS} empty="" />
      <Facts
        facts={[
          ['Valor', formatMoney(fromCents(gross))],
          ['Taxas das operadoras', formatMoney(fromCents(fee))],
          ['Líquido depois das taxas', formatMoney(fromCents(net))],
        ]}
      />
    </Card>
  )
}

interface TillsProps {
  readonly visit: PageContext
  readonly day: string
  readonly found: TillsDay
}

async function Tills({ visit, day, found }: TillsProps) {
  const { tills, settled_in_cash } = found
  if (tills.length === 0 && settled_in_cash.count === 0)
    return <Nothing title="Nenhuma venda nos caixas neste dia">O que os caixas enviarem aparece aqui.</Nothing>
  const names = await namesOfActors(visit.readModel, tills)
  const cash = fromCents(tills.reduce((sum, till) => sum + toCents(till.cash), 0))
  return (
    <>
      {tills.map((till) => (
        <Till key={till.actor} till={till} day={day} name={names(till.actor)} />
      ))}
      <Card title="Todos os caixas">
        <Facts
          facts={[
            ['Dinheiro das vendas', formatMoney(cash)],
            [
              'Contas recebidas em dinheiro',
              `${formatMoney(settled_in_cash.amount)} (${formatDecimal(String(settled_in_cash.count))}; some na gaveta em que entraram)`,
            ],
          ]}
        />
      </Card>
    </>
  )
}

interface TillProps {
  readonly till: TillDay
  readonly day: string
  readonly name: string
}

const Till = ({ till, day, name }: TillProps) => (
  <Card title={name}>
    <ListTable
      caption={`Vendas de ${name} por forma de pagamento`}
      rows={till.ways}
      empty="Nenhuma venda neste dia."
      columns={[
        { head: 'Forma', cell: ({ name }) => name },
        { head: 'Vendas', cell: ({ count }) => formatDecimal(String(count)), isNumber: true },
        { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
      ]}
    />
    <Facts
      facts={[
        [
          'Vendas',
          <a key="sales" href={link('/vendas', salesOfTill(till.actor, day))}>
            {`${formatDecimal(String(till.sold.count))}, ${formatMoney(till.sold.amount)}`}
          </a>,
        ],
        ['Canceladas', `${formatDecimal(String(till.cancelled.count))}, ${formatMoney(till.cancelled.amount)}`],
        ['Entrou em dinheiro', formatMoney(till.cash_in)],
        ['Saiu por cancelamentos', formatMoney(till.cash_back)],
        ['Esperado na gaveta', <strong key="cash">{formatMoney(till.cash)}</strong>],
        ['Contado', <span key="counted" class="blank" />],
        ['Diferença', <span key="difference" class="blank" />],
      ]}
    />
  </Card>
)

export const tillsClosingPage: PageRoute = { path: CLOSING, section: 'tills', show }
