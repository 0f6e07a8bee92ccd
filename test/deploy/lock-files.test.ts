import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { projectRoot } from '#lib/files.ts'

/** A package of a lock file, by its folder. */
interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}
type Packages = Readonly<Record<string, LockedPackage>>

/** Folders without sources. */
const OTHERS = new Set(['node_modules', 'dist', 'data', 'coverage'])

/** Lock files below a folder, by their paths. */
async function lockFilesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return OTHERS.has(entry.name) || entry.name.startsWith('.') ? [] : lockFilesIn(path)
      return /^(?:package-lock|npm-shrinkwrap)\.json$/.test(entry.name) ? [path] : []
    }),
  )
  return found.flat()
}

/**
 * Entries without version, digest or with a registry. Packages of the project itself and links to them are not
 * downloaded.
 */
const faultsOf = (packages: Packages): string[] =>
  Object.entries(packages).flatMap(([path, { version, integrity, resolved, link }]) => {
    if (link || !path.includes('node_modules/')) return []
    return [
      ...(version ? [] : [`${path} has no version`]),
      ...(/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '') ? [] : [`${path} has no integrity`]),
      ...(resolved === undefined ? [] : [`${path} names a host`]),
    ]
  })

describe('lock files', () => {
  it('list every package with version and digest, and without a registry [OPS-131]', async () => {
    const root = projectRoot()
    const files = await lockFilesIn(root)
    expect(files.map((file) => file.slice(root.length + 1)).sort()).to.deep.equal([
      'clients/generated/package-lock.json',
      'clients/typescript/package-lock.json',
      'examples/package-lock.json',
      'package-lock.json',
    ])
    for (const file of files) {
      const { packages } = JSON.parse(await readFile(file, 'utf8')) as { packages: Packages }
      expect(Object.keys(packages), file).to.have.length.above(10)
      expect(faultsOf(packages), file).to.deep.equal([])
    }
  })

  it('are rejected if one of these is missing or wrong', () => {
    const integrity = `sha512-${'a'.repeat(86)}==`
    const sound = { version: '1.0.0', integrity }
    expect(
      faultsOf({ '': {}, 'examples/x': {}, 'node_modules/own': { link: true }, 'node_modules/a': sound }),
    ).to.have.length(0)
    for (const wrong of [
      { version: '1.0.0' },
      { integrity },
      { ...sound, integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
      { ...sound, resolved: 'https://registry.example/a.tgz' },
    ])
      expect(faultsOf({ 'node_modules/b/node_modules/a': wrong }), JSON.stringify(wrong)).to.have.length(1)
  })
})
