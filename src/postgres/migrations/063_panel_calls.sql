-- Calls of the panel, in minutes that begin with their first call. Unlogged: a crash of Postgres begins all minutes anew.
create unlogged table ops.panel_calls (
  company_id bigint not null,
  -- 0 counts all users of the company.
  user_id bigint not null,
  -- Empty counts all sessions of the user.
  session bytea not null,
  minute_ends_at timestamptz not null,
  calls integer not null,
  primary key (company_id, user_id, session)
) with (fillfactor = 50);
create index panel_calls_by_end on ops.panel_calls (minute_ends_at);

-- Counts calls of some sessions, as many of each as the minutes of its session, its user and its company leave. Tells how many that were and,
-- where some were refused, the seconds until the last exhausted minute ends. Companies come in order, so that two processes never wait for each other.
create function ops.count_panel_calls(
  p_companies bigint[], p_users bigint[], p_sessions bytea[], p_asked integer[], p_of_session integer, p_of_user integer, p_of_company integer
) returns table (of_session bytea, granted integer, retry_after integer) language plpgsql as $$
declare
  v_now constant timestamptz := statement_timestamp();
  v_used record;
begin
  perform set_config('synchronous_commit', 'off', true);
  for n in 1 .. coalesce(cardinality(p_companies), 0) loop
    -- Locks the company's row and changes nothing: its holder alone counts for the company.
    insert into ops.panel_calls as c values (p_companies[n], 0, '', v_now, 0)
      on conflict (company_id, user_id, session) do update set calls = c.calls where false;
    -- A new snapshot, which has what the last holder has counted.
    select
      coalesce(max(c.calls) filter (where k.user_id = 0), 0) as company_calls,
      coalesce(max(c.calls) filter (where k.user_id <> 0 and k.session = ''), 0) as user_calls,
      coalesce(max(c.calls) filter (where k.session <> ''), 0) as session_calls,
      coalesce(max(c.minute_ends_at) filter (where k.user_id = 0), v_now + interval '1 minute') as company_end,
      coalesce(max(c.minute_ends_at) filter (where k.user_id <> 0 and k.session = ''), v_now + interval '1 minute') as user_end,
      coalesce(max(c.minute_ends_at) filter (where k.session <> ''), v_now + interval '1 minute') as session_end
    into v_used
    from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
    join ops.panel_calls c on c.company_id = p_companies[n] and c.user_id = k.user_id and c.session = k.session and c.minute_ends_at > v_now;
    granted := greatest(0, least(
      p_asked[n], p_of_session - v_used.session_calls, p_of_user - v_used.user_calls, p_of_company - v_used.company_calls));
    if granted > 0 then
      insert into ops.panel_calls as c
        select p_companies[n], k.user_id, k.session, v_now + interval '1 minute', granted
        from (values (0::bigint, ''::bytea), (p_users[n], ''), (p_users[n], p_sessions[n])) as k (user_id, session)
        on conflict (company_id, user_id, session) do update set
          calls = case when c.minute_ends_at > v_now then c.calls else 0 end + excluded.calls,
          minute_ends_at = case when c.minute_ends_at > v_now then c.minute_ends_at else excluded.minute_ends_at end;
    end if;
    retry_after := case when granted < p_asked[n] then greatest(1, ceil(extract(epoch from greatest(
      case when v_used.session_calls + granted >= p_of_session then v_used.session_end end,
      case when v_used.user_calls + granted >= p_of_user then v_used.user_end end,
      case when v_used.company_calls + granted >= p_of_company then v_used.company_end end) - v_now))) end;
    of_session := p_sessions[n];
    return next;
  end loop;
end $$;
