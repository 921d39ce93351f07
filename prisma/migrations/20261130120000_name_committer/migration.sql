-- AlterTable
ALTER TABLE "session_head" ADD COLUMN     "committed_by" TEXT;
