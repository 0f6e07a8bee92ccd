import { expect } from 'chai'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { expectInvalid, expectProblem, idsIn } from '../../support/answers.ts'
import { useSeller } from './seller.ts'

describe('sales', () => {
  const { company, adHoc, pay, sold } = useSeller()

  describe('the list', () => {
    it('filters sales by status, origin, customer and days in the company’s zone [LIST-7]', async () => {
      const { data: customer } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body
      const sale = async (body: object) => (await sold({ items: [adHoc('1.00')], payments: [pay('1.00')], ...body })).id
      const a = await sale({ customer_external_id: 'ana', sold_at: '2026-03-10T23:59:59.999-03:00', external_id: 'a' })
      const b = await sale({ sold_at: '2026-03-11T00:00:00-03:00' })
      const c = await sale({ sold_at: '2026-03-12T02:59:59.999Z' })
      const d = await sale({ sold_at: '2026-03-12T03:00:00Z' })
      const input = SaleInput.parse({
        items: [adHoc('1.00')],
        payments: [pay('1.00')],
        sold_at: '2026-03-20T12:00:00Z',
      })
      const { id: counter } = await company.run(registerSale, input, 'pdv')
      await company.post(`/sales/${b}/cancel`, {})
      const found = async (query: string) => idsIn(await company.get(`/sales?${query}`))
      expect(await found('')).to.deep.equal([a, b, c, d, counter])
      expect(await found('status=completed')).to.deep.equal([a, c, d, counter])
      expect(await found('status=cancelled')).to.deep.equal([b])
      expect(await found('origin=pdv')).to.deep.equal([counter])
      expect(await found('origin=api')).to.deep.equal([a, b, c, d])
      expect(await found(`customer_id=${customer.id}`)).to.deep.equal([a])
      expect(await found('external_id=a')).to.deep.equal([a])
      expect(await found('sold_from=2026-03-11')).to.deep.equal([b, c, d, counter])
      expect(await found('sold_to=2026-03-11')).to.deep.equal([a, b, c])
      expect(await found('sold_from=2026-03-11&sold_to=2026-03-11')).to.deep.equal([b, c])
      expect(await found('sold_from=2026-03-11&sold_to=2026-03-11&status=completed&origin=api')).to.deep.equal([c])
      expect(await found('sold_from=2026-03-12&sold_to=2026-03-11')).to.deep.equal([])
    })

    it('refuses invalid filter values', async () => {
      expectInvalid(await company.get('/sales?status=open&origin=x&customer_id=0'), ['status', 'origin', 'customer_id'])
      for (const day of ['2026-02-30', '2026-3-1', '2026-03-10T00:00:00Z', 'today', '']) {
        expectInvalid(await company.get(`/sales?sold_from=${day}&sold_to=${day}`), ['sold_from', 'sold_to'])
      }
    })

    it('accepts the first and the last day of the calendar', async () => {
      for (const day of ['1900-01-01', '9999-12-31']) {
        expect((await company.get(`/sales?sold_from=${day}&sold_to=${day}`)).status).to.equal(200)
      }
    })
  })

  it('cannot be edited: there is no PATCH, PUT or DELETE of a sale', async () => {
    const { id } = await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      expectProblem(await company.call(method, `/sales/${id}`, {}), 405, 'method_not_allowed')
    }
  })
})
