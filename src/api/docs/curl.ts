import type { oas31 } from 'zod-openapi'
import { bodyExample, parameterExample } from './examples.ts'
import type { DocumentedOperation } from './operation.tsx'
import { type PublishedContract, pathOf } from './site.ts'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command of curl that carries out an operation with its example. */
export function curlOf(
  publicUrl: string,
  published: PublishedContract,
  { method, path, operation }: DocumentedOperation,
) {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[]
  const required = parameters.filter((parameter) => parameter.required)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name)
    return encodeURIComponent(parameter ? parameterExample(parameter) : name)
  })
  const query = new URLSearchParams(
    required.filter((each) => each.in === 'query').map((each) => [each.name, parameterExample(each)]),
  ).toString()
  const body = bodyExample(operation)
  const isStream = JSON.stringify(operation.responses?.['200'] ?? {}).includes('text/event-stream')
  const options = [
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(isStream ? ['-N'] : []),
    quoted(`${publicUrl}${pathOf(published, filled)}${query && `?${query}`}`),
  ].join(' ')
  const lines = [
    `curl ${options}`,
    ...(operation.security?.length === 0 ? [] : [`-H "Authorization: Bearer $${published.credential}"`]),
    ...required
      .filter((each) => each.in === 'header')
      .map((each) => `-H ${quoted(`${each.name}: ${parameterExample(each)}`)}`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`]),
  ]
  return lines.join(' \\\n  ')
}
