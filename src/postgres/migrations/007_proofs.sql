-- What shows that ledgers are whole: trees, keys, signed checkpoints, and what witnesses and time-stamp authorities gave for them.

create table ops.trees (
  log bigint primary key,
  size bigint not null,
  root bytea not null
);
comment on table ops.trees is 'Merkle trees: of a ledger (log is the company) and of the installation log (log 0). Can be rebuilt.';

create table ops.tree_tiles (
  log bigint not null,
  level smallint not null,
  index bigint not null,
  hashes bytea not null,
  primary key (log, level, index)
) partition by hash (log);
comment on table ops.tree_tiles is 'Tiles of Merkle trees: 256 hashes of 32 bytes of every eighth level.';
-- Hashes cannot be compressed.
alter table ops.tree_tiles alter column hashes set storage external;
select ops.partition_by_company('ops.tree_tiles');

create table ops.checkpoint_keys (
  index integer primary key,
  vkey text not null unique,
  public_key text not null,
  since timestamptz not null,
  signed_by text,
  note text not null
);
comment on table ops.checkpoint_keys is 'Public keys that sign or have signed checkpoints, in order; append-only.';
comment on column ops.checkpoint_keys.public_key is 'SPKI, DER, base64.';
comment on column ops.checkpoint_keys.signed_by is 'Id of the previous key, if it signed this one.';
comment on column ops.checkpoint_keys.note is 'Signed note of this entry.';
select ops.append_only('ops.checkpoint_keys');

create table ops.ledger_checkpoints (
  company_id bigint not null,
  generation smallint not null,
  size bigint not null,
  root bytea not null,
  note text not null,
  made_at timestamptz not null,
  primary key (company_id, generation, size)
);
comment on table ops.ledger_checkpoints is 'Signed checkpoints of ledgers; append-only.';
comment on column ops.ledger_checkpoints.generation is 'Raised by a restore that lost signed events: the ledger is then another log.';
select ops.append_only('ops.ledger_checkpoints');

create table ops.installation_entries (
  index bigint primary key,
  company_id bigint not null,
  size bigint not null,
  text text not null
);
comment on table ops.installation_entries is 'Entries of the installation log: texts of checkpoints of ledgers; append-only.';
create index installation_entries_by_company on ops.installation_entries (company_id, index desc);
select ops.append_only('ops.installation_entries');

create table ops.installation_checkpoints (
  size bigint primary key,
  root bytea not null,
  note text not null,
  made_at timestamptz not null
);
comment on table ops.installation_checkpoints is 'Signed checkpoints of the installation log, one for each run; append-only.';
select ops.append_only('ops.installation_checkpoints');

create table ops.checkpoint_faults (
  company_id bigint primary key,
  since timestamptz not null,
  reason text not null
);
comment on table ops.checkpoint_faults is 'Ledgers without a checkpoint at the last run, since when and why; company 0 is the installation.';
comment on column ops.checkpoint_faults.reason is 'A fault of a ledger (src/integrity/verify.ts), or seal_altered, wrong_key, failed.';

create table ops.checkpoint_runs (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null
);
comment on table ops.checkpoint_runs is 'End of the last complete run of the checkpoint schedule.';

create table ops.checkpoint_tokens (
  size bigint not null,
  source text not null,
  kind text not null check (kind in ('cosignature', 'time_stamp', 'copy')),
  token bytea not null,
  obtained_at timestamptz not null default clock_timestamp(),
  primary key (source, size)
);
comment on table ops.checkpoint_tokens is 'Cosignatures, time stamps and copies of checkpoints of the installation log; append-only.';
comment on column ops.checkpoint_tokens.size is 'Of the checkpoint.';
comment on column ops.checkpoint_tokens.source is 'Key name of a witness, URL of an authority, URL or folder of copies.';
comment on column ops.checkpoint_tokens.token is 'Line of a signed note; TimeStampResp (RFC 3161) as DER; name of a copy.';
create index checkpoint_tokens_by_size on ops.checkpoint_tokens (size);
select ops.append_only('ops.checkpoint_tokens');

create table ops.attestors (
  source text primary key,
  kind text not null,
  host text,
  tried_at timestamptz,
  failures integer not null default 0,
  failing_since timestamptz,
  emailed_at timestamptz,
  problem text,
  detail text,
  due_at timestamptz not null default clock_timestamp()
);
comment on table ops.attestors is 'Configured attestors and the state of requests to them.';
comment on column ops.attestors.host is 'Host of the attestor; null for a folder.';
comment on column ops.attestors.failures is 'Failures in a row.';
comment on column ops.attestors.failing_since is 'Time of the first of them.';
comment on column ops.attestors.emailed_at is 'Time of the e-mail to the operator.';
comment on column ops.attestors.problem is 'Last fault; null without one.';
comment on column ops.attestors.due_at is 'Earliest next request.';

create table ops.restored_ledgers (
  company_id bigint not null,
  restored_at timestamptz not null,
  note text not null,
  primary key (company_id, restored_at)
);
comment on table ops.restored_ledgers is 'Signed statements of what a restore did to a ledger; append-only.';
select ops.append_only('ops.restored_ledgers');
