-- A statement that has waited for the lock of a session still sees other tables as they were when it began. A volatile function sees what the
-- writer committed that it waited for.
CREATE FUNCTION "held_addresses"(of_session TEXT) RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT count(*) FROM "address" WHERE "session_id" = of_session $$;

CREATE FUNCTION "release_addresses"(of_session TEXT) RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ WITH released AS (DELETE FROM "address" WHERE "session_id" = of_session RETURNING 1) SELECT count(*) FROM released $$;
