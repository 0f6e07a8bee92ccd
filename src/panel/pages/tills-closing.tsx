import { listTillContacts, type TillContact } from '#access/till-access.ts'
import { addDays, CalendarDate, startOfDay } from '#domain/instant.ts'
import { addAmounts } from '#domain/money.ts'
import { formatDay as dayText, formatCents, formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import { may } from '#domain/rights.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import { cashSessionsOfDay } from '#queries/cash-queries.ts'
import { sumAcquired } from '#queries/finance-summary.ts'
import type { Sum } from '#queries/list-statement.ts'
import { countRefusedByUser, sumRefusedOfDay } from '#queries/offline-sale-queries.ts'
import { reconcileSales } from '#queries/sales-sums.ts'
import { MAX_TILLS_OF_DAY, type TillDay, type TillsDay, tillsOfDay } from '#queries/till-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageRoute, PanelPage } from '../panel-route.ts'
import { namesOfActors } from '../record-history.tsx'
import { pluralize, ReconciliationLine, ReconciliationTable, wayName } from '../ui/head.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Chips, type Fact, Facts, Figure, Nothing, PanelBadge } from '../ui/page-parts.tsx'
import { because } from '../words/record-words.ts'
import { ACQUIRED_COLUMNS, addPayments, FeeFigure } from './acquirer-pages.tsx'
import { DRAWERS, differenceReason, drawerPath } from './drawer-pages.tsx'
import { REFUSED_SALES_PATH } from './refused-sale-pages.tsx'

/** Displayed tills; shops have fewer. */
const SHOWN = 50

/** A user of a till: logged in there, or with sales of today. */
interface Till {
  readonly actor: string | null
  readonly contact: TillContact | undefined
  readonly day: TillDay | undefined
  readonly refused: number
}

/** Tills with last contact, version, today's sales by payment type, and refused sales. */
export async function TillsToday({ visit: { primary, readModel } }: { readonly visit: PageContext }) {
  const { reader, timezone, today } = readModel
  const [contacts, day, refused] = await Promise.all([
    listTillContacts(primary, SHOWN),
    tillsOfDay(reader, { day: today, timezone, sessions: [] }),
    countRefusedByUser(primary),
  ])
  const tills = tillsOf(contacts, day.isPartial ? [] : day.tills, refused)
  const names = await namesOfActors(readModel, tills)
  return (
    <Card title="Caixas hoje">
      {day.isPartial && <TooMany />}
      <ListTable
        isList
        caption="Caixas hoje"
        rows={tills}
        empty="Ninguém entrou em um caixa ainda."
        columns={[
          {
            head: 'Caixa',
            cell: ({ actor }) => <a href={link('/vendas', salesOfTill(actor, today))}>{names(actor)}</a>,
          },
          { head: 'Último contato', cell: ({ contact }) => contact && formatDateTime(contact.last_used_at, timezone) },
          { head: 'Versão', cell: ({ contact }) => contact?.version, isExtra: true },
          {
            head: 'Vendas',
            cell: ({ actor, day }) => (
              <Figure name="concluidas" of={`caixa/${actor}`}>
                {formatCount(day ? day.sold.count - day.cancelled.count : 0)}
              </Figure>
            ),
            isNumber: true,
            isExtra: true,
          },
          { head: 'Formas de pagamento', cell: ({ day }) => <PaymentWays day={day} />, isExtra: true },
          {
            head: 'Recusadas',
            cell: ({ actor, refused }) => <RefusedCount of={`caixa/${actor}`} count={refused} />,
            isNumber: true,
          },
          {
            head: 'Total',
            cell: ({ actor, day }) => (
              <Figure name="liquido" of={`caixa/${actor}`}>
                {formatMoney(day?.net ?? '0.00')}
              </Figure>
            ),
            isNumber: true,
          },
        ]}
      />
    </Card>
  )
}

const TooMany = () => (
  <p class="problem" role="note">
    {`Há mais de ${formatCount(MAX_TILLS_OF_DAY)} vendas: elas não são somadas aqui.`}
  </p>
)

/** Filters for the sales of a till on a day. */
const salesOfTill = (actor: string | null, day: string) => ({
  actor: actor ?? 'system',
  origin: 'pdv',
  sold_from: day,
  sold_to: day,
})

function tillsOf(
  contacts: readonly TillContact[],
  days: readonly TillDay[],
  refused: ReadonlyMap<number, number>,
): Till[] {
  const contactOf = new Map<string, TillContact>(
    contacts.map((contact) => [`user/${contact.user_id}`, contact] as const),
  )
  const dayOf = new Map(days.map((day) => [day.actor, day] as const))
  const actors = new Set<string | null>([...contactOf.keys(), ...dayOf.keys()])
  return [...actors].slice(0, 2 * SHOWN).map((actor) => ({
    actor,
    contact: contactOf.get(actor ?? ''),
    day: dayOf.get(actor),
    refused: refused.get(Number(actor?.split('/')[1])) ?? 0,
  }))
}

const PaymentWays = ({ day }: { readonly day: TillDay | undefined }) =>
  day?.ways
    .filter(({ sold, cancelled }) => sold.count > cancelled.count)
    .map((way) => (
      <div key={way.key}>
        {wayName(way)}: {formatMoney(way.net)}
      </div>
    ))

const RefusedCount = ({ of, count }: { readonly of: string; readonly count: number }) =>
  count === 0 ? null : (
    <a href={link('/caixas/recusadas')}>
      <PanelBadge tone="bad">
        <Figure name="recusadas" of={of}>
          {formatCount(count)}
        </Figure>
      </PanelBadge>
    </a>
  )

export const CLOSING = '/caixas/fechamento'

/** The requested day, by default the company's day; never a future one. */
function dayAsked({ query, readModel: { today } }: PageContext): string {
  const asked = CalendarDate.safeParse(query.dia).data
  return asked !== undefined && asked <= today ? asked : today
}

/**
 * The day's sales of each till and in all, by way of paying, and the expected cash; printable.
 */
async function show(visit: PageContext): Promise<PanelPage> {
  const { readModel, session, primary } = visit
  const { reader, timezone, today } = readModel
  const day = dayAsked(visit)
  const bounds = [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)] as const
  // A drawer has the money of the sales of all users.
  const seesDrawers = may(session.permissions, 'see_all_sales')
  const [sessions, refused] = await Promise.all([
    seesDrawers ? cashSessionsOfDay(reader, ...bounds) : [],
    // They can be resolved without a ledger event.
    sumRefusedOfDay(primary, { day, timezone }),
  ])
  const found = await tillsOfDay(reader, { day, timezone, sessions })
  const body = (
    <>
      <Days day={day} today={today} />
      {found.isPartial ? <TooMany /> : await Closing({ visit, day, found, refused })}
      {await AcquirersOfDay({ visit, day })}
      <p class="hint">
        {`Impresso em ${formatDateTime(session.now, timezone)}. O esperado de uma gaveta é a abertura mais o que entrou, menos o que saiu; sem gaveta aberta, só o dinheiro das vendas, sem o troco. Uma devolução conta no caixa da venda; o dinheiro sai da gaveta que o devolveu. Uma venda cancelada depois conta no dia da venda; o dinheiro dela sai no dia do cancelamento. `}
        {seesDrawers && <a href={link(DRAWERS)}>Gavetas</a>}
      </p>
    </>
  )
  return {
    title: `Fechamento de ${dayText(day)}`,
    parent: { label: 'Caixas', to: '/caixas' },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    body,
  }
}

