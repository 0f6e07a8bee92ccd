import { expect } from 'chai'
import fc from 'fast-check'
import { hasRepeatedMember, JsonLimitExceeded, type JsonLimits, parseBoundedJson } from '#lib/json.ts'
import { explore, TITLE } from '../support/random.ts'

const WIDE: JsonLimits = { levels: 64, members: 10_000, elements: 1_000_000, values: 1_000_000, textBytes: 1_000_000 }

async function noPause(): Promise<void> {}

const read = (text: string, limits: Partial<JsonLimits> = {}): Promise<unknown> =>
  parseBoundedJson(Buffer.from(text), { ...WIDE, ...limits }, noPause)

/** Result of parsing: the value serialised again, or the name of the error. */
const outcomeOf = (reading: () => unknown): Promise<string> =>
  Promise.resolve()
    .then(reading)
    .then(
      (value) => JSON.stringify(value),
      (error: Error) => error.name,
    )

/** As JSON.parse, but a member may not repeat. */
async function expectAsJsonParse(text: string): Promise<void> {
  const parsed = await outcomeOf(() => JSON.parse(text))
  const isRepeating = parsed !== 'SyntaxError' && hasRepeatedMember(text, JSON.parse(text))
  const [given, wanted] = [await outcomeOf(() => read(text)), isRepeating ? 'RepeatedMember' : parsed]
  // Shortens megabytes of text in a failure message.
  if (given !== wanted) throw new Error(`${given.slice(0, 200)} is not ${wanted.slice(0, 200)}`)
}

/** Values long enough to be parsed in slices, some of them nested. */
const longValue: fc.Arbitrary<unknown> = fc
  .tuple(fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1, maxLength: 20 }), fc.nat({ max: 400 }), fc.nat(3))
  .map(([values, times, shape]) => {
    const list = Array.from({ length: times + 1 }, (_, n) => [n, 'ç"\\'.repeat(20), values[n % values.length]])
    const members = Object.fromEntries(list.map((value, n) => [`${n}é`, value]))
    return [list, members, { a: { b: list, c: 1 }, d: members }, [[['x', list]], list, { list }]][shape]
  })

const written = fc
  .tuple(longValue, fc.constantFrom(undefined, 1, '\t'), fc.constantFrom('', ' ', '\r\n'))
  .map(([value, indent, blanks]) => `${blanks}${JSON.stringify(value, null, indent)}${blanks}`)

/** Replacements for one character. */
const piece = fc.constantFrom('', '[', ']', '{', '}', ',', ':', '"', '1', ' ', '\\', ',,', '[]', '1[', '"a":', '\u0000')

