import type { oas31 } from 'zod-openapi'
import { GLOSSARY } from './glossary.ts'

interface Describable {
  description?: string
}

/** The glossary's text of a field, by its name and those of the objects around it; the longest match wins. */
function meaningOf(trail: readonly string[]): string | undefined {
  for (let start = 0; start < trail.length; start++) {
    const text = GLOSSARY[trail.slice(start).join('.')]
    if (text) return text
  }
  return undefined
}

function explain(target: Describable, trail: readonly string[]): void {
  const text = meaningOf(trail)
  if (text) target.description ??= text
}

/** Gives the glossary's text to every field and parameter without one of its own. */
export function describeFields({ paths, components }: oas31.OpenAPIObject): void {
  visit(paths, [])
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) visit(schema, [name])
  visit(components?.responses, [])
}

function visit(node: unknown, trail: readonly string[]): void {
  if (typeof node !== 'object' || node === null) return
  if ('in' in node && 'name' in node) explain(node as Describable, [String(node.in), String(node.name)])
  for (const [member, value] of Object.entries(node)) {
    if (member === 'example' || member === 'examples') continue
    if (member === 'properties') visitFields(value, trail)
    else visit(value, trail)
  }
}

function visitFields(fields: Record<string, Describable>, trail: readonly string[]): void {
  for (const [name, field] of Object.entries(fields)) {
    explain(field, [...trail, name])
    visit(field, [...trail, name])
  }
}
