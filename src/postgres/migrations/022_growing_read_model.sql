-- The number of the program's version that made the tables of schema read, which only grows; since when they are there; and
-- when a process of that version began to serve them, until which those of the version before go on reading theirs.
alter table ops.read_model
  add column number integer not null default 0,
  add column since timestamptz not null default now(),
  add column served_at timestamptz default now();
update ops.read_model set number = substring(version from '^[0-9]+')::integer where version ~ '^[0-9]{1,6}-';
