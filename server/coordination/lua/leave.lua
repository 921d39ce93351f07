-- leave: a process goes, and takes no work any more.
-- KEYS  as beat has them
-- Out   nothing
redis.call('ZREM', IDLE, SELF)
redis.call('ZREM', KEYS[7], SELF)
redis.call('HDEL', KEYS[6], SELF)
