import { formatCount, formatDateTimeSeconds, formatUnits } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { firstSteps } from '#queries/company-queries.ts'
import { readModelHead } from '#queries/event-queries.ts'
import { type OpenSide, openAccounts } from '#queries/finance-summary.ts'
import { type LowStock, lowStock } from '#queries/item-queries.ts'
import { salesSums } from '#queries/sales-sums.ts'
import { link } from '../page-context.ts'
import { Live } from '../panel-live.tsx'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Chips, PanelBadge, Stat, Stats } from '../ui/page-parts.tsx'
import { AfterAcquirers, loadKeptAmounts } from './acquirer-pages.tsx'
import { OpenFigure, OverdueFigure } from './debtor-pages.tsx'
import { FirstStepsCard } from './first-steps-pages.tsx'
import { GoodMorning, sayGoodMorning } from './good-morning.tsx'
import { loadTodo, Todo } from './needs-you.tsx'
import { namesOfSellers } from './sale-parts.tsx'
import { PERIODS, parsePeriod, readSalesRollups, type StartPeriod, type WrongRange } from './start-period.ts'
import { ChannelsAndSellers, SalesFigures, SalesParts } from './start-sales.tsx'

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
          cell: ({ stock, unit }) => formatUnits(stock, unit),
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

/** Ids of the live parts; the first is in the URL of their refresh. */
const FIGURES = 'agora'
const TODAY = 'hoje'

/**
 * Start page. With JavaScript it is refreshed when the ledger moves: figures, chart and tables together, so that they
 * agree.
 */
async function showStart(visit: PageContext): Promise<PanelPage> {
  const { readModel, session, query } = visit
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
  const { permissions, userId } = session
  const [head, [sums, morning], accounts, kept, stock, steps] = await Promise.all([
    readModelHead(reader),
    readSalesRollups(visit, (reader) =>
      Promise.all([salesSums(reader, period), sayGoodMorning({ reader, permissions, userId, calendar: readModel })]),
    ),
    openAccounts(reader, readModel),
    loadKeptAmounts(visit, period),
    lowStock(reader, SHORT_ITEMS),
    seesAll ? firstSteps(reader) : null,
  ])
  const todo = await loadTodo(visit, { accounts, stock })
  const sellers = await namesOfSellers(
    visit,
    sums.sellers.map(({ key }) => key),
  )
  const body = (
    <Live visit={visit} since={head.revision}>
      <div id={TODAY}>
        <GoodMorning sentences={morning} />
      </div>
      {seesAllSales ? <Periods period={period} wrong={wrong} asked={asked} /> : <p class="hint">{OWN_SALES_ONLY}</p>}
      {em && <OnlyNow moment={em} />}
      <div
        id={FIGURES}
        hx-get={link('/', { ...asked, parte: FIGURES })}
        hx-trigger="mudou from:body throttle:1s"
        hx-select={`#${FIGURES}`}
        hx-select-oob={`#${TODAY}`}
        hx-target={`#${FIGURES}`}
        hx-swap="outerHTML"
      >
        {!sums.is_complete && (
          <p class="problem" role="note">
            As vendas ainda estão sendo somadas: os valores abaixo podem estar incompletos.
          </p>
        )}
        <div class="front">
          <div>
            <Todo {...todo} />
            {steps && <FirstStepsCard steps={steps} />}
          </div>
          <SalesFigures period={period} sums={sums} seesCosts={seesCosts} seesBefore={seesAllSales} />
          <Card title="Contas em aberto">
            <Stats>
              <Open label="A receber" of="receber" path="/contas-a-receber" side={accounts.receivables} />
              {seesPayables && <Open label="A pagar" of="pagar" path="/contas-a-pagar" side={accounts.payables} />}
            </Stats>
          </Card>
        </div>
        <div class="columns">
          <SalesParts period={period} sums={sums} />
          <AfterAcquirers period={period} sums={sums} kept={kept} seesCosts={seesCosts} />
          <StockTodo stock={stock} />
        </div>
        <ChannelsAndSellers period={period} sums={sums} sellers={sellers} />
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
