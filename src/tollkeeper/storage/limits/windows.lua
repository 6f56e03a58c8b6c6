-- Places in windows, for a batch of calls: each gets a place in all of its windows, or in none.
--
-- ARGV: the span of a window in microseconds, how long a running call is believed in without news, then for each call
--       the number of its windows, and for each of these what it counts, its limit, and one figure more:
--           calls      the standard rate, above which it is peak time (0: there is none)
--           tokens     the tokens that the call is known to use
--           running    the call's id
-- KEYS: for each call the place of its account's peak time, then one for each window, in the same order.
-- Told for each call: which window refused it (0: none), when, for how long it must wait, how much peak time it added,
--       then which of its windows of calls is the tightest (0: there is none), how many are in it and when the oldest
--       leaves. All times in microseconds.
--
-- A list of calls is sorted, oldest first, and no two of its times are equal: so a call can be told again, after Redis
-- lost it, without being counted twice.

local span, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local look = {}

-- A clock that went back leaves calls in the future: they came just now.
local function bring_back(key)
    local ahead = 0
    while tonumber(redis.call('LINDEX', key, -1) or 0) > now + 1000000 do
        redis.call('RPOP', key)
        ahead = ahead + 1
    end
    for i = 1, ahead do
        redis.call('RPUSH', key, string.format('%.0f', now + i - 1))
    end
end

function look.calls(key, limit)
    local oldest = redis.call('LINDEX', key, 0)
    while oldest and oldest + span <= now do
        redis.call('LPOP', key)
        oldest = redis.call('LINDEX', key, 0)
    end
    local used = oldest and redis.call('LLEN', key) or 0
    local wait = 0
    if used >= limit then
        wait = math.min(redis.call('LINDEX', key, used - limit) + span - now, span)
    end
    return used, wait, oldest and oldest + span - now or 0
end

-- By seconds; a second counts until all of it is older than the span. A call larger than the limit passes alone.
function look.tokens(key, limit, tokens)
    local second, used, seconds = math.floor(now / 1000000), 0, {}
    local held = redis.call('HGETALL', key)
    for i = 1, #held, 2 do
        local at, count = tonumber(held[i]), tonumber(held[i + 1])
        if (at + 1) * 1000000 + span <= now then
            redis.call('HDEL', key, held[i])
        else
            used = used + count
            seconds[#seconds + 1] = { at, count }
        end
    end
    table.sort(seconds, function(one, other) return one[1] < other[1] end)
    local left, wait = used, 0
    for _, held_then in ipairs(seconds) do
        if left == 0 or left + tokens <= limit then break end
        left = left - held_then[2]
        wait = (held_then[1] + 1) * 1000000 + span - now
    end
    return used, wait, seconds[1] and (seconds[1][1] + 1) * 1000000 + span - now or 0
end

function look.running(key, limit)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    local used = redis.call('ZCARD', key)
    return used, used >= limit and 1000000 or 0, used > 0 and 1000000 or 0
end

local take = {}

function take.calls(key, at)
    redis.call('RPUSH', key, string.format('%.0f', at))
    redis.call('PEXPIRE', key, span / 1000 + 1000)
end

function take.tokens(key, at, tokens)
    redis.call('HINCRBY', key, math.floor(now / 1000000), tokens)
    redis.call('PEXPIRE', key, span / 1000 + 2000)
end

function take.running(key, at, id)
    redis.call('ZADD', key, now + lease, id)
    redis.call('PEXPIRE', key, lease / 1000)
end

-- The time at peak that a call adds: from now, or from where it was known to last, until so many calls have left that
-- the rest is within the standard rate.
local function peak(key, window, used, standard, at)
    if standard == 0 or used <= standard then return 0 end
    local till = redis.call('LINDEX', window, used - standard - 1) + span
    local from = math.max(at, tonumber(redis.call('GET', key) or 0))
    if till <= from then return 0 end
    redis.call('SET', key, string.format('%.0f', till), 'PX', span / 1000 + 1000)
    return till - from
end

local told, k, a = {}, 1, 3
while a <= #ARGV do
    local peak_key, count = KEYS[k], tonumber(ARGV[a])
    k, a = k + 1, a + 1
    local windows, refused, waits, at = {}, 0, 0, now
    for i = 1, count do
        local window = { what = ARGV[a], key = KEYS[k], limit = tonumber(ARGV[a + 1]), more = ARGV[a + 2] }
        k, a = k + 1, a + 3
        local wait
        window.used, wait, window.free = look[window.what](window.key, window.limit, tonumber(window.more))
        if wait > waits then
            refused, waits = i, wait
        end
        if window.what == 'calls' and window.used > 0 then
            at = math.max(at, redis.call('LINDEX', window.key, -1) + 1)
            if at > now + 1000000 then
                bring_back(window.key)
                at = redis.call('LINDEX', window.key, -1) + 1
            end
        end
        windows[i] = window
    end
    local peak_us = 0
    if refused == 0 then
        for _, window in ipairs(windows) do
            take[window.what](window.key, at, window.more)
            window.used = window.used + (window.what == 'tokens' and tonumber(window.more) or 1)
            if window.free == 0 then window.free = window.what == 'running' and 1000000 or span end
            if window.what == 'calls' then
                peak_us = math.max(peak_us, peak(peak_key, window.key, window.used, tonumber(window.more), at))
            end
        end
    end
    local tightest, least, used, free = 0, 0, 0, 0
    for i, window in ipairs(windows) do
        local remaining = math.max(0, window.limit - window.used)
        if window.what == 'calls' and (tightest == 0 or remaining < least) then
            tightest, least, used, free = i, remaining, window.used, window.free
        end
    end
    local n = #told
    told[n + 1], told[n + 2], told[n + 3], told[n + 4] = refused, refused == 0 and at or now, waits, peak_us
    told[n + 5], told[n + 6], told[n + 7] = tightest, used, free
end
return told
