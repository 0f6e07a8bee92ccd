/**
 * Condition for work that records events: the company is not read-only because of missing keys (LEDGER-51). The work
 * would fail repeatedly otherwise. Postgres reads the companies once per statement, from an index that is usually empty,
 * and the condition changes no plan.
 */
export const recordsEvents = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where missing_keys is not null))`
