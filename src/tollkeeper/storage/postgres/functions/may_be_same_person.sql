-- Whether two acts may be one person's: of the same login, by a key that the other one made, or by a key that belongs to no
-- login, so that nobody knows whose it is. Commands on the database's own host (`cli:`) are not told apart.
create or replace function may_be_same_person(
    p_one text, p_one_at timestamptz, p_other text, p_other_at timestamptz) returns boolean
language plpgsql stable
as $$
declare
    one text[] := people_behind(p_one, p_one_at);
    other text[] := people_behind(p_other, p_other_at);
begin
    if p_one like 'cli:%' or p_other like 'cli:%' then
        return false;
    end if;
    return one[1] is null or other[1] is null
        or coalesce(one[1] = any(other), false) or coalesce(other[1] = any(one), false);
end $$;
