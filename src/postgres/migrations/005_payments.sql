-- The payment provider: credentials of stores, its notifications, and the sweep of what no notification told.

create table ops.store_secrets (
  company_id bigint not null,
  store_id bigint not null,
  alias text not null constraint store_secrets_alias_key unique,
  secrets bytea,
  renew_at timestamptz,
  master_key_id bytea generated always as (substring(secrets from 2 for 8)) stored references ops.master_keys,
  primary key (company_id, store_id)
);
comment on table ops.store_secrets is 'Credentials of online stores at the payment provider, sealed.';
comment on column ops.store_secrets.alias is 'Part of the address that the provider notifies, so unique in the whole service.';
comment on column ops.store_secrets.secrets is '{access_token, notification_secret, refresh_token}, sealed.';
comment on column ops.store_secrets.renew_at is 'When the access token of a connected account is renewed, or a failed renewal repeated; null without one.';
create index store_secrets_by_renewal on ops.store_secrets (renew_at) where renew_at is not null;
create index store_secrets_by_master_key on ops.store_secrets (master_key_id, company_id, store_id);

create table ops.payment_notifications (
  company_id bigint not null,
  id bigint generated always as identity,
  order_id bigint not null,
  store_alias text not null,
  order_path text not null,
  request_id uuid not null,
  received_at timestamptz not null default clock_timestamp(),
  payload text,
  response text,
  http_status integer,
  duration_ms integer,
  outcome text check (outcome in ('applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed')),
  -- Another installation, which a company may come from, gives out the same ids.
  primary key (company_id, id)
);
comment on table ops.payment_notifications is 'Notifications of the payment provider about orders, as received, with the answer: 400 days, refused ones 90.';
comment on column ops.payment_notifications.store_alias is 'As named in the address, which anyone may call.';
comment on column ops.payment_notifications.payload is 'JSON of the body, or a string if it was no JSON; null if it was not read.';
comment on column ops.payment_notifications.response is 'Null until the answer, or if the process ended first.';
comment on column ops.payment_notifications.duration_ms is 'Milliseconds.';
create index payment_notifications_by_order on ops.payment_notifications (company_id, order_id, id);
create index payment_notifications_by_age on ops.payment_notifications (received_at);
create index payment_notifications_refused on ops.payment_notifications (received_at) where outcome = 'refused';

create table ops.payment_notification_hours (
  company_id bigint not null,
  store_id bigint not null,
  hour timestamptz not null,
  is_signed boolean not null,
  stored integer not null,
  stored_bytes bigint not null,
  not_stored integer not null,
  last_is_stored boolean not null,
  primary key (company_id, store_id, hour, is_signed)
) with (fillfactor = 50);
comment on table ops.payment_notification_hours is 'Stored notifications by store and hour, which bound the log. Further ones are only counted.';
comment on column ops.payment_notification_hours.stored_bytes is 'Bytes.';
comment on column ops.payment_notification_hours.not_stored is 'Number of those beyond the bound, which are not stored.';
comment on column ops.payment_notification_hours.last_is_stored is 'Whether the last one was stored.';
create index payment_notification_hours_by_age on ops.payment_notification_hours (hour);

-- Notifications that name no order of the store: a ring of slots, the oldest gives way to the newest.
create sequence ops.unverified_notification_ids;
create table ops.unverified_notifications (
  slot integer primary key,
  id bigint not null,
  store_alias text not null,
  order_path text not null,
  request_id uuid not null,
  received_at timestamptz not null,
  payload text,
  http_status integer,
  duration_ms integer,
  outcome text
) with (fillfactor = 80);
comment on table ops.unverified_notifications is 'Beginnings of notifications that name no order of a store: a ring of slots, kept 30 days.';
comment on column ops.unverified_notifications.payload is 'The beginning of the body, as JSON text; null where it was not read.';
comment on column ops.unverified_notifications.duration_ms is 'Milliseconds.';
create index unverified_notifications_by_age on ops.unverified_notifications (received_at);

create table ops.payment_sweeps (
  company_id bigint not null,
  order_id bigint not null,
  attempted_at timestamptz not null,
  passes integer not null default 0,
  claimed_passes integer not null,
  next_poll_at timestamptz,
  leased_until timestamptz,
  primary key (company_id, order_id)
);
comment on table ops.payment_sweeps is 'Progress of polling the payment provider about each order.';
comment on column ops.payment_sweeps.passes is 'Polls of the schedule that are done.';
comment on column ops.payment_sweeps.next_poll_at is 'Not polled before: while a process polls it, and until a retry after a failure.';
comment on column ops.payment_sweeps.leased_until is 'While a process asks the provider, and not longer.';
create index payment_sweeps_by_age on ops.payment_sweeps (attempted_at);
