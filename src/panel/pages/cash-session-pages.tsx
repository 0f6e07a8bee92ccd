import { formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import { pathId } from '#http/paths.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import type { CashWay } from '#projections/cash-takings.ts'
import {
  type CashSessionDetails,
  getCashSession,
  getCashSessionDetails,
  listLatestCashSessions,
  listOpenSessionNames,
  MAX_SHOWN_OF_SESSION,
  type ReturnOfSession,
  type SaleOfSession,
  type ShownCashMovement,
} from '#queries/cash-queries.ts'
import { CASH_SESSION_FILTERS } from '#records/list-filters.ts'
import { choiceInput, namedOptions } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { namesOfActors } from '../record-history.tsx'
import { Card, type Fact, Facts, Figure, PanelBadge } from '../ui/page-parts.tsx'
import { type Column, List, ListTable, readListPage, recordsOnPage } from '../ui/panel-list.tsx'
import { VALUE_NAMES } from '../words/record-words.ts'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import { CLOSING } from './tills-closing.tsx'

/** Choice of the open drawer that gives money back; absent without an alternative to `own`, the open one of the sale. */
export async function drawerFields(visit: PageContext | FormSubmission, own: string | null): Promise<Fields> {
  const { readModel } = visit
  const open = await listOpenSessionNames(readModel.reader)
  const others = open.filter((name) => name !== own)
  // A session that was closed after the form was shown is refused, not ignored.
  const isNamed = 'form' in visit && formText(visit.form, 'cash_session_id') !== ''
  if (others.length === 0 && !isNamed) return {}
  const none = own !== null && open.includes(own) ? `Caixa ${own}, o da venda` : 'Fora dos caixas'
  const options = others.map((name) => ({ value: name, label: `Caixa ${name}` }))
  return { cash_session_id: { label: 'De onde sai o dinheiro', kind: choiceInput(options, none), columns: 6 } }
}

const CASH_SESSIONS_PATH = '/caixas/sessoes'

/** Open sessions on the page of tills; shops have fewer. */
const OPEN_SHOWN = 50

const FILTERS: Fields = {
  status: fieldInput(CASH_SESSION_FILTERS.status, {
    kind: choiceInput(namedOptions(CASH_SESSION_FILTERS.status.names), 'Todas'),
    columns: 4,
  }),
  session_id: fieldInput(CASH_SESSION_FILTERS.session_id, 4),
}

/** Actors of sessions; a session has the ids of its users. */
const actorOf = (userId: number | null) => (userId === null ? null : `user/${userId}`)

type Names = (actor: string | null) => string

const namesOf = ({ readModel }: PageContext, sessions: readonly CashSessionObject[]): Promise<Names> =>
  namesOfActors(
    readModel,
    sessions.flatMap(({ opened_by_user_id, closed_by_user_id }) =>
      [opened_by_user_id, closed_by_user_id].map((id) => ({ actor: actorOf(id) })),
    ),
  )

/** Who did it, or a dash. */
const nameIn = (names: Names, userId: number | null): string | null => (userId === null ? null : names(actorOf(userId)))

const SessionBadges = ({ session }: { readonly session: CashSessionObject }) => (
  <>
    {session.status === 'open' ? (
      <PanelBadge tone="good">Aberta</PanelBadge>
    ) : (
      <PanelBadge tone="plain">Fechada</PanelBadge>
    )}
    {session.opened_at === null && <PanelBadge tone="warn">Sem abertura</PanelBadge>}
    {session.changed_after_close && <PanelBadge tone="warn">Alterada depois</PanelBadge>}
  </>
)

interface AmountProps {
  readonly of: string
  readonly amount: string | null
}

const Difference = ({ of, amount }: AmountProps) => {
  if (amount === null) return null
  const figure = (
    <Figure name="diferenca" of={of}>
      {formatMoney(amount)}
    </Figure>
  )
  if (amount === '0.00') return figure
  return <PanelBadge tone={amount.startsWith('-') ? 'bad' : 'warn'}>{figure}</PanelBadge>
}

const Amount = ({ name, of, amount }: AmountProps & { readonly name: string }) =>
  amount === null ? null : (
    <Figure name={name} of={of}>
      {formatMoney(amount)}
    </Figure>
  )

const money = (amount: string | null): string | null => amount && formatMoney(amount)

/** Scopes of the figures of a drawer, and of a way of paying in a session. */
const drawerScope = (id: number): string => `gaveta/${id}`
const wayScope = (id: number, { is_cash, payment_type_id }: CashWay): string =>
  is_cash ? drawerScope(id) : `${drawerScope(id)}/forma/${payment_type_id}`

const columnsOf = (timezone: string, names: Names): Column<CashSessionObject>[] => [
  { head: 'Sessão', cell: ({ id, session_id }) => <a href={link(`${CASH_SESSIONS_PATH}/${id}`)}>{session_id}</a> },
  { head: 'Quem abriu', cell: ({ opened_by_user_id: id }) => nameIn(names, id), isExtra: true },
  { head: 'Aberta em', cell: ({ opened_at: at }) => at && formatDateTime(at, timezone), isExtra: true },
  { head: 'Fechada em', cell: ({ closed_at: at }) => at && formatDateTime(at, timezone), isExtra: true },
  { head: 'Situação', cell: (session) => <SessionBadges session={session} /> },
  { head: 'Vendas', cell: ({ sales_count }) => formatCount(sales_count), isNumber: true, isExtra: true },
  {
    head: 'Esperado',
    cell: ({ id, expected }) => <Amount name="esperado" of={drawerScope(id)} amount={expected} />,
    isNumber: true,
  },
  {
    head: 'Contado',
    cell: ({ id, counted }) => <Amount name="contado" of={drawerScope(id)} amount={counted} />,
    isNumber: true,
    isExtra: true,
  },
  {
    head: 'Diferença',
    cell: ({ id, difference }) => <Difference of={drawerScope(id)} amount={difference} />,
    isNumber: true,
  },
]

/** Open sessions with what is in each drawer. */
export async function OpenCashSessions({ visit }: { readonly visit: PageContext }) {
  if (!visit.reaches('GET', CASH_SESSIONS_PATH)) return null
  const { reader, timezone } = visit.readModel
  const page = await listLatestCashSessions(reader, { status: 'open', limit: OPEN_SHOWN })
  const sessions = 'refused' in page ? [] : recordsOnPage<CashSessionObject>(page)
  const names = await namesOf(visit, sessions)
  const shown = ['Fechada em', 'Contado', 'Diferença', 'Situação']
  return (
    <Card title="Caixas abertos agora" aside={<a href={link(CASH_SESSIONS_PATH)}>Todas as sessões</a>}>
      <ListTable
        isList
        caption="Caixas abertos agora"
        rows={sessions}
        columns={columnsOf(timezone, names).filter(({ head }) => !shown.includes(String(head)))}
        empty="Nenhum caixa aberto."
      />
    </Card>
  )
}

async function showList(visit: PageContext): Promise<PanelPage> {
  const { reader, timezone } = visit.readModel
  const list = await readListPage<CashSessionObject>(visit, FILTERS, (_visit, asked, { limit }) =>
    listLatestCashSessions(reader, { ...asked, limit }),
  )
  const body = (
    <List
      visit={visit}
      filters={FILTERS}
      list={list}
      caption="Sessões de caixa"
      columns={columnsOf(timezone, await namesOf(visit, list.rows))}
      empty="Nenhuma sessão de caixa. Elas aparecem quando um caixa é aberto."
      quick={[{ label: 'Abertas', filters: { status: 'open' } }]}
    />
  )
  return { title: 'Sessões de caixa', parent: { label: 'Caixas', to: '/caixas' }, body }
}

/** A session with all that happened in it; printable. */
async function showSession(visit: PageContext): Promise<PanelPage | null> {
  const { readModel, params } = visit
  const { reader } = readModel
  const id = pathId(params.id)
  const found = id === null ? null : (await getCashSession(reader, id)).record
  if (found === null) return null
  const session = JSON.parse(found) as CashSessionObject
  const [details, types, names] = await Promise.all([
    getCashSessionDetails(reader, session.session_id),
    namesOfTypes(visit),
    namesOf(visit, [session]),
  ])
  const actors = await namesOfActors(readModel, details.movements)
  const body = (
    <>
      <Card title="Resumo">
        <Facts facts={factsOf(session, names, readModel.timezone)} />
        {session.changed_after_close && (
          <p class="problem" role="note">
            Houve lançamentos depois do fechamento: os valores são os atuais, não os vistos no fechamento.
          </p>
        )}
      </Card>
      <Ways session={session} types={types} />
      <Drawer session={session} />
      <Details details={details} actors={actors} timezone={readModel.timezone} />
      <p class="hint">
        {'A sessão soma as vendas que o caixa registrou nela, em qualquer dia. O '}
        <a href={link(CLOSING)}>fechamento do dia</a>
        {' soma as vendas de cada usuário em um dia, e mostra as gavetas que estiveram abertas nele.'}
      </p>
    </>
  )
  return {
    title: `Caixa ${session.session_id}`,
    parent: { label: 'Sessões de caixa', to: CASH_SESSIONS_PATH },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    body,
  }
}

function factsOf(session: CashSessionObject, names: Names, timezone: string): Fact[] {
  const { opened_at, opened_by_user_id, closed_at, closed_by_user_id, sales_count } = session
  const when = (at: string | null, userId: number | null) =>
    at && [formatDateTime(at, timezone), nameIn(names, userId)].filter((part) => part !== null).join(', ')
  return [
    ['Situação', <SessionBadges key="state" session={session} />],
    ['Aberta', when(opened_at, opened_by_user_id)],
    ['Fechada', when(closed_at, closed_by_user_id)],
    ['Vendas', formatCount(sales_count)],
  ]
}

async function namesOfTypes(visit: PageContext): Promise<(way: CashWay) => string> {
  const nameOf = new Map((await loadPaymentTypes(visit)).map(({ id, name }) => [id, name]))
  return ({ payment_type_id: id, is_cash }) =>
    is_cash ? 'Dinheiro na gaveta' : (nameOf.get(id ?? 0) ?? `Forma de pagamento ${id}`)
}

interface WaysProps {
  readonly session: CashSessionObject
  readonly types: (way: CashWay) => string
}

const Ways = ({ session, types }: WaysProps) => (
  <Card title="Esperado e contado">
    <ListTable<CashWay>
      caption="Esperado e contado por forma de pagamento"
      rows={session.by_payment_type}
      empty=""
      columns={[
        { head: 'Forma', cell: types },
        {
          head: 'Esperado',
          cell: (way) => <Amount name="esperado" of={wayScope(session.id, way)} amount={way.expected} />,
          isNumber: true,
        },
        {
          head: 'Contado',
          cell: (way) => <Amount name="contado" of={wayScope(session.id, way)} amount={way.counted} />,
          isNumber: true,
        },
        {
          head: 'Diferença',
          cell: (way) => <Difference of={wayScope(session.id, way)} amount={way.difference} />,
          isNumber: true,
        },
      ]}
    />
  </Card>
)

/** How the expected cash comes about. */
const Drawer = ({ session: { cash, expected } }: { readonly session: CashSessionObject }) => (
  <Card title="Dinheiro na gaveta">
    <Facts
      facts={[
        ['Abertura', formatMoney(cash.opening)],
        ['Vendas, sem o troco', formatMoney(cash.sales)],
        ['Contas recebidas', formatMoney(cash.received)],
        ['Entradas', formatMoney(cash.in)],
        ['Retiradas', formatMoney(cash.out)],
        ['Devoluções', formatMoney(cash.returned)],
        ['Vendas canceladas', formatMoney(cash.cancelled)],
        ['Esperado', <strong key="expected">{formatMoney(expected)}</strong>],
      ]}
    />
  </Card>
)

const KINDS: Readonly<Record<string, string>> = {
  ...VALUE_NAMES.kind,
  opened: 'Abertura',
  in: 'Entrada',
  out: 'Retirada',
  closed: 'Fechamento',
  reversed: 'Recebimento estornado',
}

interface DetailsProps {
  readonly details: CashSessionDetails
  readonly actors: Names
  readonly timezone: string
}

const Details = ({ details: { movements, sales, returns }, actors, timezone }: DetailsProps) => {
  const time = <R extends { readonly at: string }>(): Column<R> => ({
    head: 'Quando',
    cell: ({ at }) => formatDateTime(at, timezone),
  })
  return (
    <>
      <Card title="Movimentos">
        <ListTable<ShownCashMovement>
          isList
          caption="Movimentos da gaveta"
          rows={movements}
          empty="Nenhum movimento."
          columns={[
            time(),
            { head: 'Movimento', cell: (movement) => <MovementName movement={movement} /> },
            { head: 'Quem', cell: ({ actor }) => actors(actor), isExtra: true },
            { head: 'Motivo', cell: ({ reason }) => reason, isExtra: true },
            { head: 'Valor', cell: ({ amount }) => money(amount), isNumber: true },
          ]}
        />
      </Card>
      {returns.length > 0 && (
        <Card title="Devoluções">
          <ListTable<ReturnOfSession>
            caption="Devoluções na sessão"
            rows={returns}
            empty=""
            columns={[
              time(),
              { head: 'Venda', cell: ({ sale_id: id }) => <a href={link(`/vendas/${id}`)}>{id}</a> },
              { head: 'Valor', cell: ({ total }) => formatMoney(total), isNumber: true },
            ]}
          />
        </Card>
      )}
      <Card title="Vendas">
        {sales.length === MAX_SHOWN_OF_SESSION && <p class="hint">{`As ${MAX_SHOWN_OF_SESSION} últimas.`}</p>}
        <ListTable<SaleOfSession>
          isList
          caption="Vendas da sessão"
          rows={sales}
          empty="Nenhuma venda."
          columns={[
            { head: 'Venda', cell: ({ id }) => <a href={link(`/vendas/${id}`)}>{id}</a> },
            time(),
            { head: 'Formas', cell: ({ ways }) => ways.join(', '), isExtra: true },
            { head: 'Situação', cell: (sale) => <SaleState sale={sale} /> },
            { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
          ]}
        />
      </Card>
    </>
  )
}

const MovementName = ({ movement: { kind, receivable_id, warnings } }: { readonly movement: ShownCashMovement }) => (
  <>
    {receivable_id === null ? KINDS[kind] : <a href={link(`/contas-a-receber/${receivable_id}`)}>{KINDS[kind]}</a>}
    {warnings.map((code) => (
      <PanelBadge key={code} tone="warn">
        {VALUE_NAMES.warnings?.[code] ?? code}
      </PanelBadge>
    ))}
  </>
)

const SaleState = ({ sale: { status, is_refund } }: { readonly sale: SaleOfSession }) => {
  if (is_refund) return <PanelBadge tone="bad">Cancelada, dinheiro devolvido aqui</PanelBadge>
  return status === 'completed' ? null : <PanelBadge tone="bad">Cancelada</PanelBadge>
}

/** The drawer of a session has the money of the sales of all users and days. */
const common = { section: 'tills', access: 'see_all_sales' } as const

export const cashSessionPages: readonly PanelRoute[] = [
  { ...common, path: CASH_SESSIONS_PATH, show: showList },
  { ...common, path: `${CASH_SESSIONS_PATH}/:id`, show: showSession },
]
