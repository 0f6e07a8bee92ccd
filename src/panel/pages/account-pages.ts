import type { SettleInput } from '#commands/finance/account-input.ts'
import type { Command } from '#ledger/command.ts'
import type { AccountObject } from '#projections/finance.ts'
import type { AccountListing } from '#queries/finance/accounts.ts'
import type { customerListing } from '#queries/people.ts'
import type { Section } from '../route.ts'
import type { RecordPages } from './record-pages.ts'

/** An account as the API shows it; `P` are the fields of the other party. */
export type Account<P = unknown> = AccountObject<P> & { readonly is_overdue: boolean }

/** One side of the finances. */
export interface AccountPages<P> {
  /** `/contas-a-receber` */
  readonly path: string
  readonly section: Section
  readonly subject: 'receivable' | 'payable'
  /** What the accounts are called. */
  readonly all: string
  readonly listing: AccountListing
  /** Customers or suppliers. */
  readonly party: {
    readonly label: string
    readonly unknown: string
    /** Where they have their pages. */
    readonly path: string
    readonly table: 'customers' | 'suppliers'
    readonly listing: typeof customerListing
    /** The field of the commands that names one. */
    readonly field: string
    of(account: P): { readonly id: number | null; readonly name: string | null }
  }
  readonly create: RecordPages<Account<P>>['create']
  readonly update: Pick<NonNullable<RecordPages<Account<P>>['update']>, 'schema' | 'command'>
  readonly remove: Command<{ id: number }>
  readonly settle: Command<SettleInput>
}