describe(`bounded JSON parser (${TITLE})`, () => {
  it('parses like JSON.parse, for any chunking', async () => {
    await explore(fc.asyncProperty(written, expectAsJsonParse), 60)
  })

  it('refuses texts that JSON.parse refuses, wherever they are broken', async () => {
    const broken = fc
      .tuple(written, fc.array(fc.tuple(fc.nat(), piece, fc.nat({ max: 2 })), { minLength: 1, maxLength: 3 }))
      .map(([text, changes]) =>
        changes.reduce((changed, [place, put, dropped]) => {
          const at = place % changed.length
          return changed.slice(0, at) + put + changed.slice(at + dropped)
        }, text),
      )
    await explore(fc.asyncProperty(broken, expectAsJsonParse), 120, 1)
  })

  const long = `"${'x'.repeat(20_000)}"`
  for (const text of [
    '',
    ' ',
    '1',
    ' "a" ',
    'null x',
    '{}',
    '[]]',
    '[1}',
    '"a',
    '"a\\"',
    '1,2',
    '[]{}',
    `[${long},]`,
    `[,${long}]`,
    `[${long},,1]`,
    `[[${long},1] 2]`,
    `[1 [${long},1]]`,
    `{"a":1[${long},1]}`,
    `{[${long},1]}`,
    `{"a" [${long},1]}`,
    `{"a":[${long},1] "b":1}`,
    `x[${long},1]`,
    `[${long},1]x`,
    `[${long},1][1]`,
    `{"__proto__":{"a":${long},"b":1},"x":1}`,
    `{"constructor":1,"__proto__":[1],"a":${long},"b":2}`,
    `[${long}, {"a":[[${long},2] , 3]\t, "b" : {"c":${long},"d":4}\n} ,5]`,
    `\ufeff[1]`,
  ])
    it(`accepts or refuses like JSON.parse: ${text.replaceAll(long, '…').slice(0, 40)}`, async () => {
      if (text.startsWith('\ufeff')) expect(await read(text)).to.deep.equal([1])
      else await expectAsJsonParse(text)
    })

  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[[{"b":{"a":1,"x":"a:\\"","a":null}}]]',
    '{"__proto__":1,"__proto__":2}',
    `{"a":${long},"b":1,"a":2}`,
    `{"a":[${long},1],"a":2,"b":${long},"c":[${long},3]}`,
    `{"b":[${long},1],"x":${long},"b":[${long},1]}`,
    `{"x":[${long},{"n":${long},"m":2,"n":3}]}`,
  ])
    it(`refuses a member that repeats: ${text.replaceAll(long, '…').slice(0, 40)} [HTTP-44]`, async () => {
      expect(await outcomeOf(() => read(text))).to.equal('RepeatedMember')
      expect(hasRepeatedMember(text, JSON.parse(text))).to.equal(true)
    })

  for (const text of [
    '{}',
    '"a:b"',
    '{"a":{"a":[{"a":1},{"a":2}]}}',
    '{"a\\":":":\\"","b":[null,{}]}',
    `[${long},{"a":1}]`,
  ])
    it(`accepts members of the same name in different objects: ${text.replaceAll(long, '…')} [HTTP-44]`, async () => {
      expect(await read(text)).to.deep.equal(JSON.parse(text))
      expect(hasRepeatedMember(text, JSON.parse(text))).to.equal(false)
    })

  it('treats a member named __proto__ like any other', async () => {
    const value = (await read(`{"__proto__":{"a":${long},"b":1}}`)) as object
    expect(Object.keys(value)).to.deep.equal(['__proto__'])
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype)
  })

  for (const [limit, most, within, beyond] of [
    ['levels', 3, '[[{}]]', '[[[[]]]]'],
    ['members', 2, '{"a":1,"b":2}', '{"a":1,"b":2,"a":3}'],
    ['elements', 3, '[1,2,3]', '[1,2,3,4]'],
    ['values', 4, '[[1,2],3]', '[[1,2],3,4]'],
    ['textBytes', 5, '"\\"é1"', '"\\"é12"'],
  ] as const)
    it(`limits ${limit}, inclusive [HTTP-41]`, async () => {
      await read(within, { [limit]: most })
      const error = await read(beyond, { [limit]: most }).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(JsonLimitExceeded)
      expect((error as JsonLimitExceeded).limit).to.equal(limit)
    })

  it('refuses at the first exceeded limit, for any length', async () => {
    const error = await read(`[${'[],'.repeat(1_000_000)}`, { elements: 10 }).catch((thrown: unknown) => thrown)
    expect((error as JsonLimitExceeded).limit).to.equal('elements')
  })

  it('yields between the slices of a long text, and not for a short one [HTTP-42]', async () => {
    let pauses = 0
    const pause = async () => void pauses++
    await parseBoundedJson(Buffer.from('{"a":[1,2,3]}'), WIDE, pause)
    expect(pauses).to.equal(0)
    const bytes = Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'ç"\\' }))))
    await parseBoundedJson(bytes, WIDE, pause)
    expect(pauses).to.be.at.least(Math.floor(bytes.length / 16_384))
  })
})
