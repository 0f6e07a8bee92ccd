import type { Pool } from 'pg'
import { streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { inBatches } from '#lib/batches.ts'
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

/** What a tree is over. */
export interface TreeLog {
  /** The company, or 0 for the installation log. */
  readonly id: number
  /** Data of its leaves from an index (inclusive) on, in order, some at a time. */
  leaves(from: number): AsyncIterable<readonly Buffer[]>
}

const HASH = /^[0-9a-f]{64}$/

/** A company's ledger: leaf i is the hash of revision i. It ends before a revision that is missing or has no hash. */
export function ledgerLog(store: EventStore, companyId: number): TreeLog {
  return {
    id: companyId,
    async *leaves(from) {
      const stream = streamOf(companyId)
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

/** As many as take the processor for a few milliseconds. */
const BATCH = 1_024

const hashesAsRead = (store: EventStore, stream: string, from: number) => inBatches(store.read(stream, from), BATCH)

/** What is kept of a tree is not what belongs to its log, its root or a signed checkpoint: it has to be made anew. */
export class TreeDiffers extends Error {
  override readonly name = 'TreeDiffers'
  constructor(log: number) {
    super(`the tree of log ${log} is not the one that was kept`)
  }
}

/** As far as a tree has grown; one that was never begun is empty. */
export async function headOfTree(pool: Pool, log: number): Promise<TreeHead> {
  const { rows } = await pool.query<TreeHead>({
    name: 'head_of_tree',
    text: 'select size, root from ops.trees where log = $1',
    values: [log],
  })
  return rows[0] ?? { size: 0, root: EMPTY_ROOT }
}

/**
 * Brings a tree to the end of its log, or until `isEnough`, and tells how far it is. Whoever else grows it meanwhile is no
 * harm: a statement adds leaves only to the tree that they follow. Memory does not grow with the log. A tree whose end is
 * not what its log or its root says is made anew (PROOF-5). No transaction of the caller's may hold its row.
 */
export async function growTree(pool: Pool, log: TreeLog, isEnough: () => boolean = () => false): Promise<TreeHead> {
  for (;;) {
    const edge = await edgeOf(pool, log.id)
    const grown = edge ? await growFrom(pool, log, edge, isEnough) : 'differs'
    if (grown === 'differs') await emptyTree(pool, log.id)
    else if (grown !== 'moved') return grown
  }
}

/** Has the next growth make a tree anew from its log. What is beyond its size then is never looked at. */
export async function emptyTree(pool: Pool, log: number): Promise<void> {
  await pool.query('update ops.trees set size = 0, root = $2 where log = $1', [log, EMPTY_ROOT])
}

/**
 * The complete subtrees that roots and proofs of a size need, for leaves at some places of it; with none, those of its root.
 * Nothing of it is verified. @throws TreeDiffers on reading what is not there.
 */
export async function hashesOf(pool: Pool, log: number, size: number, leaves: readonly number[] = []): Promise<Hashes> {
  return hashesIn(await readTiles(pool, log, size, leaves), log)
}

const TILE = 256
const TILE_LEVELS = 8
const HASH_BYTES = 32

/** Hashes of tiles by their places. */
type Tiles = Map<string, Buffer>

const placeOf = (level: number, index: number): string => `${level}/${index}`

/** Where the hash of a complete subtree of a level divisible by eight is. */
function tileOf({ level, index }: Pick<TreeNode, 'level' | 'index'>) {
  return { level: level / TILE_LEVELS, index: Math.floor(index / TILE), offset: (index % TILE) * HASH_BYTES }
}

/** Tiles on the ways from some leaves, and from the last one, up: all that a proof needs lies in them, beside those ways. */
async function readTiles(pool: Pool, log: number, size: number, leaves: readonly number[]): Promise<Tiles> {
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

/** The right edge of a tree, where it grows. */
interface Edge {
  readonly head: TreeHead
  readonly tiles: Tiles
  readonly lastLeaf: Buffer | null
  readonly appender: Appender
}

/** Null where the tiles do not have the root that was noted. */
async function edgeOf(pool: Pool, log: number): Promise<Edge | null> {
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

/** The leaf at the end is looked at again: a log that was written anew, or cut, has another there. */
async function growFrom(
  pool: Pool,
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

/** Appends leaves, and gives the tiles that have become others, as they are now. Of `tiles`, those stay that are not full. */
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

/** False, and nothing written, where the tree is not any more what it was. */
async function writeTiles(pool: Pool, log: number, { from, to, tiles }: Growth): Promise<boolean> {
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
