import { findTableCheck } from '#audit/table-checks.ts'
import { toCents } from '#domain/money.ts'
import { RIGHTS } from '#domain/roles.ts'
import { type LowStock, lowStock } from '#queries/catalog/items.ts'
import { type RecentEvents, recentEvents } from '#queries/events.ts'
import { type OpenSide, openAccounts } from '#queries/finance/summary.ts'
import { countAlarms } from '#queries/orders.ts'
import { countRefusedSales } from '#queries/sales/offline-sales.ts'
import { type DayOfSales, type SalesToday, salesByDay, salesToday } from '#queries/sales/totals.ts'
import { dateTime, dateTimeSeconds, day, money, quantity } from '../format.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { namesOfActors, namesOfSubjects } from '../ui/history.tsx'
import { Table } from '../ui/list.tsx'
import { Live } from '../ui/live.tsx'
import { Badge, Card } from '../ui/parts.tsx'
import { eventName, ORIGINS, subjectPath } from '../words/events.ts'

const DAYS = 30
const EVENTS = 10
const SHORT_ITEMS = 10

/** The parts of the page that follow the ledger, by id; the first one's is in the address of whoever fetches them alone. */
const [FIGURES, LAST] = ['agora', 'acontecimentos']

/**
 * How the shop stands. Where scripts run, both parts are fetched anew when the company's ledger moves; stock and the chart, which
 * cost more and change less, are as of the page.
 */
async function showStart(visit: Visit): Promise<Page> {
  const { readModel, context, query } = visit
  const { pool, companyId } = readModel
  const isPart = query.parte === FIGURES
  const [recent, today, accounts, refused, alarmed, check, days, stock] = await Promise.all([
    recentEvents(context, companyId, EVENTS),
    salesToday(pool, companyId, readModel),
    openAccounts(pool, companyId, readModel),
    // Somebody sees to them without a word in the ledger.
    countRefusedSales(context.poolOf(companyId), companyId),
    countAlarms(pool, companyId),
    RIGHTS[visit.session.role].seesAll ? findTableCheck(context.pool, companyId) : null,
    isPart ? null : salesByDay(pool, companyId, readModel, DAYS),
    isPart ? null : lowStock(pool, companyId, SHORT_ITEMS),
  ])
  const actors = await namesOfActors(readModel, recent.events)
  const names = await namesOfSubjects(readModel, recent.events)
  const body = (
    <Live visit={visit} since={recent.revision}>
      <div
        id={FIGURES}
        hx-get={link('/', { parte: FIGURES })}
        hx-trigger="mudou from:body throttle:1s"
        hx-select={`#${FIGURES}`}
        hx-select-oob={`#${LAST}`}
        hx-target={`#${FIGURES}`}
        hx-swap="outerHTML"
      >
        <p class="hint">Atualizado em {dateTimeSeconds(visit.session.now, readModel.timezone)}.</p>
        <Attention refused={refused} alarmed={alarmed} differing={check?.differences.length ?? 0} />
        <div class="cards">
          <SalesFigures today={today} />
          <AccountFigures title="A receber" path="/contas-a-receber" side={accounts.receivables} />
          <AccountFigures title="A pagar" path="/contas-a-pagar" side={accounts.payables} />
        </div>
      </div>
      {days && (
        <Card title={`Vendas dos últimos ${DAYS} dias`}>
          <SalesChart days={days} />
        </Card>
      )}
      <div id={LAST}>
        <LastEvents recent={recent} visit={visit} actors={actors} names={names} />
      </div>
      {stock && <Stock stock={stock} />}
    </Live>
  )
  return { title: 'Início', body }
}

interface AttentionProps {
  /** Uploaded sales that were refused and wait for somebody. */
  readonly refused: number
  /** Orders that were paid when they should not have been, and that nobody has seen to. */
  readonly alarmed: number
  /** Rows that are not what the ledger says; owners only are told. */
  readonly differing: number
}

const Attention = ({ refused, alarmed, differing }: AttentionProps) => (
  <>
    {refused > 0 && (
      <p class="problem" role="note">
        <a href={link('/caixas')}>{`Vendas dos caixas recusadas, à espera de alguém: ${refused}`}</a>
      </p>
    )}
    {alarmed > 0 && (
      <p class="problem" role="note">
        <a href={link('/loja', { alarm: 'open' })}>{`Pedidos da loja online com alarme: ${alarmed}`}</a>
      </p>
    )}
    {differing > 0 && (
      <p class="problem" role="note">
        <a href={link('/auditoria')}>{`Registros que não conferem com o livro: ${differing}`}</a>
      </p>
    )}
  </>
)

const SalesFigures = ({ today }: { readonly today: SalesToday }) => (
  <Card title="Vendas de hoje">
    <p class="figure">{money(today.gross)}</p>
    <p>
      <a href={link('/vendas')}>{today.count === 1 ? '1 venda' : `${today.count} vendas`}</a>
      {today.average !== null && <>, em média {money(today.average)}</>}
    </p>
    {today.cancelled.count > 0 && (
      <p class="hint">
        Canceladas: {today.cancelled.count} ({money(today.cancelled.amount)})
      </p>
    )}
  </Card>
)

interface AccountFiguresProps {
  readonly title: string
  readonly path: string
  readonly side: OpenSide
}

