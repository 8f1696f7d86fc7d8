-- renew-lease: prolongs a lease that is still its holder's.
--
-- KEYS[1]  the lease
-- ARGV[1]  the holder's token
-- ARGV[2]  milliseconds from now
-- Returns  1, or 0 if it lapsed or somebody else holds it

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
