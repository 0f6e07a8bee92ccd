/** CPU profile written by `--cpu-prof`, as far as it is read. */
export interface Profile {
  readonly nodes: readonly ProfileNode[]
  /** For each sample, the running function, and the microseconds since the previous sample. */
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface ProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
    readonly columnNumber: number
  }
  readonly children?: readonly number[]
}

/** Variable that names the file of a process's allocations. */
export const ALLOCATIONS_FILE = 'ALLOCATIONS_FILE'

/** Function that allocated, with the functions that it called. */
export interface AllocationNode extends Pick<ProfileNode, 'callFrame'> {
  readonly selfSize: number
  readonly children: readonly AllocationNode[]
}

/** Share of the busy time of a process, or of the bytes that it allocated. */
export interface Share {
  readonly name: string
  readonly share: number
}

/** Area of what no function of ours or of a library did. */
const ENGINE = 'the engine itself'

/** Work of the engine itself, by its name in the profile. */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/^\(idle\)$/, 'idle'],
  [/^\(garbage collector\)$/, 'garbage collection'],
  [/^\(program\)$/, ENGINE],
  [/^(writev|write(Utf8String|Latin1String|AsciiString|Buffer))$/, 'system calls that write'],
]

/** Areas by source file; the first match counts. */
const BY_SOURCE: readonly (readonly [RegExp, string])[] = [
  [/node_modules\/pg/, 'Postgres driver'],
  [/node_modules\/(express|router|path-to-regexp|body-parser|finalhandler|helmet|qs|accepts|type-is)\//, 'Express'],
  [/node_modules\/zod\//, 'zod'],
  [
    /node:internal\/crypto|node_modules\/canonicalize|src\/ledger\/(envelope|personal-fields)|src\/crypto\//,
    'sealing and hashes',
  ],
  [/node:(_http|internal\/(http|url))|^src\/(http|api|till-sync)\//, 'HTTP'],
  [
    /node:(net|events|buffer|stream|dns|internal\/(streams|stream_base|buffer|js_stream|timers|process))/,
    'sockets, streams and turns',
  ],
  [/^commands\/|^src\/(domain|events)\/|src\/ledger\/(command|working-set)/, 'decide'],
  [/^projections\/|src\/ledger\/(projection|table|rebuild|row-values)/, 'projections'],
  [/src\/ledger|src\/postgres/, 'write group'],
  [/src\/access\//, 'access and quotas'],
  [/^queries\//, 'queries'],
]

/** Source file of a function, relative to the project root. */
type SourceOf = (node: Pick<ProfileNode, 'callFrame'>) => string

/**
 * Busy time by area, the largest share first. Functions without a file, such as `JSON.parse`, are charged to their
 * caller.
 */
export function areasOf({ nodes, samples, timeDeltas }: Profile, sourceOf: SourceOf): Share[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const areas = new Map<number, string>()
  const visit = (node: ProfileNode, above: string) => {
    const area = areaOf(node, sourceOf, above)
    areas.set(node.id, area)
    for (const child of node.children ?? []) visit(byId.get(child) as ProfileNode, area)
  }
  if (nodes[0]) visit(nodes[0], ENGINE)
  const times = new Map<string, number>()
  for (const [place, id] of samples.entries()) {
    const area = areas.get(id) ?? ENGINE
    times.set(area, (times.get(area) ?? 0) + (timeDeltas[place] ?? 0))
  }
  times.delete('idle')
  return sharesOf(times)
}

/** Allocated bytes by area, as `areasOf`. */
export function allocationAreasOf(root: AllocationNode, sourceOf: SourceOf): Share[] {
  const sizes = new Map<string, number>()
  const visit = (node: AllocationNode, above: string) => {
    const area = areaOf(node, sourceOf, above)
    sizes.set(area, (sizes.get(area) ?? 0) + node.selfSize)
    for (const child of node.children) visit(child, area)
  }
  visit(root, ENGINE)
  return sharesOf(sizes)
}

function areaOf(node: Pick<ProfileNode, 'callFrame'>, sourceOf: SourceOf, above: string): string {
  const { functionName, url } = node.callFrame
  const named = BY_NAME.find(([pattern]) => pattern.test(functionName))
  if (url === '') return named?.[1] ?? above
  const source = sourceOf(node)
  return BY_SOURCE.find(([pattern]) => pattern.test(source))?.[1] ?? folderOf(source)
}

const folderOf = (source: string): string =>
  source.startsWith('node:') ? 'Node' : source.split('/').slice(0, 2).join('/')

/** Shares of the sum, the largest first. */
export function sharesOf(figures: ReadonlyMap<string, number>): Share[] {
  const sum = [...figures.values()].reduce((total, each) => total + each, 0)
  return [...figures].map(([name, figure]) => ({ name, share: figure / sum })).sort((a, b) => b.share - a.share)
}

/** Time in which the process did one thing, so that everything else waited. */
export interface Stretch {
  /** Function and source file that most of it passed in, the innermost one. */
  readonly name: string
  readonly ms: number
}

const SHOWN_STRETCHES = 10
/** A function holds a stretch if at least this share of it passes in it and what it calls. */
const HELD = 0.5
const US_PER_MS = 1_000

/**
 * The longest stretches: consecutive samples below the same function of the event loop. Turns of the same kind that follow
 * each other within a sample count as one.
 */
export function stretchesOf({ nodes, samples, timeDeltas }: Profile, sourceOf: SourceOf): Stretch[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const paths = pathsOf(nodes, byId)
  const stretches: { readonly root: number; us: number; readonly inside: Map<number, number> }[] = []
  let open: (typeof stretches)[number] | undefined
  for (const [place, id] of samples.entries()) {
    const path = paths.get(id) ?? []
    const [root] = path
    if (root === undefined || byId.get(root)?.callFrame.functionName === '(idle)') {
      open = undefined
      continue
    }
    if (open?.root !== root) {
      open = { root, us: 0, inside: new Map() }
      stretches.push(open)
    }
    const us = timeDeltas[place] ?? 0
    open.us += us
    for (const each of path) open.inside.set(each, (open.inside.get(each) ?? 0) + us)
  }
  const longest = stretches.sort((a, b) => b.us - a.us).slice(0, SHOWN_STRETCHES)
  return longest.map(({ root, us, inside }) => {
    // Maps keep their order: callers come before what they call.
    const holders = [...inside].filter(([id, own]) => own >= HELD * us && byId.get(id)?.callFrame.url !== '')
    const holder = byId.get(holders.at(-1)?.[0] ?? root) as ProfileNode
    return { name: `${holder.callFrame.functionName} ${sourceOf(holder)}`.trim(), ms: us / US_PER_MS }
  })
}

/** Nodes from the event loop's function to each node, without the root. */
function pathsOf(
  nodes: readonly ProfileNode[],
  byId: ReadonlyMap<number, ProfileNode>,
): Map<number, readonly number[]> {
  const paths = new Map<number, readonly number[]>()
  const visit = (node: ProfileNode, path: readonly number[]) => {
    paths.set(node.id, path)
    for (const child of node.children ?? []) visit(byId.get(child) as ProfileNode, [...path, child])
  }
  if (nodes[0]) visit(nodes[0], [])
  return paths
}