const Days = ({ day, today }: { readonly day: string; readonly today: string }) => {
  const yesterday = addDays(today, -1)
  return (
    <div class="toolbar">
      <Chips
        label="Dia"
        chips={[
          { label: 'Hoje', to: CLOSING, isCurrent: day === today },
          { label: 'Ontem', to: CLOSING, parameters: { dia: yesterday }, isCurrent: day === yesterday },
        ]}
      />
      <form method="get" action={link(CLOSING)} class="range">
        <label for="dia">Outro dia</label>
        <input id="dia" name="dia" type="date" max={today} value={day} />
        <button type="submit">Ver</button>
      </form>
    </div>
  )
}

/** What acquirers keep of the day's money. */
async function AcquirersOfDay({ visit, day }: { readonly visit: PageContext; readonly day: string }) {
  const { reader, timezone } = visit.readModel
  const [from, to] = [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)]
  const payments = await sumAcquired(reader, { from, to })
  if (payments.length === 0) return null
  const { gross, fee, net } = addPayments(payments)
  return (
    <Card title="Operadoras">
      <ListTable
        caption="Pagamentos por operadora"
        rows={payments}
        columns={[{ head: 'Forma', cell: ({ name }) => name }, ...ACQUIRED_COLUMNS]}
        empty=""
      />
      <Facts
        facts={[
          ['Valor', formatCents(gross)],
          ['Taxas das operadoras', <FeeFigure key="fees" of="total" cents={fee} />],
          ['Líquido depois das taxas', formatCents(net)],
        ]}
      />
    </Card>
  )
}

