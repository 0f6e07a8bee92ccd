-- Every notification of the payment provider that was received, also one that was refused, or whose processing never ended.
create table ops.payment_notifications (
  id bigint generated always as identity primary key,
  -- As the address named them; anybody can call it.
  store_alias text not null,
  order_path text not null,
  -- Whose order it is; null when there is no such order of that store.
  company_id bigint,
  order_id bigint,
  request_id uuid not null,
  received_at timestamptz not null default clock_timestamp(),
  -- JSON: the body as it was sent, or a string where it was no JSON; null where it was not read.
  payload text,
  -- What was answered; null until then, and for ever if the process ended first.
  response text,
  http_status integer,
  duration_ms integer,
  outcome text check (outcome in ('applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed'))
);
create index payment_notifications_by_order on ops.payment_notifications (company_id, order_id, id) where order_id is not null;
create index payment_notifications_by_age on ops.payment_notifications (received_at);
create index payment_notifications_of_nobody on ops.payment_notifications (received_at) where order_id is null;

-- How far the sweep has come with an order since its latest attempt to pay.
create table ops.payment_sweeps (
  company_id bigint not null,
  order_id bigint not null,
  attempted_at timestamptz not null,
  -- Moments of the schedule that are dealt with, and those that a process is dealing with.
  passes integer not null default 0,
  claimed_passes integer not null,
  -- While a process looks; if it dies, another one takes over after this.
  leased_until timestamptz,
  primary key (company_id, order_id)
);
create index payment_sweeps_by_age on ops.payment_sweeps (attempted_at);
