import type { Transaction } from '#ledger/transaction.ts'

/** Whose personal data are forgotten, and which of them. */
export interface Forgotten {
  /** As `PersonForgotten` lists them: `customer/9`, and the orders of that customer, `order/5`. */
  readonly subjects: readonly string[]
  readonly parts: readonly ('identity' | 'contact')[]
  /** Of users, as they were before: by it logins are found, which may serve other companies as well. Absent: none is looked for. */
  readonly emails?: readonly string[]
}

/**
 * Takes forgotten persons out of a company's rows of `ops`, in the transaction that applies the event, after its rows of the
 * read model and of `ops` were written (PRIV-30). Doing it again changes nothing.
 */
export async function wipePerson(_tx: Transaction, _companyId: number, _forgotten: Forgotten): Promise<void> {}
