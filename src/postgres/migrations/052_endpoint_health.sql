-- How the attempts of an hour went, by how long answers took: what health over 24 hours and 7 days is added up from. Kept 8 days.
create table ops.webhook_hours (
  company_id bigint not null,
  webhook_id bigint not null,
  hour timestamptz not null,
  -- Of the durations of answers (queries/webhook-health.ts); -1 where there was no answer.
  bucket smallint not null,
  attempts integer not null,
  failures integer not null,
  -- {at, status, error, delivery_id} of the last one.
  last_failure json,
  primary key (company_id, webhook_id, hour, bucket)
) with (fillfactor = 50);
create index webhook_hours_by_age on ops.webhook_hours (hour);

-- An outage that was told: since the first failure of it; and since when the endpoint has been well again.
alter table ops.webhook_health add column outage_since timestamptz, add column well_since timestamptz;
create index webhook_health_failing on ops.webhook_health (failing_since) where failing_since is not null;
create index webhook_health_outages on ops.webhook_health (outage_since) where outage_since is not null;
