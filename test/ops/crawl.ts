/** Bound of the pages that are visited. */
const MAX_PAGES = 400
const AT_ONCE = 4
/** A stream of events that does not end, and the end of the session. */
const NOT_FOLLOWED = /^\/painel\/(ao-vivo|sair)/
const LINKS = /(?:href|src|data-worker)="(\/[^"#?]*)[^"]*"|url\("?([^")]+)"?\)/g

/** Visits what pages link to, one page of each kind (`/vendas/1`), and returns what is not answered with 2xx or 3xx. */
export async function brokenLinks(base: string, from: readonly string[], headers: Readonly<Record<string, string>>) {
  const waiting = [...from]
  const known = new Set(from.map(kindOf))
  const visited: string[] = []
  const broken: string[] = []

  async function visit(path: string): Promise<void> {
    const response = await fetch(base + path, { headers, redirect: 'manual' })
    visited.push(path)
    const text = await response.text()
    if (response.status >= 400) broken.push(`${response.status} ${path}`)
    const links = [...text.matchAll(LINKS)].map(([, link, inStyle]) =>
      link !== undefined ? link : new URL(inStyle ?? '', base + path).pathname,
    )
    const target = response.headers.get('location')
    for (const link of [...links, ...(target === null ? [] : [new URL(target, base + path).pathname])]) {
      if (known.has(kindOf(link)) || NOT_FOLLOWED.test(link) || known.size >= MAX_PAGES) continue
      known.add(kindOf(link))
      waiting.push(link)
    }
  }

  while (waiting.length > 0) await Promise.all(waiting.splice(0, AT_ONCE).map(visit))
  return { broken, visited }
}

const kindOf = (path: string): string => path.replace(/\d+/g, '0')
