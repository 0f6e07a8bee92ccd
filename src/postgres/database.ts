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
