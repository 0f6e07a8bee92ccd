/**
 * SQL condition: the row's company does not migrate, has not left and does not arrive (SHARD-44). Background jobs select
 * their work with it. Postgres reads the companies once per statement, from an index that is usually empty, and the
 * condition changes no plan.
 */
export const isNotMigrating = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move is not null))`

/**
 * Condition for work that records events: the company neither migrates nor is read-only because of missing keys
 * (LEDGER-51). The work would fail repeatedly otherwise.
 */
export const recordsEvents = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move is not null
     union all select company_id from ops.ledgers where missing_keys is not null))`

/** Condition: the company is on this shard; rows of other companies are outdated or incomplete (SHARD-42). */
export const isOnThisShard = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move in ('left', 'arriving')))`

/** Condition: the company accepts writes now (SHARD-41). */
export const acceptsWrites = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move in ('leaving', 'left', 'arriving')))`
