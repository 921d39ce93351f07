import type { RequestOption } from '../../session/requests.js'
import { builder } from '../builder.js'

export const InputOption = builder.objectRef<RequestOption>('InputOption').implement({
  description: 'Something that an answer can choose.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Unique within its request; answers name it.' }),
    label: t.exposeString('label', { description: 'What the person reads.' }),
    description: t.exposeString('description', { nullable: true, description: 'More about it.' }),
  }),
})
