-- beat: a process is there, and holds these sessions.
-- KEYS  as the queue has them, then 6 hash: process, what it says of itself; 7 sorted set: process, until when that counts
-- ARGV  3 what it says, 4 for how long that counts, 5 time to live of a hold; then the sessions
-- Out   1 when nothing was known of the process: it is new, or Redis has lost what it knew
--
-- The process hears "b" on its channel: so it knows that it hears.
local PROCESSES, ALIVE = KEYS[6], KEYS[7]
for _, process in ipairs(redis.call('ZRANGEBYSCORE', ALIVE, '-inf', NOW)) do
  redis.call('ZREM', ALIVE, process)
  redis.call('HDEL', PROCESSES, process)
  redis.call('ZREM', IDLE, process)
end
local is_new = redis.call('ZADD', ALIVE, NOW + tonumber(ARGV[4]), SELF)
redis.call('HSET', PROCESSES, SELF, ARGV[3])
for index = 6, #ARGV do
  local session = ARGV[index]
  local holder = redis.call('HGET', HOLDER, session)
  if holder == false or holder == SELF or not is_held(session) then hold(session, tonumber(ARGV[5])) end
end
redis.call('PUBLISH', CHANNEL .. SELF, 'b')
return is_new
