import type { Pool } from 'pg'
import { OPEN_ENDPOINTS } from './delivery-leases.ts'

/** Time of uninterrupted failures after which an outage begins; the first retry comes earlier. */
const BEGINS_AFTER_SECONDS = 300
/** Time of health after which an outage ends, so that an unsteady endpoint has one outage, not many. */
const ENDS_AFTER_SECONDS = 600

/**
 * Records beginning and ended outages, each with a notification to the company (HOOK-74). Of concurrent processes one
 * writes.
 */
export async function noteOutages(pool: Pool): Promise<void> {
  await pool.query({ ...BEGIN_OUTAGES, values: [BEGINS_AFTER_SECONDS] })
  await pool.query({ ...FOLLOW_OUTAGES, values: [BEGINS_AFTER_SECONDS] })
  await pool.query({ ...END_OUTAGES, values: [ENDS_AFTER_SECONDS] })
}

const NOTICE = `insert into notices (company_id, id, kind, data, created_at, email_tries, next_email_at)`

const BEGIN_OUTAGES = {
  name: 'begin_webhook_outages',
  text: `
with begun as (
  update webhook_health h set outage_since = h.failing_since, well_since = null
  from ${OPEN_ENDPOINTS} w
  where w.company_id = h.company_id and w.id = h.webhook_id
    and h.failing_since <= statement_timestamp() - make_interval(secs => $1) and h.failing_since >= w.watched_since
    and (h.outage_since is null or h.outage_since < w.watched_since)
  returning h.company_id, h.webhook_id, h.outage_since, w.url
)
${NOTICE}
select company_id, gen_random_uuid(), 'webhook_failing', json_build_object('webhook_id', webhook_id, 'url', url, 'since', outage_since),
  date_trunc('milliseconds', statement_timestamp()), 0, statement_timestamp()
from begun`,
}

/** Tracks since when endpoints with an outage have been healthy. */
const FOLLOW_OUTAGES = {
  name: 'follow_webhook_outages',
  text: `
update webhook_health h set well_since = case when h.failing_since is null then statement_timestamp() end
where h.outage_since is not null and case when h.well_since is null then h.failing_since is null
  else h.failing_since <= statement_timestamp() - make_interval(secs => $1) end`,
}

/** An outage of a former URL, or from before the endpoint was enabled again, ends without a notification. */
const END_OUTAGES = {
  name: 'end_webhook_outages',
  text: `
with over as (
  select h.company_id, h.webhook_id, h.outage_since, w.url
  from webhook_health h join ${OPEN_ENDPOINTS} w on w.company_id = h.company_id and w.id = h.webhook_id
  where h.outage_since is not null and h.failing_since is null
    and h.well_since <= statement_timestamp() - make_interval(secs => $1) and h.outage_since >= w.watched_since
  for no key update of h skip locked
), ended as (
  update webhook_health h set outage_since = null, well_since = null from over o
  where h.company_id = o.company_id and h.webhook_id = o.webhook_id
)
${NOTICE}
select company_id, gen_random_uuid(), 'webhook_well', json_build_object('webhook_id', webhook_id, 'url', url, 'since', outage_since),
  date_trunc('milliseconds', statement_timestamp()), 0, statement_timestamp()
from over`,
}
