-- What outsiders gave for checkpoints of the installation log. A token is never changed.
create table ops.checkpoint_tokens (
  -- Of the checkpoint.
  size bigint not null,
  -- Whose it is: a witness's key name, the URL of a time-stamp authority, the URL or folder that checkpoints are put to.
  source text not null,
  kind text not null check (kind in ('cosignature', 'time_stamp', 'copy')),
  -- A line of a signed note; a TimeStampResp (RFC 3161) as DER; the name that a copy was given.
  token bytea not null,
  obtained_at timestamptz not null default clock_timestamp(),
  primary key (source, size)
);
create index checkpoint_tokens_by_size on ops.checkpoint_tokens (size);

-- How it goes with each outsider; whoever is not in the settings any more stays, and is not shown.
create table ops.outsiders (
  source text primary key,
  tried_at timestamptz,
  -- In a row, until now.
  failures integer not null default 0,
  -- What went wrong last; null when nothing did.
  problem text,
  detail text,
  -- Not before then: after failures, and while a process asks.
  due_at timestamptz not null default clock_timestamp()
);