interface ClosingProps {
  readonly visit: PageContext
  readonly day: string
  readonly found: TillsDay
  /** By user. */
  readonly refused: ReadonlyMap<string, Sum>
}

const NO_SALES = 'Nenhuma venda neste dia.'
const NOTHING_SOLD: TillDay = {
  ...reconcileSales([], []),
  actor: null,
  cash_in: '0.00',
  cash_back: '0.00',
  cash: '0.00',
  has_cash: false,
  sessions: [],
}

/** Sales, also of 0.00 without payments, or returns of earlier ones. */
const hasFigures = ({ ways, sold }: TillsDay['all']): boolean => ways.length > 0 || sold.count > 0

async function Closing({ visit, day, found, refused }: ClosingProps) {
  const { all, others, settled_in_cash } = found
  const without = [...refused.keys()].filter((actor) => !found.tills.some((till) => till.actor === actor))
  const tills = [...found.tills, ...without.sort().map((actor) => ({ ...NOTHING_SOLD, actor }))]
  if (tills.length === 0 && settled_in_cash.count === 0 && !hasFigures(all))
    return <Nothing title="Nenhuma venda nos caixas neste dia">O que os caixas enviarem aparece aqui.</Nothing>
  const names = await namesOfActors(visit.readModel, tills)
  const seesDrawers = may(visit.session.permissions, 'see_all_sales')
  const drawers = tills.flatMap(({ sessions }) => sessions)
  const cash = addAmounts(...drawers.map(({ expected }) => expected), ...tills.map((till) => till.cash))
  return (
    <>
      {tills.map((till) => (
        <ClosingTill
          key={till.actor}
          till={till}
          day={day}
          name={names(till.actor)}
          seesDrawers={seesDrawers}
          refused={refused.get(till.actor ?? '') ?? null}
        />
      ))}
      {hasFigures(others) && (
        <Card title="Outros canais">
          <ReconciliationTable
            caption="Vendas de outros canais por forma de pagamento"
            of="outros"
            sales={others}
            empty={NO_SALES}
          />
        </Card>
      )}
      <Card title="Total do dia">
        <ReconciliationTable
          caption="Todas as vendas do dia por forma de pagamento"
          of="total"
          sales={all}
          empty={NO_SALES}
        />
        <Facts
          facts={[
            [
              'Vendas',
              <a key="sales" href={link('/vendas', { sold_from: day, sold_to: day })}>
                <ReconciliationLine of="total" sales={all} />
              </a>,
            ],
            [
              seesDrawers ? 'Esperado nas gavetas' : 'Dinheiro das vendas',
              <strong key="cash" class="figure">
                <Figure name={seesDrawers ? 'esperado' : 'dinheiro'} of="total">
                  {formatMoney(cash)}
                </Figure>
              </strong>,
            ],
            [
              'Contas recebidas em dinheiro',
              seesDrawers && settled_in_cash.count > 0
                ? `${formatMoney(settled_in_cash.amount)} (${pluralize(settled_in_cash.count, 'conta', 'contas')}; ${drawers.length > 0 ? 'o que entrou em uma gaveta já está no esperado dela' : 'some este valor ao caixa que recebeu'})`
                : null,
            ],
          ]}
        />
      </Card>
    </>
  )
}

