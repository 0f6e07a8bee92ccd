import { forgetPages } from './erase-person.tsx'
import { ORDERS_PATH, orderOf } from './orders.tsx'

export const orderForgetting = forgetPages({
  path: `${ORDERS_PATH}/:id`,
  section: 'store',
  kind: 'order',
  goes: 'Serão apagados nome, e-mail e documento de quem comprou e os dados de quem pagou.',
  stays: 'Ficam os itens, os pagamentos e os valores.',
  canWait: false,
  recordOf: orderOf,
  personOf: ({ customer: { name, document } }) => ({ name, document }),
})
