import { formatCount, formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { addDays, startOfDay } from '#domain/instant.ts'
import { may } from '#domain/permissions.ts'
import { findTableCheck } from '#integrity/audit/table-checks.ts'
import { CONFIGURATION } from '#payments/pay-order.ts'
import { isOutage } from '#postgres/outage.ts'
import { refreshSalesRollups } from '#projections/refresh-sales-rollups.ts'
import { findCashDifferences } from '#queries/cash/differences.ts'
import { lowStock } from '#queries/catalog/items.ts'
import { firstSteps } from '#queries/companies.ts'
import { readModelHead } from '#queries/events.ts'
import { type OpenSide, openAccounts } from '#queries/finance/summary.ts'
import { countAlarms } from '#queries/orders.ts'
import { countRefusedSales } from '#queries/sales/offline-sales.ts'
import { type SalesSums, salesSums } from '#queries/sales/rollups.ts'
import { unpayableStores } from '#queries/stores.ts'
import { failingEndpoints } from '#queries/webhook-health.ts'
import { link } from '../../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../../route.ts'
import { Live } from '../../ui/live.tsx'
import { Card, Chips, Stat, Stats } from '../../ui/parts.tsx'
import { OpenFigure, OverdueFigure } from '../finance/open-balances.tsx'
import { countRefusedReturns } from '../sales/refused-returns.tsx'
import { namesOfSellers } from '../sales/seller.ts'
import { AfterAcquirers, keptOf } from './acquirers.tsx'
import { PERIODS, periodOf, type StartPeriod, type WrongRange } from './period.ts'
import { SalesFigures, SalesParts } from './sales.tsx'
import { FirstStepsOf, StockTodo, Todo } from './todo.tsx'

/** For roles that see their own sales only. */
const OWN_SALES_ONLY = 'Suas vendas de hoje.'
const SHORT_ITEMS = 10
/** Days for which the page shows differences of closed cash sessions. */
const CASH_DAYS = 7
/** Longest wait of the page for a refresh of the rollup, in ms; the projector continues it. */
const PATIENCE_MS = 1_000

/** Id of the live part, which is in the URL of its refresh. */
const FIGURES = 'agora'

/**
 * Start page. With JavaScript it is refreshed when the ledger moves: figures, chart and tables together, so that they
 * agree.
 */
async function showStart(visit: PageContext): Promise<PanelPage> {
  const { readModel, context, session, primary, query } = visit
  const { reader, companyId } = readModel
  const { parte, em, ...filters } = query
  const seesAllSales = may(session.permissions, 'see_all_sales')
  const asked = seesAllSales ? filters : {}
  const chosen = periodOf(asked, readModel, session.companysTime)
  const wrong = 'field' in chosen ? chosen : null
  const period = 'field' in chosen ? (periodOf({}, readModel, session.companysTime) as StartPeriod) : chosen
  const seesAll = may(session.permissions, 'see_company')
  const seesCosts = may(session.permissions, 'see_costs')
  const seesPayables = may(session.permissions, 'see_payables')
  const [head, sums, accounts, kept, refused, refusedReturns, cash, alarmed, check, failing, unpayable, stock, steps] =
    await Promise.all([
      readModelHead(reader),
      sumsOf(visit, period),
      openAccounts(reader, readModel),
      keptOf(visit, period),
      // They can be resolved without a ledger event.
      countRefusedSales(primary),
      countRefusedReturns(visit),
      seesAllSales
        ? findCashDifferences(reader, startOfDay(addDays(readModel.today, -CASH_DAYS), readModel.timezone))
        : [],
      countAlarms(reader),
      seesAll ? findTableCheck(context.reads.pool, companyId) : null,
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
        {steps && <FirstStepsOf steps={steps} />}
        <SalesFigures period={period} sums={sums} seesCosts={seesCosts} seesBefore={seesAllSales} />
        <Todo
          timezone={readModel.timezone}
          refused={refused}
          refusedReturns={refusedReturns}
          cash={cash}
          alarmed={alarmed}
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

/**
 * Refreshes the rollup on the primary and reads it there; if the primary is away, a replica's state is shown
 * (PANEL-121).
 */
async function sumsOf(
  { context, primary, readModel: { reader, companyId } }: PageContext,
  period: StartPeriod,
): Promise<SalesSums> {
  const until = performance.now() + PATIENCE_MS
  try {
    await refreshSalesRollups(context.reads.poolOf(companyId), companyId, () => performance.now() > until)
    return await salesSums(primary, period)
  } catch (error) {
    if (!isOutage(error)) throw error
    return salesSums(reader, period)
  }
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
