import type { ComponentChildren } from 'preact'
import { addDays } from '#domain/instant.ts'
import { formatCents, formatCount, formatDateTime, formatDay, formatMoney } from '#domain/person-values.ts'
import type { ClosedDay, ClosedMonth, DocumentSums, StockValue } from '#queries/finance-summary.ts'
import { pluralize, ReconciliationLine, ReconciliationTable } from '../ui/head.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, type Fact, Facts, Figure } from '../ui/page-parts.tsx'
import { ACQUIRED_COLUMNS, addPayments, FeeFigure } from './acquirer-pages.tsx'

/** Lists that a month's figures lead to. */
export type MonthList =
  | 'vendas'
  | 'devolucoes'
  | 'recebimentos'
  | 'pagamentos'
  | 'a-receber'
  | 'a-pagar'
  | 'gavetas'
  | 'recusadas'
  | 'catalogo'

export type ListParameters = Readonly<Record<string, string>>

/** Address of a list; null if the reader has none. */
export type HrefOf = (list: MonthList, parameters?: ListParameters) => string | null

const MONTHS = [
  ...['janeiro', 'fevereiro', 'março', 'abril', 'maio', 'junho', 'julho'],
  ...['agosto', 'setembro', 'outubro', 'novembro', 'dezembro'],
]

/** `novembro de 2026` */
export const formatMonth = (month: string): string => `${MONTHS[Number(month.slice(5)) - 1]} de ${month.slice(0, 4)}`

const MODELS: Readonly<Record<string, string>> = { '65': 'NFC-e', '55': 'NF-e', '59': 'CF-e SAT' }

export const documentName = ({ state, model }: Pick<DocumentSums, 'state' | 'model'>): string => {
  if (state === 'present') return model === null ? 'Com documento' : (MODELS[model] ?? `Modelo ${model}`)
  return state === 'missing' ? 'Sem documento fiscal' : 'Não precisa de documento'
}

interface ReportProps {
  readonly month: ClosedMonth
  readonly stock: StockValue
  readonly hrefOf: HrefOf
  readonly timezone: string
  /** UTC. */
  readonly now: string
}

/** Text, as a link if there is a list. */
const To = ({ href, children }: { readonly href: string | null; readonly children: ComponentChildren }) =>
  href === null ? <span>{children}</span> : <a href={href}>{children}</a>

/** A month on one page, for the screen, paper and the accountant. */
export const MonthReport = ({ month, stock, hrefOf, timezone, now }: ReportProps) => {
  const { from, to, summary, isRunning } = month
  const all = { sold_from: from, sold_to: to }
  return (
    <>
      <p class="hint">
        {`De ${formatDay(from)} a ${formatDay(to)}${isRunning ? ', mês em andamento' : ''}. Situação em ${formatDateTime(now, timezone)}.`}
      </p>
      <Questions month={month} stock={stock} hrefOf={hrefOf} />
      <Card title="Vendas">
        <p>
          <To href={hrefOf('vendas', all)}>
            <ReconciliationLine of="total" sales={summary.sales} />
          </To>
        </p>
        <ReconciliationTable
          caption="Vendas do mês por forma de pagamento"
          of="total"
          sales={{ ...summary.sales, ways: month.ways }}
          empty="Nenhuma venda."
          linked={({ key }, name) => (
            <To href={key === '' ? null : hrefOf('vendas', { ...all, payment_type_id: key })}>{name}</To>
          )}
        />
      </Card>
      <Card title="Documentos fiscais">
        <Documents month={month} hrefOf={hrefOf} />
      </Card>
      <Fees month={month} />
      <Card title="Contas e estoque">
        <Facts facts={accountFacts(month, stock, hrefOf)} />
      </Card>
      <Card title="Por dia">
        <Days days={month.days} hrefOf={hrefOf} />
      </Card>
    </>
  )
}

