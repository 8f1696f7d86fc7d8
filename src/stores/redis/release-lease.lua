-- release-lease: gives up a lease, unless it lapsed and somebody else holds it now.
--
-- KEYS[1]  the lease
-- ARGV[1]  the holder's token
-- Returns  1, or 0 if it was no longer the holder's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
