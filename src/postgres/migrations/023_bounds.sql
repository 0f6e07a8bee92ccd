-- Bytes of bodies that a company has sent on its day, and which calls of the last statement were let through: their bytes in
-- order of arrival, null for one that was not. `granted` is for older programs that still count beside newer ones.
alter table ops.quotas alter column granted set default 0;
alter table ops.quotas add column day_bytes bigint not null default 0;
alter table ops.quotas add column passed bigint[] not null default '{}';

-- Which of some calls are let through, in order of arrival: as many as are left, whose bodies together fit in the room. One that
-- does not fit keeps none from its turn that does.
create function ops.let_through(p_bytes bigint[], p_calls integer, p_room bigint) returns bigint[] language plpgsql immutable as $$
declare
  v_passed bigint[] := p_bytes;
  v_calls integer := p_calls;
  v_room bigint := greatest(0, p_room);
begin
  if cardinality(p_bytes) <= p_calls and (select sum(bytes) from unnest(p_bytes) as bytes) <= v_room then
    return p_bytes;
  end if;
  for n in 1 .. cardinality(p_bytes) loop
    if v_calls > 0 and p_bytes[n] <= v_room then
      v_calls := v_calls - 1;
      v_room := v_room - p_bytes[n];
    else
      v_passed[n] := null;
    end if;
  end loop;
  return v_passed;
end $$;

-- The last replay of each address, while it is written and afterwards.
create table ops.webhook_replays (
  company_id bigint not null,
  webhook_id bigint not null,
  -- Exclusive, and where it ends: what came after it was asked for was delivered anyway.
  after_revision bigint not null,
  until_revision bigint not null,
  -- How far its messages have been looked at.
  last_revision bigint not null,
  deliveries integer not null default 0,
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

-- What came for orders is kept whole, up to so much an hour of each store; what is signed has room of its own. Beyond it
-- notifications are counted.
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

-- Notifications that are about nobody's order: a ring of slots, the oldest gives way to the newest.
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

drop index ops.payment_notifications_of_nobody;
create index payment_notifications_refused on ops.payment_notifications (received_at) where outcome = 'refused' or order_id is null;
