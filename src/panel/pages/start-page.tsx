import { addDays, startOfDay } from '#domain/instant.ts'
import {
  formatCount,
  formatDateTime,
  formatDateTimeSeconds,
  formatMoney,
  formatQuantity,
} from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { findTableCheck } from '#integrity/table-checks.ts'
import { CONFIGURATION } from '#payments/pay-order.ts'
import { type CashDifference, findCashDifferences } from '#queries/cash-queries.ts'
import { firstSteps, type UnpayableStore, unpayableStores } from '#queries/company-queries.ts'
import { readModelHead } from '#queries/event-queries.ts'
import { type OpenSide, openAccounts } from '#queries/finance-summary.ts'
import { type LowStock, lowStock } from '#queries/item-queries.ts'
import { countRefusedSales } from '#queries/offline-sale-queries.ts'
import { countPendingOrders, type PendingOrders } from '#queries/order-queries.ts'
import { salesSums } from '#queries/sales-sums.ts'
import type { CompanyTill } from '#queries/till-queries.ts'
import { type FailingEndpoint, failingEndpoints } from '#queries/webhook-queries.ts'
import { link } from '../page-context.ts'
import { Live } from '../panel-live.tsx'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { Card, Chips, Figure, PanelBadge, Stat, Stats } from '../ui/page-parts.tsx'
import { ListTable } from '../ui/panel-list.tsx'
import { AfterAcquirers, loadKeptAmounts } from './acquirer-pages.tsx'
import { gapTexts, tillsWithGaps } from './company-tills.tsx'
import { OpenFigure, OverdueFigure } from './debtor-pages.tsx'
import { FirstStepsCard } from './first-steps-pages.tsx'
import { TO_DELIVER } from './order-lists.tsx'
import { countRefusedMovements, countRefusedReturns } from './refused-upload-pages.tsx'
import { namesOfSellers } from './sale-parts.tsx'
import { PERIODS, parsePeriod, readSalesRollups, type StartPeriod, type WrongRange } from './start-period.ts'
import { SalesFigures, SalesParts } from './start-sales.tsx'

/** What tills sent and a person has to decide about. */
interface RefusedUploads {
  readonly refused: number
  readonly refusedReturns: number
  readonly refusedMovements: number
  /** With what has not come of them. */
  readonly gaps: readonly CompanyTill[]
}

interface TodoProps extends RefusedUploads, PendingOrders {
  readonly timezone: string
  /** Closed cash sessions with a difference beyond the tolerance. */
  readonly cash: readonly CashDifference[]
  /** Rows that differ from the ledger; only owners see these two. */
  readonly differing: number
  readonly failing: readonly FailingEndpoint[]
  readonly unpayable: readonly UnpayableStore[]
  readonly receivables: OpenSide
  /** Null for roles that do not see payables. */
  readonly payables: OpenSide | null
  readonly stock: LowStock
}

const UNPAYABLE: Readonly<Record<UnpayableStore['problem'], string>> = {
  no_token: 'não recebe pagamentos: falta o token de acesso do Mercado Pago',
  connection_refused: 'precisa conectar de novo: o Mercado Pago recusou renovar o acesso',
  misconfigured: 'não recebe pagamentos: o Mercado Pago recusa as credenciais ou a comissão',
}

interface Task {
  readonly to: string
  readonly tone: 'bad' | 'warn'
  /** Name of the count as a figure. */
  readonly figure?: string
  readonly count: number
  readonly words: string
}

const task = (count: number, [one, many]: readonly [one: string, many: string], rest: Omit<Task, 'count' | 'words'>) =>
  count > 0 ? [{ ...rest, count, words: count === 1 ? one : many }] : []

const overdue = ({ overdue: { count, amount } }: OpenSide, verb: 'pagar' | 'receber', to: string) => {
  const more = `a ${verb} · ${formatMoney(amount)}`
  return task(count, [`conta vencida ${more}`, `contas vencidas ${more}`], { to, tone: 'warn' })
}

