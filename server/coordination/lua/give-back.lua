-- give-back: a process does not hold a session any more.
-- ARGV  3 session, 4 "1" when it was woken meanwhile
-- Out   nothing. Whoever was woken while it was held is due; a session that another process holds is left alone.
local session = ARGV[3]
if redis.call('HGET', HOLDER, session) ~= SELF then
  if ARGV[4] ~= '1' or is_held(session) then return end
end
local was_woken = let_go(session)
if was_woken or ARGV[4] == '1' then
  enqueue(session, NOW)
  offer()
end
