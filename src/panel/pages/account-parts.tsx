import type { ReversalInput } from '#commands/account-commands.ts'
import type { AccountsPayment } from '#commands/pay-accounts.ts'
import { formatCount } from '#domain/person-values.ts'
import type { Permission } from '#domain/rights.ts'
import type { Command } from '#ledger/command.ts'
import type { AccountObject } from '#projections/finance.ts'
import { type AccountListing, type AccountTotals, MAX_SUMMED_ACCOUNTS } from '#queries/account-queries.ts'
import type { Section } from '../panel-route.ts'
import { StateBadge, type StateMark } from '../ui/page-parts.tsx'
import type { RecordPages } from '../ui/record-pages.tsx'
import { OpenFigure, OverdueFigure } from './debtor-pages.tsx'
import type { PaymentWords } from './payment-form.tsx'
import type { SearchedParty } from './person-form.tsx'

/** An account in the API's form; `P` are the fields of its party. */
export type Account<P = unknown> = AccountObject<P> & { readonly is_overdue: boolean }

/** Differences between the pages of receivables and payables. */
export interface AccountPages<P> {
  /** `/contas-a-receber` */
  readonly path: string
  readonly section: Section
  readonly editing: Permission
  readonly subject: 'receivable' | 'payable'
  readonly all: string
  /** Path of the page of balances by party. */
  readonly byParty: string
  /** Further pages about the accounts. */
  readonly more?: readonly { readonly label: string; readonly to: string }[]
  readonly listing: AccountListing
  readonly party: SearchedParty & { of(account: P): { readonly id: number | null; readonly name: string | null } }
  readonly create: RecordPages<Account<P>>['create']
  readonly update: Pick<NonNullable<RecordPages<Account<P>>['update']>, 'schema' | 'command'>
  readonly remove: Command<{ id: number }>
  readonly pay: Command<AccountsPayment>
  readonly reverse: Command<ReversalInput>
  readonly payment: PaymentWords
}

/** Whether an account is overdue depends on the day, so it is not stored. */
export const toAccountState = (account: Account): StateMark => {
  const { status, is_overdue, paid_amount } = account
  if (status === 'settled') return ['good', 'supplier_id' in account ? 'Paga' : 'Recebida']
  if (is_overdue) return ['bad', 'Vencida']
  return paid_amount === '0.00'
    ? ['plain', 'Pendente']
    : ['info', 'supplier_id' in account ? 'Paga em parte' : 'Recebida em parte']
}

export const AccountBadge = ({ account }: { readonly account: Account }) => (
  <StateBadge state={toAccountState(account)} />
)

/** Totals of the listed accounts; above the bound only their number is shown. */
export const AccountSumsCard = ({ sums: { found, overdue } }: { readonly sums: AccountTotals }) => {
  if (found.count === 0) return null
  if (found.count > MAX_SUMMED_ACCOUNTS) return <p class="sums">Mais de {formatCount(MAX_SUMMED_ACCOUNTS)} contas.</p>
  return (
    <p class="sums">
      {found.count === 1 ? '1 conta' : `${formatCount(found.count)} contas`},{' '}
      <strong>
        <OpenFigure of="lista" amount={found.amount} />
      </strong>
      {overdue.count > 0 && overdue.count < found.count && (
        <>
          {' '}
          (vencidas: {formatCount(overdue.count)}, <OverdueFigure of="lista" amount={overdue.amount} />)
        </>
      )}
    </p>
  )
}
