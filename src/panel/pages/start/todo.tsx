import { formatDateTime, formatMoney, formatQuantity } from '#domain/brazilian-format.ts'
import type { CashDifference } from '#queries/cash/differences.ts'
import type { LowStock } from '#queries/catalog/items.ts'
import type { FirstSteps } from '#queries/companies.ts'
import type { OpenSide } from '#queries/finance/summary.ts'
import type { UnpayableStore } from '#queries/stores.ts'
import type { FailingEndpoint } from '#queries/webhook-health.ts'
import { link } from '../../link.ts'
import { ListTable } from '../../ui/list.tsx'
import { Card, PanelBadge, Steps } from '../../ui/parts.tsx'

interface TodoProps {
  readonly timezone: string
  /** Open refused sales. */
  readonly refused: number
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
  no_token: 'não recebe pagamentos, falta o token de acesso do Mercado Pago',
  connection_refused: 'o Mercado Pago recusou renovar o acesso; conecte de novo',
  misconfigured: 'não recebe pagamentos, o Mercado Pago recusa as credenciais ou a comissão',
}

const accounts = (count: number) => (count === 1 ? '1 conta' : `${count} contas`)

/** Pending work, most urgent first, each with its link (PANEL-124). */
export const Todo = (props: TodoProps) => {
  const { refused, cash, alarmed, differing, failing, unpayable, timezone, receivables, payables, stock } = props
  const tasks = [
    differing > 0 && { to: '/auditoria', text: `Registros que não conferem com o livro: ${differing}` },
    refused > 0 && { to: '/caixas', text: `Vendas dos caixas recusadas, à espera de alguém: ${refused}` },
    ...cash.map(({ id, session_id, difference }) => ({
      to: `/caixas/sessoes/${id}`,
      text: `Caixa ${session_id} fechado com diferença de ${formatMoney(difference)}`,
    })),
    alarmed > 0 && { to: '/loja?alarm=open', text: `Pedidos da loja online com alarme: ${alarmed}` },
    ...unpayable.map(({ id, alias, problem }) => ({
      to: `/loja/lojas/${id}`,
      text: `Loja ${alias}: ${UNPAYABLE[problem]}`,
    })),
    ...failing.map(({ webhook_id, url, outage_since }) => ({
      to: `/integracoes/webhooks/${webhook_id}`,
      text: `Webhook que falha desde ${formatDateTime(outage_since, timezone)}: ${url}`,
    })),
    payables !== null &&
      payables.overdue.count > 0 && {
        to: '/contas-a-pagar?view=overdue',
        text: `A pagar, vencido: ${accounts(payables.overdue.count)}, ${formatMoney(payables.overdue.amount)}`,
      },
    receivables.overdue.count > 0 && {
      to: '/contas-a-receber?view=overdue',
      text: `A receber, vencido: ${accounts(receivables.overdue.count)}, ${formatMoney(receivables.overdue.amount)}`,
    },
    stock.low > 0 && { to: '/catalogo/reposicao', text: `Produtos acabando: ${stock.low}` },
    stock.out > 0 && { to: '/catalogo?out_of_stock=on', text: `Produtos sem estoque: ${stock.out}` },
  ].filter((task) => task !== false)
  return tasks.length === 0 ? null : (
    <Card title="A fazer">
      <ul class="todo">
        {tasks.map(({ to, text }) => (
          <li key={text}>
            <a href={link(to)}>{text}</a>
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

/** For a company without sales (PANEL-125). */
export const FirstStepsOf = ({ steps }: { readonly steps: FirstSteps }) =>
  steps.has_sale ? null : (
    <Steps
      title="Primeiros passos"
      steps={[
        { label: 'Completar os dados da empresa', to: '/configuracoes', isDone: steps.has_data },
        { label: 'Definir as formas de pagamento', to: '/configuracoes', isDone: steps.has_payment_type },
        { label: 'Cadastrar o primeiro produto', to: '/catalogo/novo', isDone: steps.has_item },
        { label: 'Conectar um caixa ou uma integração', to: '/caixas', isDone: steps.has_seller },
        { label: 'Fazer a primeira venda', to: '/vendas', isDone: false, hint: 'Ela chega do caixa ou pela API.' },
      ]}
    />
  )
