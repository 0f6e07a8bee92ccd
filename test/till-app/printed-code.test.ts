import { createPublicKey, verify } from 'node:crypto'
import { expect } from 'chai'
import { parseScannedReceipt, readReceipt } from '#domain/receipt-code.ts'
import { createTillKey, linkElement, NO_PREDECESSOR, publicJwk, signBytes } from '../../till/chain.ts'
import { fittingBytes, receiptCodes } from '../../till/printed-code.ts'
import { type Recorded, recordKey, type SaleBody, type SaleElement } from '../../till/records.ts'

const keyPair = createTillKey()

const saleOf = (lines: number): SaleBody => ({
  offline_id: '0123456789abcdef-0123456789abcdef',
  status: 'completed',
  created_at: '2026-11-29T12:00:00.000Z',
  items: Array.from({ length: lines }, (_, line) => ({ product_id: line + 1, quantity: 1, price: 2, total: 2 })),
  payments: [{ payment_type_id: 1, amount: 2 * lines, status: 'completed' }],
  total: 2 * lines,
  amount_received: 2 * lines,
  change: 0,
  clock_offset_ms: -40,
})

async function codesOf(lines: number): Promise<{ sale: Recorded<SaleElement>; codes: string[] }> {
  const key = await keyPair
  const link = { id: 5, number: 1, previous: NO_PREDECESSOR }
  const { element, hash } = await linkElement(key, saleOf(lines), link)
  const names = Array.from({ length: lines }, (_, line) => `Produto número ${line + 1} com nome comprido`)
  const rest = { kind: 'sales', userId: 7, customer: '', state: 'waiting', note: '' } as const
  const sale = { ...rest, key: recordKey(link), element, hash, names }
  const bytes = fittingBytes(sale)
  return { sale, codes: receiptCodes(bytes, await signBytes(key, bytes)) }
}

describe('the code on a receipt [TILL-1110]', () => {
  it('is the whole sale as the service reads it, with a signature of its own', async () => {
    const { sale, codes } = await codesOf(3)
    const scanned = parseScannedReceipt(codes.join('\n'))
    if (!scanned || !('signed' in scanned)) throw new Error('the code is not readable')
    expect(readReceipt(scanned.signed)).to.deep.include({
      till_id: 5,
      number: 1,
      hash: sale.hash,
      offline_id: '0123456789abcdef-0123456789abcdef',
      user_id: 7,
      total: 600,
    })
    const key = createPublicKey({ key: (await publicJwk(await keyPair)) as never, format: 'jwk' })
    const options = { key, dsaEncoding: 'ieee-p1363' } as const
    expect(verify('sha256', scanned.signed, options, scanned.signature)).to.equal(true)
  })

  it('is one code of at most 1,000 characters up to 20 items, and several beyond', async () => {
    const { codes } = await codesOf(20)
    expect(codes).to.have.lengthOf(1)
    expect(codes[0]?.length).to.be.at.most(1000)
    const many = await codesOf(60)
    expect(many.codes.length).to.be.greaterThan(1)
    for (const code of many.codes) expect(code.length).to.be.at.most(1000)
    expect(parseScannedReceipt(many.codes.toReversed().join(' '))).to.have.property('signed')
  })
})
