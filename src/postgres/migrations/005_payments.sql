-- The payment provider: credentials of stores, its notifications, and the sweep of what no notification told.

create table ops.store_secrets (
  company_id bigint not null,
  store_id bigint not null,
  -- Part of the address that the provider notifies, so unique in the whole service.
  alias text not null constraint store_secrets_alias_key unique,
  -- {access_token, notification_secret, refresh_token}, sealed: used to call the provider and to check its signatures.
  secrets bytea,
  -- When the access token of a connected account is renewed, or a failed renewal repeated; null without one.
  renew_at timestamptz,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, store_id)
);
create index store_secrets_by_renewal on ops.store_secrets (renew_at) where renew_at is not null;
create index store_secrets_by_master_key on ops.store_secrets (master_key_id, company_id, store_id);

-- Notifications about orders, kept whole up to so much an hour of each store; also those that were refused, or that no process
-- finished.
create table ops.payment_notifications (
  company_id bigint not null,
  id bigint generated always as identity,
  order_id bigint not null,
  -- As the address named them; the address is open to unauthenticated clients.
  store_alias text not null,
  order_path text not null,
  request_id uuid not null,
  received_at timestamptz not null default clock_timestamp(),
  -- JSON: the body as it was sent, or a string where it was no JSON; null where it was not read.
  payload text,
  -- The answer; null until then, and for ever if the process ended first.
  response text,
  http_status integer,
  duration_ms integer,
  outcome text check (outcome in ('applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed')),
  -- Another installation, which a company may come from, gives out the same ids.
  primary key (company_id, id)
);
create index payment_notifications_by_order on ops.payment_notifications (company_id, order_id, id);
create index payment_notifications_by_age on ops.payment_notifications (received_at);
create index payment_notifications_refused on ops.payment_notifications (received_at) where outcome = 'refused';

-- How many notifications of an hour were kept; those that are signed have room of their own. Beyond it they are only counted.
create table ops.payment_notification_hours (
  company_id bigint not null,
  store_id bigint not null,
  hour timestamptz not null,
  is_signed boolean not null,
  kept integer not null,
  kept_bytes bigint not null,
  -- Those that were only counted.
  counted integer not null,
  -- Whether the last one was kept.
  fitted boolean not null,
  primary key (company_id, store_id, hour, is_signed)
) with (fillfactor = 50);
create index payment_notification_hours_by_age on ops.payment_notification_hours (hour);

-- Notifications that name no order of the store: a ring of slots, the oldest gives way to the newest.
create sequence ops.stranger_notification_ids;
create table ops.stranger_notifications (
  slot integer primary key,
  id bigint not null,
  store_alias text not null,
  order_path text not null,
  request_id uuid not null,
  received_at timestamptz not null,
  -- The beginning of the body, as JSON text; null where it was not read.
  payload text,
  http_status integer,
  duration_ms integer,
  outcome text
) with (fillfactor = 80);
create index stranger_notifications_by_age on ops.stranger_notifications (received_at);

-- How far the sweep has come with an order since its latest attempt to pay.
create table ops.payment_sweeps (
  company_id bigint not null,
  order_id bigint not null,
  attempted_at timestamptz not null,
  -- Moments of the schedule that are dealt with, and those that a process is dealing with.
  passes integer not null default 0,
  claimed_passes integer not null,
  -- Not polled before: while a process polls it, and until a retry after a failure.
  next_poll_at timestamptz,
  -- While a process asks the provider, and not longer.
  leased_until timestamptz,
  primary key (company_id, order_id)
);
create index payment_sweeps_by_age on ops.payment_sweeps (attempted_at);
