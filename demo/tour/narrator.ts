import type { Writable } from 'node:stream'

/** Response to a call. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the demo shows answers of many shapes
  readonly body: any
}

/** Selects the printed part of a response. */
type Show = (answer: Answer) => object

/** Prints a title, sends one real request, and prints its response. */
export interface Narrator {
  say(title: string): void
  print(text: string): void
  get(title: string, path: string, show?: Show): Promise<Answer>
  /** `key` is the Idempotency-Key. */
  post(title: string, path: string, body: object, options?: { show?: Show; key?: string }): Promise<Answer>
  remove(title: string, path: string): Promise<Answer>
  /** Call of the till sync: POST with a body, GET without. */
  postAsTill(
    title: string,
    path: string,
    body: object | undefined,
    options: { show?: Show; token?: string },
  ): Promise<Answer>
}

const TIMEOUT_MS = 15_000

/** Calls a running service and writes a transcript. */
export function createNarrator(baseUrl: string, apiKey: string, out: Writable): Narrator {
  let step = 0
  const say = (title: string) => out.write(`\n${++step}. ${title}\n\n`)

  async function call({ method, path, show = ({ body }) => body, body, key, bearer = apiKey }: Call): Promise<Answer> {
    out.write(`  ${method} ${path}\n`)
    if (key) out.write(`  Idempotency-Key: ${key}\n`)
    if (body) out.write(`  ${JSON.stringify(hidden(body))}\n`)
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(key ? { 'idempotency-key': key } : {}),
      },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).catch((error: unknown) => {
      throw new Error(`no response from ${baseUrl}; start the service first`, { cause: error })
    })
    const answer: Answer = { status: response.status, headers: response.headers, body: parsed(await response.text()) }
    const shown = answer.body === null ? '' : `${indented(show(answer))}\n`
    out.write(`\n  ${answer.status} ${response.statusText}\n${shown}`)
    return answer
  }

  return {
    say,
    print: (text) => out.write(text),
    get(title, path, show) {
      say(title)
      return call({ method: 'GET', path: `/api/v1${path}`, show })
    },
    post(title, path, body, { show, key } = {}) {
      say(title)
      return call({ method: 'POST', path: `/api/v1${path}`, show, body, key })
    },
    remove(title, path) {
      say(title)
      return call({ method: 'DELETE', path: `/api/v1${path}` })
    },
    postAsTill(title, path, body, { show, token }) {
      if (title) say(title)
      return call({ method: body ? 'POST' : 'GET', path: `/api${path}`, show, body, bearer: token })
    },
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly show?: Show | undefined
  readonly body?: object | undefined
  readonly key?: string | undefined
  readonly bearer?: string | undefined
}

const parsed = (text: string) => (text === '' ? null : JSON.parse(text))

/** Transcripts are shared, so passwords are hidden. */
const hidden = (body: object): object => ('password' in body ? { ...body, password: '…' } : body)

const LINE = 110

const indented = (value: object): string => layOut(value, '').replace(/^/gm, '  ')

/** Pretty-printed JSON: values that fit on a line stay on one, others are expanded level by level. */
function layOut(value: unknown, indent: string): string {
  const line = JSON.stringify(value)
  if (indent.length + line.length <= LINE || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((element) => layOut(element, inner))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${layOut(member, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}
