-- AlterTable
ALTER TABLE "session" ADD COLUMN     "idle_timeout_ms" BIGINT;
