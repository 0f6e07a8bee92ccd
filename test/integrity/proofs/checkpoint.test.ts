import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { findInconsistency, type Inconsistency, type InstallationView } from '#integrity/installation-check.ts'
import { EMPTY_ROOT, leafHash } from '#integrity/merkle.ts'
import {
  COSIGNATURE,
  companyOrigin,
  cosignatureLine,
  formatCheckpoint,
  formatVkey,
  hashPublicKey,
  installationOrigin,
  makeSigningKey,
  openNote,
  parseCheckpoint,
  parseNote,
  parseOrigin,
  parseProof,
  parseVkey,
  proofText,
  readPublicKeys,
  readSigningKey,
  signNote,
  toPem,
  type VerifierKey,
  verifierKey,
} from '#integrity/note.ts'
import { idFloor } from '#integrity/restore.ts'

const INSTALLATION = '0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11'
const TEXT = `tillbook/${INSTALLATION}/company-7
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
`

describe('checkpoints', () => {
  it('have three lines: origin, size, root [PROOF-2, CELL-9]', () => {
    const checkpoint = parseCheckpoint(TEXT)
    expect(checkpoint?.origin).to.equal(companyOrigin(INSTALLATION, 7))
    expect(checkpoint?.size).to.equal(20_852_163)
    expect(checkpoint && formatCheckpoint(checkpoint)).to.equal(TEXT)
    expect(installationOrigin({ installationId: INSTALLATION, cell: 0 })).to.equal(`tillbook/${INSTALLATION}`)
    expect(installationOrigin({ installationId: INSTALLATION, cell: 2 })).to.equal(`tillbook/${INSTALLATION}/cell-2`)
    expect(parseOrigin(`tillbook/${INSTALLATION}/cell-2`)).to.deep.equal({ companyId: null })
    expect(parseOrigin(`tillbook/${INSTALLATION}/cell-`)).to.equal(null)
    expect(companyOrigin(INSTALLATION, 7, 2)).to.equal(`tillbook/${INSTALLATION}/company-7/2`)
  })

  it('are refused in any other form [PROOF-2]', () => {
    const others = [
      '',
      TEXT.trimEnd(),
      `${TEXT}more\n`,
      `${TEXT}\n`,
      TEXT.replace('tillbook', '\ntillbook'),
      TEXT.replace(/^.*\n/, '\n'),
      TEXT.replace('2085', '02085'),
      TEXT.replace('20852163', '-1'),
      TEXT.replace('20852163', '9007199254740993'),
      TEXT.replace('2I=', '2J='),
      TEXT.replace('CsUY', ''),
    ]
    for (const text of others) expect(parseCheckpoint(text), text).to.equal(null)
  })

  it('make self-contained proofs [PROOF-2]', () => {
    const checkpoint = `${TEXT}\n— ${companyOrigin(INSTALLATION, 7)} AAAAAAAA\n`
    const proof = { index: 73_894, hashes: [EMPTY_ROOT, leafHash(EMPTY_ROOT)], checkpoint }
    const text = proofText(proof)
    expect(text.split('\n').slice(0, 2)).to.deep.equal(['c2sp.org/tlog-proof@v1', 'index 73894'])
    expect(parseProof(text)).to.deep.equal(proof)
    expect(parseProof(text.replace('index', 'extra AAAA\nindex')), 'extra data say nothing').to.deep.equal(proof)
    expect(parseProof(proofText({ ...proof, hashes: [] }))?.hashes).to.deep.equal([])
    const others = [text.replace('@v1', '@v2'), text.replace('index 7', 'index 07'), text.replace('index', 'place')]
    for (const other of ['', ...others, text.replace('47DE', '47D'), text.replace('\n\n', '\n')])
      expect(parseProof(other), other).to.equal(null)
  })
})

/** The example of C2SP signed-note.md. */
const VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const NOTE = `This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`

