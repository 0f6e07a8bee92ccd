import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { isGenuine, keyIdOf, loadSealKey, parseSeals, readPublicKey, type Seal, signHead } from '#audit/seal.ts'
import { appendSeal, lastSeal, NotWhole, sealLedger, sealMoved, sealOnSchedule } from '#audit/sealing.ts'
import { verifyLedger } from '#audit/verify.ts'
import { streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres.ts'
import { createPool } from '#postgres/pool.ts'
import { sealedAfter } from '../ledger/sealed-events.ts'
import { useDatabase } from '../support/database.ts'
import { tamperBy } from '../support/tamper.ts'
import { until } from '../support/wait.ts'
import { eventsOf, forgeTail, insertEvent, notePosition, removeEvents, writeLedger } from './tampering.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const now = () => NOW

describe('seals', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore
  let directory: string
  let keyFile: string

  before(() => {
    pool = createPool(database.ownerUrl, { max: 2 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-seals-'))
    keyFile = join(directory, 'keys', 'seal-key.pem')
  })
  afterEach(() => rm(directory, { recursive: true }))

  const sealing = async () => ({ pool, store, key: await loadSealKey(keyFile), directory, now })
  const seal = async (companyId: number, since: Seal | null = null) => sealLedger(await sealing(), companyId, since)

  /** More events, as the service would append them. */
  async function grow(companyId: number, count: number): Promise<void> {
    const last = (await eventsOf(pool, companyId)).at(-1) ?? null
    const more = sealedAfter(streamOf(companyId), last, Array(count).fill({}))
    for (const event of more) await insertEvent(pool, companyId, event.revision, event)
    await notePosition(pool, companyId, more.at(-1) as never)
  }

  /** The position follows what was done to the events: only what is kept outside can tell. */
  async function coverUp(companyId: number): Promise<void> {
    await notePosition(pool, companyId, (await eventsOf(pool, companyId)).at(-1) as never)
  }

  describe('the key', () => {
    it('is made on first use, for its owner only, and is the same ever after, also for two that come at once [AUDIT-4]', async () => {
      const keys = await Promise.all([loadSealKey(keyFile), loadSealKey(keyFile), loadSealKey(keyFile)])
      expect(new Set(keys.map(({ keyId }) => keyId)).size).to.equal(1)
      expect((await stat(keyFile)).mode & 0o777).to.equal(0o600)
      expect((await loadSealKey(keyFile)).publicKey).to.equal(keys[0]?.publicKey)
      expect(await readPublicKey(keyFile)).to.equal(keys[0]?.publicKey)
      expect(keyIdOf(keys[0]?.publicKey ?? '')).to.equal(keys[0]?.keyId)
    })

    it('is refused when it is of another kind, or none at all', async () => {
      const other = join(directory, 'rsa.pem')
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      await writeFile(other, privateKey.export({ type: 'pkcs8', format: 'pem' }))
      for (const load of [loadSealKey, readPublicKey])
        expect(await load(other).catch((error: Error) => error.message)).to.include('no Ed25519 key')
      await writeFile(other, 'nothing')
      expect(await loadSealKey(other).catch((error: unknown) => error)).to.be.instanceOf(Error)
    })
  })

  it('say which revision has which hash, signed over their canonical JSON [AUDIT-4]', async () => {
    const companyId = await writeLedger(pool, 4)
    const made = (await seal(companyId)) as Seal
    const head = (await eventsOf(pool, companyId)).at(-1)
    expect(made).to.include({ version: 1, company_id: companyId, stream: streamOf(companyId), sealed_at: NOW })
    expect(made).to.include({ revision: 3, hash: head?.hash })
    // Without the code that made it: members in order, no blanks.
    const { signature, ...rest } = made
    const names = Object.keys(rest).sort() as (keyof typeof rest)[]
    const text = `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(rest[name])}`).join()}}`
    const key = createPublicKey({ key: Buffer.from(made.public_key, 'base64'), format: 'der', type: 'spki' })
    expect(verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))).to.equal(true)
    expect(isGenuine(made, made.public_key)).to.equal(true)
    expect(await seal(await writeLedger(pool, 0))).to.equal(null)
  })

  it('are not genuine when any member was changed, or when another key made them [AUDIT-4]', async () => {
    const made = (await seal(await writeLedger(pool, 2))) as Seal
    const other = await loadSealKey(join(directory, 'other.pem'))
    const changed: Partial<Seal>[] = [
      { company_id: made.company_id + 1 },
      { company_id: made.company_id + 1, stream: streamOf(made.company_id + 1) },
      { stream: 'company-999' },
      { revision: 0 },
      { hash: 'a'.repeat(64) },
      { sealed_at: '2026-11-21T12:00:00.001Z' },
      { key_id: other.keyId },
      { public_key: other.publicKey, key_id: other.keyId },
      { signature: Buffer.alloc(64).toString('base64') },
      { signature: '' },
    ]
    for (const change of changed) {
      const forged = { ...made, ...change }
      expect(isGenuine(forged, forged.public_key), JSON.stringify(change)).to.equal(false)
    }
    const others = signHead(made.company_id, made, NOW, other)
    expect(isGenuine(others, others.public_key)).to.equal(true)
    expect(isGenuine(others, made.public_key)).to.equal(false)
    expect(isGenuine({ ...made, public_key: 'AAAA', key_id: keyIdOf('AAAA') }, 'AAAA')).to.equal(false)
  })

  it('show that a tail was cut off or written anew, though everything in the database fits [AUDIT-5]', async () => {
    const cut = await writeLedger(pool, 9)
    const cutSeal = (await seal(cut)) as Seal
    await removeEvents(pool, cut, 6, 9)
    await coverUp(cut)
    expect((await verifyLedger({ pool, store }, cut)).valid).to.equal(true)
    const short = await verifyLedger({ pool, store }, cut, { anchors: [cutSeal] })
    expect(short.first_error).to.deep.equal({ revision: 6, reason: 'truncated' })

    const forged = await writeLedger(pool, 9)
    const forgedSeal = (await seal(forged)) as Seal
    await forgeTail(pool, forged, 5, () => ({ data: { id: 1, by: 77 } }))
    await grow(forged, 3)
    expect((await verifyLedger({ pool, store }, forged)).valid).to.equal(true)
    const other = await verifyLedger({ pool, store }, forged, { anchors: [forgedSeal] })
    expect(other.first_error).to.deep.equal({ revision: 8, reason: 'other_hash' })
  })

  it('are not made of a ledger that is not whole, nor of one that is not the one sealed before [AUDIT-6]', async () => {
    const altered = await writeLedger(pool, 5)
    await tamperBy(pool, `update ledger.events set type = 'Other' where stream = $1 and revision = 2`, [
      streamOf(altered),
    ])
    expect(await seal(altered).catch((error: unknown) => error)).to.be.instanceOf(NotWhole)

    for (const tamper of [
      (id: number) => forgeTail(pool, id, 3, () => ({ data: { id: 1, by: 77 } })),
      (id: number) => removeEvents(pool, id, 3, 9),
      (id: number) => removeEvents(pool, id, 0, 9),
    ]) {
      const companyId = await writeLedger(pool, 5)
      const before = (await seal(companyId)) as Seal
      await grow(companyId, 1)
      expect((await seal(companyId, before))?.revision).to.equal(5)
      await tamper(companyId)
      const last = (await eventsOf(pool, companyId)).at(-1)
      await notePosition(pool, companyId, last ?? { revision: -1, hash: '0'.repeat(64) })
      const refused = await seal(companyId, before).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(NotWhole)
    }
  })

  describe('in files', () => {
    const seals = (companyId: number) => readFile(join(directory, `company-${companyId}.jsonl`), 'utf8')

    it('are lines that are only ever added to; a line that a crash cut short goes [AUDIT-7]', async () => {
      const companyId = await writeLedger(pool, 1)
      expect(await lastSeal(directory, companyId)).to.equal(null)
      const made: Seal[] = []
      for (let n = 0; n < 12; n++) {
        const next = (await seal(companyId)) as Seal
        made.push(next)
        await appendSeal(directory, next)
        expect(await lastSeal(directory, companyId)).to.deep.equal(next)
        await grow(companyId, 1)
      }
      expect(parseSeals(await seals(companyId))).to.deep.equal({ seals: made })
      await appendFile(join(directory, `company-${companyId}.jsonl`), '{"version":1,"comp')
      expect(await lastSeal(directory, companyId)).to.deep.equal(made.at(-1))
      await appendSeal(directory, made[0] as Seal)
      expect(parseSeals(await seals(companyId))).to.deep.equal({ seals: [...made, made[0]] })
    })

    it('may be one document, a list, or one a line; anything else is said to be none, with its line', () => {
      const key = { company_id: 1, stream: 'company-1', revision: 0, hash: 'a'.repeat(64), sealed_at: NOW }
      const one: Seal = { version: 1, ...key, key_id: 'k', public_key: 'AAAA', signature: 'AAAA' }
      for (const text of [
        JSON.stringify(one),
        JSON.stringify(one, null, 2),
        JSON.stringify([one]),
        `\n${JSON.stringify(one)}\n\n`,
      ])
        expect(parseSeals(text)).to.deep.equal({ seals: [one] })
      expect(parseSeals(`${JSON.stringify(one)}\n${JSON.stringify(one)}`)).to.deep.equal({ seals: [one, one] })
      expect(parseSeals(`${JSON.stringify(one)}\nnope`)).to.deep.equal({ line: 2 })
      expect(parseSeals('nope')).to.deep.equal({ line: 1 })
      expect(parseSeals(JSON.stringify({ ...one, note: 1 }))).to.deep.equal({ line: 1 })
      expect(parseSeals('')).to.deep.equal({ seals: [] })
    })

    it('are made for each ledger that moved, and for no other [AUDIT-7]', async () => {
      const [still, moving, empty] = [
        await writeLedger(pool, 3),
        await writeLedger(pool, 3),
        await writeLedger(pool, 0),
      ]
      const round = async () => {
        const sealed: Seal[] = []
        await sealMoved(await sealing(), {
          onSealed: (each) => sealed.push(each),
          onError: () => {},
          isStopped: () => false,
        })
        return sealed.map(({ company_id }) => company_id)
      }
      expect(await round())
        .to.include.members([still, moving])
        .and.not.include(empty)
      await grow(moving, 2)
      expect(await round()).to.deep.equal([moving])
      expect(await round()).to.deep.equal([])
      expect((await lastSeal(directory, moving))?.revision).to.equal(4)
    })

    it('are not made of a ledger that went back, which is told; the others get theirs [AUDIT-6]', async () => {
      const [bad, good] = [await writeLedger(pool, 6), await writeLedger(pool, 6)]
      const errors: unknown[] = []
      const options = { onSealed: () => {}, onError: (error: unknown) => errors.push(error), isStopped: () => false }
      await sealMoved(await sealing(), options)
      errors.length = 0
      await removeEvents(pool, bad, 4, 6)
      await coverUp(bad)
      await grow(good, 1)
      await sealMoved(await sealing(), options)
      const told = errors.filter((error) => error instanceof NotWhole && error.companyId === bad)
      expect(told).to.have.length(1)
      expect((await lastSeal(directory, bad))?.revision).to.equal(5)
      expect((await lastSeal(directory, good))?.revision).to.equal(6)
    })
  })

  it('are made on a schedule, which ends when it is stopped; without the setting there is none [AUDIT-7]', async () => {
    const companyId = await writeLedger(pool, 3)
    const sealed: Seal[] = []
    const options = { onSealed: (each: Seal) => sealed.push(each), onError: () => {} }
    const settings = { DATA_DIR: directory, SEAL_KEY_FILE: keyFile }
    await sealOnSchedule({ pool, store }, { ...settings, SEAL_EVERY_HOURS: undefined }, options).stop()
    expect(sealed).to.deep.equal([])
    const schedule = sealOnSchedule({ pool, store }, { ...settings, SEAL_EVERY_HOURS: 0.000_003 }, options)
    await until(() => sealed.some((each) => each.company_id === companyId))
    await grow(companyId, 1)
    await until(() => sealed.some((each) => each.company_id === companyId && each.revision === 3))
    await schedule.stop()
    expect((await lastSeal(join(directory, 'seals'), companyId))?.revision).to.equal(3)
  })
})
