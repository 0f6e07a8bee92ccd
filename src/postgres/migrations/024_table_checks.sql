-- When a company's rows of the read model were last compared with a replay of its ledger, and what differed.
create table ops.table_checks (
  company_id bigint primary key,
  -- When it is compared again.
  due_at timestamptz not null,
  -- Null until it was compared for the first time.
  checked_at timestamptz,
  revision bigint,
  -- [{table, key, found, fields}]; empty where all was equal.
  differences json not null default '[]',
  is_equal boolean not null default true
);
create index table_checks_due on ops.table_checks (due_at);
create index table_checks_unequal on ops.table_checks (company_id) where not is_equal;