const refusedTasks = ({ refused, refusedReturns, refusedMovements, gaps }: RefusedUploads): Task[] => [
  ...task(refused, ['venda recusada para resolver', 'vendas recusadas para resolver'], {
    to: '/caixas',
    tone: 'bad',
    figure: 'recusadas',
  }),
  ...task(refusedReturns, ['devolução recusada para resolver', 'devoluções recusadas para resolver'], {
    to: '/caixas',
    tone: 'bad',
    figure: 'devolucoes_recusadas',
  }),
  ...task(refusedMovements, ['movimento recusado para resolver', 'movimentos recusados para resolver'], {
    to: '/caixas',
    tone: 'bad',
    figure: 'movimentos_recusados',
  }),
  ...gaps.flatMap((till) =>
    gapTexts(till).map<Task>((words, at) => {
      const [from = 0, to = 0] = till.missing[at] ?? []
      return { to: '/caixas', tone: 'bad', count: to - from + 1, words }
    }),
  ),
]

const TO_DELIVER_PATH = `/loja?${new URLSearchParams(TO_DELIVER)}`

const deliveryTasks = ({ to_deliver, late }: PendingOrders): Task[] => [
  ...task(late, ['pedido pago com entrega atrasada', 'pedidos pagos com entrega atrasada'], {
    to: TO_DELIVER_PATH,
    tone: 'bad',
    figure: 'entregas_atrasadas',
  }),
  ...task(to_deliver, ['pedido pago a entregar', 'pedidos pagos a entregar'], {
    to: TO_DELIVER_PATH,
    tone: 'warn',
    figure: 'a_entregar',
  }),
]

/** Sales can be resolved without a ledger event: the primary knows. */
async function countRefusedUploads(visit: PageContext): Promise<RefusedUploads> {
  const [refused, refusedReturns, refusedMovements, gaps] = await Promise.all([
    countRefusedSales(visit.primary),
    countRefusedReturns(visit),
    countRefusedMovements(visit),
    tillsWithGaps(visit),
  ])
  return { refused, refusedReturns, refusedMovements, gaps }
}

