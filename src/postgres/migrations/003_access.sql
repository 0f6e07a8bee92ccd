-- API keys and what is counted of their calls; people, and what they are logged in with.

-- Hashes of API keys; what a key may do is in the read model.
create table ops.api_key_secrets (
  company_id bigint not null,
  api_key_id bigint not null,
  hash bytea not null unique,
  primary key (company_id, api_key_id)
);

-- Last use of a key, written by the quota statement without waiting for the disk.
create table ops.api_key_uses (
  company_id bigint not null,
  api_key_id bigint not null,
  last_used_at timestamptz not null,
  primary key (company_id, api_key_id)
) with (fillfactor = 50);

-- Calls counted per company: a minute that begins with its first call, and the company's own day.
create table ops.quotas (
  company_id bigint primary key,
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  day_ends_at timestamptz not null,
  day_count integer not null,
  -- Bytes of bodies.
  day_bytes bigint not null,
  -- Of the calls of the last statement, in order of arrival: the bytes of each one that was let through, null for one that was not.
  passed bigint[] not null
) with (fillfactor = 30);

-- When the local day of a zone is over. A zone that this Postgres does not know must not stop the calls of all companies: UTC then.
create function ops.end_of_day(p_at timestamptz, p_zone text) returns timestamptz language plpgsql stable as $$
begin
  return (date_trunc('day', p_at at time zone p_zone) + interval '1 day') at time zone p_zone;
exception when invalid_parameter_value then
  return (date_trunc('day', p_at at time zone 'UTC') + interval '1 day') at time zone 'UTC';
end $$;

-- Which of some calls are let through, in order of arrival: as many as are left, with bodies that fit in the room together. A call
-- that does not fit leaves its place to the next one that does.
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

-- The log of calls to the API, kept 7 days and written in batches beside the answers.
create table ops.calls (
  company_id bigint not null,
  -- X-Request-Id: ids follow time.
  id uuid not null,
  at timestamptz not null,
  api_key_id bigint not null,
  method text not null,
  -- Below /api/v1.
  path text not null,
  -- Without what could be a secret or a person's.
  query text,
  -- Null where the caller left before the answer.
  status smallint,
  -- Of the error; null where there was none.
  code text,
  duration_ms integer not null,
  -- Whether a stored answer was sent again.
  replayed boolean not null,
  -- Of a refused call: JSON texts of what was sent, without persons and secrets, and of the error's details.
  body text,
  details text,
  -- What it counts for in call_counts.
  bytes integer not null,
  primary key (company_id, id)
);

-- What the log of a company holds, so that its bounds are kept without counting rows.
create table ops.call_counts (
  company_id bigint primary key,
  calls bigint not null,
  bytes bigint not null
) with (fillfactor = 50);

-- People who log in: one row per e-mail address, of however many companies the person is a user (read.users).
create table ops.persons (
  email text primary key,
  -- argon2id.
  password_hash text not null,
  -- Tokens and sessions belong to the generation in which they were given out; those of an earlier one have ended.
  generation integer not null
);

create function ops.skip_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return null;
end $$;
-- A password is decided in home `main`, and other homes have copies: a late write of an earlier one changes nothing.
create trigger newest_password before update on ops.persons for each row when (new.generation < old.generation)
  execute function ops.skip_change();

-- The link to a new password that was last sent to an address; it is deleted when it is used.
create table ops.password_links (
  email text primary key,
  token_hash bytea not null unique,
  sent_at timestamptz not null
);

-- The link of an invitation, which only the invited person has.
create table ops.invitations (
  company_id bigint not null,
  user_id bigint not null,
  -- Null when it was used or cancelled.
  token_hash bytea unique,
  expires_at timestamptz not null,
  primary key (company_id, user_id)
);

-- Invitations of a company in an hour that begins with the first of them.
create table ops.invitation_counts (
  company_id bigint primary key,
  hour_ends_at timestamptz not null,
  invited integer not null
);

-- Sessions of the panel. The token itself is kept nowhere.
create table ops.sessions (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  -- Of the user (read.users) and of the person when the password was checked: with a new password another one begins.
  generation integer not null,
  person_generation integer not null,
  created_at timestamptz not null,
  -- To within a minute, so that looking at pages seldom writes.
  last_seen_at timestamptz not null,
  -- However much it is used.
  expires_at timestamptz not null,
  revoked_at timestamptz,
  -- As the browser names itself, to tell sessions apart. It goes when the session ends.
  user_agent text check (length(user_agent) <= 200)
) with (fillfactor = 70);
create index sessions_by_user on ops.sessions (company_id, user_id) where revoked_at is null;
-- For the purge.
create index sessions_by_end on ops.sessions (expires_at);
-- A publication finds a changed row's company in the whole row, since the key is a hash; that costs something only with
-- wal_level = logical.
alter table ops.sessions replica identity full;

-- Login tokens of tills. The token itself is kept nowhere.
create table ops.sync_tokens (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  -- As those of sessions.
  generation integer not null,
  person_generation integer not null,
  created_at timestamptz not null,
  -- To within some minutes, so that reading calls seldom write.
  last_used_at timestamptz not null,
  -- Null: until the till logs out.
  expires_at timestamptz,
  revoked_at timestamptz,
  -- What the till says of itself (Till-Version), as of its last calls.
  till_version text
) with (fillfactor = 70);
create index sync_tokens_by_user on ops.sync_tokens (company_id, user_id) where revoked_at is null;
-- What has ended, for the purge.
create index sync_tokens_by_end on ops.sync_tokens (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;
-- As sessions.
alter table ops.sync_tokens replica identity full;

-- Failed logins, counted against an account, a network, a device, or all together.
create table ops.login_failures (
  -- SHA-256 of what it is counted against.
  key bytea primary key,
  -- A window begins with its first failure.
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  hour_ends_at timestamptz not null,
  hour_count integer not null
) with (fillfactor = 50);
-- For the purge.
create index login_failures_by_end on ops.login_failures (hour_ends_at);

-- Where accounts have logged in from.
create table ops.login_origins (
  -- SHA-256 of a network, or of the token in a device's cookie, which is kept nowhere.
  origin bytea not null,
  -- SHA-256 of an e-mail address.
  account bytea not null,
  -- To within a day.
  seen_at timestamptz not null,
  primary key (origin, account)
);
create index login_origins_by_account on ops.login_origins (account, seen_at);
-- For the purge.
create index login_origins_by_age on ops.login_origins (seen_at);
