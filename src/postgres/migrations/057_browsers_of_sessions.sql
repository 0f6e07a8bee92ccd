-- By what somebody came in, as the browser says itself: to tell sessions apart. It goes when the session ends.
alter table ops.sessions add column user_agent text check (length(user_agent) <= 200);
