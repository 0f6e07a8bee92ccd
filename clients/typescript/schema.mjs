import { readFile, writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

/**
 * Writes the types of the contract, with a type for each error code: a `switch` over `code` is checked, and `details` are
 * those of the code. The contract itself has one type for all errors, because generators of most languages have no unions.
 */
const contract = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
const { schemas, responses } = contract.components
const { properties: members, 'x-details-by-code': setsByCode } = schemas.ErrorDetails

for (const response of Object.values(responses)) {
  const codes = response['x-error-codes']
  if (!codes) continue
  for (const code of codes) schemas[`Error_${code}`] ??= errorOf(code)
  const anyOf = codes.map((code) => ({ $ref: `#/components/schemas/Error_${code}` }))
  response.content['application/json'].schema = anyOf.length === 1 ? anyOf[0] : { anyOf }
}

function errorOf(code) {
  const { properties, required } = schemas.Problem
  const sets = setsByCode[code] ?? [[]]
  const isAlways = sets.every((set) => set.length > 0)
  const { details: _, ...others } = properties
  const details = { anyOf: sets.filter((set) => set.length > 0).map(detailsOf) }
  return object({
    properties: {
      error: object({
        properties: { ...others, code: { const: code }, ...(details.anyOf.length > 0 && { details }) },
        required: isAlways ? [...required, 'details'] : required,
      }),
    },
    required: ['error'],
  })
}

/** `name?` may be absent. */
function detailsOf(set) {
  const names = set.map((name) => name.replace('?', ''))
  const properties = Object.fromEntries(names.map((name) => [name, members[name]]))
  return object({ properties, required: set.filter((name) => !name.endsWith('?')) })
}

function object(schema) {
  return { type: 'object', ...schema }
}

// Without the option, a field of a request with a default counts as required.
const types = await openapiTS(contract, { defaultNonNullable: false })
await writeFile(new URL('src/schema.ts', import.meta.url), astToString(types))
