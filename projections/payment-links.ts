import { type PaymentLinks, withPaymentUrl } from '#domain/payment-link.ts'
import type { ReadModel, RecordView } from '#ledger/projection.ts'

/** Read model that adds payment links to orders when they are shown; no table stores them. */
export function withPaymentLinks(model: ReadModel, links: PaymentLinks): ReadModel {
  const { order, ...views } = model.views
  return order ? { ...model, views: { ...views, order: linked(order, links) } } : model
}

const linked = (view: RecordView, links: PaymentLinks): RecordView => ({
  ...view,
  render(rows, id, now) {
    const record = view.render(rows, id, now)
    return record && withPaymentUrl(links, record)
  },
})
