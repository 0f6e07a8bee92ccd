import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import { shapesOfEvents } from '#api/docs/docs-webhooks.tsx'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { createTillContract, shapesOfPermissions } from '#service/contracts.ts'
import { proofVectors, vectorsAsMarkdown, verifierAsMarkdown } from './proof-vectors.ts'
import { faultsOf, readRequirements, tableOfTests } from './requirements.ts'

const { FOLDERS } = createRequire(import.meta.url)('./folders.cjs') as { FOLDERS: [path: string, holds: string][] }

const checkOnly = process.argv.includes('--check')
const requirements = await readRequirements()
const vectors = proofVectors()
const verifier = await readFile('verifier/tillbook-verify.mjs')

/** Files under docs/ that the code gives, by name; shapes.txt so that a change of an event or a right fails until it is looked at. Of ARCHITECTURE.md and proof.md only what is between marks. */
const GENERATED: Readonly<Record<string, (written: string) => string>> = {
  'docs/openapi.json': () => `${JSON.stringify(createContract(V1_ROUTES), null, 2)}\n`,
  'docs/openapi-sync.json': () => `${JSON.stringify(createTillContract(), null, 2)}\n`,
  'docs/shapes.txt': () => `${[...shapesOfEvents(EVENT_TYPES), ...shapesOfPermissions(PANEL_ROUTES)].join('\n')}\n`,
  'docs/proof/vectors.json': () => `${JSON.stringify(vectors, null, 1)}\n`,
  'docs/proof.md': (written) =>
    between(between(written, 'verifier', verifierAsMarkdown(verifier)), 'vectors', vectorsAsMarkdown(vectors)),
  'docs/ARCHITECTURE.md': (written) => between(written, 'folders', folderTable()),
}

/** A page with other lines between two of its marks. */
const between = (written: string, mark: string, text: string): string =>
  written.replace(new RegExp(`(?<=<!-- ${mark} -->\\n).*(?=<!-- /${mark} -->)`, 's'), () => text)

function folderTable(): string {
  const rows = FOLDERS.map(([path, holds]) => `| \`${path}\` | ${holds} |\n`)
  return `\n| Folder | What it holds |\n|---|---|\n${rows.join('')}\n`
}

/** Writes the files, or with --check says which of them differ from what the code says now. */
for (const [file, generate] of Object.entries(GENERATED)) {
  const written = await readFile(file, 'utf8').catch(() => '')
  const text = generate(written)
  if (!checkOnly) await writeFile(file, text)
  else if (written !== text) {
    console.error(`${file} differs from what the code says: run npm run docs`)
    process.exitCode = 1
  }
}

if (!checkOnly) await writeFile('docs/requirements/tests.md', tableOfTests(requirements))
for (const fault of faultsOf(requirements)) {
  console.error(fault)
  process.exitCode = 1
}
