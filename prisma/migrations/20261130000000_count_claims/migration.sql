-- AlterTable
ALTER TABLE "session_head" ADD COLUMN     "claims" INTEGER NOT NULL DEFAULT 0;
