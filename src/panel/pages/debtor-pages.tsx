import type { ComponentChildren } from 'preact'
import { fromBigCents, toBigCents } from '#domain/money.ts'
import { formatCount, formatDay, formatMoney, formatPersonName } from '#domain/person-values.ts'
import {
  BALANCE_AGES,
  type BalanceAge,
  type BalanceSide,
  type Debtor,
  listDebtors,
  MAX_OPEN_BALANCES,
  type OpenAccount,
  type OpenBalance,
  openBalanceOfParty,
  type PartyBalance,
} from '#queries/open-balances.ts'
import { customerListing, supplierListing } from '#queries/person-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageRoute, PanelPage, Section } from '../panel-route.ts'
import { AsOfForm } from '../record-history.tsx'
import { type Column, ListTable } from '../ui/list-table.tsx'
import { Card, Figure, SaleLink, Stat, Stats } from '../ui/page-parts.tsx'
import { Pager } from '../ui/panel-list.tsx'
import { formatAccountToken, type PaymentWords } from './payment-form.tsx'
import type { SearchedParty } from './person-form.tsx'

/** Differences between the pages of customers' and suppliers' balances. */
export interface BalancePageSide {
  readonly side: BalanceSide
  /** Scopes of figures: of all accounts, and of a party's, which its id follows. */
  readonly figures: { readonly all: string; readonly party: string }
  /** Path of the parties: `/clientes`. */
  readonly parties: string
  /** Path of the accounts: `/contas-a-receber`. */
  readonly accounts: string
  readonly words: {
    /** Title of the section on a party's page. */
    readonly open: string
    readonly total: string
    readonly none: string
    readonly settle: string
    readonly payment: PaymentWords
    /** Of the sum on a receipt. */
    readonly received: string
    /** Title of the page and of its link. */
    readonly all: string
    /** Label of accounts without a party. */
    readonly noParty: string
    readonly party: string
  }
}

export const RECEIVABLE: BalancePageSide = {
  side: 'receivables',
  figures: { all: 'receber', party: 'cliente' },
  parties: '/clientes',
  accounts: '/contas-a-receber',
  words: {
    open: 'Fiado e contas em aberto',
    total: 'Deve',
    none: 'Não deve nada.',
    settle: 'Receber',
    payment: { act: 'Receber', sum: 'Valor recebido (R$)', done: 'Recebida', drawer: 'Em qual gaveta entra' },
    received: 'Recebido',
    all: 'Clientes devedores',
    noParty: 'Sem cliente',
    party: 'Cliente',
  },
}

export const PAYABLE: BalancePageSide = {
  side: 'payables',
  figures: { all: 'pagar', party: 'fornecedor' },
  parties: '/fornecedores',
  accounts: '/contas-a-pagar',
  words: {
    open: 'Contas em aberto',
    total: 'A pagar',
    none: 'Não há nada a pagar.',
    settle: 'Pagar',
    payment: { act: 'Pagar', sum: 'Valor pago (R$)', done: 'Paga', drawer: 'De qual gaveta sai' },
    received: 'Pago',
    all: 'Contas a pagar por fornecedor',
    noParty: 'Sem fornecedor',
    party: 'Fornecedor',
  },
}

const AGE_NAMES: Readonly<Record<BalanceAge, string>> = {
  not_due: 'A vencer',
  to_30: '1–30 dias',
  to_60: '31–60 dias',
  to_90: '61–90 dias',
  older: 'Mais de 90 dias',
}

/** What is open of all accounts, or of a party's. */
export const OpenFigure = ({ of, amount }: { readonly of: string; readonly amount: string }) => (
  <Figure name="em-aberto" of={of}>
    {formatMoney(amount)}
  </Figure>
)

/** The part of it that was due before today. */
export const OverdueFigure = ({ of, amount }: { readonly of: string; readonly amount: string }) => (
  <Figure name="vencido" of={of}>
    {formatMoney(amount)}
  </Figure>
)

export const accountCount = (count: number): string => `${formatCount(count)} ${count === 1 ? 'conta' : 'contas'}`

/** Open balance by age. */
const AgeStats = ({ owed: { ages } }: { readonly owed: OpenBalance }) => (
  <Stats>
    {BALANCE_AGES.map((age) => (
      <Stat key={age} label={AGE_NAMES[age]} value={formatMoney(ages[age])} />
    ))}
  </Stats>
)

