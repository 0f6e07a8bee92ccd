/** A sale as a till uploads it: product 10 once for 10.00, paid in cash; a test names the fields that it is about. */
export const offlineSaleOf = (fields: object = {}) => ({
  offline_id: 'pdv-1',
  total: 10,
  amount_received: 10,
  change: 0,
  status: 'completed',
  created_at: '2026-03-10T14:00:00.000Z',
  items: [{ product_id: 10, quantity: 1, price: 10, total: 10 }],
  payments: [{ payment_type_id: 1, amount: 10, status: 'completed' }],
  ...fields,
})
