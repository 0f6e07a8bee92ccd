/**
 * Where a path of the router's form stands among others: fixed parts before those with a parameter in the same place, since a
 * tilde sorts after everything that a path is written with.
 */
export const placeOf = (path: string): string => path.replaceAll(/:\w+/g, '~')

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
