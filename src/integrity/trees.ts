import type { Pool } from 'pg'
import { streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { type InTurnOptions, type Repetition, repeat, workInTurn } from '#lib/background-loops.ts'
import { inBatches } from '#lib/collections.ts'
import type { Database } from '#postgres/database.ts'
import {
  type Appender,
  appenderFrom,
  EMPTY_ROOT,
  type Hashes,
  leafHash,
  nodeHash,
  type TreeHead,
  type TreeNode,
} from './merkle.ts'

/** The log under a tree. */
export interface TreeLog {
  /** The company's id; 0 for the installation log. */
  readonly id: number
  /** Streams leaf data in batches, in order, from an index (inclusive). */
  leaves(from: number): AsyncIterable<readonly Buffer[]>
}

const HASH = /^[0-9a-f]{64}$/

/** A company's ledger: leaf i is the hash of revision i. It ends before a revision that is missing or has no hash. */
export function ledgerLog(store: EventStore, companyId: number): TreeLog {
  return {
    id: companyId,
    async *leaves(from) {
      const stream = streamName(companyId)
      let next = from
      for await (const batch of store.hashes?.(stream, from) ?? hashesAsRead(store, stream, from)) {
        const fault = batch.findIndex(({ revision, hash }, place) => revision !== next + place || !HASH.test(hash))
        const sound = fault < 0 ? batch : batch.slice(0, fault)
        if (sound.length > 0) yield sound.map(({ hash }) => Buffer.from(hash, 'hex'))
        if (sound.length < batch.length) return
        next += batch.length
      }
    },
  }
}

/** About a few milliseconds of CPU time. */
const BATCH = 1_024

const hashesAsRead = (store: EventStore, stream: string, from: number) => inBatches(store.read(stream, from), BATCH)

/** The stored tree does not match its log, its root or a signed checkpoint, and must be rebuilt. */
export class TreeDiffers extends Error {
  override readonly name = 'TreeDiffers'
  constructor(log: number) {
    super(`the tree of log ${log} is not the one that was kept`)
  }
}

/** The stored head; an empty one if the tree was never started. */
export async function headOfTree(pool: Database, log: number): Promise<TreeHead> {
  const { rows } = await pool.query<TreeHead>({
    name: 'head_of_tree',
    text: 'select size, root from ops.trees where log = $1',
    values: [log],
  })
  return rows[0] ?? { size: 0, root: EMPTY_ROOT }
}

/**
 * Grows a tree to the end of its log, or until `isEnough`, and returns its head. Concurrent growth is safe: a statement
 * appends leaves only to the tree that they follow. Memory is constant. A tree that does not match its log or root is
 * rebuilt. The caller must not hold the tree's row in a transaction.
 */
export async function growTree(pool: Database, log: TreeLog, isEnough: () => boolean = () => false): Promise<TreeHead> {
  for (;;) {
    const edge = await edgeOf(pool, log.id)
    const grown = edge ? await growFrom(pool, log, edge, isEnough) : 'differs'
    if (grown === 'differs') await emptyTree(pool, log.id)
    else if (grown !== 'moved') return grown
  }
}

/** Marks the tree for a rebuild from its log at the next append. Tiles beyond the new size are ignored. */
export async function emptyTree(pool: Database, log: number): Promise<void> {
  await pool.query('update ops.trees set size = 0, root = $2 where log = $1', [log, EMPTY_ROOT])
}

/**
 * Reads the complete subtrees that proofs for `leaves` at a size need; without leaves, those of the root. They are not
 * verified. @throws TreeDiffers when a missing hash is read.
 */
export async function readTreeHashes(
  pool: Database,
  log: number,
  size: number,
  leaves: readonly number[] = [],
): Promise<Hashes> {
  return hashesIn(await readTiles(pool, log, size, leaves), log)
}

const TILE = 256
const TILE_LEVELS = 8
const HASH_BYTES = 32

/** Hashes of tiles by position. */
type Tiles = Map<string, Buffer>

const placeOf = (level: number, index: number): string => `${level}/${index}`

/** Position of a complete subtree's hash; its level must be divisible by eight. */
function tileOf({ level, index }: Pick<TreeNode, 'level' | 'index'>) {
  return { level: level / TILE_LEVELS, index: Math.floor(index / TILE), offset: (index % TILE) * HASH_BYTES }
}

/** Tiles on the paths from the given leaves, and from the last one, to the root. They contain all hashes of a proof. */
async function readTiles(pool: Database, log: number, size: number, leaves: readonly number[]): Promise<Tiles> {
  const places = new Map<string, readonly [level: number, index: number]>()
  for (let level = 0, width = 1; width <= size; level += 1, width *= TILE) {
    for (const leaf of [...leaves, size - 1]) {
      const index = Math.floor(leaf / (width * TILE))
      places.set(placeOf(level, index), [level, index])
    }
  }
  const wanted = [...places.values()]
  const { rows } = await pool.query<{ level: number; index: number; hashes: Buffer }>({
    name: 'tree_tiles',
    text: `select t.level, t.index, t.hashes from unnest($2::smallint[], $3::bigint[]) as v(level, index)
           join ops.tree_tiles t on t.log = $1 and t.level = v.level and t.index = v.index`,
    values: [log, wanted.map(([level]) => level), wanted.map(([, index]) => index)],
  })
  return new Map(rows.map(({ level, index, hashes }) => [placeOf(level, index), hashes]))
}

function hashesIn(tiles: Tiles, log: number): Hashes {
  const hash = (level: number, index: number): Buffer => {
    if (level % TILE_LEVELS !== 0) return nodeHash(hash(level - 1, index * 2), hash(level - 1, index * 2 + 1))
    const tile = tileOf({ level, index })
    const found = tiles.get(placeOf(tile.level, tile.index))?.subarray(tile.offset, tile.offset + HASH_BYTES)
    if (found?.length !== HASH_BYTES) throw new TreeDiffers(log)
    return found
  }
  return { hash }
}

/** The right edge of a tree, where leaves are appended. */
interface Edge {
  readonly head: TreeHead
  readonly tiles: Tiles
  readonly lastLeaf: Buffer | null
  readonly appender: Appender
}

/** Null if the tiles do not have the recorded root. */
async function edgeOf(pool: Database, log: number): Promise<Edge | null> {
  const head = await headOfTree(pool, log)
  const tiles = await readTiles(pool, log, head.size, [])
  try {
    const hashes = hashesIn(tiles, log)
    const appender = appenderFrom(hashes, head.size)
    const lastLeaf = head.size > 0 ? hashes.hash(0, head.size - 1) : null
    return appender.root().equals(head.root) ? { head, tiles, lastLeaf, appender } : null
  } catch (error) {
    if (error instanceof TreeDiffers) return null
    throw error
  }
}

/** Checks the last leaf again: it differs if the log was rewritten or truncated. */
async function growFrom(
  pool: Database,
  log: TreeLog,
  { head, tiles, lastLeaf, appender }: Edge,
  isEnough: () => boolean,
): Promise<TreeHead | 'moved' | 'differs'> {
  let at = head
  let known = lastLeaf
  for await (const leaves of log.leaves(Math.max(0, head.size - 1))) {
    const [first, ...others] = leaves.map(leafHash)
    if (!first || (known && !first.equals(known))) return 'differs'
    const added = known ? others : [first, ...others]
    known = null
    if (added.length > 0) {
      const changed = addTo(tiles, appender, added)
      const next = { size: appender.size, root: appender.root() }
      if (!(await writeTiles(pool, log.id, { from: at, to: next, tiles: changed }))) return 'moved'
      at = next
    }
    if (isEnough()) return at
  }
  return known ? 'differs' : at
}

/** Appends leaves and returns the changed tiles. Only incomplete tiles stay in `tiles`. */
function addTo(tiles: Tiles, appender: Appender, leaves: readonly Buffer[]): TileRow[] {
  const changed = new Map<string, { level: number; index: number; hashes: Buffer; bytes: number }>()
  for (const node of leaves.flatMap((leaf) => appender.append(leaf))) {
    if (node.level % TILE_LEVELS !== 0) continue
    const { level, index, offset } = tileOf(node)
    const place = placeOf(level, index)
    const tile = changed.get(place) ?? { level, index, hashes: Buffer.alloc(TILE * HASH_BYTES), bytes: 0 }
    if (tile.bytes === 0) tiles.get(place)?.copy(tile.hashes, 0, 0, offset)
    node.hash.copy(tile.hashes, offset)
    tile.bytes = offset + HASH_BYTES
    changed.set(place, tile)
  }
  for (const [place, { hashes, bytes }] of changed) {
    if (bytes === hashes.length) tiles.delete(place)
    else tiles.set(place, hashes)
  }
  return [...changed.values()].map(({ level, index, hashes, bytes }) => ({
    level,
    index,
    hashes: hashes.subarray(0, bytes),
  }))
}

interface TileRow {
  readonly level: number
  readonly index: number
  readonly hashes: Buffer
}

interface Growth {
  readonly from: TreeHead
  readonly to: TreeHead
  readonly tiles: readonly TileRow[]
}

/** False, with nothing written, if the tree has changed in the meantime. */
async function writeTiles(pool: Database, log: number, { from, to, tiles }: Growth): Promise<boolean> {
  const { rows } = await pool.query<{ is_grown: boolean }>({
    name: 'grow_tree',
    text: `with grown as (
             insert into ops.trees as t (log, size, root)
             select $1::bigint, $4::bigint, $5::bytea where $2::bigint = 0 or exists (select from ops.trees where log = $1)
             on conflict (log) do update set size = excluded.size, root = excluded.root where t.size = $2 and t.root = $3::bytea
             returning log),
           written as (
             insert into ops.tree_tiles (log, level, index, hashes)
             select grown.log, v.* from grown, unnest($6::smallint[], $7::bigint[], $8::bytea[]) as v(level, index, hashes)
             on conflict (log, level, index) do update set hashes = excluded.hashes)
           select exists (select from grown) as is_grown`,
    values: [
      log,
      from.size,
      from.root,
      to.size,
      to.root,
      tiles.map(({ level }) => level),
      tiles.map(({ index }) => index),
      tiles.map(({ hashes }) => hashes),
    ],
  })
  return rows[0]?.is_grown ?? false
}

const EVERY_MS = 60_000
/** Dependencies of the growth of trees. */
export interface TreeGrowthOptions {
  readonly pool: Pool
  readonly store: EventStore
}

interface Behind {
  readonly company_id: number
  /** Number of events in the ledger. */
  readonly events: number
}

/** Grows the trees of ledgers with new events, so that a proof waits for at most a minute's events. */
export async function growTrees({ pool, store }: TreeGrowthOptions, options: InTurnOptions): Promise<void> {
  const { rows } = await pool.query<Behind>(
    `select company_id, revision + 1 as events from ops.ledgers left join ops.trees on log = company_id
     where revision + 1 > coalesce(size, 0) order by company_id`,
  )
  const eventsOf = new Map(rows.map(({ company_id, events }) => [company_id, events]))
  const sizeOf = new Map<number, number>()
  const slice = async (companyId: number): Promise<'more' | 'done'> => {
    // One batch of events.
    const { size } = await growTree(pool, ledgerLog(store, companyId), () => true)
    // A tree that does not grow has reached a missing revision.
    const hasGrown = size > (sizeOf.get(companyId) ?? -1)
    sizeOf.set(companyId, size)
    return hasGrown && size < (eventsOf.get(companyId) as number) ? 'more' : 'done'
  }
  await workInTurn(eventsOf.keys(), slice, options)
}

/** Runs at once and then every minute. */
export const growTreesOnSchedule = (growing: TreeGrowthOptions, onError: (error: unknown) => void): Repetition =>
  repeat((stopping) => growTrees(growing, { stopping, onError }), EVERY_MS, onError)
