import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { sealJson } from '#crypto/vault.ts'
import { vault } from '../support/master-key.ts'

/** Endpoint as dispatchers read it. */
export interface TestEndpoint {
  readonly companyId: number
  readonly id: number
  readonly url: string
}

/** Stored delivery. */
export interface StoredDelivery {
  readonly id: string
  readonly status: 'pending' | 'delivered' | 'failed' | 'cancelled'
  readonly tries: number
  readonly attempts: {
    at: string
    status: number | null
    duration_ms: number
    error: string | null
    response: string | null
  }[]
  readonly next_attempt_at: string | null
}

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Projected tables with only the columns that dispatchers read. */
export async function createEndpoints(pool: Pool): Promise<void> {
  await pool.query(`create schema if not exists read; create sequence read.test_revisions`)
  await pool.query(`create table read.webhooks (company_id bigint not null, id bigint not null, url text not null,
    enabled boolean not null, watched_since timestamptz not null, api_key_id bigint, deleted_at timestamptz, doc json not null,
    primary key (company_id, id))`)
  await pool.query('create table read.companies (company_id bigint primary key, plan text not null)')
  await pool.query(`create table read.api_keys (company_id bigint not null, id bigint not null, revoked_at timestamptz,
    expires_at timestamptz, doc json not null, primary key (company_id, id))`)
}

/** Registers an endpoint, by default of company 1. */
export async function addEndpoint(pool: Pool, url: string, companyId = 1): Promise<TestEndpoint> {
  const { rows: ids } = await pool.query<{ id: number }>(
    'select coalesce(max(id), 0) + 1 as id from read.webhooks where company_id = $1',
    [companyId],
  )
  const id = ids[0]!.id
  const secrets = sealJson(vault, { secret: SECRET, next_secret: null }, `webhook_secrets/${companyId}/${id}`)
  await pool.query(
    `with company as (
       insert into read.companies values ($1, 'api') on conflict do nothing),
     endpoint as (
       insert into read.webhooks (company_id, id, url, enabled, watched_since, doc)
       values ($1, $4, $2, true, date_trunc('milliseconds', clock_timestamp()), '{}'))
     insert into webhook_secrets (company_id, webhook_id, secrets) values ($1, $4, $3)`,
    [companyId, url, secrets, id],
  )
  return { companyId, id, url }
}

/** Queues `count` due deliveries with different messages, like consecutive events. Returns their ids. */
export async function queue(
  pool: Pool,
  { companyId, id }: TestEndpoint,
  count = 1,
  { test = false, body = '{"event":"sale.completed","data":{"note":"ação"}}' } = {},
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => uuidv7())
  await pool.query(
    `with message as (
       insert into webhook_messages (company_id, id, revision, event, body, created_at)
       select $1, m.id, case when $5 then null else nextval('read.test_revisions') end, $6, $4,
         date_trunc('milliseconds', clock_timestamp())
       from unnest($3::uuid[]) as m(id) returning *)
     insert into webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence, replay, status, attempts,
       tries, next_attempt_at, created_at)
     select $1, d.id, $2, message.id, event, revision, revision, false, 'pending', '[]', 0, message.created_at, message.created_at
     from message join unnest($3::uuid[], $7::uuid[]) as d(message_id, id) on d.message_id = message.id`,
    [companyId, id, ids.map(() => uuidv7()), body, test, test ? 'webhook.test' : 'sale.completed', ids],
  )
  return ids
}

/** Deliveries in order of creation. */
export async function storedDeliveries(pool: Pool): Promise<StoredDelivery[]> {
  const { rows } = await pool.query<StoredDelivery>(
    `select id, status, tries, attempts, next_attempt_at from webhook_deliveries order by created_at, id`,
  )
  return rows
}
