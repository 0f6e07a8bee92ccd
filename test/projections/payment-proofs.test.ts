import { expect } from 'chai'
import { nsuKey, paymentProofByKey, pixKey, proofOf } from '#projections/payment-proofs.ts'
import { companyRegistered, saleCompleted } from '../support/facts.ts'
import { COMPANY_ID, given } from '../support/given.ts'

const paid = { payment_type_id: 1, name: 'Pix', amount: '10.00', surcharge: '0.00', net: '10.00' }
const card = {
  brand: null,
  nsu: '007',
  authorization: 'A1',
  installments: null,
  acquirer_cnpj: null,
  integrated: null,
}

describe('payment proofs projection', () => {
  it('names the sales of a Pix, a card transaction and an NSU, each once [SALE-785]', async () => {
    const payments = [{ ...paid, end_to_end_id: 'E1a' }, { ...paid, card }, { ...paid, card }, paid]
    const scenario = await given(companyRegistered(), saleCompleted({ id: 8, payments }))
    const keys = [pixKey('e1A'), proofOf({ card }) ?? '', nsuKey('7')]
    const refs = keys.map(paymentProofByKey)
    const rows = await scenario.rows(...refs)
    expect(refs.map((ref) => rows.get(ref))).to.deep.equal(
      keys.map((key) => ({ company_id: COMPANY_ID, key, sale_ids: [8] })),
    )
  })

  it('keeps the first ten and the last ten sales [SALE-785]', async () => {
    const sales = Array.from({ length: 25 }, (_, n) =>
      saleCompleted({ id: n + 1, payments: [{ ...paid, end_to_end_id: 'E1' }] }),
    )
    const ref = paymentProofByKey(pixKey('E1'))
    const rows = await (await given(companyRegistered(), ...sales)).rows(ref)
    const [first, last] = [
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      [16, 17, 18, 19, 20, 21, 22, 23, 24, 25],
    ]
    expect(rows.get(ref)?.sale_ids).to.deep.equal([...first, ...last])
  })
})
