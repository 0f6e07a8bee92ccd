import { readFile, writeFile } from 'node:fs/promises'
import { V1_ROUTES } from '#api/api-v1.ts'
import { contractOf } from '#api/contract/document.ts'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { eventCatalogue } from './event-catalogue.ts'
import { faultsOf, readRequirements, tableOfTests } from './requirements.ts'

const checkOnly = process.argv.includes('--check')
const requirements = await readRequirements()

/** Files under docs/ that the code and its tests say, by name. */
const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/openapi.json': () => `${JSON.stringify(contractOf(V1_ROUTES), null, 2)}\n`,
  'docs/events.md': () => eventCatalogue(EVENT_TYPES),
  'docs/requirements/tests.md': () => tableOfTests(requirements),
}

/** Writes the files, or with --check says which of them differ from what the code says now. */
for (const [file, generate] of Object.entries(GENERATED)) {
  const text = generate()
  if (!checkOnly) await writeFile(file, text)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${file} differs from what the code says: run npm run docs`)
    process.exitCode = 1
  }
}

for (const fault of faultsOf(requirements)) {
  console.error(fault)
  process.exitCode = 1
}