const AccountFigures = ({ title, path, side: { pending, overdue } }: AccountFiguresProps) => (
  <Card title={title}>
    <p class="figure">{money(pending.amount)}</p>
    <p>
      <a href={link(path)}>{pending.count === 1 ? '1 conta em aberto' : `${pending.count} contas em aberto`}</a>
    </p>
    {overdue.count > 0 && (
      <p>
        <Badge tone="bad">{`Vencidas: ${overdue.count}`}</Badge> {money(overdue.amount)}
      </p>
    )}
  </Card>
)

const Stock = ({ stock: { out, low, items } }: { readonly stock: LowStock }) => (
  <Card title="Estoque">
    {items.length > 0 && (
      <p>
        {out > 0 && <Badge tone="bad">{`Sem estoque: ${out}`}</Badge>}{' '}
        {low > 0 && <Badge tone="warn">{`Acabando: ${low}`}</Badge>}
      </p>
    )}
    <Table
      caption="Produtos em falta ou acabando"
      rows={items}
      empty="Nenhum produto em falta."
      columns={[
        { head: 'Produto', cell: ({ id, name }) => <a href={link(`/catalogo/${id}`)}>{name}</a> },
        { head: 'Restam', cell: ({ stock, unit }) => `${quantity(stock)}${unit ? ` ${unit}` : ''}`, isNumber: true },
      ]}
    />
  </Card>
)

interface LastEventsProps {
  readonly recent: RecentEvents
  readonly visit: Visit
  readonly actors: (actor: string | null) => string
  readonly names: (subject: string) => string
}

const LastEvents = ({ recent, visit, actors, names }: LastEventsProps) => (
  <Card title="Últimos acontecimentos">
    <Table
      caption="Últimos acontecimentos"
      rows={recent.events}
      empty="Nada aconteceu ainda."
      columns={[
        { head: 'Quando', cell: ({ recorded_at }) => dateTime(recorded_at, visit.readModel.timezone) },
        { head: 'O quê', cell: ({ type }) => eventName(type) },
        {
          head: 'Registro',
          cell: ({ subject }) => <RecordLink subject={subject} name={names(subject)} visit={visit} />,
        },
        { head: 'Por onde', cell: ({ origin }) => ORIGINS[origin], isExtra: true },
        { head: 'Quem', cell: ({ actor }) => actors(actor), isExtra: true },
      ]}
    />
  </Card>
)

/** Pages of the audit are for owners: others get no link to a page that they may not open. */
const RecordLink = ({
  subject,
  name,
  visit,
}: {
  readonly subject: string
  readonly name: string
  readonly visit: Visit
}) => {
  const path = subjectPath(subject)
  const isOpen = visit.reaches('GET', path)
  return isOpen ? <a href={link(path)}>{name}</a> : <span>{name}</span>
}

export const startPage: PanelRoute = { path: '/', section: 'start', fromStandby: true, show: showStart }

const WIDTH = 720
const HEIGHT = 180
/** Room for the days below the bars, and for the highest amount above them. */
const [FOOT, HEAD] = [20, 20]
const GAP = 4
/** Days from one date below the bars to the next. */
const LABELLED = 5

/** Bars of sales by day; the same figures stand below it as a table, for whoever does not see it. */
const SalesChart = ({ days }: { readonly days: readonly DayOfSales[] }) => {
  const highest = days.reduce<DayOfSales | null>((best, one) => (best && cents(best) >= cents(one) ? best : one), null)
  if (!highest || cents(highest) === 0) return <p class="empty">Nada foi vendido nos últimos {days.length} dias.</p>
  const step = WIDTH / days.length
  const summary = `Vendas por dia, de ${day(days[0]?.day ?? '')} a ${day(days.at(-1)?.day ?? '')}. O maior dia foi ${day(highest.day)}, com ${money(highest.gross)}.`
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={summary}>
        <text x="0" y="12">
          {money(highest.gross)}
        </text>
        <line x1="0" x2={WIDTH} y1={HEIGHT - FOOT} y2={HEIGHT - FOOT} />
        {days.map((one, at) => {
          const height = barHeight(one, highest)
          return (
            <g key={one.day}>
              <rect x={at * step + GAP / 2} y={HEIGHT - FOOT - height} width={step - GAP} height={height}>
                <title>{`${day(one.day)}: ${money(one.gross)}, ${countOf(one)}`}</title>
              </rect>
              {(days.length - 1 - at) % LABELLED === 0 && (
                <text x={(at + 1) * step - GAP / 2} y={HEIGHT - 4} text-anchor="end">
                  {day(one.day).slice(0, 5)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <details>
        <summary>Ver em números</summary>
        <Table
          caption="Vendas por dia"
          rows={[...days].reverse()}
          empty=""
          columns={[
            { head: 'Dia', cell: (one) => day(one.day) },
            { head: 'Vendas', cell: (one) => one.count, isNumber: true },
            { head: 'Total', cell: (one) => money(one.gross), isNumber: true },
          ]}
        />
      </details>
    </figure>
  )
}

const cents = ({ gross }: DayOfSales): number => toCents(gross)

const countOf = ({ count }: DayOfSales): string => (count === 1 ? '1 venda' : `${count} vendas`)

/** In units of the drawing; a day with sales is never invisible. */
function barHeight(one: DayOfSales, highest: DayOfSales): number {
  const room = HEIGHT - FOOT - HEAD
  return cents(one) === 0 ? 0 : Math.max(2, Math.round((cents(one) * room) / cents(highest)))
}
