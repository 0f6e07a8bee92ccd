import { addDays, startOfDay } from '#domain/instant.ts'
import { formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { findTableCheck } from '#integrity/table-checks.ts'
import { CONFIGURATION } from '#payments/pay-order.ts'
import { findOpenImport } from '#privacy/stored-imports.ts'
import { findExpiringAccess } from '#queries/api-key-queries.ts'
import { type CashDifference, findCashDifferences } from '#queries/cash-queries.ts'
import { type UnpayableStore, unpayableStores } from '#queries/company-queries.ts'
import type { OpenSide } from '#queries/finance-summary.ts'
import type { LowStock } from '#queries/item-queries.ts'
import { countRefusedSales } from '#queries/offline-sale-queries.ts'
import { countPendingOrders, type PendingOrders } from '#queries/order-queries.ts'
import type { CompanyTill } from '#queries/till-queries.ts'
import { type FailingEndpoint, failingEndpoints } from '#queries/webhook-queries.ts'
import { IMPORTED } from '../import/import-kinds.ts'
import { link } from '../page-context.ts'
import type { PageContext } from '../panel-route.ts'
import { Card, Figure } from '../ui/page-parts.tsx'
import { gapTexts, tillsWithGaps } from './company-tills.tsx'
import { toCheckPath } from './import-check.tsx'
import { TO_DELIVER } from './order-lists.tsx'
import { countRefusedMovements, countRefusedReturns } from './refused-upload-pages.tsx'

/** What tills sent and a person has to decide about. */
interface RefusedUploads {
  readonly refused: number
  readonly refusedReturns: number
  readonly refusedMovements: number
  /** With what has not come of them. */
  readonly gaps: readonly CompanyTill[]
}

interface TodoProps extends RefusedUploads, PendingOrders {
  /** Of areas with a source of their own. */
  readonly others: readonly Task[]
  readonly timezone: string
  readonly today: string
  /** Closed cash sessions with a difference beyond the tolerance. */
  readonly cash: readonly Pick<CashDifference, 'id' | 'name' | 'difference'>[]
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

export interface Task {
  readonly to: string
  readonly tone: 'bad' | 'warn'
  /** Name of the count as a figure. */
  readonly figure?: string
  readonly count: number
  readonly words: string
}

/** One line, if there is anything to do. */
export const task = (
  count: number,
  [one, many]: readonly [one: string, many: string],
  rest: Omit<Task, 'count' | 'words'>,
) => (count > 0 ? [{ ...rest, count, words: count === 1 ? one : many }] : [])

const accountTasks = ({ overdue, due_soon }: OpenSide, verb: 'pagar' | 'receber', today: string): Task[] => {
  const to = `/contas-a-${verb}`
  const late = `a ${verb} · ${formatMoney(overdue.amount)}`
  const soon = `até amanhã · ${formatMoney(due_soon.amount)}`
  return [
    ...task(overdue.count, [`conta vencida ${late}`, `contas vencidas ${late}`], {
      to: `${to}?view=overdue`,
      tone: 'warn',
    }),
    ...task(due_soon.count, [`conta a ${verb} vence ${soon}`, `contas a ${verb} vencem ${soon}`], {
      to: `${to}?due_from=${today}&due_to=${addDays(today, 1)}`,
      tone: 'warn',
    }),
  ]
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
  const { cash, alarmed, differing, failing, unpayable, timezone, today, receivables, payables, stock } = props
  const tasks: Task[] = [
    ...task(differing, ['registro não confere na auditoria', 'registros não conferem na auditoria'], {
      to: '/auditoria',
      tone: 'bad',
    }),
    ...refusedTasks(props),
    ...cash.map<Task>(({ id, name, difference }) => ({
      to: `/caixas/sessoes/${id}`,
      tone: 'bad',
      count: 1,
      words: `${name}, com diferença de ${formatMoney(difference)} para explicar`,
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
    ...props.others,
    ...(payables === null ? [] : accountTasks(payables, 'pagar', today)),
    ...accountTasks(receivables, 'receber', today),
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
  const [first, rest] = [tasks.slice(0, SHOWN_AT_ONCE), tasks.slice(SHOWN_AT_ONCE)]
  return tasks.length === 0 ? null : (
    <Card title="Precisa de você">
      <TaskList tasks={first} />
      {rest.length > 0 && (
        <details>
          <summary>{rest.length === 1 ? 'Mais 1' : `Mais ${rest.length}`}</summary>
          <TaskList tasks={rest} />
        </details>
      )}
    </Card>
  )
}

/** Others are folded, so that the page begins with what is urgent and the sales still stand below it. */
const SHOWN_AT_ONCE = 5

const TaskList = ({ tasks }: { readonly tasks: readonly Task[] }) => (
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
)

/** What the start page has loaded for its cards. */
interface Loaded {
  readonly accounts: { readonly receivables: OpenSide; readonly payables: OpenSide }
  readonly stock: LowStock
}

export async function loadTodo(visit: PageContext, { accounts, stock }: Loaded): Promise<TodoProps> {
  const { readModel, session, primary } = visit
  const { reader, timezone, today } = readModel
  const seesAll = may(session.permissions, 'see_company')
  const seesAllSales = may(session.permissions, 'see_all_sales')
  const seesPayables = may(session.permissions, 'see_payables')
  const [refusedUploads, cash, pendingOrders, check, failing, unpayable, ...others] = await Promise.all([
    countRefusedUploads(visit),
    seesAllSales ? findCashDifferences(reader, startOfDay(addDays(today, -CASH_DAYS), timezone), timezone) : [],
    countPendingOrders(reader, session.companysTime),
    seesAll ? findTableCheck(primary) : null,
    seesAll ? failingEndpoints(primary) : [],
    seesAll ? unpayableStores(reader, CONFIGURATION) : [],
    ...SOURCES.map((source) => source(visit)),
  ])
  const { receivables, payables } = accounts
  return {
    ...refusedUploads,
    timezone,
    today,
    cash,
    ...pendingOrders,
    differing: check?.differences.length ?? 0,
    failing,
    unpayable,
    others: others.flat(),
    receivables,
    payables: seesPayables ? payables : null,
    stock,
  }
}

/** Days for which the page shows differences of closed cash sessions. */
const CASH_DAYS = 7

/** Each area adds the lines that it has for this user; the order is that of urgency. */
const SOURCES: readonly ((visit: PageContext) => Promise<readonly Task[]>)[] = [expiringTasks, importTasks]

/** Keys and connections that end within two weeks; the service renews connections long before. */
async function expiringTasks({ readModel, primary, session }: PageContext): Promise<Task[]> {
  if (!may(session.permissions, 'see_company')) return []
  const words = { key: 'chave de API', store: 'conexão da loja' }
  const paths = { key: '/integracoes/chaves', store: '/loja/lojas' }
  return (await findExpiringAccess(primary)).map(({ kind, id, name, expires_at }) => ({
    to: `${paths[kind]}/${id}`,
    tone: 'warn',
    count: 1,
    words: `${words[kind]} ${name} vence em ${formatDateTime(expires_at, readModel.timezone)}`,
  }))
}

/** A file that the user has uploaded and neither imported nor replaced. */
async function importTasks({ context, session, readModel }: PageContext): Promise<Task[]> {
  const kind = await findOpenImport(context.reads.poolOf(readModel.companyId), session)
  const imported = IMPORTED.find((one) => one.kind === kind)
  if (!imported || !may(session.permissions, 'import')) return []
  const to = toCheckPath(imported)
  return [{ to, tone: 'warn', count: 1, words: `importação por terminar: ${imported.words.all}` }]
}
