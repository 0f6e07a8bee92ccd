import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { parseRetryAfter_ms } from '#lib/background-loops.ts'
import { inSource } from '#lib/errors.ts'
import { createBufferPool, createFairShareLimiter } from '#lib/fair-sharing.ts'
import { commandLine } from '#lib/files.ts'
import { drawRandomBytes, newId } from '#lib/ids.ts'

const MIB = 1_048_576

describe('buffer pool', () => {
  it('provides the requested size, and reuses buffers for similar sizes', () => {
    const blocks = createBufferPool(MIB)
    const block = blocks.take(100_000)
    expect(block.length).to.equal(131_072)
    blocks.giveBack(block)
    expect(blocks.take(65_536).buffer).not.to.equal(block.buffer)
    expect(blocks.take(70_000).buffer).to.equal(block.buffer)
    expect(blocks.take(70_000).buffer).not.to.equal(block.buffer)
  })

  it('refuses a second release, also by a former holder of the memory', () => {
    const blocks = createBufferPool(MIB)
    const block = blocks.take(1)
    blocks.giveBack(block)
    expect(() => blocks.giveBack(block)).to.throw('released twice')
    const next = blocks.take(1)
    expect(next.buffer).to.equal(block.buffer)
    expect(() => blocks.giveBack(block)).to.throw('released twice')
    blocks.giveBack(next)
  })

  it('drops buffers if enough memory is free, and buffers of unusual size', () => {
    const blocks = createBufferPool(MIB)
    const [first, second] = [blocks.take(MIB), blocks.take(MIB)]
    blocks.giveBack(first)
    blocks.giveBack(second)
    expect(blocks.take(MIB).buffer).to.equal(first.buffer)
    expect(blocks.take(MIB).buffer).not.to.equal(second.buffer)
    const large = blocks.take(MIB + 1)
    expect(large.length).to.equal(MIB + 1)
    blocks.giveBack(large)
    expect(blocks.take(MIB + 1).buffer).not.to.equal(large.buffer)
  })
})

/** Total granted to a key that takes all it can. */
function fill(room: ReturnType<typeof createFairShareLimiter>, key: string): number {
  let taken = 0
  while (room.acquire(key, 1)) taken += 1
  return taken
}

describe('fair-share limiter', () => {
  it('grants a key at most as much as it leaves free: half alone, less beside others [OPS-60]', () => {
    const room = createFairShareLimiter(120)
    expect(fill(room, 'a')).to.equal(60)
    expect(fill(room, 'b')).to.equal(30)
    expect(fill(room, 'c')).to.equal(15)
    expect([room.used, room.refused]).to.deep.equal([105, 3])
    room.release('a', 60)
    expect(fill(room, 'c'), 'more again, as soon as others have less').to.equal(30)
  })

  it('grants the first acquisition of a key, and the only call of a key, up to the whole capacity', () => {
    const room = createFairShareLimiter(100)
    expect(room.acquire('a', 70)).to.equal(true)
    expect(room.acquire('a', 1)).to.equal(false)
    expect(room.acquire('a', 10, 70)).to.equal(true)
    expect(room.acquire('b', 21)).to.equal(false)
    expect(room.acquire('b', 20)).to.equal(true)
    expect(room.acquire('a', 1, 80), 'never more than there is').to.equal(false)
  })

  it('can limit each key separately', () => {
    const room = createFairShareLimiter(100, 10)
    expect(fill(room, 'a')).to.equal(10)
    expect(fill(room, 'b')).to.equal(10)
  })
})

describe('ids and their random bytes', () => {
  it('are UUIDs of version 7, strictly increasing, also within a millisecond', () => {
    const before = Date.now()
    const ids = Array.from({ length: 20_000 }, newId)
    expect(
      ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).to.equal(true)
    expect(ids).to.deep.equal([...new Set(ids)].sort())
    const made = Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16)
    expect(made).to.be.within(before - 1, Date.now() + 1)
  })

  it('are unique, and share no memory with other callers', () => {
    const draws = Array.from({ length: 2_000 }, () => drawRandomBytes(32))
    expect(new Set(draws.map((bytes) => bytes.toString('hex'))).size).to.equal(draws.length)
    const [first] = draws as [Buffer]
    const text = first.toString('hex')
    drawRandomBytes(32).fill(0)
    expect(first.toString('hex')).to.equal(text)
    expect(draws.every((bytes) => bytes.length === 32 && bytes.some((byte) => byte !== 0))).to.equal(true)
  })
})

describe('commands that the program prints', () => {
  it('are those of npm where the tools of development are', () => {
    expect(commandLine('demo', '')).to.equal('npm run -s demo')
    expect(commandLine('demo', '--url http://127.0.0.1:80')).to.equal('npm run -s demo -- --url http://127.0.0.1:80')
    expect(commandLine('<command>', '[--json]')).to.equal('npm run -s tillbook -- <command> [--json]')
  })

  it('start the compiled program in an installation without them', () => {
    const program = relative(process.cwd(), '/app/dist/src/cli/main.js')
    expect(commandLine('demo', '--url http://127.0.0.1:80', '/app')).to.equal(
      `node ${program} demo --url http://127.0.0.1:80`,
    )
    expect(commandLine('demo', '', '/app')).to.equal(`node ${program} demo`)
  })
})

const NOW = Date.parse('1994-11-06T08:48:37Z')

describe('Retry-After', () => {
  for (const [header, ms] of [
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 60_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 60_000],
    ['Sun Nov  6 08:49:37 1994', 60_000],
    ['Sun, 06 Nov 1994 08:47:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59) - NOW],
    ['', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['Sun, 99 Nov 1994 08:49:37 GMT', null],
    ['1994-11-06T08:49:37Z', null],
  ] as const) {
    it(`${JSON.stringify(header.slice(0, 40))} asks for ${ms} ms [HOOK-18]`, () => {
      expect(parseRetryAfter_ms(header, NOW)).to.equal(ms)
    })
  }

  it('is absent, or the first of several [HOOK-18]', () => {
    expect(parseRetryAfter_ms(undefined, NOW)).to.equal(null)
    expect(parseRetryAfter_ms(['7', '9'], NOW)).to.equal(7_000)
  })
})

describe('stack frames', () => {
  const folder = mkdtempSync(join(tmpdir(), 'frames '))
  after(() => rm(folder, { recursive: true }))
  const compiled = (name: string) => pathToFileURL(join(folder, name)).href

  it('are mapped to the source, and stay unchanged without a map or an entry in it', () => {
    // Maps the start of line 2 to line 5, column 3.
    const map = { version: 3, sources: ['../src/one.ts'], names: [], mappings: ';AAIE' }
    writeFileSync(join(folder, 'one.js.map'), JSON.stringify(map))
    writeFileSync(join(folder, 'broken.js.map'), '{')
    expect(inSource(`    at sell (${compiled('one.js')}:2:9)`)).to.equal(
      `    at sell (${join(folder, '../src/one.ts')}:5:3)`,
    )
    for (const other of [
      `    at sell (${compiled('broken.js')}:2:9)`,
      `    at async ${compiled('none.js')}:2:9`,
      '    at node:internal/main:1:1',
      '    at <anonymous>',
    ]) {
      expect(inSource(other)).to.equal(other)
    }
  })
})
