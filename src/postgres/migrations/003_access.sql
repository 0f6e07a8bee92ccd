-- API keys and what is counted of their requests; people, and what they are logged in with.

create table ops.api_key_secrets (
  company_id bigint not null,
  api_key_id bigint not null,
  hash bytea not null unique,
  primary key (company_id, api_key_id)
);
comment on table ops.api_key_secrets is 'Hashes of API keys. Scopes and state of a key are in the read model.';
comment on column ops.api_key_secrets.hash is 'SHA-256 of the key.';

create table ops.api_key_uses (
  company_id bigint not null,
  api_key_id bigint not null,
  last_used_at timestamptz not null,
  primary key (company_id, api_key_id)
) with (fillfactor = 50);
comment on table ops.api_key_uses is 'Last use of each API key, written without waiting for the disk.';

create table ops.quotas (
  company_id bigint primary key,
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  day_ends_at timestamptz not null,
  day_count integer not null,
  day_bytes bigint not null,
  admitted_bytes bigint[] not null
) with (fillfactor = 30);
comment on table ops.quotas is 'Requests and bytes of each company in its current minute and day.';
comment on column ops.quotas.day_bytes is 'Bytes of bodies.';
comment on column ops.quotas.admitted_bytes is 'Result of the last statement, in order of arrival: bytes of each admitted request, null of a refused one.';

-- When the local day of a zone is over. A zone that this Postgres does not know must not stop the requests of all companies: UTC then.
create function ops.end_of_day(p_at timestamptz, p_zone text) returns timestamptz language plpgsql stable as $$
begin
  return (date_trunc('day', p_at at time zone p_zone) + interval '1 day') at time zone p_zone;
exception when invalid_parameter_value then
  return (date_trunc('day', p_at at time zone 'UTC') + interval '1 day') at time zone 'UTC';
end $$;

-- Which of some requests are admitted, in order of arrival: as many as are left, with bodies that fit in the room together. A request
-- that does not fit leaves its place to the next one that does.
create function ops.admit_requests(p_bytes bigint[], p_requests integer, p_room bigint) returns bigint[] language plpgsql immutable as $$
declare
  v_admitted bigint[] := p_bytes;
  v_requests integer := p_requests;
  v_room bigint := greatest(0, p_room);
begin
  if cardinality(p_bytes) <= p_requests and (select sum(bytes) from unnest(p_bytes) as bytes) <= v_room then
    return p_bytes;
  end if;
  for n in 1 .. cardinality(p_bytes) loop
    if v_requests > 0 and p_bytes[n] <= v_room then
      v_requests := v_requests - 1;
      v_room := v_room - p_bytes[n];
    else
      v_admitted[n] := null;
    end if;
  end loop;
  return v_admitted;
end $$;

create table ops.request_log (
  company_id bigint not null,
  id uuid not null,
  at timestamptz not null,
  api_key_id bigint not null,
  method text not null,
  path text not null,
  query text,
  status smallint,
  code text,
  duration_ms integer not null,
  replayed boolean not null,
  body text,
  details text,
  traceparent text,
  via text,
  bytes integer not null,
  primary key (company_id, id)
);
comment on table ops.request_log is 'Log of requests to API v1, kept 7 days. Personal data and secrets are masked.';
comment on column ops.request_log.id is 'X-Request-Id, a UUID in order of time.';
comment on column ops.request_log.path is 'Below /api/v1.';
comment on column ops.request_log.query is 'Masked.';
comment on column ops.request_log.via is 'Tool of an agent, as mcp:createSale; null for a program.';
comment on column ops.request_log.status is 'Null if the client left before the answer.';
comment on column ops.request_log.code is 'Error code; null without an error.';
comment on column ops.request_log.duration_ms is 'Milliseconds.';
comment on column ops.request_log.replayed is 'Whether a stored answer was sent again.';
comment on column ops.request_log.body is 'Of a refused request: masked JSON of the body.';
comment on column ops.request_log.traceparent is 'W3C trace context that the client sent.';
comment on column ops.request_log.bytes is 'Bytes that count in request_counts.';

create table ops.request_counts (
  company_id bigint primary key,
  requests bigint not null,
  bytes bigint not null
) with (fillfactor = 50);
comment on table ops.request_counts is 'Rows and bytes that the request log of a company holds.';
comment on column ops.request_counts.bytes is 'Bytes.';

