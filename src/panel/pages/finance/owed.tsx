import { toCents } from '#domain/money.ts'
import {
  AGES,
  type Age,
  MOST_OWED,
  type OpenAccount,
  type Owed,
  owedByParty,
  type Side,
} from '#queries/finance/owed.ts'
import { day, decimal, money } from '../../format.ts'
import { link } from '../../link.ts'
import type { Visit } from '../../route.ts'
import { Table } from '../../ui/list.tsx'
import { ButtonLink, Card, Stat, Stats } from '../../ui/parts.tsx'

/** Differences between the pages of customers' and suppliers' balances. */
export interface OwedSide {
  readonly side: Side
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
    /** Title of the page and of its link. */
    readonly all: string
    /** Label of accounts without a party. */
    readonly nobody: string
    readonly party: string
  }
}

export const RECEIVABLE: OwedSide = {
  side: 'receivables',
  parties: '/clientes',
  accounts: '/contas-a-receber',
  words: {
    open: 'Fiado e contas em aberto',
    total: 'Deve',
    none: 'Não deve nada.',
    settle: 'Receber',
    all: 'Quem deve',
    nobody: 'Sem cliente',
    party: 'Cliente',
  },
}

export const PAYABLE: OwedSide = {
  side: 'payables',
  parties: '/fornecedores',
  accounts: '/contas-a-pagar',
  words: {
    open: 'Contas em aberto',
    total: 'A pagar',
    none: 'Não há nada a pagar.',
    settle: 'Pagar',
    all: 'A quem devemos',
    nobody: 'Sem fornecedor',
    party: 'Fornecedor',
  },
}

export const AGE_NAMES: Readonly<Record<Age, string>> = {
  not_due: 'A vencer',
  to_30: '1–30 dias',
  to_60: '31–60 dias',
  to_90: '61–90 dias',
  older: 'Mais de 90 dias',
}

export const countOf = (count: number, one: string, many: string): string =>
  `${decimal(String(count))} ${count === 1 ? one : many}`

/** Open balance by age. */
export const AgeStats = ({ owed: { ages } }: { readonly owed: Owed }) => (
  <Stats>
    {AGES.map((age) => (
      <Stat key={age} label={AGE_NAMES[age]} value={money(ages[age])} />
    ))}
  </Stats>
)

/** Beyond the bound the totals cover the oldest due accounts. */
export const Partial = () => (
  <p class="hint">{`Há mais contas: somadas as ${decimal(String(MOST_OWED))} que venceram primeiro.`}</p>
)

/** Due before the company's day. */
const isLate = ({ due_date }: OpenAccount, today: string): boolean => due_date < today

interface OpenAccountsProps {
  readonly side: OwedSide
  readonly accounts: readonly OpenAccount[]
  readonly today: string
}

const OpenAccounts = ({ side: { accounts: path, words }, accounts, today }: OpenAccountsProps) => (
  <Table
    isList
    caption={words.open}
    rows={accounts}
    empty={words.none}
    columns={[
      { head: 'Conta', cell: ({ id, description }) => <a href={link(`${path}/${id}`)}>{description}</a> },
      {
        head: 'Vencimento',
        cell: (account) => `${day(account.due_date)}${isLate(account, today) ? ' (vencida)' : ''}`,
      },
      {
        head: 'Venda',
        cell: ({ sale_id }) => sale_id !== null && <a href={link(`/vendas/${sale_id}`)}>{sale_id}</a>,
        isExtra: true,
      },
      { head: 'Valor', cell: ({ amount }) => money(amount), isNumber: true },
    ]}
  />
)

/** Accounts on a party's page; the list has the rest. */
const SHOWN = 10

interface PartyOwedProps {
  readonly visit: Visit
  readonly side: OwedSide
  readonly id: number
}

/** Open balance of a customer or supplier with a link to settle it (PANEL-161); empty for roles that do not see it. */
export async function PartyOwed({ visit, side, id }: PartyOwedProps) {
  if (!visit.reaches('GET', side.accounts)) return null
  const { pool, companyId, today, moment } = visit.readModel
  const { words, parties } = side
  const owed = await owedByParty(pool, side.side, companyId, id, { today, limit: SHOWN })
  return (
    <Card title={words.open}>
      <Stats>
        <Stat label={words.total} value={money(owed.amount)} hint={countOf(owed.count, 'conta', 'contas')} />
        <Stat label="Vencido" value={money(owed.overdue)} hint={owed.since && `a mais antiga: ${day(owed.since)}`} />
      </Stats>
      {toCents(owed.overdue) > 0 && <AgeStats owed={owed} />}
      <OpenAccounts side={side} accounts={owed.accounts} today={today} />
      {owed.count > owed.accounts.length && (
        <p class="hint">{`As ${owed.accounts.length} que vencem primeiro, de ${decimal(String(owed.count))}.`}</p>
      )}
      {owed.count > 0 && !moment && (
        <p>
          <ButtonLink to={`${parties}/${id}/liquidar`}>{words.settle}</ButtonLink>
        </p>
      )}
    </Card>
  )
}
