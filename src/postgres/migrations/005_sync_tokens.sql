-- Login tokens of the sync interface. The token itself is kept nowhere.
create table ops.sync_tokens (
  hash bytea primary key,
  user_id bigint not null,
  company_id bigint not null,
  created_at timestamptz not null,
  -- To within some minutes, so that reading calls seldom write.
  last_used_at timestamptz not null,
  -- Null: for as long as nobody logs out.
  expires_at timestamptz,
  revoked_at timestamptz
) with (fillfactor = 70);

create index sync_tokens_by_user on ops.sync_tokens (user_id) where revoked_at is null;

-- What has ended, for the purge.
create index sync_tokens_by_end on ops.sync_tokens (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;
