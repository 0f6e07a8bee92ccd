import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { createRingEntry, type RingEntry, type Succession } from '#integrity/checkpoint-keys.ts'
import { hashPublicKey, type SigningKey } from '#integrity/note.ts'
import { renderReceiptDocument, toPagePolicy, toTrustedKeys } from '#public/receipt-page.tsx'
import { INSTALLATION, newKey } from '../support/receipts.ts'

const signingKey = (): SigningKey => {
  const key = newKey()
  return { ...key, keyId: hashPublicKey(key.publicKey) }
}

/** Key ring with these successions. */
function ringOf(...successions: readonly Succession[]): { keys: SigningKey[]; entries: RingEntry[] } {
  const vkeys: string[] = []
  const keys = successions.map(signingKey)
  const entries = keys.map((key, index) => {
    const succession = successions[index] as Succession
    const former = keys[index - 1]
    const statement = {
      index,
      since: `2026-0${index + 1}-01T00:00:00.000Z`,
      succession,
      reason: succession === 'unsigned' ? 'o disco queimou' : '',
      before: former ? [vkeys[index - 1] as string] : [],
    }
    const entry = createRingEntry(INSTALLATION, key, statement, succession === 'signed' && former ? former : null)
    vkeys.push(entry.vkey)
    return entry
  })
  return { keys, entries }
}

describe('receipt verification page', () => {
  it('contains all scripts and styles it uses, also as a saved file [PROOF-48]', () => {
    const { entries } = ringOf('first')
    const shop = { company: 7, name: 'Padaria <Ipê>', color: '#b3261e', logo: null }
    const trusted = { ...toTrustedKeys(INSTALLATION, entries), shop }
    const html = renderReceiptDocument(trusted)
    const policy = toPagePolicy(trusted)
    const [, inPage = ''] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html) ?? []
    expect(`${inPage.replaceAll('&#39;', "'")}; frame-ancestors 'none'`).to.equal(policy)
    const hashed = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const [, script = ''] = /<script type="module">(.*?)<\/script>/s.exec(html) ?? []
    const styles = [...html.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style = '']) => hashed(style))
    expect(styles).to.have.length(2)
    expect(policy.split('; ')).to.include.members([
      "default-src 'none'",
      `script-src ${hashed(script)}`,
      `style-src ${styles.join(' ')}`,
    ])
    expect(script).to.not.match(/^import /m)
    expect(html).to.include('Padaria &lt;Ipê').and.include('--brand:#b3261e')
    expect(html.match(/(?:src|href)="[^"]*"/g)).to.deep.equal(['href="data:,"', 'href="/conferir"'])
  })

  it('trusts the keys of the ring, and marks keys without a signature of their predecessor [PROOF-49]', () => {
    const { entries, keys } = ringOf('first', 'signed', 'unsigned', 'signed')
    const trusted = toTrustedKeys(INSTALLATION, entries)
    expect(trusted.keys.map(({ id }) => id)).to.deep.equal(keys.map(({ keyId }) => keyId))
    expect(trusted.keys.map(({ isSigned }) => isSigned)).to.deep.equal([true, true, false, false])
    expect(trusted.keys.map(({ until }) => until?.slice(0, 7) ?? null)).to.deep.equal([
      '2026-02',
      '2026-03',
      '2026-04',
      null,
    ])
    expect(toTrustedKeys(INSTALLATION, [])).to.deep.equal({ installation: INSTALLATION, keys: [] })
  })

  it('rejects a key inserted into the database with the signature of another [PROOF-49]', () => {
    const { entries } = ringOf('first', 'signed', 'signed')
    const [first, second, third] = entries as [RingEntry, RingEntry, RingEntry]
    const forged = { ...second, public_key: newKey().publicKey }
    expect(toTrustedKeys(INSTALLATION, [first, forged, third]).keys).to.have.length(1)
    expect(toTrustedKeys(INSTALLATION, [first, third]).keys).to.have.length(1)
  })

  it('escapes script ends in its data [PROOF-48]', () => {
    const html = renderReceiptDocument({ installation: '</script><b>', keys: [] })
    expect(html).to.contain('"installation":"\\u003c/script>\\u003cb>"')
  })
})
