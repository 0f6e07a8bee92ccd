import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import {
  COSIGNATURE,
  cosignatureLine,
  openNote,
  parseNote,
  parseVkey,
  signNote,
  type VerifierKey,
  verifierKey,
  vkeyOf,
} from '#integrity/note.ts'

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
    expect(vkeyOf(key)).to.equal(VKEY)
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
    expect(parseVkey(vkeyOf(known))).to.deep.equal(known)
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
