-- take: sessions that are due and that nobody holds, the longest due first.
-- ARGV  3 how many at most, 4 time to live of a hold
-- Out   in how many microseconds the next one is due, -1 for none; then the sessions that the process holds from now on
--
-- A process that gets less than it asked for is told of the next one; one that asks for none has no free slot and passes on what it
-- was told. A hold that has run out, its holder having died or never heard of it, makes the session due.
local wanted, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
for _, session in ipairs(redis.call('ZRANGEBYSCORE', HELD, '-inf', NOW, 'LIMIT', 0, 100)) do
  let_go(session)
  enqueue(session, NOW)
end

local taken = {}
while #taken < wanted do
  local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', NOW, 'LIMIT', 0, wanted - #taken)
  if #due == 0 then break end
  for _, session in ipairs(due) do
    redis.call('ZREM', DUE, session)
    if is_held(session) then
      nudge(session)
    else
      hold(session, ttl)
      taken[#taken + 1] = session
    end
  end
end

if #taken < wanted then redis.call('ZADD', IDLE, NOW, SELF) else redis.call('ZREM', IDLE, SELF) end
local first = redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
if first[2] == nil then return { -1, unpack(taken) } end
if tonumber(first[2]) <= NOW then offer() end
return { math.max(0, tonumber(first[2]) - NOW), unpack(taken) }