/** Beyond the bound the totals cover the oldest due accounts. */
const Partial = () => (
  <p class="hint">{`Há mais contas: somadas as ${formatCount(MAX_OPEN_BALANCES)} que venceram primeiro.`}</p>
)

/** Due before the company's day. */
const isLate = ({ due_date }: OpenAccount, today: string): boolean => due_date < today

interface OpenAccountsProps {
  readonly side: BalancePageSide
  readonly accounts: readonly OpenAccount[]
  readonly today: string
  /** Page that the ticked accounts go to; null without ticks. */
  readonly to: string | null
}

/** Parameter of the page that receives or pays: an account is ticked. */
export const tickName = ({ id }: Pick<OpenAccount, 'id'>): string => `accounts${id}`

function OpenAccounts({ side: { accounts: path, words }, accounts, today, to }: OpenAccountsProps) {
  let cents = 0n
  const rows = accounts.map((account) => {
    cents += toBigCents(account.open_amount)
    return { ...account, sum: fromBigCents(cents) }
  })
  const table = (
    <ListTable
      isList={to === null}
      caption={words.open}
      rows={rows}
      empty={words.none}
      columns={[
        {
          head: 'Conta',
          cell: (account) => (
            <span class={to === null ? undefined : 'choice'}>
              {to !== null && (
                <input
                  type="checkbox"
                  name={tickName(account)}
                  value={formatAccountToken(account)}
                  aria-label={`Marcar ${account.description}`}
                />
              )}
              <a href={link(`${path}/${account.id}`)}>{account.description}</a>
            </span>
          ),
        },
        {
          head: 'Vencimento',
          cell: (account) => `${formatDay(account.due_date)}${isLate(account, today) ? ' (vencida)' : ''}`,
        },
        {
          head: 'Venda',
          cell: ({ sale_id }) => sale_id !== null && <SaleLink id={sale_id}>{sale_id}</SaleLink>,
          isExtra: true,
        },
        { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true, isExtra: true },
        { head: 'Em aberto', cell: ({ open_amount }) => formatMoney(open_amount), isNumber: true },
        { head: 'Acumulado', cell: ({ sum }) => formatMoney(sum), isNumber: true, isExtra: true },
      ]}
    />
  )
  if (to === null || accounts.length === 0) return table
  return (
    <form method="get" action={link(to)}>
      {table}
      <span hidden data-payment={words.payment.act} />
      <div class="actions">
        <button type="submit">{words.payment.act}</button>
      </div>
    </form>
  )
}

/** Accounts on a party's page; the list has the rest. */
const SHOWN = 25

interface PartyOwedProps {
  readonly visit: PageContext
  readonly side: BalancePageSide
  readonly id: number
  readonly actions?: ((owed: PartyBalance) => Promise<ComponentChildren> | undefined) | undefined
}

/** Open balance of a customer or supplier; empty for roles that do not see it. */
export async function PartyBalanceCard({ visit, side, id, actions }: PartyOwedProps) {
  if (!visit.reaches('GET', side.accounts)) return null
  const { reader, today, moment } = visit.readModel
  const { words } = side
  const to = `${side.parties}/${id}/liquidar`
  const of = `${side.figures.party}/${id}`
  const owed = await openBalanceOfParty(reader, side.side, id, { today, limit: SHOWN })
  return (
    <Card title={words.open}>
      <Stats>
        <Stat label={words.total} value={<OpenFigure of={of} amount={owed.amount} />} hint={accountCount(owed.count)} />
        <Stat
          label="Vencido"
          value={<OverdueFigure of={of} amount={owed.overdue} />}
          hint={toBigCents(owed.overdue) > 0n && owed.since ? `a mais antiga: ${formatDay(owed.since)}` : null}
        />
      </Stats>
      {toBigCents(owed.overdue) > 0n && <AgeStats owed={owed} />}
      <OpenAccounts
        side={side}
        accounts={owed.accounts}
        today={today}
        to={!moment && visit.reaches('GET', to) ? to : null}
      />
      {owed.count > owed.accounts.length && (
        <p class="hint">{`As ${owed.accounts.length} que vencem primeiro, de ${formatCount(owed.count)}.`}</p>
      )}
      {await actions?.(owed)}
    </Card>
  )
}

/** Customers and suppliers, as one is chosen in a form. */
export const SEARCHED_CUSTOMER: SearchedParty = {
  label: 'Cliente',
  path: '/clientes',
  table: 'customers',
  listing: customerListing,
  owed: { side: RECEIVABLE.side, path: RECEIVABLE.accounts, verb: 'deve' },
  field: 'customer_id',
}

