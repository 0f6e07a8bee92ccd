import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { recordDownload } from '#integrity/audit-pack.ts'
import { type Anchor, exportLines, verifyExport } from '#integrity/verify.ts'
import { GENESIS_HASH, hashEnvelope, streamName } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../../support/database.ts'
import { explore } from '../../support/random.ts'
import { until } from '../../support/wait.ts'
import { eventsOf, writeLedger } from './tampering.ts'

const LENGTH = 8

describe('an export', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore
  let directory: string
  let file: string
  let companyId: number
  let whole: string

  before(async () => {
    pool = createPool(database.url, { max: 2 })
    store = createPostgresStore(pool)
    directory = await mkdtemp(join(tmpdir(), 'tillbook-export-'))
    file = join(directory, 'export.jsonl')
    // Characters that other formats treat as line ends.
    const data = { id: 1, text: 'a\u2028b\u2029c\u0085d\r\n😀' }
    companyId = await writeLedger(pool, Array(LENGTH).fill({ data }))
    whole = await linesFrom(0)
  })
  after(async () => {
    await pool.end()
    await rm(directory, { recursive: true })
  })

  async function linesFrom(revision: number): Promise<string> {
    let text = ''
    for await (const line of exportLines(store, companyId, revision)) text += line
    return text
  }

  async function verify(text: string | Buffer, anchors: readonly Anchor[] = []) {
    await writeFile(file, text)
    return verifyExport(file, () => ({ anchors }))
  }

  it('contains every event as it was hashed, one per line, and verifies by itself [AUDIT-8]', async () => {
    const events = await eventsOf(pool, companyId)
    const lines = whole.split('\n')
    expect(lines.pop()).to.equal('')
    expect(lines.map((line) => JSON.parse(line))).to.deep.equal(events)
    expect(await verify(whole)).to.deep.equal({
      stream: streamName(companyId),
      from: 0,
      valid: true,
      checked: LENGTH,
      revision: LENGTH - 1,
      hash: events.at(-1)?.hash,
      first_error: null,
    })
    // The last line end may be missing.
    expect((await verify(whole.trimEnd())).valid).to.equal(true)
  })

  it('can begin at any revision, and is checked against the known preceding event', async () => {
    const events = await eventsOf(pool, companyId)
    const [, , third] = events
    const text = await linesFrom(3)
    expect(await verify(text)).to.include({ from: 3, valid: true, checked: LENGTH - 3, revision: LENGTH - 1 })
    const anchor = { revision: 2, hash: third?.hash ?? '' }
    expect((await verify(text, [anchor])).valid).to.equal(true)
    const other = await verify(text, [{ revision: 2, hash: GENESIS_HASH }])
    expect(other).to.deep.include({ valid: false, first_error: { revision: 2, reason: 'other_hash' } })
    // Sealed before its beginning: not comparable.
    expect((await verify(text, [{ revision: 1, hash: GENESIS_HASH }])).valid).to.equal(true)
    expect(await linesFrom(LENGTH)).to.equal('')
  })

  it('is checked against seals: a missing tail or a missing ledger is found [AUDIT-5]', async () => {
    const anchors = [(await eventsOf(pool, companyId))[LENGTH - 1] as Anchor]
    const cut = `${whole.split('\n').slice(0, 5).join('\n')}\n`
    expect(await verify(cut)).to.include({ valid: true, checked: 5 })
    expect((await verify(cut, anchors)).first_error).to.deep.equal({ revision: 5, reason: 'truncated' })
    expect(await verify('')).to.deep.equal({
      stream: null,
      from: 0,
      valid: true,
      checked: 0,
      revision: -1,
      hash: GENESIS_HASH,
      first_error: null,
    })
    expect((await verify('', anchors)).first_error).to.deep.equal({ revision: 0, reason: 'truncated' })
  })

  it('is invalid if a line was removed, duplicated, moved, emptied, or belongs to another ledger [AUDIT-8]', async () => {
    const lines = whole.trimEnd().split('\n')
    const other = (await eventsOf(pool, await writeLedger(pool, LENGTH))).map((each) => JSON.stringify(each))
    const altered = {
      removed: [lines.toSpliced(3, 1), '3 wrong_revision'],
      doubled: [lines.toSpliced(3, 0, lines[3] ?? ''), '4 wrong_revision'],
      moved: [lines.toSpliced(2, 2, lines[3] ?? '', lines[2] ?? ''), '2 wrong_revision'],
      emptied: [lines.toSpliced(3, 0, ''), '3 malformed'],
      'of another ledger': [lines.toSpliced(3, 1, other[3] ?? ''), '3 wrong_stream'],
      'no event': [['{}', ...lines], '0 malformed'],
    } as const
    for (const [how, [text, found]] of Object.entries(altered)) {
      const { valid, first_error } = await verify(`${text.join('\n')}\n`)
      expect(`${valid} ${first_error?.revision} ${first_error?.reason}`, how).to.equal(`false ${found}`)
    }
  })

  it('is invalid if parsers can read its text differently [PROOF-84]', async () => {
    const { hash: _, ...event } = JSON.parse(whole.split('\n')[0] as string)
    const lineOf = (text: string) => {
      const hashed = { ...event, data: { text } }
      return JSON.stringify({ ...hashed, hash: hashEnvelope(hashed) })
    }
    const replaced = lineOf('a\ufffdb')
    expect((await verify(replaced)).valid).to.equal(true)
    expect((await verify(lineOf('\\ud83d'))).valid).to.equal(true)
    const [before = '', after = ''] = replaced.split('\ufffd')
    const invalid = Buffer.concat([Buffer.from(before), Buffer.of(0xff), Buffer.from(after)])
    for (const line of [invalid, lineOf('\ud83d'), Buffer.concat([Buffer.from(replaced), Buffer.of(0xf0)])])
      expect((await verify(line)).first_error).to.deep.equal({ revision: 0, reason: 'malformed' })
  })

  it('is invalid if any byte was changed [AUDIT-8]', async () => {
    const bytes = Buffer.from(whole)
    await explore(
      fc.asyncProperty(fc.nat({ max: bytes.length - 2 }), fc.integer({ min: 0x20, max: 0x7e }), async (place, byte) => {
        fc.pre(bytes[place] !== byte)
        const changed = Buffer.from(bytes)
        changed[place] = byte
        await writeFile(file, changed)
        const found = await verifyExport(file, () => ({}))
        // For a change of the first event's revision, the export reports another beginning.
        expect(found.valid && found.from === 0).to.equal(false)
      }),
      150,
    )
  })
})

describe('record of a download', () => {
  it('the outcome of a download is not replaced by older progress [AUDIT-26]', async () => {
    const ended: string[] = []
    let endNote: (() => void) | undefined
    const pool = {
      async query(text: string) {
        const isNote = text.includes('seen_at')
        if (isNote)
          await new Promise<void>((resolve) => {
            endNote = resolve
          })
        ended.push(isNote ? 'progress' : text.startsWith('insert') ? 'begin' : 'outcome')
        return { rows: [{ id: 1 }] }
      },
    } as unknown as Pool
    let finish = (_isWhole: boolean) => {}
    const recorded = recordDownload(
      pool,
      { companyId: 1, user_id: 1, kind: 'audit_pack', subject: null },
      () =>
        new Promise((resolve) => {
          finish = resolve
        }),
    )
    await until(() => endNote !== undefined)
    finish(true)
    await new Promise(setImmediate)
    expect(ended).to.deep.equal(['begin'])
    endNote?.()
    await recorded
    expect(ended).to.deep.equal(['begin', 'progress', 'outcome'])
  })
})
