-- leave: a process goes, and takes no work any more.
-- KEYS  as beat has them
-- ARGV  3 and on: sessions that it held to the end
-- Out   nothing. What it held is due: another process finds out what is left to do.
redis.call('ZREM', IDLE, SELF)
redis.call('ZREM', KEYS[7], SELF)
redis.call('HDEL', KEYS[6], SELF)
for index = 3, #ARGV do
  local session = ARGV[index]
  if redis.call('HGET', HOLDER, session) == SELF then
    let_go(session)
    enqueue(session, NOW)
  end
end
if #ARGV > 2 then offer() end
