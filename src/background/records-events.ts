/**
 * Condition for background work: the company is not closed, because it moves to another installation (CELL-3). Postgres reads
 * the companies once per statement, from an index that is usually empty, and the condition changes no plan.
 */
export const isOpen = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where closed_at is not null))`

/**
 * Condition for work that records events: the company is neither closed, nor read-only because of missing keys (LEDGER-51). The
 * work would fail repeatedly otherwise.
 */
export const recordsEvents = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where missing_keys is not null or closed_at is not null))`
