import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../child.ts'
import {
  type AllocationNode,
  allocationAreasOf,
  areasOf,
  type Profile,
  type ProfileNode,
  type Share,
  type Stretch,
  stretchesOf,
} from './areas.ts'

interface ServiceProfile {
  /** Busy time by area. */
  readonly areas: readonly Share[]
  readonly stretches: readonly Stretch[]
  /** Allocated bytes by area. */
  readonly allocations: readonly Share[]
}

/** File of the service's allocations. */
export const allocationsIn = (directory: string): string => join(directory, 'allocations.json')

/** Reads the largest profile in a directory, and the allocations beside it. */
export async function readProfile(directory: string): Promise<ServiceProfile> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'))
  const profiles = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')))
  const [largest] = profiles.sort((a, b) => b.length - a.length)
  if (largest === undefined) throw new Error(`${directory} has no profile`)
  const profile = JSON.parse(largest) as Profile
  const { head } = JSON.parse(await readFile(allocationsIn(directory), 'utf8')) as { head: AllocationNode }
  const sourceOf = createLocator()
  return {
    areas: areasOf(profile, sourceOf),
    stretches: stretchesOf(profile, sourceOf),
    allocations: allocationAreasOf(head, sourceOf),
  }
}

/** Finds the source of compiled code by its source maps. */
function createLocator(): (node: Pick<ProfileNode, 'callFrame'>) => string {
  const maps = new Map<string, SourceMap | null>()
  return ({ callFrame: { url, lineNumber, columnNumber } }) => {
    if (!url.startsWith('file:')) return url
    const file = fileURLToPath(url)
    if (!maps.has(file)) maps.set(file, mapOf(file))
    const found = maps.get(file)?.findEntry(lineNumber, columnNumber)
    const source = found && 'originalSource' in found ? resolve(dirname(file), found.originalSource) : file
    return relative(ROOT, source)
  }
}

function mapOf(file: string): SourceMap | null {
  const map = `${file}.map`
  if (!file.startsWith(join(ROOT, 'dist')) || !existsSync(map)) return null
  return new SourceMap(JSON.parse(readFileSync(map, 'utf8')) as SourceMapPayload)
}
