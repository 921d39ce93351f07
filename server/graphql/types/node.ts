import { builder } from '../builder.js'

/** What `node(id:)` finds again. */
export const Node = builder.interfaceRef<{ readonly id: string }>('Node').implement({
  description: 'Something with an id, which `node` finds again.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Opaque to programs, readable to people: a prefix that tells the type, and a suffix.' }),
  }),
})
