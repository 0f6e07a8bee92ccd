import { pathId } from '#http/paths.ts'
import { getOrder, listNotifications } from '#queries/orders.ts'
import { pageOf } from '../contract/envelopes.ts'
import { Notification } from '../contract/records/notifications.ts'
import { type Route, read } from '../route.ts'
import { pageQuery } from './list-query.ts'
import { answerPage } from './record-routes.ts'

/** The log of what the payment provider sent about an order (RCV-12). */
export const orderNotificationsRoute: Route = read({
  path: '/orders/:id/notifications',
  scope: 'orders:read',
  operation: 'listOrderNotifications',
  summary: 'Lista as notificações do provedor de pagamento sobre um pedido',
  description:
    'Todas as que chegaram ao endereço do pedido, na ordem da chegada, também as recusadas e as que falharam. São guardadas por 400 dias.',
  query: pageQuery({}),
  reply: pageOf(Notification),
  async read({ pool, caller, params, query }) {
    const order = pathId(params.id)
    if (order === null || !(await getOrder(pool, caller.companyId, order)).record) return null
    const page = await listNotifications(pool, caller.companyId, order, query)
    return answerPage(page, query.limit)
  },
})
