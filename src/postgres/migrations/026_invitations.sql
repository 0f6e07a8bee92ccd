-- The link of an invitation, which only whoever is invited has. Null when it was used or cancelled.
create table ops.invitations (
  company_id bigint not null,
  user_id bigint not null,
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
