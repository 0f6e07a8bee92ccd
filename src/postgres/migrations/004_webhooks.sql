-- Webhooks: what cannot be derived from the ledgers. The addresses themselves are in the read model.
create sequence ops.webhook_ids;

-- Signing secrets. During the overlap of a rotation `secret` still signs and `next_secret` signs beside it.
create table ops.webhook_secrets (
  company_id bigint not null,
  webhook_id bigint not null,
  secret text not null,
  next_secret text,
  switch_at timestamptz,
  primary key (company_id, webhook_id)
);

-- Deliveries of an address are numbered 1, 2, 3 …; changed under the ledger's lock only.
create table ops.webhook_sequences (
  company_id bigint not null,
  webhook_id bigint not null,
  last_sequence bigint not null,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);

-- One rendered message per event, kept 30 days: what deliveries, redeliveries and replays send.
create table ops.webhook_messages (
  company_id bigint not null,
  -- Of the ledger's event; of a test message, an id of its own.
  id uuid not null,
  -- Null for a test message, which is no event of the ledger.
  revision bigint,
  event text not null,
  -- Who caused the event: `api_key/7`, `user/3`.
  actor text,
  body text not null,
  created_at timestamptz not null,
  primary key (company_id, id),
  unique (company_id, revision)
);
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
  created_at timestamptz not null,
  primary key (company_id, id)
) with (fillfactor = 70);
create index webhook_deliveries_due on ops.webhook_deliveries (webhook_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_by_address on ops.webhook_deliveries (company_id, webhook_id, id);
create index webhook_deliveries_by_message on ops.webhook_deliveries (company_id, message_id);
create index webhook_deliveries_by_age on ops.webhook_deliveries (created_at);

-- How an address answers. What is older than the address's `watched_since` (switched on, other URL) counts for nothing.
create table ops.webhook_health (
  company_id bigint not null,
  webhook_id bigint not null,
  last_success_at timestamptz,
  -- The first failure since the last success.
  failing_since timestamptz,
  -- Since when all retries of a delivery are exhausted.
  no_response_since timestamptz,
  primary key (company_id, webhook_id)
) with (fillfactor = 50);

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
  primary key (company_id, id)
);
create index notices_to_email on ops.notices (next_email_at) where next_email_at is not null;
