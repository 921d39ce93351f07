-- wake: a session may be due, at once or later.
-- ARGV  3 session, 4 delay, 5 time to live of a hold, or 0 when the process has no free slot
-- Out   1: the process holds it now and drives it; 0: its holder was nudged, or it waits in the queue.
--
-- The process that asks comes first: it saves the way through another one.
local session, delay, ttl = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if delay == 0 then
  if is_held(session) then
    nudge(session)
    return 0
  end
  if ttl > 0 then
    local due = redis.call('ZSCORE', DUE, session)
    if due and tonumber(due) <= NOW then redis.call('ZREM', DUE, session) end
    hold(session, ttl)
    return 1
  end
end
enqueue(session, NOW + delay)
offer()
return 0
