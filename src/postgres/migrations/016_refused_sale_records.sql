-- The sale that a person has recorded for a refused one; null where none was.
alter table ops.refused_sales add column sale_id bigint;
