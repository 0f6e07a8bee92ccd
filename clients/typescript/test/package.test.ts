import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import { build } from 'esbuild'

const PACKAGE = 'clients/typescript'

describe('the client package', () => {
  it('is at most 15 KB in a minified program [KIT-1]', async () => {
    const { outputFiles } = await build({
      entryPoints: [`${PACKAGE}/src/index.ts`, `${PACKAGE}/src/webhooks.ts`],
      outdir: '/nowhere',
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      write: false,
    })
    const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
    expect(bytes).to.be.within(5_000, 15_360)
  })

  it('contains the build output only', () => {
    const text = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: PACKAGE,
      encoding: 'utf8',
    })
    const files: string[] = JSON.parse(text)[0].files.map(({ path }: { path: string }) => path)
    expect(files).to.include.members([
      'package.json',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/webhooks.js',
      'dist/file.js',
    ])
    expect(files.filter((path) => !/^(dist\/|package\.json$|README\.md$)/.test(path))).to.deep.equal([])
  })
})
