/** Parameters of a path, as text. */
export type Params = Readonly<Record<string, string>>

/**
 * Where a path of the router's form stands among others: fixed parts before those with a parameter in the same place, since a
 * tilde sorts after everything that a path is written with.
 */
export const routeSpecificity = (path: string): string => path.replaceAll(/:\w+/g, '~')

/** The parameters of a path of the router's form in a real one; null when it is another one. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [position, part] of wanted.entries()) {
    const text = given[position] ?? ''
    if (!part.startsWith(':')) {
      if (part !== text) return null
      continue
    }
    const value = decode(text)
    if (!value) return null
    params[part.slice(1)] = value
  }
  return params
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The id in a path, or null when it is none: such a path answers 404 like a missing record. */
export function pathId(text: string | undefined): number | null {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return null
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : null
}

/** Input of commands on one record: the id from the path beside the body's fields. */
export function withId<B extends object>(params: Params, body: B): ({ id: number } & B) | null {
  const id = pathId(params.id)
  return id === null ? null : { ...body, id }
}
