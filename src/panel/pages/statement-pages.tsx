import { formatDateTime, formatDay, formatMoney, formatPersonName } from '#domain/person-values.ts'
import type { CustomerObject } from '#projections/people.ts'
import { openBalanceOfParty, type PartyBalance, readStatement, type StatementLine } from '#queries/open-balances.ts'
import { getCustomer } from '#queries/person-queries.ts'
import type { Reader } from '#queries/reader.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, Stat, Stats } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { findLink, QrCode, SharedLinkCard, sharedLinkForms, toWhatsApp } from '../ui/shared-link.tsx'
import { OpenFigure, OverdueFigure, RECEIVABLE } from './debtor-pages.tsx'
import { receiptPath } from './payment-pages.tsx'

/** Lines of a statement; older ones are in the lists of accounts. */
const LINES = 200

/** What a customer owes, with what made and covered it, newest first. */
export interface CustomerStatement {
  readonly owed: PartyBalance
  readonly lines: readonly StatementLine[]
}

export async function loadCustomerStatement(reader: Reader, id: number, today: string): Promise<CustomerStatement> {
  const owed = await openBalanceOfParty(reader, RECEIVABLE.side, id, { today, limit: 1 })
  return { owed, lines: await readStatement(reader, id, { owed: owed.amount, limit: LINES }) }
}

const KINDS: Readonly<Record<StatementLine['kind'], string>> = {
  account: 'Compra',
  payment: 'Pagamento',
  return: 'Devolução',
}

/** `Compra: Café, Pão`, `Pagamento (Outubro)`. */
function nameOfLine({ kind, description, goods, reversed_at }: StatementLine): string {
  if (kind === 'account') return goods === null ? description : `Compra: ${goods}`
  return `${KINDS[kind]} (${description})${reversed_at === null ? '' : ', estornado'}`
}

interface StatementProps extends CustomerStatement {
  /** Of its figures. */
  readonly of: string
  readonly timezone: string
  /** Address of what proves or shows a line. */
  hrefOf(line: StatementLine): string
}

/** Balance, and every purchase and payment with what was owed after it. */
export const StatementCards = ({ of, owed, lines, timezone, hrefOf }: StatementProps) => (
  <>
    <Stats>
      <Stat label="Em aberto" value={<OpenFigure of={of} amount={owed.amount} />} />
      <Stat
        label="Vencido"
        value={<OverdueFigure of={of} amount={owed.overdue} />}
        hint={owed.overdue === '0.00' ? null : owed.since && `a mais antiga: ${formatDay(owed.since)}`}
      />
    </Stats>
    <Card title="Compras e pagamentos">
      <ListTable
        isList
        caption="Compras e pagamentos"
        rows={lines}
        empty="Nada foi comprado a prazo."
        columns={columnsOf(timezone, hrefOf)}
      />
      {lines.length === LINES && <p class="hint">{`As ${LINES} mais recentes.`}</p>}
    </Card>
  </>
)

const columnsOf = (timezone: string, hrefOf: StatementProps['hrefOf']): Column<StatementLine>[] => [
  { head: 'Atividade', cell: (line) => <a href={hrefOf(line)}>{nameOfLine(line)}</a> },
  { head: 'Quando', cell: ({ at }) => formatDateTime(at, timezone) },
  { head: 'Vencimento', cell: ({ due_date }) => due_date && formatDay(due_date), isExtra: true },
  { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
  { head: 'Saldo', cell: ({ balance }) => formatMoney(balance), isNumber: true },
]

/** A message that reminds of what is open. */
export function describeDebt(company: string, name: string | null, { amount, overdue, since }: PartyBalance): string {
  const [first] = (name ?? '').split(' ')
  const late =
    overdue === '0.00' || since === null ? '' : `, sendo ${formatMoney(overdue)} vencidos desde ${formatDay(since)}`
  return `Olá${first ? `, ${first}` : ''}! Há ${formatMoney(amount)} em aberto na ${company}${late}.`
}

interface ReminderProps {
  readonly visit: PageContext
  readonly customer: Pick<CustomerObject, 'id' | 'name' | 'phone'>
  readonly owed: PartyBalance
}

/** Statement, and a reminder by WhatsApp where something is open; the user sends it. */
export async function DebtActions({ visit, customer, owed }: ReminderProps) {
  const { id, name, phone } = customer
  const path = statementPath(id)
  if (visit.readModel.moment || !visit.reaches('GET', path)) return null
  const shared = owed.count === 0 ? null : await findLink(visit, { kind: 'customer', id })
  const text = describeDebt(visit.session.companyName, name, owed)
  return (
    <div class="actions">
      <a class="button" href={link(path)}>
        Caderneta
      </a>
      {owed.count > 0 && visit.session.seesPersonalData && (
        <a
          class="button"
          rel="noreferrer"
          href={toWhatsApp(shared?.url ? `${text} Veja sua caderneta: ${shared.url}` : text, phone)}
        >
          Lembrar por WhatsApp
        </a>
      )}
    </div>
  )
}

const statementPath = (id: number | string): string => `${RECEIVABLE.parties}/${id}/caderneta`

const loadCustomer = (visit: PageContext): Promise<CustomerObject | null> =>
  loadRecord(visit, ({ readModel }, id) => getCustomer(readModel.reader, id))

async function show(visit: PageContext): Promise<PanelPage | null> {
  const customer = await loadCustomer(visit)
  if (!customer) return null
  const { id, name, phone } = customer
  const { reader, today, timezone } = visit.readModel
  const statement = await loadCustomerStatement(reader, id, today)
  const shared = await findLink(visit, { kind: 'customer', id })
  const path = statementPath(id)
  const body = (
    <>
      <StatementCards {...statement} of={`caderneta/${id}`} timezone={timezone} hrefOf={toRecord} />
      {shared?.url && (await QrCode({ of: shared.url, label: 'QR Code da caderneta' }))}
      <SharedLinkCard
        visit={visit}
        link={shared}
        to={path}
        title="Link da caderneta"
        hint="Quem tiver o link vê compras, pagamentos e saldo, sem o nome do cliente. Cada linha leva à prova no registro de auditoria."
        message={`Sua caderneta na ${visit.session.companyName}:`}
        phone={phone}
      />
    </>
  )
  return {
    title: `Caderneta de ${formatPersonName(name)}`,
    parent: { label: formatPersonName(name), to: `${RECEIVABLE.parties}/${id}` },
    main: { label: 'Imprimir', to: path, prints: true },
    body,
  }
}

/** The sale, account or receipt of a line. */
function toRecord({ sale_id, receipt, account_id }: StatementLine): string {
  if (receipt !== null) return link(receiptPath(RECEIVABLE.accounts, receipt))
  return link(sale_id === null ? `${RECEIVABLE.accounts}/${account_id}` : `/vendas/${sale_id}`)
}

export const statementPages: readonly PanelRoute[] = [
  // Balances after each line need every sale and payment.
  { path: statementPath(':id'), section: 'customers', access: 'see_all_sales', show },
  ...sharedLinkForms<CustomerObject>({
    path: statementPath(':id'),
    section: 'customers',
    access: ['receive', 'see_all_sales'],
    subject: loadCustomer,
    sharedOf: ({ id }) => ({ kind: 'customer', id }),
    pageOf: ({ id }) => statementPath(id),
  }),
]
