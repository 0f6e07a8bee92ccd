-- Merkle trees: of a company's ledger (log: the company's id) and of the installation log (0). They are made of what they are
-- over, and can be made of it anew.
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
);
-- Hashes cannot be compressed.
alter table ops.tree_tiles alter column hashes set storage external;
