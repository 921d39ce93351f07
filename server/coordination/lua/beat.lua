-- beat: a process is there, and holds these sessions.
-- KEYS  as the queue has them, then 6 hash: process, what it says of itself; 7 sorted set: process, until when that counts
-- ARGV  3 what it says, 4 number of the beat, 5 for how long it counts, and a hold; then the sessions
-- Out   1 when nothing was known of the process: it is new, or Redis has lost what it knew
--
-- The process hears "b<number>" on its channel: so it knows that it hears.
local PROCESSES, ALIVE = KEYS[6], KEYS[7]
local ttl = tonumber(ARGV[5])
local counted_until = redis.call('ZSCORE', ALIVE, SELF)
local is_new = (counted_until == false or tonumber(counted_until) <= NOW) and 1 or 0
-- First what needs memory: a Redis that is full refuses the whole beat, and so counts as away.
redis.call('ZADD', ALIVE, NOW + ttl, SELF)
redis.call('HSET', PROCESSES, SELF, ARGV[3])
for _, process in ipairs(redis.call('ZRANGEBYSCORE', ALIVE, '-inf', NOW)) do
  redis.call('ZREM', ALIVE, process)
  redis.call('HDEL', PROCESSES, process)
  redis.call('ZREM', IDLE, process)
end
for index = 6, #ARGV do
  local session = ARGV[index]
  local holder = redis.call('HGET', HOLDER, session)
  if holder == false or holder == SELF or not is_held(session) then hold(session, ttl) end
end
redis.call('PUBLISH', CHANNEL .. SELF, 'b' .. ARGV[4])
return is_new
