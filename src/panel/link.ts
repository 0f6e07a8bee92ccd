export const PANEL = '/painel'

/** Address of a page of the panel; empty parameters are omitted. */
export function link(
  path: string,
  parameters: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  const query = search.toString()
  return `${PANEL}${path === '/' ? '' : path}${query === '' ? '' : `?${query}`}`
}
