-- Who is logged in to the panel. The token itself is kept nowhere.
create table ops.sessions (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  created_at timestamptz not null,
  -- To within a minute, so that looking at pages seldom writes.
  last_seen_at timestamptz not null,
  -- However much it is used.
  expires_at timestamptz not null,
  revoked_at timestamptz
) with (fillfactor = 70);

create index sessions_by_user on ops.sessions (user_id) where revoked_at is null;

-- For the purge.
create index sessions_by_end on ops.sessions (expires_at);
