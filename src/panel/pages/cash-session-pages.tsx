import { formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import { pathId } from '#http/paths.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import type { CashWay } from '#projections/cash-takings.ts'
import {
  type CashSessionDetails,
  getCashSession,
  getCashSessionDetails,
  listDrawerRevisions,
  listLatestCashSessions,
  MAX_SHOWN_OF_SESSION,
  type ReturnOfSession,
  type SaleOfSession,
  type ShownCashMovement,
} from '#queries/cash-queries.ts'
import { CASH_SESSION_FILTERS } from '#records/list-filters.ts'
import { choiceInput, namedOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageAction, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { fieldInput } from '../record-fields.ts'
import { AsOfForm, History, namesOfActors } from '../record-history.tsx'
import { TimeMachine } from '../time-machine.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { ButtonLink, Card, type Fact, Facts, Figure, PanelBadge, SaleLink, ShortId } from '../ui/page-parts.tsx'
import { List, readListPage, recordsOnPage } from '../ui/panel-list.tsx'
import { VALUE_NAMES } from '../words/record-words.ts'
import { DRAWERS, differenceReason, drawerPages, drawerPath, OPEN_DRAWER } from './drawer-pages.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import { CLOSING } from './tills-closing.tsx'

/** Open sessions on the page of tills; shops have fewer. */
const OPEN_SHOWN = 50

const FILTERS: Fields = {
  status: fieldInput(CASH_SESSION_FILTERS.status, {
    kind: choiceInput(namedOptions(CASH_SESSION_FILTERS.status.names), 'Todas'),
    columns: 4,
  }),
  session_id: fieldInput(CASH_SESSION_FILTERS.session_id, 4),
}

/**
 * Whether the user sees what drawers should have: the count is blind, and others' sales of a drawer are not shown to
 * users who see their own.
 */
const seesExpected = ({ session }: PageContext): boolean => may(session.permissions, 'see_all_sales')

/** Actors of sessions; a session has the ids of its users. */
const actorOf = (userId: number | null) => (userId === null ? null : `user/${userId}`)

type Names = (actor: string | null) => string

const namesOf = ({ readModel }: PageContext, sessions: readonly CashSessionObject[]): Promise<Names> =>
  namesOfActors(
    readModel,
    sessions.flatMap(({ opened_by_user_id, closed_by_user_id, explained_by_user_id }) =>
      [opened_by_user_id, closed_by_user_id, explained_by_user_id].map((id) => ({ actor: actorOf(id) })),
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
    {session.explained_at && <PanelBadge tone="good">Explicada</PanelBadge>}
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
  { head: 'Gaveta', cell: ({ id, name }) => <a href={link(drawerPath(id))}>{name}</a> },
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

const EXPECTED = ['Vendas', 'Esperado', 'Diferença']

/** Columns without some, and without what should be in a drawer for users who count it blindly. */
const shownColumns = (visit: PageContext, names: Names, without: readonly string[] = []) =>
  columnsOf(visit.readModel.timezone, names).filter(
    ({ head }) => ![...without, ...(seesExpected(visit) ? [] : EXPECTED)].includes(String(head)),
  )

/** Opens the own drawer, or leads to it. */
function ownDrawer(visit: PageContext, open: readonly CashSessionObject[]): PageAction {
  const own = open.find(({ opened_by_user_id: id }) => id === visit.session.userId)
  return own ? { label: 'Minha gaveta', to: drawerPath(own.id) } : { label: 'Abrir gaveta', to: OPEN_DRAWER }
}

async function listOpen(visit: PageContext): Promise<CashSessionObject[]> {
  const page = await listLatestCashSessions(visit.readModel.reader, { status: 'open', limit: OPEN_SHOWN })
  return 'refused' in page ? [] : recordsOnPage<CashSessionObject>(page)
}

/** Open drawers, with what is in each for users who may know it. */
export async function OpenCashSessions({ visit }: { readonly visit: PageContext }) {
  const sessions = await listOpen(visit)
  const own = ownDrawer(visit, sessions)
  const title = seesExpected(visit) ? 'Gavetas abertas agora' : 'Minha gaveta'
  return (
    <Card
      title={title}
      aside={
        <>
          <a href={link(DRAWERS)}>Gavetas</a>{' '}
          {visit.reaches('GET', own.to) && <ButtonLink to={own.to}>{own.label}</ButtonLink>}
        </>
      }
    >
      <ListTable
        isList
        caption={title}
        rows={sessions}
        columns={shownColumns(visit, await namesOf(visit, sessions), [
          'Fechada em',
          'Contado',
          'Diferença',
          'Situação',
        ])}
        empty="Nenhuma gaveta aberta."
      />
    </Card>
  )
}

async function showList(visit: PageContext): Promise<PanelPage> {
  const { reader } = visit.readModel
  const list = await readListPage<CashSessionObject>(visit, FILTERS, (_visit, asked, { limit }) =>
    listLatestCashSessions(reader, { ...asked, limit }),
  )
  const body = (
    <List
      visit={visit}
      filters={FILTERS}
      list={list}
      caption="Gavetas"
      columns={shownColumns(visit, await namesOf(visit, list.rows))}
      empty="Nenhuma gaveta encontrada."
      begin={{
        title: 'Nenhuma gaveta ainda',
        text: 'Elas aparecem quando alguém abre a sua, aqui ou em um caixa.',
        action: { label: 'Abrir gaveta', to: OPEN_DRAWER },
      }}
      quick={[{ label: 'Abertas', filters: { status: 'open' } }]}
    />
  )
  return {
    title: 'Gavetas',
    parent: { label: 'Caixas', to: '/caixas' },
    main: ownDrawer(visit, await listOpen(visit)),
    more: [{ label: 'Fechamento do dia', to: CLOSING }],
    body,
  }
}

async function loadSession({ readModel, params }: PageContext): Promise<CashSessionObject | null> {
  const id = pathId(params.id)
  const found = id === null ? null : (await getCashSession(readModel.reader, id)).record
  return found === null ? null : (JSON.parse(found) as CashSessionObject)
}

const isDiffering = ({ by_payment_type }: CashSessionObject): boolean =>
  by_payment_type.some(({ difference }) => (difference ?? '0.00') !== '0.00')

function actionsOf(visit: PageContext, session: CashSessionObject): Pick<PanelPage, 'main' | 'more'> {
  const path = drawerPath(session.id)
  const print: PageAction = { label: 'Imprimir', to: visit.path, prints: true }
  if (session.status === 'open')
    return {
      main: { label: 'Fechar gaveta', to: `${path}/fechar` },
      more: [{ label: 'Suprimento', to: `${path}/suprimento` }, { label: 'Sangria', to: `${path}/sangria` }, print],
    }
  if (!isDiffering(session)) return { main: print }
  const explain: PageAction = { label: 'Explicar', to: `${path}/explicar` }
  return session.explained_at === null ? { main: explain, more: [print] } : { main: print, more: [explain] }
}

/** A session with all that happened in it; printable. */
async function showSession(visit: PageContext): Promise<PanelPage | null> {
  const { readModel } = visit
  const session = await loadSession(visit)
  if (!session) return null
  const details = await getCashSessionDetails(readModel.reader, session.session_id)
  const revisions = await listDrawerRevisions(visit.primary, session.session_id)
  const steps = { visit, subject: `cash_session/${session.id}`, revisions }
  const names = await namesOf(visit, [session])
  const actors = await namesOfActors(readModel, details.movements)
  const { timezone } = readModel
  const shown = { visit, details, actors, timezone }
  const body = (
    <>
      {seesExpected(visit) && (await TimeMachine(steps))}
      <Card title="Resumo">
        <Facts facts={factsOf(visit, session, names)} />
        {session.changed_after_close && (
          <p class="problem" role="note">
            Houve lançamentos depois do fechamento: os valores são os atuais, não os vistos no fechamento.
          </p>
        )}
      </Card>
      {seesExpected(visit) ? (
        <>
          <Ways session={session} types={await namesOfTypes(visit)} />
          <Drawer session={session} />
          <Movements {...shown} />
          <Takings {...shown} />
          <p class="hint">
            {'A gaveta soma as vendas que o caixa registrou nela, em qualquer dia. O '}
            <a href={link(CLOSING)}>fechamento do dia</a>
            {' soma as vendas de cada usuário em um dia, e mostra as gavetas que estiveram abertas nele.'}
          </p>
          {await History(steps)}
          <AsOfForm visit={visit} />
        </>
      ) : (
        <Movements {...shown} />
      )}
    </>
  )
  const actions = !readModel.moment && actionsOf(visit, session)
  return { title: session.name, parent: { label: 'Gavetas', to: DRAWERS }, ...actions, body }
}

function factsOf(visit: PageContext, session: CashSessionObject, names: Names): Fact[] {
  const { opened_at, closed_at, sales_count, session_id, counted, reason, note, explained_at } = session
  const { timezone } = visit.readModel
  const when = (at: string | null, userId: number | null) =>
    at && [formatDateTime(at, timezone), nameIn(names, userId)].filter((part) => part !== null).join(', ')
  return [
    ['Situação', <SessionBadges key="state" session={session} />],
    ['Aberta', when(opened_at, session.opened_by_user_id)],
    ['Fechada', when(closed_at, session.closed_by_user_id)],
    ['Vendas', seesExpected(visit) && formatCount(sales_count)],
    ['Contado', !seesExpected(visit) && money(counted)],
    ['Motivo da diferença', reason && differenceReason(reason)],
    ['Observação', note],
    ['Explicada', when(explained_at, session.explained_by_user_id)],
    ['Código da sessão', <ShortId key="code" id={session_id} />],
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
        ['Suprimentos', formatMoney(cash.in)],
        ['Sangrias', formatMoney(cash.out)],
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
  in: 'Suprimento',
  out: 'Sangria',
  closed: 'Fechamento',
  reversed: 'Recebimento estornado',
}

interface DetailsProps {
  readonly visit: PageContext
  readonly details: CashSessionDetails
  readonly actors: Names
  readonly timezone: string
}

const timeColumn = <R extends { readonly at: string }>(timezone: string): Column<R> => ({
  head: 'Quando',
  cell: ({ at }) => formatDateTime(at, timezone),
})

const Movements = ({ visit, details: { movements }, actors, timezone }: DetailsProps) => (
  <Card title="Movimentos">
    <ListTable<ShownCashMovement>
      isList
      caption="Movimentos da gaveta"
      rows={movements}
      empty="Nenhum movimento."
      columns={[
        timeColumn(timezone),
        { head: 'Movimento', cell: (movement) => <MovementName visit={visit} movement={movement} /> },
        { head: 'Quem', cell: ({ actor }) => actors(actor), isExtra: true },
        { head: 'Motivo', cell: ({ reason }) => reason, isExtra: true },
        { head: 'Valor', cell: ({ amount }) => money(amount), isNumber: true },
      ]}
    />
  </Card>
)

/** Returns and sales of a session. */
const Takings = ({ details: { sales, returns }, timezone }: DetailsProps) => (
  <>
    {returns.length > 0 && (
      <Card title="Devoluções">
        <ListTable<ReturnOfSession>
          caption="Devoluções na sessão"
          rows={returns}
          empty=""
          columns={[
            timeColumn(timezone),
            { head: 'Venda', cell: ({ sale_id: id }) => <SaleLink id={id}>{id}</SaleLink> },
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
          timeColumn(timezone),
          { head: 'Formas', cell: ({ ways }) => ways.join(', '), isExtra: true },
          { head: 'Situação', cell: (sale) => <SaleState sale={sale} /> },
          { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
        ]}
      />
    </Card>
  </>
)

interface MovementNameProps {
  readonly visit: PageContext
  readonly movement: ShownCashMovement
}

/** Page of the account that a movement received or paid, if the user may open it. */
function accountPath({ reaches }: PageContext, { receivable_id, payable_id }: ShownCashMovement): string | null {
  const path = payable_id ? `/contas-a-pagar/${payable_id}` : receivable_id && `/contas-a-receber/${receivable_id}`
  return path && reaches('GET', path) ? path : null
}

const MovementName = ({ visit, movement }: MovementNameProps) => {
  const { kind, payable_id, warnings } = movement
  const path = accountPath(visit, movement)
  const name = payable_id && kind === 'out' ? 'Conta paga' : KINDS[kind]
  return (
    <>
      {path === null ? name : <a href={link(path)}>{name}</a>}
      {warnings.map((code) => (
        <PanelBadge key={code} tone="warn">
          {VALUE_NAMES.warnings?.[code] ?? code}
        </PanelBadge>
      ))}
    </>
  )
}

const SaleState = ({ sale: { status, is_refund } }: { readonly sale: SaleOfSession }) => {
  if (is_refund) return <PanelBadge tone="bad">Cancelada, dinheiro devolvido aqui</PanelBadge>
  return status === 'completed' ? null : <PanelBadge tone="bad">Cancelada</PanelBadge>
}

/** Users who do not see all sales see the own drawer, without what it should have. */
export const cashSessionPages: readonly PanelRoute[] = [
  { section: 'tills', path: DRAWERS, show: showList },
  ...drawerPages,
  { section: 'tills', path: `${DRAWERS}/:id`, asOf: true, show: showSession },
]
