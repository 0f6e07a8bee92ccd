/**
 * A condition: whose a row is, is no company that moves, has moved away or arrives (HOME-44). What runs by itself finds its work by it. The
 * companies are read once a statement, from an index that is empty as a rule, and no plan changes for it.
 */
export const isNotMigrating = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move is not null))`

/**
 * The same for work that records events: neither of a company that moves nor of one that is read-only because keys are missing (LEDGER-51),
 * which would fail again and again.
 */
export const recordsEvents = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move is not null
     union all select company_id from ops.ledgers where missing_keys is not null))`

/** The same, of companies that live elsewhere: their rows are old, or not all there yet (HOME-42). */
export const isOnThisShard = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move in ('left', 'arriving')))`

/** The same, of companies that take no writes now (HOME-41). */
export const acceptsWrites = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where move in ('leaving', 'left', 'arriving')))`
