-- What shows that ledgers are whole: trees, keys, signed checkpoints, and what witnesses and time-stamp authorities gave for them.

-- Merkle trees: of a company's ledger (log: the company's id) and of the installation log (0). They can be made anew of what they
-- are over.
create table ops.trees (
  log bigint primary key,
  size bigint not null,
  root bytea not null
);

-- Their nodes at levels 0, 8, 16 … (here 0, 1, 2 …), 256 hashes of 32 bytes to a tile; the last tile of a level may have fewer.
create table ops.tree_tiles (
  log bigint not null,
  level smallint not null,
  index bigint not null,
  hashes bytea not null,
  primary key (log, level, index)
) partition by hash (log);
-- Hashes cannot be compressed.
alter table ops.tree_tiles alter column hashes set storage external;
select ops.partition_by_company('ops.tree_tiles');

-- Keys that checkpoints are signed with, in the order in which they became the current one (src/integrity/checkpoint-keys.ts).
create table ops.seal_keys (
  index integer primary key,
  vkey text not null unique,
  -- SPKI, DER, base64.
  public_key text not null,
  since timestamptz not null,
  -- Id of the key before, where that one signed this one; null for the first, and where it was lost.
  signed_by text,
  -- Signed note that says all this.
  note text not null
);
select ops.append_only('ops.seal_keys');

-- Signed checkpoints of ledgers, each of which the next one goes through.
create table ops.ledger_checkpoints (
  company_id bigint not null,
  -- After a restore that lost sealed events a ledger is another log (src/integrity/checkpoints.ts).
  generation smallint not null,
  size bigint not null,
  root bytea not null,
  note text not null,
  made_at timestamptz not null,
  primary key (company_id, generation, size)
);
select ops.append_only('ops.ledger_checkpoints');

-- The installation log: texts of ledgers' checkpoints.
create table ops.installation_entries (
  index bigint primary key,
  company_id bigint not null,
  size bigint not null,
  text text not null
);
create index installation_entries_by_company on ops.installation_entries (company_id, index desc);
select ops.append_only('ops.installation_entries');

-- Its own signed checkpoints, one for each round.
create table ops.installation_checkpoints (
  size bigint primary key,
  root bytea not null,
  note text not null,
  made_at timestamptz not null
);
select ops.append_only('ops.installation_checkpoints');

-- What could not be sealed, since when and why; company 0 is the installation itself. A row goes with the next success.
create table ops.sealing_faults (
  company_id bigint primary key,
  since timestamptz not null,
  -- A fault of a ledger (src/integrity/verify.ts), or seal_altered, wrong_key, failed.
  reason text not null
);

-- When a round last sealed all that could be sealed.
create table ops.sealing_rounds (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null
);

-- What attestors gave for checkpoints of the installation log.
create table ops.checkpoint_tokens (
  -- Of the checkpoint.
  size bigint not null,
  -- A witness's key name, the URL of a time-stamp authority, the URL or folder that checkpoints are put to.
  source text not null,
  kind text not null check (kind in ('cosignature', 'time_stamp', 'copy')),
  -- A line of a signed note; a TimeStampResp (RFC 3161) as DER; the name that a copy was given.
  token bytea not null,
  obtained_at timestamptz not null default clock_timestamp(),
  primary key (source, size)
);
create index checkpoint_tokens_by_size on ops.checkpoint_tokens (size);
select ops.append_only('ops.checkpoint_tokens');

-- The attestors in the settings of the service, and how requests to each of them go.
create table ops.attestors (
  source text primary key,
  kind text not null,
  -- Of the party that is asked; null for a folder.
  host text,
  tried_at timestamptz,
  -- In a row, until now.
  failures integer not null default 0,
  -- Time of the first of them.
  failing_since timestamptz,
  -- When the operator was told of them.
  told_at timestamptz,
  -- What went wrong last; null when nothing did.
  problem text,
  detail text,
  -- Not before then: after failures, and while a process asks.
  due_at timestamptz not null default clock_timestamp()
);

-- Signed statements of what a restore did to a ledger (src/integrity/restored-statement.ts).
create table ops.restored_ledgers (
  company_id bigint not null,
  restored_at timestamptz not null,
  note text not null,
  primary key (company_id, restored_at)
);
select ops.append_only('ops.restored_ledgers');
