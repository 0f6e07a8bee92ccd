import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import {
  adoptKey,
  openKeyRing,
  parseStatement,
  type RingEntry,
  ringEntries,
  rotateKey,
  WrongSealKey,
} from '#integrity/checkpoint-keys.ts'
import type { SignedCheckpoint } from '#integrity/checkpoint-log.ts'
import { checkpointFigures, runCheckpointRound, scheduleCheckpoints } from '#integrity/checkpoint-schedule.ts'
import { createCheckpoints, makeCheckpoint, newestCheckpoint, type Sealing } from '#integrity/checkpoints.ts'
import { loadInstallationId } from '#integrity/installation.ts'
import { newestInstallationCheckpoint, proveLogInclusion } from '#integrity/installation-log.ts'
import { isIncluded, leafHash } from '#integrity/merkle.ts'
import {
  CheckpointAltered,
  makeSigningKey,
  openNote,
  parseProof,
  readSigningKey,
  verifierKey,
} from '#integrity/note.ts'
import { LedgerNotIntact } from '#integrity/verify.ts'
import { streamName } from '#ledger/command.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { appendLines } from '#lib/json.ts'
import { createPool } from '#postgres/pool.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
import { useDatabase } from '../../support/database.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { tamperBy } from '../../support/tamper.ts'
import { until } from '../../support/wait.ts'
import { eventsOf, forgeTail, insertEvent, notePosition, removeEvents, writeLedger } from '../audit/tampering.ts'

/** The store takes part in no transaction. */
const NONE = undefined as never
const NOW = '2026-11-21T12:00:00.000Z'