const Questions = ({
  month: { month, from, to, questions, isRunning },
  stock: { without_cost },
  hrefOf,
}: Pick<ReportProps, 'month' | 'stock' | 'hrefOf'>) => {
  const { without_document, uncounted_drawers, refused_sales } = questions
  const asked: readonly (readonly [name: string, count: number, text: string, href: string | null])[] = [
    [
      'sem-nota',
      without_document,
      without_document === 1 ? 'venda sem nota' : 'vendas sem nota',
      hrefOf('vendas', { sold_from: from, sold_to: to, fiscal: 'missing' }),
    ],
    [
      'sem-contagem',
      uncounted_drawers,
      uncounted_drawers === 1 ? 'gaveta sem contagem' : 'gavetas sem contagem',
      hrefOf('gavetas'),
    ],
    ['recusadas', refused_sales, refused_sales === 1 ? 'venda recusada' : 'vendas recusadas', hrefOf('recusadas')],
    [
      'sem-custo',
      without_cost,
      `${without_cost === 1 ? 'item' : 'itens'} em estoque sem custo${isRunning ? '' : ' no fim do mês'}`,
      hrefOf('catalogo', atEnd({ to, isRunning })),
    ],
  ]
  const open = asked.filter(([, count]) => count > 0)
  return (
    <Card title="Perguntas em aberto">
      {open.length === 0 ? (
        <p>{isRunning ? 'Nada pendente até agora.' : 'Nada pendente.'}</p>
      ) : (
        <ul>
          {open.map(([name, count, text, href]) => (
            <li key={name}>
              <To href={href}>
                <Figure name={name} of={`mes/${month}`}>
                  {formatCount(count)}
                </Figure>{' '}
                {text}
              </To>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const Documents = ({ month: { documents, from, to }, hrefOf }: Pick<ReportProps, 'month' | 'hrefOf'>) => (
  <ListTable
    isList
    caption="Vendas concluídas por documento fiscal"
    rows={documents}
    empty="Nenhuma venda."
    columns={[
      {
        head: 'Documento',
        cell: (row) => (
          <To href={row.state === null ? null : hrefOf('vendas', { sold_from: from, sold_to: to, fiscal: row.state })}>
            {documentName(row)}
          </To>
        ),
      },
      { head: 'Vendas', cell: ({ count }) => formatCount(count), isNumber: true },
      { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
    ]}
  />
)

const Fees = ({ month: { acquired } }: Pick<ReportProps, 'month'>) => {
  if (acquired.length === 0) return null
  const { fee, net } = addPayments(acquired)
  return (
    <Card title="Taxas das operadoras">
      <ListTable
        caption="Pagamentos por operadora"
        rows={acquired}
        columns={[{ head: 'Forma', cell: ({ name }) => name }, ...ACQUIRED_COLUMNS]}
        empty=""
      />
      <Facts
        facts={[
          ['Taxas das operadoras', <FeeFigure key="fees" of="total" cents={fee} />],
          ['Líquido depois das taxas', formatCents(net)],
        ]}
      />
    </Card>
  )
}

type End = Pick<ClosedMonth, 'to' | 'isRunning'>

export const stockName = ({ to, isRunning }: End): string =>
  isRunning ? 'Estoque hoje, a custo' : `Estoque no fim de ${formatDay(to)}, ao custo daquele dia`

/** Moment of lists at a month's end; none while the month is running. */
const atEnd = ({ to, isRunning }: End): ListParameters => (isRunning ? {} : { em: `${to}T23:59` })

function accountFacts(closed: ClosedMonth, stock: StockValue, hrefOf: HrefOf): Fact[] {
  const { month, from, to, summary } = closed
  const due = { status: 'pending', due_from: from, due_to: to }
  const of = `mes/${month}`
  const figure = (name: string, text: string, href: string | null) => (
    <To key={name} href={href}>
      <Figure name={name} of={of}>
        {text}
      </Figure>
    </To>
  )
  const { receivables, payables, balance } = summary
  return [
    [
      'Contas recebidas no mês',
      figure('contas-recebidas', formatMoney(receivables.settled.amount), hrefOf('recebimentos')),
    ],
    ['Contas pagas no mês', figure('contas-pagas', formatMoney(payables.settled.amount), hrefOf('pagamentos'))],
    ['Recebidas menos pagas', formatMoney(balance)],
    [
      'A receber que vence no mês',
      figure('a-receber-do-mes', formatMoney(receivables.pending.amount), hrefOf('a-receber', due)),
    ],
    [
      'A pagar que vence no mês',
      figure('a-pagar-do-mes', formatMoney(payables.pending.amount), hrefOf('a-pagar', due)),
    ],
    [
      stockName(closed),
      <>
        {figure('valor-do-estoque', formatMoney(stock.value), hrefOf('catalogo', atEnd(closed)))}{' '}
        <small>{pluralize(stock.items, 'item', 'itens')}</small>
      </>,
    ],
  ]
}

const Days = ({ days, hrefOf }: { readonly days: readonly ClosedDay[]; readonly hrefOf: HrefOf }) => (
  <ListTable
    isList
    caption="Vendas por dia"
    rows={days}
    empty="Nenhuma venda."
    columns={[
      {
        head: 'Dia',
        cell: ({ day }) => <To href={hrefOf('vendas', { sold_from: day, sold_to: day })}>{formatDay(day)}</To>,
      },
      { head: 'Vendas', cell: ({ sold }) => formatCount(sold.count), isNumber: true, isExtra: true },
      { head: 'Vendido', cell: ({ sold }) => formatMoney(sold.amount), isNumber: true },
      { head: 'Cancelado', cell: ({ cancelled }) => formatMoney(cancelled.amount), isNumber: true, isExtra: true },
      {
        head: 'Devolvido',
        cell: ({ day, returned }) => (
          <To href={returned.count === 0 ? null : hrefOf('devolucoes', { returned_from: day, returned_to: day })}>
            {formatMoney(returned.amount)}
          </To>
        ),
        isNumber: true,
        isExtra: true,
      },
      {
        head: 'Líquido',
        cell: ({ day, net }) => (
          <Figure name="liquido" of={`dia/${day}`}>
            {formatMoney(net)}
          </Figure>
        ),
        isNumber: true,
      },
    ]}
  />
)

/** The month before. */
export const monthBefore = (month: string): string => addDays(`${month}-01`, -1).slice(0, 7)