create table ops.persons (
  email text primary key,
  password_hash text not null,
  generation integer not null,
  generation_at timestamptz not null default clock_timestamp()
);
comment on table ops.persons is 'Persons who log in, one row per e-mail address. Their users in companies are in read.users.';
comment on column ops.persons.password_hash is 'argon2id.';
comment on column ops.persons.generation is 'Raised with each password; tokens and sessions of earlier generations have ended.';
comment on column ops.persons.generation_at is 'When it was raised last.';
create function ops.note_generation() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.generation_at := clock_timestamp();
  return new;
end $$;
create trigger generation_at before update of generation on ops.persons for each row
  when (new.generation > old.generation) execute function ops.note_generation();

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

create table ops.password_links (
  email text primary key,
  token_hash bytea not null unique,
  sent_at timestamptz not null,
  generation integer,
  company_id bigint,
  made_by bigint,
  for_owner boolean
);
comment on table ops.password_links is 'Link to a new password that was last made for an address; deleted when used.';
comment on column ops.password_links.token_hash is 'SHA-256 of the token in the link.';
comment on column ops.password_links.generation is 'Generation of the password when the link was made: a later password ends it. Null for an address without a person.';
comment on column ops.password_links.company_id is 'Company of the user who made the link; null for a mailed one.';

