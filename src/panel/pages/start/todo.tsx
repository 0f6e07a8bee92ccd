import { formatCount, formatDateTime, formatMoney, formatQuantity } from '#domain/brazilian-format.ts'
import type { CashDifference } from '#queries/cash/differences.ts'
import type { LowStock } from '#queries/catalog/items.ts'
import type { FirstSteps } from '#queries/companies.ts'
import type { OpenSide } from '#queries/finance/summary.ts'
import type { UnpayableStore } from '#queries/stores.ts'
import type { FailingEndpoint } from '#queries/webhook-health.ts'
import { link } from '../../link.ts'
import { Figure } from '../../ui/figure.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { Card, PanelBadge, Steps } from '../../ui/parts.tsx'

interface TodoProps {
  readonly timezone: string
  /** Open refused sales. */
  readonly refused: number
  /** Open refused returns. */
  readonly refusedReturns: number
  /** Closed cash sessions with a difference beyond the tolerance. */
  readonly cash: readonly CashDifference[]
  /** Orders with an unacknowledged alarm of an unexpected payment. */
  readonly alarmed: number
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

/** Pending work, most urgent first, each with its count and link. */
export const Todo = (props: TodoProps) => {
  const {
    refused,
    refusedReturns,
    cash,
    alarmed,
    differing,
    failing,
    unpayable,
    timezone,
    receivables,
    payables,
    stock,
  } = props
  const tasks: Task[] = [
    ...task(differing, ['registro não confere na auditoria', 'registros não conferem na auditoria'], {
      to: '/auditoria',
      tone: 'bad',
    }),
    ...task(refused, ['venda recusada para resolver', 'vendas recusadas para resolver'], {
      to: '/caixas',
      tone: 'bad',
      figure: 'recusadas',
    }),
    ...task(refusedReturns, ['devolução recusada para resolver', 'devoluções recusadas para resolver'], {
      to: '/caixas',
      tone: 'bad',
    }),
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

export const StockTodo = ({ stock: { out, low, items } }: { readonly stock: LowStock }) => (
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

/** For a company without sales. */
export const FirstStepsOf = ({ steps }: { readonly steps: FirstSteps }) =>
  steps.has_sale ? null : (
    <Steps
      title="Primeiros passos"
      steps={[
        { label: 'Completar os dados da empresa', to: '/configuracoes', isDone: steps.has_data },
        { label: 'Definir as formas de pagamento', to: '/configuracoes', isDone: steps.has_payment_type },
        { label: 'Cadastrar o primeiro produto', to: '/catalogo/novo', isDone: steps.has_item },
        { label: 'Conectar um caixa ou uma integração', to: '/caixas', isDone: steps.has_seller },
        { label: 'Fazer a primeira venda', to: '/vendas', isDone: false, hint: 'Registre no caixa ou pela API.' },
      ]}
    />
  )