export const SEARCHED_SUPPLIER: SearchedParty = {
  label: 'Fornecedor',
  path: '/fornecedores',
  table: 'suppliers',
  listing: supplierListing,
  owed: { side: PAYABLE.side, path: PAYABLE.accounts, verb: 'a pagar' },
  field: 'supplier_id',
}

const ROWS = 50

/** Zero amounts would clutter a large table. */
const moneyIfAny = (amount: string): string => (amount === '0.00' ? '—' : formatMoney(amount))

const columnsOf = ({ parties, words, figures }: BalancePageSide): Column<Debtor>[] => [
  { head: words.party, cell: (debtor) => <Name debtor={debtor} parties={parties} noParty={words.noParty} /> },
  { head: 'Vencimento mais antigo', cell: ({ since }) => since && formatDay(since) },
  { head: 'Contas', cell: ({ count }) => count, isNumber: true, isExtra: true },
  { head: AGE_NAMES.not_due, cell: ({ ages }) => moneyIfAny(ages.not_due), isNumber: true, isExtra: true },
  { head: AGE_NAMES.to_30, cell: ({ ages }) => moneyIfAny(ages.to_30), isNumber: true, isExtra: true },
  { head: '31–60', cell: ({ ages }) => moneyIfAny(ages.to_60), isNumber: true, isExtra: true },
  { head: '61–90', cell: ({ ages }) => moneyIfAny(ages.to_90), isNumber: true, isExtra: true },
  { head: 'Mais de 90', cell: ({ ages }) => moneyIfAny(ages.older), isNumber: true, isExtra: true },
  {
    head: 'Total',
    cell: ({ id, amount }) => <OpenFigure of={`${figures.party}/${id ?? 'nenhum'}`} amount={amount} />,
    isNumber: true,
  },
]

interface NameProps {
  readonly debtor: Debtor
  readonly parties: string
  readonly noParty: string
}

/** A deleted party has a page until its accounts are paid. */
const Name = ({ debtor: { id, name, is_deleted }, parties, noParty }: NameProps) =>
  id === null ? (
    noParty
  ) : (
    <>
      <a href={link(`${parties}/${id}`)}>{formatPersonName(name)}</a>
      {is_deleted && ' (excluído)'}
    </>
  )

/** Number of pages before this one; 0 for an invalid value. */
const pagesBefore = (cursor: string | undefined): number => (/^[1-9]\d{0,3}$/.test(cursor ?? '') ? Number(cursor) : 0)

/** Balances by party, largest first (PANEL-162). */
async function show(owedSide: BalancePageSide, visit: PageContext): Promise<PanelPage> {
  const { reader, today } = visit.readModel
  const { words, accounts, figures } = owedSide
  const before = pagesBefore(visit.query.cursor)
  const skip = before * ROWS
  const found = await listDebtors(reader, owedSide.side, { today, skip, limit: ROWS })
  const { total, parties, page } = found
  const body = (
    <>
      <Stats>
        <Stat
          label="Em aberto"
          value={<OpenFigure of={figures.all} amount={total.amount} />}
          to={accounts}
          hint={accountCount(total.count)}
        />
        <Stat
          label="Vencido"
          value={<OverdueFigure of={figures.all} amount={total.overdue} />}
          to={accounts}
          parameters={{ view: 'overdue' }}
        />
      </Stats>
      <ListTable
        isList
        caption={words.all}
        rows={page}
        columns={columnsOf(owedSide)}
        empty="Nenhuma conta em aberto."
      />
      <Pager path={visit.path} query={visit.query} next={skip + ROWS < parties ? String(before + 1) : null} />
      <Card title="Por vencimento">
        <AgeStats owed={total} />
        {found.isPartial && <Partial />}
      </Card>
      <AsOfForm visit={visit} />
    </>
  )
  return { title: words.all, parent: { label: 'Contas', to: accounts }, body }
}

const pageOf = (side: BalancePageSide, section: Section): PageRoute => ({
  path: `${side.accounts}/em-aberto`,
  section,
  asOf: true,
  show: (visit) => show(side, visit),
})

export const debtorPages: readonly PageRoute[] = [pageOf(RECEIVABLE, 'receivables'), pageOf(PAYABLE, 'payables')]
