-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "PrincipalKind" AS ENUM ('USER', 'SERVICE', 'SYSTEM', 'ANONYMOUS');

-- CreateEnum
CREATE TYPE "SessionMode" AS ENUM ('CONVERSATION', 'TASK');

-- CreateEnum
CREATE TYPE "SessionStatus" AS ENUM ('CREATED', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'WAITING_FOR_APPROVAL', 'WAITING_FOR_AUTHORIZATION', 'WAITING_FOR_TASKS', 'HIBERNATED', 'COMPLETED', 'FAILED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "SessionEndReason" AS ENUM ('ENDED', 'TIMEOUT', 'TASK_FINISHED', 'STRANDED', 'FAULT', 'PARENT_ENDED');

-- CreateEnum
CREATE TYPE "TurnStatus" AS ENUM ('RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "TurnTrigger" AS ENUM ('MESSAGE', 'HISTORY', 'SCHEDULE', 'TASK', 'PARENT');

-- CreateEnum
CREATE TYPE "StepStatus" AS ENUM ('RUNNING', 'COMPLETED', 'FAILED', 'INTERRUPTED');

-- CreateEnum
CREATE TYPE "FinishReason" AS ENUM ('STOP', 'TOOL_CALLS', 'LENGTH', 'CONTENT_FILTER', 'REFUSAL', 'OTHER');

-- CreateEnum
CREATE TYPE "ToolCallStatus" AS ENUM ('REQUESTED', 'WAITING_FOR_APPROVAL', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'DENIED', 'CANCELLED', 'ABANDONED');

-- CreateEnum
CREATE TYPE "DeliveryKind" AS ENUM ('MESSAGE', 'ANSWERS', 'CLEAR', 'COMPACT', 'CANCEL', 'END');

-- CreateEnum
CREATE TYPE "DeliveryStatus" AS ENUM ('ACCEPTED', 'APPLIED', 'REJECTED');

-- CreateEnum
CREATE TYPE "TurnPolicy" AS ENUM ('STEER', 'QUEUE');

-- CreateEnum
CREATE TYPE "HistoryEpochKind" AS ENUM ('START', 'CLEAR', 'COMPACT');

-- CreateEnum
CREATE TYPE "RequestKind" AS ENUM ('APPROVAL', 'QUESTION', 'AUTHORIZATION', 'LIMIT');

-- CreateEnum
CREATE TYPE "RequestStatus" AS ENUM ('PENDING', 'ANSWERED', 'CANCELLED', 'EXPIRED');

-- CreateEnum
CREATE TYPE "SandboxStatus" AS ENUM ('PROVISIONING', 'READY', 'SLEEPING', 'WAKING', 'FAILED', 'DELETED');

-- CreateTable
CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "owner_id" TEXT NOT NULL,
    "owner_kind" "PrincipalKind" NOT NULL,
    "owner_name" TEXT,
    "agent_name" TEXT NOT NULL,
    "mode" "SessionMode" NOT NULL DEFAULT 'CONVERSATION',
    "status" "SessionStatus" NOT NULL DEFAULT 'CREATED',
    "title" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "deployment" TEXT NOT NULL,
    "parent_id" TEXT,
    "predecessor_id" TEXT,
    "usage" JSONB NOT NULL DEFAULT '{}',
    "end_reason" "SessionEndReason",
    "error" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "session_head" (
    "session_id" TEXT NOT NULL,
    "open" BOOLEAN NOT NULL DEFAULT true,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "owner" TEXT,
    "lease_until" TIMESTAMPTZ(6),
    "last_seq" INTEGER NOT NULL DEFAULT 0,
    "inbox" INTEGER NOT NULL DEFAULT 0,
    "control" INTEGER NOT NULL DEFAULT 0,
    "turn_id" TEXT,
    "wake_at" TIMESTAMPTZ(6),

    CONSTRAINT "session_head_pkey" PRIMARY KEY ("session_id")
);

-- CreateTable
CREATE TABLE "checkpoint" (
    "session_id" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "open_step_id" TEXT,
    "body" JSONB NOT NULL,
    "state" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "checkpoint_pkey" PRIMARY KEY ("session_id")
);

-- CreateTable
CREATE TABLE "history" (
    "session_id" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "position" INTEGER NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "item" JSONB NOT NULL,

    CONSTRAINT "history_pkey" PRIMARY KEY ("session_id","epoch","position")
);

-- CreateTable
CREATE TABLE "history_epoch" (
    "session_id" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "kind" "HistoryEpochKind" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "history_epoch_pkey" PRIMARY KEY ("session_id","epoch")
);

-- CreateTable
CREATE TABLE "turn" (
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "status" "TurnStatus" NOT NULL,
    "trigger" "TurnTrigger" NOT NULL,
    "principal" JSONB NOT NULL,
    "user_input" TEXT NOT NULL,
    "output" TEXT,
    "result" JSONB,
    "error" JSONB,
    "usage" JSONB NOT NULL DEFAULT '{}',
    "active_ms" INTEGER,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "turn_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "step" (
    "id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL,
    "status" "StepStatus" NOT NULL,
    "model" TEXT NOT NULL,
    "text" TEXT,
    "reasoning" TEXT,
    "finish_reason" "FinishReason",
    "usage" JSONB,
    "error" JSONB,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "step_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tool_call" (
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "step_id" TEXT NOT NULL,
    "step_index" INTEGER NOT NULL,
    "order" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "label" TEXT,
    "status" "ToolCallStatus" NOT NULL,
    "input" JSONB NOT NULL,
    "raw_input" TEXT,
    "output" JSONB,
    "result_text" TEXT,
    "error" JSONB,
    "truncated_bytes" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_call_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "delivery" (
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "kind" "DeliveryKind" NOT NULL,
    "policy" "TurnPolicy",
    "by_id" TEXT NOT NULL,
    "by_kind" "PrincipalKind" NOT NULL,
    "by_name" TEXT,
    "content" JSONB NOT NULL,
    "open_turn_id" TEXT,
    "status" "DeliveryStatus" NOT NULL DEFAULT 'ACCEPTED',
    "turn_id" TEXT,
    "rejection" JSONB,
    "accepted_at" TIMESTAMPTZ(3) NOT NULL,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency" (
    "tenant" TEXT NOT NULL,
    "principal_id" TEXT NOT NULL,
    "principal_kind" "PrincipalKind" NOT NULL,
    "key" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "delivery_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_pkey" PRIMARY KEY ("tenant","principal_id","principal_kind","key")
);

-- CreateTable
CREATE TABLE "event" (
    "session_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "turn_id" TEXT,
    "step_index" INTEGER,
    "attempt" INTEGER,
    "ends_write" BOOLEAN NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "event_pkey" PRIMARY KEY ("session_id","position")
);

-- CreateTable
CREATE TABLE "address" (
    "tenant" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "address_pkey" PRIMARY KEY ("tenant","address")
);

-- CreateTable
CREATE TABLE "request" (
    "id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "turn_id" TEXT NOT NULL,
    "tool_call_id" TEXT,
    "kind" "RequestKind" NOT NULL,
    "status" "RequestStatus" NOT NULL,
    "prompt" TEXT NOT NULL,
    "details" JSONB NOT NULL DEFAULT '{}',
    "input_hash" TEXT,
    "reviewers" TEXT[],
    "reserved_by" TEXT,
    "answer" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "request_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "approval_grant" (
    "session_id" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "principal_id" TEXT NOT NULL,
    "principal_kind" "PrincipalKind" NOT NULL,
    "request_id" TEXT NOT NULL,
    "granted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "approval_grant_pkey" PRIMARY KEY ("session_id","tool","principal_id","principal_kind")
);

-- CreateTable
CREATE TABLE "deployment" (
    "id" TEXT NOT NULL,
    "engine_version" TEXT NOT NULL,
    "checkpoint_version" INTEGER NOT NULL,
    "agents" TEXT[],
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deployment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "blob" (
    "hash" TEXT NOT NULL,
    "bytes" BYTEA NOT NULL,
    "media_type" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "blob_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "memo" (
    "session_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "memo_pkey" PRIMARY KEY ("session_id","key")
);

-- CreateTable
CREATE TABLE "sandbox" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "session_id" TEXT,
    "agent_name" TEXT NOT NULL,
    "backend" TEXT NOT NULL,
    "status" "SandboxStatus" NOT NULL,
    "reference" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sandbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "wake_period" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "agent_name" TEXT NOT NULL,
    "sandbox_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "wake_period_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_endpoint" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "types" TEXT[],
    "secret" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_outbox" (
    "endpoint_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "sent_seq" INTEGER NOT NULL,
    "last_seq" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_outbox_pkey" PRIMARY KEY ("endpoint_id","session_id")
);

-- CreateTable
CREATE TABLE "schedule" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "agent_name" TEXT NOT NULL,
    "cron" TEXT NOT NULL,
    "time_zone" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "next_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "schedule_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "tenant" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" "PrincipalKind" NOT NULL,
    "scopes" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "session_tenant_owner_id_id_idx" ON "session"("tenant", "owner_id", "id" DESC);

-- CreateIndex
CREATE INDEX "session_tenant_agent_name_id_idx" ON "session"("tenant", "agent_name", "id" DESC);

-- CreateIndex
CREATE INDEX "session_tenant_status_id_idx" ON "session"("tenant", "status", "id" DESC);

-- CreateIndex
CREATE INDEX "session_tenant_id_idx" ON "session"("tenant", "id" DESC);

-- CreateIndex
CREATE INDEX "session_parent_id_idx" ON "session"("parent_id");

-- CreateIndex
CREATE UNIQUE INDEX "turn_session_id_number_key" ON "turn"("session_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "step_turn_id_index_key" ON "step"("turn_id", "index");

-- CreateIndex
CREATE INDEX "tool_call_turn_id_step_index_order_idx" ON "tool_call"("turn_id", "step_index", "order");

-- CreateIndex
CREATE UNIQUE INDEX "tool_call_step_id_order_key" ON "tool_call"("step_id", "order");

-- CreateIndex
CREATE INDEX "delivery_turn_id_idx" ON "delivery"("turn_id");

-- CreateIndex
CREATE INDEX "delivery_session_id_by_id_idx" ON "delivery"("session_id", "by_id");

-- CreateIndex
CREATE UNIQUE INDEX "delivery_session_id_position_key" ON "delivery"("session_id", "position");

-- CreateIndex
CREATE INDEX "idempotency_session_id_idx" ON "idempotency"("session_id");

-- CreateIndex
CREATE INDEX "address_session_id_idx" ON "address"("session_id");

-- CreateIndex
CREATE INDEX "request_session_id_status_idx" ON "request"("session_id", "status");

-- CreateIndex
CREATE INDEX "request_tool_call_id_idx" ON "request"("tool_call_id");

-- CreateIndex
CREATE INDEX "sandbox_session_id_idx" ON "sandbox"("session_id");

-- CreateIndex
CREATE INDEX "wake_period_tenant_agent_name_started_at_idx" ON "wake_period"("tenant", "agent_name", "started_at");

-- CreateIndex
CREATE INDEX "webhook_endpoint_tenant_idx" ON "webhook_endpoint"("tenant");

-- CreateIndex
CREATE INDEX "webhook_outbox_due_at_idx" ON "webhook_outbox"("due_at");

-- CreateIndex
CREATE INDEX "schedule_next_at_idx" ON "schedule"("next_at");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- CreateIndex
CREATE INDEX "api_key_tenant_idx" ON "api_key"("tenant");



-- What the schema language cannot say.

-- Identifiers are ASCII: compare them byte by byte, whatever the database's locale.
ALTER TABLE "session" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "owner_id" TYPE TEXT COLLATE "C", ALTER COLUMN "parent_id" TYPE TEXT COLLATE "C", ALTER COLUMN "predecessor_id" TYPE TEXT COLLATE "C";
ALTER TABLE "session_head" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C";
ALTER TABLE "checkpoint" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "open_step_id" TYPE TEXT COLLATE "C";
ALTER TABLE "history" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "history_epoch" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "turn" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "step" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "tool_call" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C", ALTER COLUMN "step_id" TYPE TEXT COLLATE "C";
ALTER TABLE "delivery" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "by_id" TYPE TEXT COLLATE "C", ALTER COLUMN "open_turn_id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C";
ALTER TABLE "idempotency" ALTER COLUMN "principal_id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "delivery_id" TYPE TEXT COLLATE "C";
ALTER TABLE "event" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C";
ALTER TABLE "address" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "request" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "turn_id" TYPE TEXT COLLATE "C", ALTER COLUMN "tool_call_id" TYPE TEXT COLLATE "C";
ALTER TABLE "approval_grant" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C", ALTER COLUMN "principal_id" TYPE TEXT COLLATE "C", ALTER COLUMN "request_id" TYPE TEXT COLLATE "C";
ALTER TABLE "deployment" ALTER COLUMN "id" TYPE TEXT COLLATE "C";
ALTER TABLE "memo" ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "sandbox" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "wake_period" ALTER COLUMN "id" TYPE TEXT COLLATE "C", ALTER COLUMN "sandbox_id" TYPE TEXT COLLATE "C";
ALTER TABLE "webhook_endpoint" ALTER COLUMN "id" TYPE TEXT COLLATE "C";
ALTER TABLE "webhook_outbox" ALTER COLUMN "endpoint_id" TYPE TEXT COLLATE "C", ALTER COLUMN "session_id" TYPE TEXT COLLATE "C";
ALTER TABLE "schedule" ALTER COLUMN "id" TYPE TEXT COLLATE "C";
ALTER TABLE "api_key" ALTER COLUMN "id" TYPE TEXT COLLATE "C";

-- Rows that every write updates keep room on their page, so that the updates stay heap-only.
ALTER TABLE "session_head" SET (fillfactor = 50);
ALTER TABLE "checkpoint" SET (fillfactor = 50);

-- The sweep looks only at sessions that are due some time.
CREATE INDEX "session_head_wake_at_idx" ON "session_head" ("wake_at") WHERE "wake_at" IS NOT NULL;

-- What a claim reads of a session's inbox.
CREATE INDEX "delivery_unsettled_idx" ON "delivery" ("session_id", "position") WHERE "status" = 'ACCEPTED';
