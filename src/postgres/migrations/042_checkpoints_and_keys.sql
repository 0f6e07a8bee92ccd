-- Keys that checkpoints are signed with, in the order in which they became the current one (src/proof/key-ring.ts).
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

-- Signed checkpoints of ledgers, each of which the next one goes through.
create table ops.ledger_checkpoints (
  company_id bigint not null,
  -- A ledger that was written anew is another log (src/proof/generation.ts).
  generation smallint not null,
  size bigint not null,
  root bytea not null,
  note text not null,
  made_at timestamptz not null,
  primary key (company_id, generation, size)
);

-- The installation log: texts of ledgers' checkpoints.
create table ops.installation_entries (
  index bigint primary key,
  company_id bigint not null,
  size bigint not null,
  text text not null
);
create index installation_entries_by_company on ops.installation_entries (company_id, index desc);

-- Its own signed checkpoints, one for each round.
create table ops.installation_checkpoints (
  size bigint primary key,
  root bytea not null,
  note text not null,
  made_at timestamptz not null
);

-- What could not be sealed, since when and why; company 0 is the installation itself. A row goes with the next success.
create table ops.sealing_faults (
  company_id bigint primary key,
  since timestamptz not null,
  -- A fault of a ledger (src/audit/walk.ts), or seal_altered, wrong_key, failed.
  reason text not null
);

-- When all that could be sealed last was.
create table ops.sealing_rounds (
  only_row boolean primary key default true check (only_row),
  ended_at timestamptz not null
);
