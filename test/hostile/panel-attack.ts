import fc from 'fast-check'
import { type Pairs, pageText } from './pages.ts'
import { encoded, oddName, printed } from './values.ts'

/** Request of a hostile user, built from an address and the field names of its page. */
export interface Attack {
  /** Field names of the page (`isOwn`), or of all pages. */
  readonly named: readonly { readonly isOwn: boolean; readonly place: number; readonly value: string }[]
  /** Field name that no page has. */
  readonly odd: readonly [name: string, value: string] | null
  /** Replacement of one part of the path. */
  readonly part: readonly [place: number, text: string] | null
  /** Appended to a query or form unchanged. */
  readonly garbled: string | null
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly file: Buffer
  readonly isHead: boolean
  readonly key: string
}

const DAYS = [
  '1900-01-01',
  '1902-01-01',
  '1969-12-31',
  '2026-03-01',
  '2026-11-21',
  '9998-12-31',
  '9999-12-01',
  '9999-12-31',
]
const NUMBERS = ['0', '1', '2', '-1', '17', '1000', '2147483648', '999999999999999', '9007199254740993', '1e308']

/** Values with a meaning on some page. */
const MEANT = [
  ...DAYS,
  ...DAYS.map((day) => `${day}T00:00:00-03:00`),
  ...NUMBERS,
  ...[
    'intervalo',
    'mes',
    'hoje',
    '30',
    'agora',
    'completed',
    'cancelled',
    'pending',
    'system',
    'user/1',
    'api_key/1',
    'sale',
    'item',
  ],
  ...[
    'a',
    'e',
    '%',
    '_',
    'maria',
    '12,50',
    '0,01',
    'nome',
    '-nome',
    'name',
    '-name',
    'sold_at',
    '-id',
    '100',
    'SaleCompleted',
  ],
]

const value: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...MEANT) },
  { weight: 2, arbitrary: pageText },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'a'.repeat(2_000),
      'a '.repeat(900),
      '9'.repeat(1_900),
      '('.repeat(700),
      ','.repeat(1_500),
    ),
  },
)

const named = fc.record({ isOwn: fc.boolean(), place: fc.nat({ max: 400 }), value })

const HEADERS: readonly (readonly [string, string])[] = [
  ['HX-Request', 'true'],
  ['Accept-Encoding', 'br'],
  ['Accept-Encoding', 'gzip'],
  ['Sec-Fetch-Site', 'cross-site'],
  ['Range', 'bytes=0-0'],
  ['If-None-Match', '*'],
  ['Accept', 'application/json'],
]

const ATTACK_FILE_BYTES = 1_500_000
const filled = (text: string, bytes: number): Buffer => Buffer.alloc(bytes, text)

/** Files that are barely tables: of each kind a small one, and one of the largest size. */
const file: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.constantFrom('Nome;CPF\n', 'Código;Nome;Preço\n', 'Nome\n', '\ufeff', '', '"', 'sep=;\n'),
    fc.constantFrom(
      ';\n',
      '\n',
      '\r',
      ';',
      '"',
      '"a"";',
      'a;b;c\n',
      'A1;Café;1,00\n',
      '\u0000',
      '\u00ff',
      '=1+1;',
      "'",
    ),
    fc.constantFrom(0, 10, 1_000, 60_000, 600_000, ATTACK_FILE_BYTES),
  )
  .map(([heads, text, bytes]) => Buffer.concat([Buffer.from(heads), filled(text, bytes)]))

const pathPart = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 2, arbitrary: pageText.map((text) => encoded(text.slice(0, 500))) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%ff', '%2f', '%00', '..', '.', ';a=b', '') },
)

export const attack: fc.Arbitrary<Attack> = fc.record({
  named: fc.array(named, { maxLength: 6 }),
  odd: fc.option(fc.tuple(oddName, pageText), { freq: 6 }),
  part: fc.option(fc.tuple(fc.nat({ max: 6 }), pathPart), { freq: 8 }),
  garbled: fc.option(fc.constantFrom('%', '&&&', '=', '[]=1&a[b]=2', 'a&'.repeat(1_200), '&x=%zz'), { freq: 10 }),
  headers: fc.subarray([...HEADERS], { maxLength: 2 }),
  file,
  isHead: fc.nat({ max: 9 }).map((n) => n === 9),
  key: fc.uuid(),
})

/** Names and values of a request. `kept` are those of the page, except where the attack sets another value. */
export function pairsOf({ named, odd }: Attack, own: Pairs, all: readonly string[], kept: Pairs): Pairs {
  const given = named.flatMap(({ isOwn, place, value }): Pairs => {
    const name = isOwn && own.length > 0 ? own[place % own.length]?.[0] : all[place % Math.max(1, all.length)]
    return name === undefined ? [] : [[name, value]]
  })
  const replaced = new Set(given.map(([name]) => name))
  return [...kept.filter(([name]) => !replaced.has(name)), ...given, ...(odd ? [odd] : [])]
}

export function pathOf({ part }: Attack, address: string): string {
  if (!part) return address
  const parts = address.split('/')
  // The panel's own prefix stays.
  const places = parts.length - 2
  if (places > 0) parts[2 + (part[0] % places)] = printed(part[1])
  return parts.join('/')
}

/** A form with a file, as browsers send it. */
export function multipart(fields: Pairs, bytes: Buffer): { readonly type: string; readonly body: Buffer } {
  const boundary = 'limite-da-parte'
  const parts = fields.map(
    ([name, text]) => `--${boundary}\r\nContent-Disposition: form-data; name="${encoded(name)}"\r\n\r\n${text}\r\n`,
  )
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n`
  const body = Buffer.concat([Buffer.from(parts.join('') + head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}
