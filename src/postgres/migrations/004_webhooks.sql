-- Webhooks and notices. Endpoints themselves are in the read model.

create table ops.webhook_secrets (
  company_id bigint not null,
  webhook_id bigint not null,
  secrets bytea,
  switch_at timestamptz,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, webhook_id)
);
comment on table ops.webhook_secrets is 'Signing secrets of webhook endpoints, sealed. During a rotation both secrets sign.';
comment on column ops.webhook_secrets.secrets is '{secret, next_secret}, sealed; null once the endpoint is deleted.';
create index webhook_secrets_by_master_key on ops.webhook_secrets (master_key_id, company_id, webhook_id);

create table ops.webhook_sequences (
  company_id bigint not null,
  webhook_id bigint not null,
  last_sequence bigint not null,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);
comment on table ops.webhook_sequences is 'Last sequence number of each endpoint, changed under the lock of the ledger.';

create table ops.webhook_messages (
  company_id bigint not null,
  id uuid not null,
  revision bigint,
  event text not null,
  actor text,
  traceparent text,
  body text not null,
  created_at timestamptz not null,
  primary key (company_id, id)
);
comment on table ops.webhook_messages is 'Rendered messages of webhooks, kept 30 days.';
comment on column ops.webhook_messages.id is 'Of the ledger''s event; of a test message, an id of its own.';
comment on column ops.webhook_messages.revision is 'Null for a test message.';
comment on column ops.webhook_messages.actor is 'Author of the event: api_key/7, user/3.';
comment on column ops.webhook_messages.traceparent is 'W3C trace context of the request that caused the event.';
-- One event may make two messages: a deactivated item is changed, and deleted.
create unique index webhook_messages_by_revision on ops.webhook_messages (company_id, revision, event);
create index webhook_messages_by_age on ops.webhook_messages (created_at);

create table ops.webhook_deliveries (
  company_id bigint not null,
  id uuid not null,
  webhook_id bigint not null,
  message_id uuid not null,
  event text not null,
  revision bigint,
  sequence bigint,
  replay boolean not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  attempts json not null,
  tries integer not null,
  next_attempt_at timestamptz,
  leased_until timestamptz,
  created_at timestamptz not null,
  primary key (company_id, webhook_id, id)
) with (fillfactor = 70);
comment on table ops.webhook_deliveries is 'Outbox: deliveries of messages to endpoints, written with their event and sent by dispatchers.';
comment on column ops.webhook_deliveries.sequence is 'Null for a test delivery.';
comment on column ops.webhook_deliveries.attempts is '[{at, status, duration_ms, error, response}], oldest first.';
comment on column ops.webhook_deliveries.tries is 'Attempts since the delivery was made or requested again: the position in the retry schedule.';
comment on column ops.webhook_deliveries.next_attempt_at is 'Null unless pending.';
comment on column ops.webhook_deliveries.leased_until is 'End of the lease of the dispatcher that sends it. In no index, so that a lease is a HOT update.';
create index webhook_deliveries_due on ops.webhook_deliveries (company_id, webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_by_message on ops.webhook_deliveries (company_id, message_id);
create index webhook_deliveries_by_age on ops.webhook_deliveries (created_at);

create table ops.webhook_health (
  company_id bigint not null,
  webhook_id bigint not null,
  last_success_at timestamptz,
  failing_since timestamptz,
  no_response_since timestamptz,
  outage_since timestamptz,
  recovering_since timestamptz,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);
comment on table ops.webhook_health is 'Health of each endpoint. Results from before its last change of URL or state do not count.';
comment on column ops.webhook_health.failing_since is 'The first failure since the last success.';
comment on column ops.webhook_health.no_response_since is 'Since when all retries of a delivery are exhausted.';
comment on column ops.webhook_health.outage_since is 'Begin of a reported outage.';
comment on column ops.webhook_health.recovering_since is 'First success after an outage.';
create index webhook_health_failing on ops.webhook_health (failing_since) where failing_since is not null;
create index webhook_health_outages on ops.webhook_health (outage_since) where outage_since is not null;

create table ops.webhook_hours (
  company_id bigint not null,
  webhook_id bigint not null,
  hour timestamptz not null,
  bucket smallint not null,
  attempts integer not null,
  failures integer not null,
  last_failure json,
  primary key (company_id, webhook_id, hour, bucket)
) with (fillfactor = 50);
comment on table ops.webhook_hours is 'Attempts by hour and duration, kept 8 days; health over 24 hours and 7 days is their sum.';
comment on column ops.webhook_hours.bucket is 'Bucket of durations of answers; -1 without an answer.';
comment on column ops.webhook_hours.last_failure is '{at, status, error, delivery_id} of the last one.';
create index webhook_hours_by_age on ops.webhook_hours (hour);

create table ops.webhook_replays (
  company_id bigint not null,
  webhook_id bigint not null,
  after_revision bigint not null,
  until_revision bigint not null,
  last_revision bigint not null,
  deliveries integer not null default 0,
  erasures integer not null default 0,
  status text not null check (status in ('running', 'finished', 'cancelled')),
  requested_at timestamptz not null,
  finished_at timestamptz,
  next_step_at timestamptz,
  primary key (company_id, webhook_id)
);
comment on table ops.webhook_replays is 'Last replay of each endpoint.';
comment on column ops.webhook_replays.after_revision is 'Exclusive.';
comment on column ops.webhook_replays.until_revision is 'Last revision of the replay: later events were delivered anyway.';
comment on column ops.webhook_replays.last_revision is 'Last revision that was read.';
comment on column ops.webhook_replays.erasures is 'Erasures of the company since the request: a step is read again after one.';
comment on column ops.webhook_replays.next_step_at is 'When it goes on; null unless it is running.';
create index webhook_replays_due on ops.webhook_replays (next_step_at) where next_step_at is not null;
create index webhook_replays_by_age on ops.webhook_replays (finished_at);

create table ops.webhook_replay_days (
  company_id bigint primary key,
  day_ends_at timestamptz not null,
  deliveries integer not null
);
comment on table ops.webhook_replay_days is 'Deliveries that replays have written on a day of the company.';

create table ops.webhook_stock_changes (
  company_id bigint not null,
  catalog_item_id bigint not null,
  due_at timestamptz not null,
  recorded_at timestamptz not null,
  origin text not null,
  actor text,
  primary key (company_id, catalog_item_id)
);
comment on table ops.webhook_stock_changes is 'Items whose stock has moved since the last catalog_item.stock_changed; only of companies with a subscription.';
comment on column ops.webhook_stock_changes.due_at is 'When the message is made: a second after the first of the movements.';
comment on column ops.webhook_stock_changes.recorded_at is 'Of the last movement.';
comment on column ops.webhook_stock_changes.actor is 'Null if several actors moved it.';
create index webhook_stock_changes_due on ops.webhook_stock_changes (due_at);

create table ops.notifications (
  company_id bigint not null,
  id uuid not null,
  kind text not null,
  data json not null,
  created_at timestamptz not null,
  emailed_at timestamptz,
  email_tries integer not null,
  next_email_at timestamptz,
  leased_until timestamptz,
  primary key (company_id, id)
);
comment on table ops.notifications is 'Notifications for the users of a company, shown in the panel and e-mailed.';
comment on column ops.notifications.id is 'Id of the event that caused it.';
comment on column ops.notifications.next_email_at is 'Null if nothing is to be sent.';
comment on column ops.notifications.leased_until is 'End of the lease of the process that sends it.';
create index notifications_to_email on ops.notifications (next_email_at) where next_email_at is not null;
