import type { PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg'

/** What answers statements: a pool, a company's share of one, a replica. */
export interface Queryable {
  query<R extends QueryResultRow = QueryResultRow>(
    statement: string | QueryConfig,
    values?: unknown[],
  ): Promise<QueryResult<R>>
}

/** What also opens transactions. A pool is one. */
export interface Database extends Queryable {
  connect(): Promise<PoolClient>
}

/**
 * Whether an error means that Postgres is unreachable, starting, stopping or no longer the primary, or that a lock or
 * statement time-out expired, or that the company is closed. The request itself is valid, and a retry may succeed.
 */
export function isOutage(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string }
  if (typeof code !== 'string') {
    return /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/.test(
      message ?? '',
    )
  }
  return OUTAGES.test(code)
}

/** read_only_sql_transaction: the server was the primary when the connection was made, and no longer is. */
export const READ_ONLY = '25006'

const OUTAGES = new RegExp(
  `^(08|53|57)...$|^(${READ_ONLY}|55P03|40001|40P01|25P03|TB003|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|ENOENT|ENOTFOUND|EAI_AGAIN)$`,
)
