-- What proves the past is added to and never changed, by nobody, its owner included: whoever has to, as a switch of ledgers, replaces
-- the table or drops it. The trigger is of statements other than INSERT, which do not pay for it.
create function ops.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'TB002',
    message = format('%I.%I is only added to: no %s', tg_table_schema, tg_table_name, tg_op);
end $$;

-- Makes a table one that is only added to, or one again whose trigger was switched off; whoever has been granted more keeps the rest.
create function ops.append_only(p_table regclass) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_role text;
begin
  if not exists (select from pg_trigger where tgrelid = p_table and tgname = 'append_only') then
    execute format('create trigger append_only before update or delete or truncate on %s
                    for each statement execute function ops.refuse_change()', p_table);
  end if;
  -- Also for sessions that replicate.
  execute format('alter table %s enable always trigger append_only', p_table);
  for v_role in
    select distinct quote_ident(r.rolname) from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
    where c.oid = p_table and a.grantee <> c.relowner
  loop
    execute format('revoke update, delete, truncate, trigger on %s from %s', p_table, v_role);
  end loop;
end $$;

select ops.append_only(name::regclass) from unnest(array[
  'ledger.events', 'ops.seal_keys', 'ops.ledger_checkpoints', 'ops.installation_entries', 'ops.installation_checkpoints', 'ops.checkpoint_tokens',
  'ops.restored_ledgers'
]) as name;

-- Only the owner of a table has it analyzed, and older servers know no privilege for it. Nothing else can be done by this one, whose
-- owner's power it runs with.
create function ops.analyze_table(p_table regclass) returns void language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (
    select from pg_class where oid = p_table and relkind = 'r' and relnamespace in ('ops'::regnamespace, 'ledger'::regnamespace)
  ) then
    raise exception '% is no table of the service', p_table;
  end if;
  execute format('analyze (skip_locked) %s', p_table);
end $$;