interface TillProps {
  readonly till: TillDay
  readonly day: string
  readonly name: string
  readonly seesDrawers: boolean
  /** Of the day, not resolved; null for none. */
  readonly refused: Sum | null
}

const ClosingTill = ({ till, day, name, seesDrawers, refused }: TillProps) => {
  const of = `caixa/${till.actor}`
  const { sessions, cash, has_cash } = till
  return (
    <Card title={name}>
      <ReconciliationTable caption={`Vendas de ${name} por forma de pagamento`} of={of} sales={till} empty={NO_SALES} />
      {refused && <RefusedNote refused={refused} />}
      <Facts
        facts={[
          [
            'Vendas',
            <a key="sales" href={link('/vendas', salesOfTill(till.actor, day))}>
              <ReconciliationLine of={of} sales={till} />
            </a>,
          ],
          ['Entrou em dinheiro', formatMoney(till.cash_in)],
          ['Saiu por cancelamentos e devoluções', formatMoney(till.cash_back)],
        ]}
      />
      {sessions.map((session) => (
        <Drawer key={session.id} session={session} />
      ))}
      {(has_cash || sessions.length === 0) && (
        <Facts
          facts={
            seesDrawers
              ? uncounted(of, cash, sessions.length > 0)
              : [['Dinheiro das vendas', amountOf('dinheiro', of, cash)]]
          }
        />
      )}
    </Card>
  )
}

const amountOf = (name: string, of: string, amount: string) => (
  <strong key={name} class="figure">
    <Figure name={name} of={of}>
      {formatMoney(amount)}
    </Figure>
  </strong>
)

/** To be filled in by hand. */
const Blank = () => <span class="blank" />

/** Cash of a till outside of its drawers; what to count if it has none. */
const uncounted = (of: string, cash: string, hasDrawers: boolean): Fact[] =>
  hasDrawers
    ? [['Dinheiro fora das gavetas', amountOf('esperado', of, cash)]]
    : [
        ['Esperado na gaveta', amountOf('esperado', of, cash)],
        ['Contado', <Blank key="counted" />],
        ['Diferença', <Blank key="difference" />],
      ]

/** A drawer: how the expected cash comes about, what was counted, why that differs, and who answers for it. */
const Drawer = ({ session }: DrawerProps) => {
  const { id, name, cash, expected, counted, difference, reason, note } = session
  const of = `gaveta/${id}`
  const moved = (name: string, amount: string): Fact => [name, amount !== '0.00' && formatMoney(amount)]
  return (
    <section aria-label={name}>
      <h3>
        <a href={link(drawerPath(id))}>{name}</a>
      </h3>
      <Facts
        facts={[
          ['Abertura', formatMoney(cash.opening)],
          moved('Vendas em dinheiro', cash.sales),
          moved('Contas recebidas', cash.received),
          moved('Suprimentos', cash.in),
          moved('Devoluções', cash.returned),
          moved('Vendas canceladas', cash.cancelled),
          moved('Sangrias', cash.out),
          ['Esperado na gaveta', amountOf('esperado', of, expected)],
          ['Contado', counted === null ? <Blank /> : amountOf('contado', of, counted)],
          ['Diferença', difference === null ? <Blank /> : amountOf('diferenca', of, difference)],
          ['Motivo', reason ? because(differenceReason(reason), note) : difference !== '0.00' && <Blank />],
          ['Assinatura', <Blank key="signature" />],
        ]}
      />
    </section>
  )
}

interface DrawerProps {
  readonly session: CashSessionObject
}

/** The till may have taken money for them (PANEL-421). */
const RefusedNote = ({ refused: { count, amount } }: { readonly refused: Sum }) => (
  <p class="problem" role="note">
    {`Fora destas somas: ${pluralize(count, 'venda recusada', 'vendas recusadas')}, ${formatMoney(amount)}. A gaveta pode ter este dinheiro. `}
    <a href={link(REFUSED_SALES_PATH)}>Resolver</a>
  </p>
)

export const tillsClosingPage: PageRoute = { path: CLOSING, section: 'tills', show }
