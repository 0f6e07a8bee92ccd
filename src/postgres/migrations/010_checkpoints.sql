-- How far the events of a store outside this Postgres have been noticed and applied: everything up to the position is.
create table ops.checkpoints (
  name text primary key,
  position text not null
);
