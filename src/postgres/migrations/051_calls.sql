-- The log of calls: what each company has asked of the API, for 7 days. Written in batches beside the answers.
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

-- What the log of a company holds, so that its bounds cost nothing.
create table ops.call_counts (
  company_id bigint primary key,
  calls bigint not null,
  bytes bigint not null
) with (fillfactor = 50);
