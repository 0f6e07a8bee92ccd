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
  -- W3C trace context that the client sent.
  traceparent text,
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
-- A late write of an earlier password, as after an unknown outcome, changes nothing.
create trigger newest_password before update on ops.persons for each row when (new.generation < old.generation)
  execute function ops.skip_change();

-- Two passwords of a person have two generations: of two concurrent changes, one is decided again.
create function ops.refuse_second_password() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'another password of this generation is in force' using errcode = 'unique_violation';
end $$;
create trigger one_password_a_generation before update on ops.persons for each row
  when (new.generation = old.generation and new.password_hash <> old.password_hash) execute function ops.refuse_second_password();

-- The link to a new password that was last sent to an address; it is deleted when it is used.
create table ops.password_links (
  email text primary key,
  token_hash bytea not null unique,
  sent_at timestamptz not null,
  -- Of the person when the link was sent: a later password ends it. Null for an address without a person.
  generation integer,
  -- The user who made the link to hand it over, and whether the person was an owner then. Null for a mailed link.
  company_id bigint,
  made_by bigint,
  for_owner boolean
);

-- Second factors of people: an authenticator app (TOTP) or a passkey. They belong to the person, as the password does.
create table ops.second_factors (
  id uuid primary key,
  email text not null,
  method text not null check (method in ('totp', 'passkey')),
  -- How the person tells it apart.
  label text not null check (length(label) <= 60),
  -- JSON, sealed: the secret of an app; the public key of a passkey.
  secret bytea not null,
  master_key_id bytea generated always as (substring(secret from 2 for 8)) stored references ops.master_keys,
  -- Of a passkey: it is registered once.
  credential_id text unique check (length(credential_id) <= 1400),
  -- The last time step of an app, or the signature counter of a passkey: an answer is accepted once.
  counter bigint not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
create unique index one_app_of_a_person on ops.second_factors (email) where method = 'totp';
create index second_factors_by_email on ops.second_factors (email);
create index second_factors_by_master_key on ops.second_factors (master_key_id, id);

-- Codes for a lost device. Each is valid once.
create table ops.recovery_codes (
  email text not null,
  -- SHA-256 of the code, which has 80 random bits.
  hash bytea not null,
  used_at timestamptz,
  primary key (email, hash)
);

-- Logins between password and second factor, and passkeys that are being registered. They are no sessions.
create table ops.second_steps (
  -- SHA-256 of the token in the form.
  hash bytea primary key,
  purpose text not null check (purpose in ('login', 'registration')),
  email text not null,
  -- Of the person when the password was checked: a later password ends the step.
  generation integer not null,
  -- For the answer of a passkey.
  challenge text not null,
  failures integer not null,
  expires_at timestamptz not null
);
create index second_steps_by_email on ops.second_steps (email);
-- For the purge.
create index second_steps_by_end on ops.second_steps (expires_at);

-- The link of an invitation, which only the invited person has.
create table ops.invitations (
  company_id bigint not null,
  user_id bigint not null,
  -- Null when it was used or cancelled.
  token_hash bytea unique,
  expires_at timestamptz not null,
  -- The user who invited; null for an operator.
  made_by bigint,
  -- Whether to become an owner.
  for_owner boolean not null,
  -- Ids of the companies of the person then, as a list: it ends when the person joins another one.
  companies json not null,
  primary key (company_id, user_id)
);

-- PINs with which users approve operations of others on the spot; argon2id.
create table ops.user_pins (
  company_id bigint not null,
  user_id bigint not null,
  pin_hash text not null,
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

-- Login tokens of tills. The token itself is kept nowhere.
create table ops.sync_tokens (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  -- As those of sessions.
  generation integer not null,
  person_generation integer not null,
  -- Of the user: another role needs another login.
  role text not null,
  created_at timestamptz not null,
  -- To within some minutes, so that reading calls seldom write.
  last_used_at timestamptz not null,
  -- Null: until the till logs out.
  expires_at timestamptz,
  revoked_at timestamptz,
  -- The token that this one has replaced: it ends with the first use of this one.
  replaces bytea,
  -- When it was first renewed; it ends ten minutes later.
  replaced_at timestamptz,
  -- What the till says of itself (Till-Version), as of its last calls.
  till_version text
) with (fillfactor = 70);
create index sync_tokens_by_user on ops.sync_tokens (company_id, user_id) where revoked_at is null;
-- What has ended, for the purge.
create index sync_tokens_by_end on ops.sync_tokens (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;

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

-- Calls of the panel, in minutes that begin with their first call. Unlogged: a crash of Postgres begins all minutes anew.
create unlogged table ops.panel_calls (
  company_id bigint not null,
  -- 0 counts all users of the company.
  user_id bigint not null,
  -- Empty counts all sessions of the user.
  session bytea not null,
  minute_ends_at timestamptz not null,
  calls integer not null,
  primary key (company_id, user_id, session)
) with (fillfactor = 50);
create index panel_calls_by_end on ops.panel_calls (minute_ends_at);

-- Counts calls of some sessions, as many of each as the minutes of its session, its user and its company leave. Tells how many that were and,
-- where some were refused, the seconds until the last exhausted minute ends. Companies come in order, so that two processes never wait for each other.
create function ops.count_panel_calls(
  p_companies bigint[], p_users bigint[], p_sessions bytea[], p_asked integer[], p_of_session integer, p_of_user integer, p_of_company integer
) returns table (of_session bytea, granted integer, retry_after integer) language plpgsql as $$
declare
  v_now constant timestamptz := statement_timestamp();
  v_used record;
begin
  perform set_config('synchronous_commit', 'off', true);
  for n in 1 .. coalesce(cardinality(p_companies), 0) loop
    -- Locks the company's row and changes nothing: its holder alone counts for the company.
    insert into ops.panel_calls as c values (p_companies[n], 0, '', v_now, 0)
      on conflict (company_id, user_id, session) do update set calls = c.calls where false;
    -- A new snapshot, which has what the last holder has counted.
    select
      coalesce(max(c.calls) filter (where k.user_id = 0), 0) as company_calls,
      coalesce(max(c.calls) filter (where k.user_id <> 0 and k.session = ''), 0) as user_calls,
      coalesce(max(c.calls) filter (where k.session <> ''), 0) as session_calls,
      coalesce(max(c.minute_ends_at) filter (where k.user_id = 0), v_now + interval '1 minute') as company_end,
      coalesce(max(c.minute_ends_at) filter (where k.user_id <> 0 and k.session = ''), v_now + interval '1 minute') as user_end,
      coalesce(max(c.minute_ends_at) filter (where k.session <> ''), v_now + interval '1 minute') as session_end
    into v_used
    from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
    join ops.panel_calls c on c.company_id = p_companies[n] and c.user_id = k.user_id and c.session = k.session and c.minute_ends_at > v_now;
    granted := greatest(0, least(
      p_asked[n], p_of_session - v_used.session_calls, p_of_user - v_used.user_calls, p_of_company - v_used.company_calls));
    if granted > 0 then
      insert into ops.panel_calls as c
        select p_companies[n], k.user_id, k.session, v_now + interval '1 minute', granted
        from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
        on conflict (company_id, user_id, session) do update set
          calls = case when c.minute_ends_at > v_now then c.calls else 0 end + excluded.calls,
          minute_ends_at = case when c.minute_ends_at > v_now then c.minute_ends_at else excluded.minute_ends_at end;
    end if;
    retry_after := case when granted < p_asked[n] then greatest(1, ceil(extract(epoch from greatest(
      case when v_used.session_calls + granted >= p_of_session then v_used.session_end end,
      case when v_used.user_calls + granted >= p_of_user then v_used.user_end end,
      case when v_used.company_calls + granted >= p_of_company then v_used.company_end end) - v_now))) end;
    of_session := p_sessions[n];
    return next;
  end loop;
end $$;
