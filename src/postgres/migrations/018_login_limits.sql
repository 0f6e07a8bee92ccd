-- Failed logins, counted for whom or what they count against: an account, a network, a device, everybody.
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
