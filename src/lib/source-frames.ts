import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const PLACE = /(file:\/\/[^\s()]+):(\d+):(\d+)/

/** Source map by compiled file; null if there is none. */
const maps = new Map<string, SourceMap | null>()

/**
 * A stack line with the source position instead of the compiled one. Maps are loaded at the first error of a file:
 * `--enable-source-maps` would hold 13 MiB.
 */
export const inSource = (line: string): string =>
  line.replace(PLACE, (place, url: string, row: string, column: string) => {
    const file = fileURLToPath(url)
    const entry = mapOf(file)?.findEntry(Number(row) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return place
    return `${resolve(dirname(file), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const map = read(file)
  maps.set(file, map)
  return map
}

function read(file: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
  } catch {
    return null
  }
}
