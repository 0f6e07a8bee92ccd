-- Webhooks and notices. Endpoints themselves are in the read model.

-- Signing secrets. During the overlap of a rotation the first still signs and the next one signs beside it.
create table ops.webhook_secrets (
  company_id bigint not null,
  webhook_id bigint not null,
  -- {secret, next_secret}, sealed; null once the endpoint is deleted.
  secrets bytea,
  switch_at timestamptz,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, webhook_id)
);
create index webhook_secrets_by_master_key on ops.webhook_secrets (master_key_id, company_id, webhook_id);

-- Deliveries of an endpoint are numbered 1, 2, 3 …; changed under the ledger's lock only.
create table ops.webhook_sequences (
  company_id bigint not null,
  webhook_id bigint not null,
  last_sequence bigint not null,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);

-- Rendered messages, kept 30 days: what deliveries and redeliveries send. A replay adds those of older events.
create table ops.webhook_messages (
  company_id bigint not null,
  -- Of the ledger's event; of a test message, an id of its own.
  id uuid not null,
  -- Null for a test message, which is no event of the ledger.
  revision bigint,
  event text not null,
  -- Who caused the event: `api_key/7`, `user/3`.
  actor text,
  -- W3C trace context of the request that caused the event.
  traceparent text,
  body text not null,
  created_at timestamptz not null,
  primary key (company_id, id)
);
-- One event may make two messages: a deactivated item is changed, and deleted.
create unique index webhook_messages_by_revision on ops.webhook_messages (company_id, revision, event);
create index webhook_messages_by_age on ops.webhook_messages (created_at);

-- The outbox: written with the event, worked off by dispatchers.
create table ops.webhook_deliveries (
  company_id bigint not null,
  id uuid not null,
  webhook_id bigint not null,
  message_id uuid not null,
  event text not null,
  revision bigint,
  -- Null for a test delivery.
  sequence bigint,
  replay boolean not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  -- [{at, status, duration_ms, error, response}], oldest first.
  attempts json not null,
  -- Attempts since the delivery was made or asked for again: the place in the retry schedule.
  tries integer not null,
  -- Null unless pending.
  next_attempt_at timestamptz,
  -- While a dispatcher sends it. No index has it, so that taking a lease adds to none of them (HOT updates).
  leased_until timestamptz,
  created_at timestamptz not null,
  primary key (company_id, webhook_id, id)
) with (fillfactor = 70);
create index webhook_deliveries_due on ops.webhook_deliveries (company_id, webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_by_message on ops.webhook_deliveries (company_id, message_id);
create index webhook_deliveries_by_age on ops.webhook_deliveries (created_at);

-- How an endpoint answers. What is older than its `watched_since` (switched on, other URL) counts for nothing.
create table ops.webhook_health (
  company_id bigint not null,
  webhook_id bigint not null,
  last_success_at timestamptz,
  -- The first failure since the last success.
  failing_since timestamptz,
  -- Since when all retries of a delivery are exhausted.
  no_response_since timestamptz,
  -- An outage that was told: since its first failure.
  outage_since timestamptz,
  -- Since when the endpoint answers again after an outage.
  well_since timestamptz,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);
create index webhook_health_failing on ops.webhook_health (failing_since) where failing_since is not null;
create index webhook_health_outages on ops.webhook_health (outage_since) where outage_since is not null;

-- How the attempts of an hour went, by how long answers took: health over 24 hours and 7 days is added up from it. Kept 8 days.
create table ops.webhook_hours (
  company_id bigint not null,
  webhook_id bigint not null,
  hour timestamptz not null,
  -- Of the durations of answers (queries/webhook-queries.ts); -1 where there was no answer.
  bucket smallint not null,
  attempts integer not null,
  failures integer not null,
  -- {at, status, error, delivery_id} of the last one.
  last_failure json,
  primary key (company_id, webhook_id, hour, bucket)
) with (fillfactor = 50);
create index webhook_hours_by_age on ops.webhook_hours (hour);

-- The last replay of each endpoint, while it is written and afterwards.
create table ops.webhook_replays (
  company_id bigint not null,
  webhook_id bigint not null,
  -- Exclusive.
  after_revision bigint not null,
  -- Where it ends: events after the request were delivered anyway.
  until_revision bigint not null,
  -- How far its messages have been looked at.
  last_revision bigint not null,
  deliveries integer not null default 0,
  -- Persons of the company erased since the request: messages read before an erasure are not queued after it.
  erasures integer not null default 0,
  status text not null check (status in ('running', 'finished', 'cancelled')),
  requested_at timestamptz not null,
  finished_at timestamptz,
  -- When it goes on; null unless it is running.
  next_step_at timestamptz,
  primary key (company_id, webhook_id)
);
create index webhook_replays_due on ops.webhook_replays (next_step_at) where next_step_at is not null;
create index webhook_replays_by_age on ops.webhook_replays (finished_at);

-- Deliveries that replays have made on a company's day.
create table ops.webhook_replay_days (
  company_id bigint primary key,
  day_ends_at timestamptz not null,
  deliveries integer not null
);

-- Items whose stock has moved since the last message about it; written only for companies that subscribe to it.
create table ops.webhook_stock_changes (
  company_id bigint not null,
  catalog_item_id bigint not null,
  -- When the message is made: a second after the first of the movements.
  due_at timestamptz not null,
  -- Of the last movement.
  recorded_at timestamptz not null,
  origin text not null,
  -- Null if several actors moved it.
  actor text,
  primary key (company_id, catalog_item_id)
);
create index webhook_stock_changes_due on ops.webhook_stock_changes (due_at);

-- What a company's users must be told, in the panel and by e-mail.
create table ops.notices (
  company_id bigint not null,
  -- Of the event that gave rise to it.
  id uuid not null,
  kind text not null,
  data json not null,
  created_at timestamptz not null,
  emailed_at timestamptz,
  email_tries integer not null,
  -- Null when nothing is to be sent (any more).
  next_email_at timestamptz,
  -- While a process e-mails it. `next_email_at` does not tell: it may also be the time of another try.
  leased_until timestamptz,
  primary key (company_id, id)
);
create index notices_to_email on ops.notices (next_email_at) where next_email_at is not null;