create table ops.second_factors (
  id uuid primary key,
  email text not null,
  method text not null check (method in ('totp', 'passkey')),
  label text not null check (length(label) <= 60),
  secret bytea not null,
  master_key_id bytea generated always as (substring(secret from 2 for 8)) stored references ops.master_keys,
  credential_id text unique check (length(credential_id) <= 1400),
  counter bigint not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
comment on table ops.second_factors is 'Second factors of persons: authenticator apps (TOTP) and passkeys.';
comment on column ops.second_factors.label is 'Name given by the person.';
comment on column ops.second_factors.secret is 'JSON, sealed: secret of an app, public key of a passkey.';
comment on column ops.second_factors.credential_id is 'Of a passkey: it is registered once.';
comment on column ops.second_factors.counter is 'Last time step of an app, or signature counter of a passkey.';
create unique index one_app_of_a_person on ops.second_factors (email) where method = 'totp';
create index second_factors_by_email on ops.second_factors (email);
create index second_factors_by_master_key on ops.second_factors (master_key_id, id);

create table ops.recovery_codes (
  email text not null,
  hash bytea not null,
  used_at timestamptz,
  primary key (email, hash)
);
comment on table ops.recovery_codes is 'One-time codes for a lost second factor.';
comment on column ops.recovery_codes.hash is 'SHA-256 of the code, which has 80 random bits.';

create table ops.second_steps (
  hash bytea primary key,
  purpose text not null check (purpose in ('login', 'registration')),
  email text not null,
  generation integer not null,
  challenge text not null,
  failures integer not null,
  expires_at timestamptz not null
);
comment on table ops.second_steps is 'Logins between password and second factor, and registrations of passkeys. They are no sessions.';
comment on column ops.second_steps.hash is 'SHA-256 of the token in the form.';
comment on column ops.second_steps.generation is 'Of the person when the password was checked: a later password ends the step.';
comment on column ops.second_steps.challenge is 'For the answer of a passkey.';
create index second_steps_by_email on ops.second_steps (email);
-- For the purge.
create index second_steps_by_end on ops.second_steps (expires_at);

create table ops.invitations (
  company_id bigint not null,
  user_id bigint not null,
  token_hash bytea unique,
  expires_at timestamptz not null,
  made_by bigint,
  for_owner boolean not null,
  companies json not null,
  primary key (company_id, user_id)
);
comment on table ops.invitations is 'Links of invitations to a company.';
comment on column ops.invitations.token_hash is 'SHA-256 of the token in the link; null once used or cancelled.';
comment on column ops.invitations.made_by is 'The user who invited; null for an operator.';
comment on column ops.invitations.for_owner is 'Whether to become an owner.';
comment on column ops.invitations.companies is 'Ids of the companies of the person then, as a list: it ends when the person joins another one.';

create table ops.shared_links (
  company_id bigint not null,
  record text not null,
  token_hash bytea unique,
  nonce bytea not null,
  expires_at timestamptz not null,
  made_by bigint,
  opened_at timestamptz,
  last_opened_at timestamptz,
  times_opened integer not null,
  primary key (company_id, record)
);
comment on table ops.shared_links is 'Links that open a page of a record without a login.';
comment on column ops.shared_links.record is 'What it opens: sale/9, customer/4, month/2026-11.';
comment on column ops.shared_links.token_hash is 'SHA-256 of the token in the link; null once revoked.';
comment on column ops.shared_links.nonce is 'Random. The token is made of it with a secret of the installation.';
comment on column ops.shared_links.made_by is 'The user who made it.';
create index shared_links_alive on ops.shared_links (company_id, expires_at) where token_hash is not null;

create table ops.morning_mails (
  company_id bigint not null,
  user_id bigint not null,
  hour smallint check (hour between 0 and 23),
  next_at timestamptz,
  leased_until timestamptz,
  tries integer not null,
  sent_day date,
  primary key (company_id, user_id)
);
comment on table ops.morning_mails is 'Users who asked for the morning by e-mail.';
comment on column ops.morning_mails.hour is 'Of the company''s day; null once the user ended it.';
comment on column ops.morning_mails.sent_day is 'Day of the company on which the last one was sent.';
create index morning_mails_due on ops.morning_mails (next_at);

create table ops.user_pins (
  company_id bigint not null,
  user_id bigint not null,
  pin_hash text not null,
  primary key (company_id, user_id)
);
comment on table ops.user_pins is 'PINs with which users approve operations of others; argon2id.';
comment on column ops.user_pins.pin_hash is 'argon2id.';

create table ops.invitation_counts (
  company_id bigint primary key,
  hour_ends_at timestamptz not null,
  invited integer not null
);
comment on table ops.invitation_counts is 'Invitations of a company in the hour that began with the first of them.';

create table ops.sessions (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  generation integer not null,
  person_generation integer not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  user_agent text check (length(user_agent) <= 200)
) with (fillfactor = 70);
comment on table ops.sessions is 'Sessions of the panel. Tokens are stored as SHA-256 only.';
comment on column ops.sessions.hash is 'SHA-256 of the token in the cookie.';
comment on column ops.sessions.generation is 'Of the user (read.users) and of the person when the password was checked: with a new password another one begins.';
comment on column ops.sessions.last_seen_at is 'Exact to a minute.';
comment on column ops.sessions.expires_at is 'Absolute end of the session.';
comment on column ops.sessions.user_agent is 'As the browser names itself, to tell sessions apart. It goes when the session ends.';
create index sessions_by_user on ops.sessions (company_id, user_id) where revoked_at is null;
-- For the purge.
create index sessions_by_end on ops.sessions (expires_at);

create table ops.sync_tokens (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  generation integer not null,
  person_generation integer not null,
  role text not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  replaces bytea,
  replaced_at timestamptz,
  till_version text,
  till_id bigint
) with (fillfactor = 70);
comment on table ops.sync_tokens is 'Login tokens of tills. Tokens are stored as SHA-256 only.';
comment on column ops.sync_tokens.hash is 'SHA-256 of the token.';
comment on column ops.sync_tokens.generation is 'As those of sessions.';
comment on column ops.sync_tokens.role is 'Of the user: another role needs another login.';
comment on column ops.sync_tokens.last_used_at is 'Exact to some minutes.';
comment on column ops.sync_tokens.expires_at is 'Null: until the till logs out.';
comment on column ops.sync_tokens.replaces is 'Hash of the replaced token, which ends with the first use of this one.';
comment on column ops.sync_tokens.replaced_at is 'When it was first renewed; it ends ten minutes later.';
comment on column ops.sync_tokens.till_version is 'Version that the till sent last (Till-Version).';
comment on column ops.sync_tokens.till_id is 'Till that sent it last; the token ends with the till.';
create index sync_tokens_by_user on ops.sync_tokens (company_id, user_id) where revoked_at is null;
-- What has ended, for the purge.
create index sync_tokens_by_end on ops.sync_tokens (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;

create table ops.till_contacts (
  company_id bigint not null,
  till_id bigint not null,
  last_seen_at timestamptz not null,
  last_number bigint not null,
  tail_since timestamptz,
  primary key (company_id, till_id)
) with (fillfactor = 50);
comment on table ops.till_contacts is 'What each till says of itself with every call.';
comment on column ops.till_contacts.last_seen_at is 'By the company''s clock.';
comment on column ops.till_contacts.last_number is 'The last that the till has recorded.';
comment on column ops.till_contacts.tail_since is 'When the till first named numbers that had not come; null if none.';

create table ops.login_failures (
  key bytea primary key,
  minute_ends_at timestamptz not null,
  minute_count integer not null,
  hour_ends_at timestamptz not null,
  hour_count integer not null
) with (fillfactor = 50);
comment on table ops.login_failures is 'Failed logins by account, network, device and in all.';
comment on column ops.login_failures.key is 'SHA-256 of the account, network or device.';
comment on column ops.login_failures.minute_ends_at is 'A window begins with its first failure.';
-- For the purge.
create index login_failures_by_end on ops.login_failures (hour_ends_at);

create table ops.login_origins (
  origin bytea not null,
  account bytea not null,
  seen_at timestamptz not null,
  primary key (origin, account)
);
comment on table ops.login_origins is 'Networks and devices from which accounts have logged in.';
comment on column ops.login_origins.origin is 'SHA-256 of a network, or of the token in the cookie of a device.';
comment on column ops.login_origins.account is 'SHA-256 of an e-mail address.';
comment on column ops.login_origins.seen_at is 'Exact to a day.';
create index login_origins_by_account on ops.login_origins (account, seen_at);
-- For the purge.
create index login_origins_by_age on ops.login_origins (seen_at);

create unlogged table ops.panel_request_counts (
  company_id bigint not null,
  user_id bigint not null,
  session bytea not null,
  minute_ends_at timestamptz not null,
  requests integer not null,
  primary key (company_id, user_id, session)
) with (fillfactor = 50);
comment on table ops.panel_request_counts is 'Requests to the panel in minutes that begin with the first one. Unlogged: a crash of Postgres starts the minutes again.';
comment on column ops.panel_request_counts.user_id is '0 counts all users of the company.';
comment on column ops.panel_request_counts.session is 'Empty counts all sessions of the user.';
create index panel_request_counts_by_end on ops.panel_request_counts (minute_ends_at);

-- Counts requests of some sessions, as many of each as the minutes of its session, its user and its company leave. Returns how many that were and,
-- where some were refused, the seconds until the last exhausted minute ends. Companies come in order, so that two processes never wait for each other.
create function ops.count_panel_requests(
  p_companies bigint[], p_users bigint[], p_sessions bytea[], p_requested integer[], p_of_session integer, p_of_user integer, p_of_company integer
) returns table (of_session bytea, granted integer, retry_after integer) language plpgsql as $$
declare
  v_now constant timestamptz := statement_timestamp();
  v_used record;
begin
  perform set_config('synchronous_commit', 'off', true);
  for n in 1 .. coalesce(cardinality(p_companies), 0) loop
    -- Locks the company's row and changes nothing: its holder alone counts for the company.
    insert into ops.panel_request_counts as c values (p_companies[n], 0, '', v_now, 0)
      on conflict (company_id, user_id, session) do update set requests = c.requests where false;
    -- A new snapshot, which has what the last holder has counted.
    select
      coalesce(max(c.requests) filter (where k.user_id = 0), 0) as company_requests,
      coalesce(max(c.requests) filter (where k.user_id <> 0 and k.session = ''), 0) as user_requests,
      coalesce(max(c.requests) filter (where k.session <> ''), 0) as session_requests,
      coalesce(max(c.minute_ends_at) filter (where k.user_id = 0), v_now + interval '1 minute') as company_end,
      coalesce(max(c.minute_ends_at) filter (where k.user_id <> 0 and k.session = ''), v_now + interval '1 minute') as user_end,
      coalesce(max(c.minute_ends_at) filter (where k.session <> ''), v_now + interval '1 minute') as session_end
    into v_used
    from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
    join ops.panel_request_counts c on c.company_id = p_companies[n] and c.user_id = k.user_id and c.session = k.session and c.minute_ends_at > v_now;
    granted := greatest(0, least(
      p_requested[n], p_of_session - v_used.session_requests, p_of_user - v_used.user_requests, p_of_company - v_used.company_requests));
    if granted > 0 then
      insert into ops.panel_request_counts as c
        select p_companies[n], k.user_id, k.session, v_now + interval '1 minute', granted
        from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
        on conflict (company_id, user_id, session) do update set
          requests = case when c.minute_ends_at > v_now then c.requests else 0 end + excluded.requests,
          minute_ends_at = case when c.minute_ends_at > v_now then c.minute_ends_at else excluded.minute_ends_at end;
    end if;
    retry_after := case when granted < p_requested[n] then greatest(1, ceil(extract(epoch from greatest(
      case when v_used.session_requests + granted >= p_of_session then v_used.session_end end,
      case when v_used.user_requests + granted >= p_of_user then v_used.user_end end,
      case when v_used.company_requests + granted >= p_of_company then v_used.company_end end) - v_now))) end;
    of_session := p_sessions[n];
    return next;
  end loop;
end $$;
