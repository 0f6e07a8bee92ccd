import { expect } from 'chai'
import { messageOf } from '#http/problems.ts'

describe('message of a mismatch of a return', () => {
  it('names the sum, or the part on credit if the sum is right [RETURN-2] [RETURN-5]', () => {
    const due = { due: '10.00', refunded: '9.00', on_credit: '4.00' }
    expect(messageOf('payment_mismatch', due)).to.include('devem somar 10.00')
    const onCredit = messageOf('payment_mismatch', { ...due, refunded: '10.00' })
    expect(onCredit).to.include('4.00 deve ser na forma a prazo').and.not.include('somar')
    expect(messageOf('payment_mismatch')).to.equal('Os pagamentos não somam o total da venda.')
  })
})
