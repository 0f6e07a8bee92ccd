-- Keys that personal fields of events are sealed with: one for each part of a person. Made and destroyed under the lock of the
-- company's ledger. The row of a destroyed key stays, without the key: what it has sealed is null, and no other is made.
create table ops.person_keys (
  key_id uuid primary key,
  company_id bigint not null,
  -- As customer/9.
  subject text not null,
  part text not null check (part in ('identity', 'contact')),
  -- Sealed under the master key.
  wrapped bytea,
  created_at timestamptz not null,
  destroyed_at timestamptz,
  unique (company_id, subject, part),
  check ((wrapped is null) = (destroyed_at is not null))
);
