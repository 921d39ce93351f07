-- queue: what the commands of the queue share; it stands before the text of each.
--
-- KEYS  due     sorted set: session, when it is due
--       held    sorted set: session, until when a process holds it
--       holder  hash: session, the process that holds it
--       woken   set: sessions that were woken while they were held
--       idle    sorted set: process with a free slot, when it asked last
-- Times are microseconds of Redis' clock. ARGV[1] is what the channels of processes begin with, ARGV[2] the process that asks.
-- A process hears "w" (there is work, take it) and "n<session>" (you hold it, look again).
-- A session that is woken is due until somebody holds it; it is due again when it was woken meanwhile, or when its hold has run out.
local DUE, HELD, HOLDER, WOKEN, IDLE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local CHANNEL, SELF = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local NOW = time[1] * 1000000 + time[2]

-- Longer than any hold lasts: one that ends later was made before the clock was set back.
local LONGEST_HOLD = 60 * 1000000

local function is_held(session)
  local held_until = tonumber(redis.call('ZSCORE', HELD, session) or 0)
  return held_until > NOW and held_until < NOW + LONGEST_HOLD
end

local function hold(session, ttl)
  redis.call('ZADD', HELD, NOW + ttl, session)
  redis.call('HSET', HOLDER, session, SELF)
end

local function let_go(session)
  redis.call('ZREM', HELD, session)
  redis.call('HDEL', HOLDER, session)
  return redis.call('SREM', WOKEN, session) == 1
end

-- Of two times the earlier counts.
local function enqueue(session, due_at)
  redis.call('ZADD', DUE, 'LT', due_at, session)
end

local function nudge(session)
  redis.call('SADD', WOKEN, session)
  local holder = redis.call('HGET', HOLDER, session)
  if holder then redis.call('PUBLISH', CHANNEL .. holder, 'n' .. session) end
end

-- Tells one idle process of work, the one that has waited longest; passes over those that nobody hears for.
local function offer()
  local idle = redis.call('ZPOPMIN', IDLE)
  while idle[1] and redis.call('PUBLISH', CHANNEL .. idle[1], 'w') == 0 do
    idle = redis.call('ZPOPMIN', IDLE)
  end
end
