-- The link to a new password that was last sent to an address; it is deleted when it is used.
create table ops.password_links (
  email text primary key,
  token_hash bytea not null unique,
  sent_at timestamptz not null
);
