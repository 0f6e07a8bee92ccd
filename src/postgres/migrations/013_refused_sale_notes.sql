-- What was done about a refused sale, in the words of whoever settled it.
alter table ops.refused_sales add column settled_note text;