/** Pending work, most urgent first, each with its count and link. */
export const Todo = (props: TodoProps) => {
  const { cash, alarmed, differing, failing, unpayable, timezone, receivables, payables, stock } = props
  const tasks: Task[] = [
    ...task(differing, ['registro não confere na auditoria', 'registros não conferem na auditoria'], {
      to: '/auditoria',
      tone: 'bad',
    }),
    ...refusedTasks(props),
    ...cash.map<Task>(({ id, closed_at, difference }) => ({
      to: `/caixas/sessoes/${id}`,
      tone: 'bad',
      count: 1,
      words: `caixa fechado${closed_at ? ` em ${formatDateTime(closed_at, timezone)}` : ''} com diferença de ${formatMoney(difference)}`,
    })),
    ...task(alarmed, ['pedido com alerta não lido', 'pedidos com alertas não lidos'], {
      to: '/loja?alarm=open',
      tone: 'bad',
    }),
    ...deliveryTasks(props),
    ...unpayable.map<Task>(({ id, alias, problem }) => ({
      to: `/loja/lojas/${id}`,
      tone: 'bad',
      count: 1,
      words: `loja ${alias} ${UNPAYABLE[problem]}`,
    })),
    ...failing.map<Task>(({ webhook_id, url, outage_since }) => ({
      to: `/integracoes/webhooks/${webhook_id}`,
      tone: 'bad',
      count: 1,
      words: `webhook com falhas desde ${formatDateTime(outage_since, timezone)}: ${url}`,
    })),
    ...(payables === null ? [] : overdue(payables, 'pagar', '/contas-a-pagar?view=overdue')),
    ...overdue(receivables, 'receber', '/contas-a-receber?view=overdue'),
    ...task(stock.low, ['produto acabando', 'produtos acabando'], {
      to: '/catalogo/reposicao',
      tone: 'warn',
      figure: 'acabando',
    }),
    ...task(stock.out, ['produto sem estoque', 'produtos sem estoque'], {
      to: '/catalogo?out_of_stock=on',
      tone: 'warn',
      figure: 'sem-estoque',
    }),
  ]
  return tasks.length === 0 ? null : (
    <Card title="Precisa de você">
      <ul class="todo">
        {tasks.map(({ to, tone, count, words, figure }) => (
          <li key={words}>
            <a href={link(to)}>
              <span class={`count ${tone}`}>
                {figure ? <Figure name={figure}>{formatCount(count)}</Figure> : formatCount(count)}
              </span>
              <span>{words}</span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const StockTodo = ({ stock: { out, low, items } }: { readonly stock: LowStock }) => (
  <Card title="Estoque">
    {items.length > 0 && (
      <p>
        {out > 0 && <PanelBadge tone="bad">{`Sem estoque: ${out}`}</PanelBadge>}{' '}
        {low > 0 && <PanelBadge tone="warn">{`Acabando: ${low}`}</PanelBadge>}
      </p>
    )}
    <ListTable
      caption="Produtos em falta ou acabando"
      rows={items}
      empty="Nenhum produto em falta."
      columns={[
        { head: 'Produto', cell: ({ id, name }) => <a href={link(`/catalogo/${id}`)}>{name}</a> },
        {
          head: 'Restam',
          cell: ({ stock, unit }) => `${formatQuantity(stock)}${unit ? ` ${unit}` : ''}`,
          isNumber: true,
        },
      ]}
    />
    {items.length > 0 && (
      <p>
        <a href={link('/catalogo/reposicao')}>Ver reposição</a>
      </p>
    )}
  </Card>
)

/** For roles that see their own sales only. */
const OWN_SALES_ONLY = 'Suas vendas de hoje.'
const SHORT_ITEMS = 10
/** Days for which the page shows differences of closed cash sessions. */
const CASH_DAYS = 7

/** Id of the live part, which is in the URL of its refresh. */
const FIGURES = 'agora'

/**
 * Start page. With JavaScript it is refreshed when the ledger moves: figures, chart and tables together, so that they
 * agree.
 */
async function showStart(visit: PageContext): Promise<PanelPage> {
  const { readModel, session, primary, query } = visit
  const { reader } = readModel
  const { parte, em, ...filters } = query
  const seesAllSales = may(session.permissions, 'see_all_sales')
  const asked = seesAllSales ? filters : {}
  const chosen = parsePeriod(asked, readModel, session.companysTime)
  const wrong = 'field' in chosen ? chosen : null
  const period = 'field' in chosen ? (parsePeriod({}, readModel, session.companysTime) as StartPeriod) : chosen
  const seesAll = may(session.permissions, 'see_company')
  const seesCosts = may(session.permissions, 'see_costs')
  const seesPayables = may(session.permissions, 'see_payables')
  const [head, sums, accounts, kept, refusedUploads, cash, pendingOrders, check, failing, unpayable, stock, steps] =
    await Promise.all([
      readModelHead(reader),
      readSalesRollups(visit, (reader) => salesSums(reader, period)),
      openAccounts(reader, readModel),
      loadKeptAmounts(visit, period),
      countRefusedUploads(visit),
      seesAllSales
        ? findCashDifferences(reader, startOfDay(addDays(readModel.today, -CASH_DAYS), readModel.timezone))
        : [],
      countPendingOrders(reader, session.companysTime),
      seesAll ? findTableCheck(primary) : null,
      seesAll ? failingEndpoints(primary) : [],
      seesAll ? unpayableStores(reader, CONFIGURATION) : [],
      lowStock(reader, SHORT_ITEMS),
      seesAll ? firstSteps(reader) : null,
    ])
  const sellers = await namesOfSellers(
    visit,
    sums.sellers.map(({ key }) => key),
  )
  const differing = check?.differences.length ?? 0
  const body = (
    <Live visit={visit} since={head.revision}>
      {seesAllSales ? <Periods period={period} wrong={wrong} asked={asked} /> : <p class="hint">{OWN_SALES_ONLY}</p>}
      {em && <OnlyNow moment={em} />}
      <div
        id={FIGURES}
        hx-get={link('/', { ...asked, parte: FIGURES })}
        hx-trigger="mudou from:body throttle:1s"
        hx-select={`#${FIGURES}`}
        hx-target={`#${FIGURES}`}
        hx-swap="outerHTML"
      >
        {!sums.is_complete && (
          <p class="problem" role="note">
            As vendas ainda estão sendo somadas: os valores abaixo podem estar incompletos.
          </p>
        )}
        {steps && <FirstStepsCard steps={steps} />}
        <SalesFigures period={period} sums={sums} seesCosts={seesCosts} seesBefore={seesAllSales} />
        <Todo
          timezone={readModel.timezone}
          {...refusedUploads}
          cash={cash}
          {...pendingOrders}
          differing={differing}
          failing={failing}
          unpayable={unpayable}
          receivables={accounts.receivables}
          payables={seesPayables ? accounts.payables : null}
          stock={stock}
        />
        <div class="columns">
          <SalesParts period={period} sums={sums} sellers={sellers} />
          <Card title="Contas em aberto">
            <Stats>
              <Open label="A receber" of="receber" path="/contas-a-receber" side={accounts.receivables} />
              {seesPayables && <Open label="A pagar" of="pagar" path="/contas-a-pagar" side={accounts.payables} />}
            </Stats>
          </Card>
          <AfterAcquirers period={period} sums={sums} kept={kept} seesCosts={seesCosts} />
          <StockTodo stock={stock} />
        </div>
        <p class="hint">Atualizado em {formatDateTimeSeconds(session.now, readModel.timezone)}.</p>
      </div>
    </Live>
  )
  return { title: 'Início', body, ...(wrong && { status: 422 }) }
}

/** The rollup has no history (ADR-0021); as-of pages link to lists, which add up their rows. */
const OnlyNow = ({ moment }: { readonly moment: string }) => (
  <p class="problem" role="note">
    O início mostra sempre os dados atuais. Como era naquele momento:{' '}
    <a href={link('/vendas', { em: moment })}>vendas</a>, <a href={link('/catalogo', { em: moment })}>produtos</a>,{' '}
    <a href={link('/clientes', { em: moment })}>clientes</a>.
  </p>
)

interface PeriodsProps {
  readonly period: StartPeriod
  readonly wrong: WrongRange | null
  readonly asked: Readonly<Record<string, string>>
}

/** Works without JavaScript. */
const Periods = ({ period, wrong, asked }: PeriodsProps) => {
  const error = (field: WrongRange['field']) =>
    wrong?.field === field && (
      <small id={`erro-${field}`} class="error">
        {wrong.message}
      </small>
    )
  const input = (field: WrongRange['field'], label: string, value: string) => (
    <div class="field">
      <label for={field}>{label}</label>
      <input
        type="date"
        id={field}
        name={field}
        value={asked[field] ?? value}
        aria-invalid={wrong?.field === field ? 'true' : undefined}
        aria-describedby={wrong?.field === field ? `erro-${field}` : undefined}
      />
      {error(field)}
    </div>
  )
  return (
    <div class="toolbar">
      <Chips
        label="Período"
        chips={PERIODS.map(([name, label]) => ({
          label,
          to: '/',
          parameters: name === 'hoje' ? {} : { periodo: name },
          isCurrent: !wrong && period.name === name,
        }))}
      />
      <details class="more" open={wrong !== null || period.name === 'intervalo'}>
        <summary>Outro período</summary>
        <form method="get" action={link('/')} class="range" novalidate>
          <input type="hidden" name="periodo" value="intervalo" />
          {input('de', 'De', period.from)}
          {input('ate', 'Até', period.to)}
          <button type="submit">Mostrar</button>
        </form>
      </details>
    </div>
  )
}

interface OpenProps {
  readonly label: string
  /** Scope of its figures. */
  readonly of: string
  readonly path: string
  readonly side: OpenSide
}

const Open = ({ label, of, path, side: { pending, overdue } }: OpenProps) => (
  <Stat
    label={label}
    value={<OpenFigure of={of} amount={pending.amount} />}
    to={path}
    hint={
      <>
        {pending.count === 1 ? '1 conta em aberto' : `${formatCount(pending.count)} contas em aberto`}
        {overdue.count > 0 && (
          <>
            {`, vencidas: ${formatCount(overdue.count)} (`}
            <OverdueFigure of={of} amount={overdue.amount} />)
          </>
        )}
      </>
    }
  />
)

export const startPage: PanelRoute = { path: '/', section: 'start', fromReplica: true, show: showStart }
