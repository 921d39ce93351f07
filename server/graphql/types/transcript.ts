import { Prisma } from '../../generated/prisma/client.js'
import { wholePage, type Children } from '../children.js'
import { badUserInput } from '../errors.js'
import { builder } from '../builder.js'
import { DEFAULT_TRANSCRIPT, MAX_TRANSCRIPT } from '../limits.js'
import { readHistoryItem } from '../column-codec.js'

export const TranscriptRole = builder.enumType('TranscriptRole', {
  description: 'Who said it.',
  values: {
    USER: { description: 'Somebody who talks to the agent.' },
    ASSISTANT: { description: 'The agent.' },
  },
})

interface Said {
  readonly role: 'USER' | 'ASSISTANT'
  readonly text: string
}

export const TranscriptMessage = builder.objectRef<Said>('TranscriptMessage').implement({
  description: 'Something that was said, without the tools that were used.',
  fields: (t) => ({
    role: t.field({ type: TranscriptRole, description: 'Who said it.', resolve: ({ role }) => role }),
    text: t.exposeString('text', { description: 'What was said.' }),
  }),
})

/** Of the conversation since the newest clear. */
const SAID = Prisma.sql`child.item ->> 'role' <> 'tool' AND child.item ->> 'text' <> ''
  AND child.epoch >= COALESCE((SELECT max(e.epoch) FROM history_epoch e WHERE e.session_id = child.session_id AND e.kind = 'CLEAR'), 0)`

/** The newest `maxMessages`, oldest first. Throws BAD_USER_INPUT. */
export async function readTranscript(
  sessionId: string,
  maxMessages: number | null | undefined,
  children: Children,
): Promise<readonly Said[]> {
  const limit = maxMessages ?? DEFAULT_TRANSCRIPT
  if (limit < 1 || limit > MAX_TRANSCRIPT) throw badUserInput(`maxMessages is ${limit}; it must be from 1 to ${MAX_TRANSCRIPT}.`)
  const rows = await children.load('historyOfSession', sessionId, wholePage(limit, true), SAID)
  return rows
    .slice(0, limit)
    .reverse()
    .map(({ item }) => {
      const { role, text } = readHistoryItem(item)
      return { role: role === 'user' ? 'USER' : 'ASSISTANT', text }
    })
}
