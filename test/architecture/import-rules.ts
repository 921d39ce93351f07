import { LAYERS, PRISMA_CLIENT, VENDORS, partOf } from './layers.js'
import type { Rule } from './rule.js'
import { importsOf, readFiles, type Import, type SourceFile } from './source-files.js'

/** How a table is written through the client. */
const PRISMA_WRITE = /\$executeRaw\w*|\.(create|update|upsert|delete)(Many)?(AndReturn)?\(\{\s*(data|where|create)\b/

/** Title and metadata are the owner's notes on a session: nothing is decided by them, and no event tells of them. */
const MAY_WRITE = ['server/graphql/types/update-session.ts']

const server = readFiles(['server'], ['.ts'])
const graph = new Map(readFiles(['server', 'sdk'], ['.ts']).map((file) => [file.path, importsOf(file)]))

/** Each import of the server, as a line about it; those that the judge answers null for are fine. */
function judge(verdict: (file: SourceFile, each: Import) => string | null): readonly string[] {
  return server.flatMap((file) =>
    (graph.get(file.path) ?? []).flatMap((each) => {
      const fault = verdict(file, each)
      return fault === null ? [] : [`${file.path} ${fault}`]
    }),
  )
}

function findCycles(): readonly string[] {
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (trail.includes(path) || finished.has(path)) return
    for (const { file, typeOnly } of graph.get(path) ?? []) {
      if (file !== null && !typeOnly && graph.has(file)) visit(file, [...trail, path])
    }
    finished.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return cycles
}

export const importRules: readonly Rule[] = [
  {
    rule: 'Dependencies point one way: session ← adapters ← worker, graphql ← compose ← command line; adapters never import one another.',
    why: 'The heart can be read, tested and trusted without knowing a database, and an adapter can be exchanged alone.',
    mend: 'Let the heart name what it needs as a port (session/ports.ts) and hand it over in compose.ts. A new part gets its line in LAYERS.',
    check: () =>
      judge((file, each) => {
        if (each.file === null) return null
        const from = partOf(file.path)
        const to = each.file.startsWith('server/') ? partOf(each.file) : each.file
        const allowed = LAYERS[from]
        if (allowed === undefined) return `is in ${from}, which LAYERS does not name`
        return from === to || allowed.includes(to) ? null : `imports ${each.file}`
      }),
  },
  {
    rule: 'A package has one part of the server that imports it.',
    why: 'A vendor can be exchanged, and its bugs be worked around, in one place.',
    mend: 'Go through the part that owns it. A new dependency gets its line in VENDORS.',
    check: () =>
      judge((file, each) => {
        if (each.package === null) return null
        const owners = VENDORS[each.package]
        if (owners === undefined) return `imports ${each.package}, which VENDORS does not name`
        return owners.includes(partOf(file.path)) ? null : `imports ${each.package}, which belongs to ${owners.join(', ')}`
      }),
  },
  {
    rule: 'The generated Prisma client is used by the store and by GraphQL only.',
    why: 'It is the shape of the tables; whoever else knows it breaks when they change.',
    mend: 'Ask the store for what you need, through a function with a name.',
    check: () =>
      judge((file, each) => {
        const generated = each.file?.startsWith(PRISMA_CLIENT.generated) === true && !each.typeOnly
        return generated && !PRISMA_CLIENT.importers.some((owner) => file.path.startsWith(owner)) ? `imports ${each.file}` : null
      }),
  },
  {
    rule: 'GraphQL reads; only the store writes.',
    why: 'A session changes through deliver or through commit, nothing else (R1); a write beside them is fenced by nothing.',
    mend: 'Put the statement into server/store and reach it through the intake.',
    check: () =>
      server.flatMap(({ path, text }) =>
        path.startsWith('server/graphql/') && !MAY_WRITE.includes(path) && PRISMA_WRITE.test(text)
          ? [`${path}: ${String(PRISMA_WRITE.exec(text)?.[0])}`]
          : [],
      ),
  },
  {
    rule: 'The heart imports no package, and of Node only what computes (node:crypto for hashes).',
    why: 'It is a set of pure functions over plain values; what touches the world comes in by argument.',
    mend: 'Move the effect behind a port of session/ports.ts.',
    check: () =>
      judge((file, { package: vendor, builtIn }) => {
        if (!file.path.startsWith('server/session/')) return null
        if (vendor !== null) return `imports ${vendor}`
        return builtIn === null || builtIn === 'node:crypto' ? null : `imports ${builtIn}`
      }),
  },
  {
    rule: 'No import cycles.',
    why: 'A file of a cycle cannot be understood, tested or loaded without all the others.',
    mend: 'Move what both need into the one that knows less, or into a file of its own.',
    check: findCycles,
  },
]