describe('sealing', () => {
  const database = useDatabase()
  let pool: Pool
  let sealing: Sealing
  let now = Date.parse(NOW)

  before(() => {
    pool = createPool(database.url, { max: 6 })
  })
  after(() => pool.end())
  beforeEach(async () => {
    const root = await mkdtemp(join(tmpdir(), 'tillbook-sealing-'))
    sealing = {
      pool,
      store: createPostgresStore(pool),
      directory: join(root, 'seals'),
      keyFile: join(root, 'seal-key.pem'),
      now: () => new Date(now).toISOString(),
      assertMaySeal: async () => {},
    }
  })
  afterEach(async () => {
    await rm(join(sealing.directory, '..'), { recursive: true })
    const tables = [
      'checkpoint_keys',
      'ledger_checkpoints',
      'installation_entries',
      'installation_checkpoints',
      'checkpoint_faults',
    ]
    const all = ['ledger.events', ...[...tables, 'ledgers', 'trees', 'tree_tiles'].map((name) => `ops.${name}`)]
    await tamperBy(pool, all.map((name) => `delete from ${name}`).join('; '))
  })

  const seal = (companyId: number) => makeCheckpoint(sealing, companyId) as Promise<SignedCheckpoint>
  const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error: unknown) => error)
  const fileOf = (companyId: number | null, kind = 'checkpoints') =>
    join(sealing.directory, `${companyId === null ? 'installation' : `company-${companyId}`}.${kind}`)
  const linesOf = async (path: string) => (await readFile(path, 'utf8')).split('\n').slice(0, -1)
  const faultOf = (error: unknown) => (error as LedgerNotIntact).verification.first_error

  /** Appends events like the service. */
  async function grow(companyId: number, count: number): Promise<void> {
    const last = (await eventsOf(pool, companyId)).at(-1) ?? null
    const more = sealedAfter(streamName(companyId), last, Array(count).fill({}))
    for (const event of more) await insertEvent(pool, companyId, event.revision, event)
    await notePosition(pool, companyId, more.at(-1) as never)
  }

  /** Adjusts the position to the tampered events: only seals can detect it. */
  async function coverUp(companyId: number): Promise<void> {
    const last = (await eventsOf(pool, companyId)).at(-1)
    await notePosition(pool, companyId, last ?? { revision: -1, hash: '0'.repeat(64) })
  }

  async function vanish(companyId: number): Promise<void> {
    await removeEvents(pool, companyId, 0, 1_000)
    await pool.query('delete from ops.ledgers where company_id = $1', [companyId])
  }

  async function roundOf() {
    const errors: unknown[] = []
    const made = await runCheckpointRound(sealing, { onSealed: () => {}, onError: (error) => errors.push(error) })
    return { made, errors }
  }

  describe('a ledger', () => {
    it('gets a checkpoint of the verified events, on disk and in the database, one per size [PROOF-24]', async () => {
      const companyId = await writeLedger(pool, 5)
      const first = await seal(companyId)
      const origin = `tillbook/${await loadInstallationId(pool)}/company-${companyId}`
      expect(first).to.include({ origin, size: 5, made_at: NOW })
      const ring = await openKeyRing(sealing)
      expect(openNote(first.note, [verifierKey(origin, ring.current.publicKey)])?.text).to.equal(
        `${origin}\n5\n${first.root.toString('base64')}\n`,
      )
      expect(await seal(companyId)).to.deep.equal(first)
      await grow(companyId, 300)
      // Two concurrent requests make one checkpoint.
      const [a, b] = await Promise.all([seal(companyId), seal(companyId)])
      expect(a).to.deep.equal(b)
      expect(a.size).to.equal(305)
      expect(await newestCheckpoint(pool, companyId)).to.deep.equal(a)
      const kept = (await linesOf(fileOf(companyId))).map((line) => JSON.parse(line).note)
      expect(kept).to.deep.equal([first.note, a.note])
      expect(await makeCheckpoint(sealing, await writeLedger(pool, 0))).to.equal(null)
    })

    it('does not seal an incomplete ledger, even if the database is consistent [PROOF-24]', async () => {
      for (const [tamper, reason] of [
        [(id: number) => forgeTail(pool, id, 3, () => ({ data: { id: 1, by: 77 } })), 'other_root'],
        [(id: number) => removeEvents(pool, id, 3, 9), 'truncated'],
      ] as const) {
        const companyId = await writeLedger(pool, 5)
        const before = await seal(companyId)
        await tamper(companyId)
        await coverUp(companyId)
        expect(faultOf(await errorOf(seal(companyId))), reason).to.include({ reason })
        await pool.query('delete from ops.trees; delete from ops.tree_tiles')
        expect(faultOf(await errorOf(seal(companyId))), reason).to.include({ reason })
        expect(await newestCheckpoint(pool, companyId)).to.deep.equal(before)
      }
      const altered = await writeLedger(pool, 5)
      await tamperBy(pool, `update ledger.events set type = 'Other' where stream = $1 and revision = 2`, [
        streamName(altered),
      ])
      expect(await errorOf(seal(altered))).to.be.instanceOf(LedgerNotIntact)
    })

    it('does not seal on top of a checkpoint without a signature of the ring [PROOF-24]', async () => {
      const companyId = await writeLedger(pool, 5)
      const genuine = await seal(companyId)
      await grow(companyId, 2)
      const path = fileOf(companyId)
      const line = await readFile(path, 'utf8')
      const other = Buffer.alloc(32, 7).toString('base64')
      const forged = genuine.note.replace(genuine.root.toString('base64'), other)
      await writeFile(path, `${JSON.stringify({ note: forged, made_at: NOW })}\n`)
      expect(await errorOf(seal(companyId))).to.be.instanceOf(CheckpointAltered)
      await writeFile(path, 'nothing\n')
      expect(await errorOf(seal(companyId))).to.be.instanceOf(CheckpointAltered)
      await writeFile(path, line)
      await tamperBy(pool, 'update ops.ledger_checkpoints set note = $1', [forged])
      expect(await errorOf(seal(companyId))).to.be.instanceOf(CheckpointAltered)
      await tamperBy(pool, 'delete from ops.ledger_checkpoints')
      expect((await seal(companyId)).size).to.equal(7)
    })

    it('continues after a crash between file and database with one checkpoint per size [PROOF-24]', async () => {
      const companyId = await writeLedger(pool, 5)
      const first = await seal(companyId)
      await tamperBy(pool, 'delete from ops.ledger_checkpoints')
      await grow(companyId, 1)
      await appendFile(fileOf(companyId), '{"note":"tillbo')
      await seal(companyId)
      const sizes = await pool.query('select size from ops.ledger_checkpoints order by size')
      expect(sizes.rows).to.deep.equal([{ size: 5 }, { size: 6 }])
      // A machine with an empty folder.
      await rm(fileOf(companyId))
      await grow(companyId, 1)
      await seal(companyId)
      expect(await linesOf(fileOf(companyId))).to.have.length(2)
      await rm(fileOf(companyId))
      await tamperBy(pool, 'delete from ops.ledger_checkpoints where size > 5')
      expect((await seal(companyId)).note).to.not.equal(first.note)
    })

    it('is sealed in an outside store, too [PROOF-24]', async () => {
      const companyId = await writeLedger(pool, 5)
      const store = createOutsideStore()
      const events = await eventsOf(pool, companyId)
      await tamperBy(pool, 'delete from ledger.events')
      const append = (from: number, to: number) => ({
        stream: streamName(companyId),
        expectedRevision: from - 1,
        commands: [events.slice(from, to)],
      })
      await store.append([append(0, 3)], NONE)
      await notePosition(pool, companyId, events[2] as never)
      const outside = { ...sealing, store }
      expect((await makeCheckpoint(outside, companyId))?.size).to.equal(3)
      // An event appended in the store counts, even if it is not applied yet.
      await store.append([append(3, 5)], NONE)
      expect((await makeCheckpoint(outside, companyId))?.size).to.equal(5)
      const lost = { ...outside, store: createOutsideStore() }
      expect(faultOf(await errorOf(makeCheckpoint(lost, companyId)))).to.include({ reason: 'truncated' })
    })

    it('is sealed on demand at most once a second, for all requests [PROOF-27]', async () => {
      const checkpointOf = createCheckpoints(sealing)
      const companyId = await writeLedger(pool, 3)
      now = Date.now()
      const live = createCheckpoints({ ...sealing, now: () => new Date().toISOString() })
      const [a, b] = await Promise.all([live(companyId, 1), live(companyId, 3)])
      expect(a).to.deep.equal(b)
      await grow(companyId, 1)
      expect(await live(companyId, 3)).to.deep.equal(a)
      const next = await Promise.all([live(companyId, 4), live(companyId, 4)])
      expect(next.map((each) => each?.size)).to.deep.equal([4, 4])
      const times = (await linesOf(fileOf(companyId))).map((line) => Date.parse(JSON.parse(line).made_at))
      expect(times).to.have.length(2)
      expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.at.least(1_000)
      now = Date.parse(NOW)
      expect(await checkpointOf(await writeLedger(pool, 0), 1)).to.equal(null)
    })
  })

  describe('scheduled checkpoints', () => {
    it('seals every changed ledger, each included in the installation log [PROOF-28] [PROOF-29]', async () => {
      const ids = [await writeLedger(pool, 3), await writeLedger(pool, 4), await writeLedger(pool, 0)] as const
      const { made, errors } = await roundOf()
      expect(errors).to.deep.equal([])
      expect(made).to.include({ origin: `tillbook/${await loadInstallationId(pool)}`, size: 2 })
      expect((await roundOf()).made).to.deep.equal(made)
      await grow(ids[0], 2)
      const next = (await roundOf()).made as SignedCheckpoint
      expect(next.size).to.equal(3)
      expect(await newestInstallationCheckpoint(pool)).to.deep.equal(next)
      for (const [companyId, index, size] of [
        [ids[0], 2, 5],
        [ids[1], 1, 4],
      ] as const) {
        const place = await proveLogInclusion(pool, companyId)
        expect(place).to.deep.include({ index, size, checkpoint: next })
        const proof = parseProof(place?.proof ?? '')
        expect(isIncluded(leafHash(Buffer.from(place?.entry ?? '')), { ...next, index }, proof?.hashes ?? [])).to.equal(
          true,
        )
        expect(proof?.checkpoint).to.equal(next.note)
      }
      expect(await proveLogInclusion(pool, ids[2])).to.equal(null)
      expect(await linesOf(fileOf(null, 'entries'))).to.have.length(3)
      expect(await checkpointFigures(pool, sealing.now())).to.deep.equal({ roundAge: 0, sealAge: 0, faults: 0 })
    })

    it('run on a schedule until they are stopped; without the setting there are none [AUDIT-7]', async () => {
      const companyId = await writeLedger(pool, 3)
      const sealed: SignedCheckpoint[] = []
      const options = { onSealed: (made: SignedCheckpoint) => sealed.push(made), onError: () => {} }
      await scheduleCheckpoints(sealing, undefined, options).stop()
      expect(sealed).to.deep.equal([])
      const ticking = {
        ...sealing,
        now: () => {
          now += 60_000
          return new Date(now).toISOString()
        },
      }
      const schedule = scheduleCheckpoints(ticking, 0.000_003, options)
      await until(() => sealed.length > 0)
      await grow(companyId, 1)
      await until(() => sealed.some(({ size }) => size === 2))
      await schedule.stop()
      now = Date.parse(NOW)
    })

    it('reports a company whose events are missing, and seals the others [PROOF-25]', async () => {
      const [gone, good] = [await writeLedger(pool, 6), await writeLedger(pool, 6)]
      await roundOf()
      await vanish(gone)
      await grow(good, 1)
      const forget = [
        async () => {},
        () => tamperBy(pool, 'delete from ops.ledger_checkpoints where company_id = $1', [gone]),
        async () => {
          await rm(fileOf(gone))
          await tamperBy(pool, 'delete from ops.ledger_checkpoints where company_id = $1', [gone])
        },
      ]
      for (const hide of forget) {
        await hide()
        const { errors } = await roundOf()
        expect(errors).to.have.length(1)
        expect((await checkpointFigures(pool, NOW)).faults).to.equal(1)
      }
      expect((await newestCheckpoint(pool, good))?.size).to.equal(7)
      expect((await newestInstallationCheckpoint(pool))?.size).to.equal(3)
    })

    it('continue from entries that a crash left behind, and do not sign altered data [PROOF-28]', async () => {
      const [a, b] = [await writeLedger(pool, 3), await writeLedger(pool, 3)]
      await roundOf()
      await grow(a, 1)
      // The file contains the entries and nothing else.
      const { made } = await roundOf()
      await tamperBy(pool, 'delete from ops.installation_checkpoints where size = 3')
      await tamperBy(pool, 'delete from ops.installation_entries where index = 2')
      const signed = await readFile(fileOf(null), 'utf8')
      await writeFile(fileOf(null), `${signed.split('\n')[0]}\n`)
      expect((await roundOf()).made).to.deep.equal(made)
      // A machine with an empty folder.
      await rm(fileOf(null, 'entries'))
      await rm(fileOf(null))
      await grow(b, 1)
      expect((await roundOf()).made?.size).to.equal(4)
      expect(await linesOf(fileOf(null, 'entries'))).to.have.length(4)
      const text = (await pool.query('select text from ops.installation_entries where index = 1')).rows[0].text
      await tamperBy(pool, `update ops.installation_entries set text = replace(text, '3', '4') where index = 1`)
      await pool.query('delete from ops.trees; delete from ops.tree_tiles')
      await grow(a, 1)
      expect((await roundOf()).errors[0]).to.be.instanceOf(CheckpointAltered)
      await tamperBy(pool, 'update ops.installation_entries set text = $1 where index = 1', [text])
      await grow(b, 1)
      const { made: last } = await roundOf()
      expect(last?.size).to.equal(6)
      // An entry without a matching checkpoint of its company is not included.
      await pool.query(`insert into ops.installation_entries values (6, $1, 99, 'x')`, [a])
      expect((await roundOf()).errors[0]).to.be.instanceOf(CheckpointAltered)
    })
  })

  describe('keys', () => {
    const keyIds = async () => (await openKeyRing(sealing)).known.map(({ keyId }) => keyId)
    const succession = (entry: RingEntry | undefined) => parseStatement(entry?.note ?? '')?.succession

    it('rotate: the old key signs the new one, and its signatures stay valid [PROOF-20] [PROOF-21]', async () => {
      const companyId = await writeLedger(pool, 3)
      const old = await seal(companyId)
      const [first] = await keyIds()
      const entry = await rotateKey(sealing)
      expect(entry.signed_by).to.equal(first)
      expect(succession(entry)).to.equal('signed')
      await grow(companyId, 1)
      const made = await seal(companyId)
      const { current, known } = await openKeyRing(sealing)
      expect([current.publicKey, known.length]).to.deep.equal([entry.public_key, 2])
      expect(openNote(made.note, [verifierKey(made.origin, entry.public_key)])).to.not.equal(null)
      expect(openNote(old.note, [verifierKey(old.origin, entry.public_key)])).to.equal(null)
      await rotateKey(sealing)
      expect((await ringEntries(pool)).map(succession)).to.deep.equal(['first', 'signed', 'signed'])
      expect(await linesOf(join(sealing.directory, 'keys.jsonl'))).to.have.length(3)
    })

    it('complete a rotation after a crash at any point [PROOF-21]', async () => {
      await openKeyRing(sealing)
      const { keyFile } = sealing
      const old = await readFile(keyFile, 'utf8')
      // Only the next key was created.
      const next = await makeSigningKey(`${keyFile}.next`)
      expect((await openKeyRing(sealing)).current.publicKey).to.not.equal(next.publicKey)
      const entry = await rotateKey(sealing)
      expect(entry.public_key).to.equal(next.publicKey)
      // All steps except the last one, and the key ring in the database.
      await rename(keyFile, `${keyFile}.next`)
      await writeFile(keyFile, old)
      await tamperBy(pool, 'delete from ops.checkpoint_keys where index = 1')
      expect((await openKeyRing(sealing)).current.publicKey).to.equal(next.publicKey)
      expect((await readSigningKey(keyFile))?.publicKey).to.equal(next.publicKey)
      expect(await ringEntries(pool)).to.have.length(2)
      // A machine with the key, but without the key ring file.
      await rm(join(sealing.directory, 'keys.jsonl'))
      expect(await keyIds()).to.have.length(2)
      // A machine that still has the previous key.
      await writeFile(keyFile, old)
      expect(await errorOf(openKeyRing(sealing))).to.be.instanceOf(WrongSealKey)
      expect(await errorOf(adoptKey(sealing, 'x'))).to.be.instanceOf(WrongSealKey)
    })

    it('are created if nothing was sealed, whatever other files are beside the seals', async () => {
      await appendLines(join(sealing.directory, 'forgotten.jsonl'), [{}])
      expect(await openKeyRing(sealing)).to.have.nested.property('known.length', 1)
    })

    it('are neither created nor accepted while seals of another key exist [PROOF-22]', async () => {
      const companyId = await writeLedger(pool, 3)
      await seal(companyId)
      const { keyFile, directory } = sealing
      await rm(keyFile)
      for (const lose of [
        async () => {},
        () => rm(join(directory, 'keys.jsonl')),
        () => tamperBy(pool, 'delete from ops.checkpoint_keys'),
      ]) {
        await lose()
        expect(await errorOf(seal(companyId))).to.be.instanceOf(WrongSealKey)
        expect(await readSigningKey(keyFile)).to.equal(null)
      }
      await makeSigningKey(keyFile)
      expect(await errorOf(seal(companyId))).to.be.instanceOf(WrongSealKey)
      expect((await roundOf()).errors[0]).to.be.instanceOf(WrongSealKey)
      expect((await pool.query('select reason from ops.checkpoint_faults')).rows).to.deep.equal([
        { reason: 'wrong_key' },
      ])
    })

    it('that are lost are replaced only with a reason, which every verifier sees [PROOF-23]', async () => {
      const companyId = await writeLedger(pool, 3)
      await seal(companyId)
      expect(await errorOf(adoptKey(sealing, 'nothing was lost'))).to.be.instanceOf(WrongSealKey)
      await rm(sealing.keyFile)
      const entry = await adoptKey(sealing, 'disk broken')
      expect(parseStatement(entry.note)).to.include({ succession: 'unsigned', reason: 'disk broken', index: 1 })
      expect(entry.signed_by).to.equal(null)
      await grow(companyId, 1)
      expect((await seal(companyId)).size).to.equal(4)
    })

    it('that are lost with their key ring are replaced by a ring that begins with the reason [PROOF-23]', async () => {
      await seal(await writeLedger(pool, 3))
      await rm(sealing.keyFile)
      await rm(join(sealing.directory, 'keys.jsonl'))
      await tamperBy(pool, 'delete from ops.checkpoint_keys')
      const entry = await adoptKey(sealing, 'moved to another machine')
      expect(parseStatement(entry.note)).to.deep.include({ succession: 'unsigned', index: 0, before: [] })
      expect(await keyIds()).to.deep.equal([(await readSigningKey(sealing.keyFile))?.keyId])
    })

    it('that were inserted into database or file by others are refused [PROOF-22]', async () => {
      await openKeyRing(sealing)
      const [entry] = (await ringEntries(pool)) as [RingEntry]
      const thief = await makeSigningKey(join(sealing.directory, '..', 'thief.pem'))
      await tamperBy(pool, 'update ops.checkpoint_keys set public_key = $1', [thief.publicKey])
      await rm(join(sealing.directory, 'keys.jsonl'))
      expect(await errorOf(openKeyRing(sealing))).to.be.instanceOf(WrongSealKey)
      await tamperBy(pool, 'update ops.checkpoint_keys set public_key = $1', [entry.public_key])
      await openKeyRing(sealing)
      await tamperBy(pool, `update ops.checkpoint_keys set note = replace(note, 'first', 'signed')`)
      expect(await errorOf(openKeyRing(sealing))).to.be.instanceOf(WrongSealKey)
    })
  })
})