function signer(name: string) {
  const pair = generateKeyPairSync('ed25519')
  return {
    name,
    privateKey: pair.privateKey,
    publicKey: pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

describe('signed notes', () => {
  const key = parseVkey(VKEY) as VerifierKey

  it('match their specification [PROOF-2]', () => {
    expect(formatVkey(key)).to.equal(VKEY)
    expect(openNote(NOTE, [key])).to.deep.equal({
      text: 'This is an example message.\n',
      signedBy: [{ key, seconds: null }],
    })
  })

  it('are valid with signatures of known keys, whatever other signatures they have [PROOF-2]', () => {
    const [ours, theirs] = [signer('tillbook/1'), signer('example.org')]
    const note = signNote('a\n\nb\n', [theirs, ours, ours])
    const known = verifierKey(ours.name, ours.publicKey)
    expect(openNote(note, [known])).to.deep.equal({ text: 'a\n\nb\n', signedBy: [{ key: known, seconds: null }] })
    expect(openNote(note, [key]), 'nobody known').to.equal(null)
    expect(openNote(note.replace('b', 'c'), [known]), 'another text').to.equal(null)
    const forged = note.replace(/(— tillbook\/1 .{20})(.)/, (_, head, digit) => head + (digit === 'A' ? 'B' : 'A'))
    const both = [known, verifierKey(theirs.name, theirs.publicKey)]
    expect(openNote(forged, both), 'a known key has not signed').to.equal(null)
    expect(openNote(note, [verifierKey('tillbook/2', ours.publicKey)]), 'another name').to.equal(null)
  })

  it('contain the cosignatures of witnesses, with their time [PROOF-2]', () => {
    const [log, witness] = [signer('tillbook/1'), signer('witness.example/w1')]
    const note = signNote('tillbook/1\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n', [log])
    const text = parseNote(note)?.text ?? ''
    const line = cosignatureLine(text, witness, 1_679_315_147)
    const known = verifierKey(witness.name, witness.publicKey, COSIGNATURE)
    expect(openNote(note + line, [known])?.signedBy).to.deep.equal([{ key: known, seconds: 1_679_315_147 }])
    expect(parseVkey(formatVkey(known))).to.deep.equal(known)
    const asSignature = { ...known, type: verifierKey('x', witness.publicKey).type }
    expect(openNote(note + line, [asSignature]), 'no signature of a note').to.equal(null)
  })

  it('are refused if they are ambiguous [PROOF-2]', () => {
    const [text, signature] = NOTE.split('\n\n') as [string, string]
    const notes = [
      '',
      text,
      `${text}\n`,
      `${text}\n\n`,
      `${text}\n\n${signature.trimEnd()}`,
      `${text}\r\n\n${signature}`,
      `${text}\n\n${signature}no signature\n`,
      `${text}\n\n${signature.replace('— ', '- ')}`,
      `${text}\n\n${signature.replace('aQM=', 'aQN=')}`,
      `${text}\n\n${signature.replace('aQM=', 'aQM')}`,
      `${text}\n\n${signature.repeat(101)}`,
      `\ud800${text}\n\n${signature}`,
    ]
    for (const note of notes) expect(parseNote(note), note).to.equal(null)
  })

  it('have keys with valid key ids [PROOF-2]', () => {
    const vkeys = ['', 'x', VKEY.replace('530d903a', '530d903b'), VKEY.replace('foo', 'bar'), `${VKEY}A`, ` ${VKEY}`]
    for (const vkey of [...vkeys, VKEY.replace('+Aek', '+Bek')]) expect(parseVkey(vkey), vkey).to.equal(null)
  })
})

const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-01-01T00:00:00.000Z')
const at = (ms: number) => new Date(START_MS + ms).toISOString()

describe('ids after a restore', () => {
  it('continue beyond all issued ids, even if events came ten times as fast as before [OPS-84]', () => {
    const history = fc.record({
      days: fc.integer({ min: 1, max: 2_000 }),
      perDay: fc.integer({ min: 1, max: 100_000 }),
      lostHours: fc.integer({ min: 0, max: 200 }),
      rush: fc.integer({ min: 0, max: 10 }),
      given: fc.dictionary(fc.constantFrom('sale', 'order', 'customer'), fc.integer({ min: 1, max: 1_000_000 })),
    })
    fc.assert(
      fc.property(history, ({ days, perDay, lostHours, rush, given }) => {
        const lost_after = at(days * DAY_MS)
        const restored_at = at(days * DAY_MS + (lostHours * DAY_MS) / 24)
        const lost = { events: days * perDay, first_at: at(0), lost_after, restored_at, sealed: 0 }
        const beyond = idFloor(['sale', 'order', 'customer', 'store'], given, lost)
        // Every issued id has an event.
        const lostEvents = Math.floor((perDay * rush * lostHours) / 24)
        for (const kind of ['sale', 'order', 'customer', 'store'])
          expect(beyond[kind]).to.be.at.least((given[kind] ?? 0) + lostEvents)
      }),
    )
  })

  it('leave a gap for all sealed events that are lost [OPS-84]', () => {
    const same = { first_at: at(0), lost_after: at(DAY_MS), restored_at: at(DAY_MS) }
    expect(idFloor(['sale'], { sale: 7 }, { ...same, events: 3, sealed: 50_000 })).to.deep.equal({ sale: 50_007 })
    expect(idFloor(['sale'], {}, { ...same, events: 3, sealed: 0 })).to.deep.equal({ sale: 10_000 })
  })
})

const OURS = '0198a000-0000-4000-8000-000000000001'
const THEIRS = '0198a000-0000-4000-8000-000000000002'
const MARK = { company_id: 1, revision: 9, hash: null }

type Parts = {
  [P in keyof InstallationView]?: InstallationView[P] extends object | null
    ? Partial<NonNullable<InstallationView[P]>> | null
    : InstallationView[P]
}

/** All three match, except for these parts. */
function sight({ database, store, ...rest }: Parts): InstallationView {
  const own = { id: OURS, event_store: null, identity: 'a/1/5', isRestoring: false, hasLedgers: true }
  const outside = { address: 'store:2113', id: OURS, isEmpty: false, missing: [] }
  return {
    database: { ...own, ...database },
    identity: 'a/1/5',
    directory: OURS,
    missing: [],
    store: store ? { ...outside, ...store } : null,
    ...(rest as Partial<InstallationView>),
  }
}

const CASES: readonly [why: string, parts: Parts, inconsistency: Inconsistency | null][] = [
  ['nothing has changed', {}, null],
  ['another machine with a new DATA_DIR', { directory: null }, null],
  ['a moved database with its DATA_DIR', { identity: 'b/1/7' }, null],
  ['a Postgres that does not reveal its location', { directory: null, identity: null }, null],
  ['no recorded location, as after an upgrade', { directory: null, database: { identity: null } }, null],
  ['a copied database with a new DATA_DIR', { directory: null, identity: 'b/1/7' }, 'copied'],
  ['a promoted replica with a new DATA_DIR', { directory: null, identity: 'a/2/5' }, 'copied'],
  ['a copied database with the DATA_DIR of another installation', { directory: THEIRS }, 'directory_of_another'],
  [
    'an empty database with the DATA_DIR of another installation',
    { directory: THEIRS, database: { hasLedgers: false } },
    null,
  ],
  ['missing events that DATA_DIR has recorded', { missing: [MARK] }, 'behind'],
  ['an interrupted record of a restore', { database: { isRestoring: true }, missing: [MARK] }, 'restoring'],
  ['an interrupted record of a restore to a copy', { database: { isRestoring: true }, directory: THEIRS }, 'restoring'],
  ['a missing EVENTSTORE_URL', { database: { event_store: 'store:2113' } }, 'event_store_forgotten'],
  ['its own store', { database: { event_store: 'store:2113' }, store: {} }, null],
  ['its own store at another address', { database: { event_store: 'former:2113' }, store: {} }, null],
  ['a store with copied ledgers and no installation id yet', { store: { id: null } }, null],
  ['an empty store with a database with ledgers', { store: { id: null, isEmpty: true } }, 'event_store_empty'],
  ['its own store, emptied', { store: { isEmpty: true } }, 'event_store_empty'],
  ['a store of another installation', { store: { id: THEIRS } }, 'event_store_of_another'],
  ['a restored store', { store: { missing: [MARK] } }, 'event_store_behind'],
  [
    'a new installation',
    { directory: null, database: { hasLedgers: false }, store: { id: null, isEmpty: true } },
    null,
  ],
  [
    'an empty Postgres with an old store',
    { directory: null, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
  [
    'an empty Postgres with an old store and its DATA_DIR',
    { directory: THEIRS, database: { hasLedgers: false }, store: { id: THEIRS } },
    null,
  ],
]

describe('installation check of database, DATA_DIR and event store', () => {
  for (const [why, parts, inconsistency] of CASES)
    it(`${why}: ${inconsistency ?? 'nothing is wrong'} [OPS-80]`, () => {
      expect(findInconsistency(sight(parts))).to.equal(inconsistency)
    })
})

describe('signing keys of checkpoints', () => {
  let directory: string
  let keyFile: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-seals-'))
    keyFile = join(directory, 'keys', 'seal-key.pem')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('are created once, readable by their owner only, also by processes that start together [AUDIT-4]', async () => {
    expect(await readSigningKey(keyFile)).to.equal(null)
    const keys = await Promise.all([1, 2, 3].map(() => makeSigningKey(keyFile)))
    expect(new Set(keys.map(({ keyId }) => keyId)).size).to.equal(1)
    expect((await stat(keyFile)).mode & 0o777).to.equal(0o600)
    const [{ publicKey, keyId }] = keys as [(typeof keys)[0]]
    expect(hashPublicKey(publicKey)).to.equal(keyId)
    expect(await readPublicKeys(keyFile)).to.deep.equal([publicKey])
    const other = await makeSigningKey(join(directory, 'other.pem'))
    const ring = join(directory, 'ring.pem')
    await writeFile(ring, `${toPem(publicKey)}${toPem(other.publicKey)}`)
    expect(await readPublicKeys(ring)).to.deep.equal([publicKey, other.publicKey])
  })

  it('are Ed25519 keys; a file with other contents is refused', async () => {
    const other = join(directory, 'p256.pem')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(other, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    for (const load of [readSigningKey, readPublicKeys])
      expect(await load(other).catch((error: Error) => error.message)).to.include('no Ed25519 key')
    await writeFile(other, 'nothing')
    expect(await readSigningKey(other).catch((error: unknown) => error)).to.be.instanceOf(Error)
  })
})
