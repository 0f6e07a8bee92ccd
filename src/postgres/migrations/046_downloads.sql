-- Files that people have taken out of the panel: who, what, how far it came. It says nothing of what was in them.
create table ops.downloads (
  id bigint generated always as identity primary key,
  company_id bigint not null,
  user_id bigint not null,
  what text not null check (what in ('audit_pack', 'opened_audit_pack', 'person_file')),
  -- Of a person's file, as customer/9.
  subject text,
  begun_at timestamptz not null default clock_timestamp(),
  -- Noted every second while it is under way; silence means that its process has ended.
  seen_at timestamptz not null default clock_timestamp(),
  -- Of an audit pack: events written, and to write.
  done bigint not null default 0,
  total bigint not null default 0,
  ended_at timestamptz,
  is_whole boolean
);
create index downloads_by_company on ops.downloads (company_id, id);
create index downloads_by_begin on ops.downloads (begun_at);
