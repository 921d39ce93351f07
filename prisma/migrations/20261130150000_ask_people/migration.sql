-- No release has written requests before.
DROP INDEX "request_session_id_status_idx";

-- AlterTable
ALTER TABLE "request" ADD COLUMN     "tenant" TEXT NOT NULL,
ADD COLUMN     "agent_name" TEXT NOT NULL,
ADD COLUMN     "answerable_by" TEXT[],
ADD COLUMN     "opened_after" INTEGER NOT NULL,
ALTER COLUMN "status" SET DEFAULT 'PENDING',
ALTER COLUMN "details" DROP DEFAULT;

-- CreateIndex
CREATE INDEX "request_session_id_id_idx" ON "request"("session_id", "id");

-- CreateIndex
CREATE INDEX "request_tenant_status_id_idx" ON "request"("tenant", "status", "id");

-- What a claim reads of a session, and what a reviewer's queue shows: open requests are few, however many there have been.
CREATE INDEX "request_open_idx" ON "request" ("session_id", "id") WHERE "status" = 'PENDING';
CREATE INDEX "request_queue_idx" ON "request" USING gin ("answerable_by") WHERE "settled_at" IS NULL;

-- Keys are pruned by their age within a session.
DROP INDEX "idempotency_session_id_idx";
CREATE INDEX "idempotency_session_id_created_at_idx" ON "idempotency"("session_id", "created_at");
